#!/usr/bin/env python3
"""Measures the prose of Markdown pages, and finds words that the project does not use.

    scripts/prose.py PAGE...            words, sentences and words a sentence of each page
    scripts/prose.py --most 16 PAGE...  fails, naming the pages whose sentences are longer
    scripts/prose.py --words [ROOT]     fails, naming each use of a word that was replaced

Prose is paragraphs and list items: no code blocks, tables, headings, comments or targets
of links. A span of `code` counts as one word. The end of a paragraph or item ends a sentence.
"""
import argparse
import re
import sys

NOT_AN_END = re.compile(r"\b(e\.g|i\.e|vs|etc|cf|Fig|Eq|No|al)\.", re.IGNORECASE)


def blocks(text):
    """Yields each paragraph and list item as one line."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    fence = None
    held = []
    after_blank = True
    in_list = False
    for line in text.splitlines() + [""]:
        bare = line.strip()
        opening = re.match(r"(```+|~~~+)", bare)
        if fence:
            if bare.startswith(fence) and bare.strip("`~") == "":
                fence = None
            continue
        item = re.match(r"\s*([-*+]|\d+[.)])\s+(.*)", line)
        quote = re.match(r">\s?(.*)", bare)
        indented = line.startswith("    ") and after_blank and not in_list
        if opening or not bare or item or bare.startswith(("#", "|", "<")) or indented:
            if held:
                yield " ".join(held)
            held = []
        if opening:
            fence = opening.group(1)
        elif item:
            held = [item.group(2)]
            in_list = True
        elif bare and not bare.startswith(("#", "|", "<")) and not indented:
            if after_blank and not line.startswith(" "):
                in_list = False
            held.append(quote.group(1) if quote else bare)
        after_blank = not bare


def plain(block):
    """The block without its markup: spans of code and targets become one word."""
    block = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", block)
    block = re.sub(r"(`+)(.+?)\1", "code", block)
    block = re.sub(r"\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])", r"\1", block)
    block = re.sub(r"<?\bhttps?://[^\s>)]+", "address", block)
    block = re.sub(r"[*_]{1,3}(\S)", r"\1", block)
    return NOT_AN_END.sub(lambda found: found.group(0).replace(".", ""), block)


def count(text):
    """(words, sentences) of a page's prose."""
    words = sentences = 0
    for block in blocks(text):
        for sentence in re.split(r"[.!?][\"')\]*_]*(?:\s+|$)", plain(block)):
            spoken = [w for w in sentence.split() if re.search(r"\w", w)]
            words += len(spoken)
            sentences += bool(spoken)
    return words, sentences


def measure(pages, most):
    """Prints a line a page; how many are above `most`."""
    above = []
    print(f"{'words':>6} {'sentences':>9} {'mean':>5}  page")
    for page in pages:
        with open(page, encoding="utf-8") as file:
            words, sentences = count(file.read())
        mean = words / sentences if sentences else 0.0
        print(f"{words:6} {sentences:9} {mean:5.1f}  {page}")
        if most is not None and mean > most:
            above.append(f"{page}: {mean:.1f} words a sentence, want at most {most:g}")
    for line in above:
        print(line, file=sys.stderr)
    return len(above)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=float, metavar="WORDS", help="most words a sentence")
    parser.add_argument("pages", nargs="+")
    args = parser.parse_args()
    return 1 if measure(args.pages, args.most) else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Measures the prose of Markdown pages, and finds words that the project does not use.

    scripts/prose.py PAGE...            words, sentences and words a sentence of each page
    scripts/prose.py --most 16 PAGE...  fails, naming the pages whose sentences are longer
    scripts/prose.py --words [ROOT]     fails, naming each use of a word that was replaced

Prose is paragraphs and list items: no code blocks, tables, headings, comments or targets
of links. A span of `code` counts as one word. The end of a paragraph or item ends a sentence; a **bold
opening.** of it does not, and what has neither a stop nor four words is no sentence.
"""
import argparse
import os
import re
import subprocess
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
    block = re.sub(r"^(\*\*[^*]*?)[.!?]\*\*", r"\1", block)
    block = re.sub(r"\*{1,3}|(?<!\w)_{1,3}|_{1,3}(?!\w)", "", block)
    return NOT_AN_END.sub(lambda found: found.group(0).replace(".", ""), block)


def count(text):
    """(words, sentences) of a page's prose."""
    words = sentences = 0
    for block in blocks(text):
        block = plain(block)
        if not re.search(r"[.!?:]\W*$", block) and len(block.split()) < 4:
            continue
        for sentence in re.split(r"[.!?][\"')\]]*(?:\s+|$)", block):
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


# Words that were replaced, and by what: docs/glossary.md has those in use. The first list holds in
# prose and in identifiers alike. The second is of words with plain English uses ("in turn", "look at",
# "letters of the alphabet"): there only identifiers are meant, and a test's name, which is a
# sentence, is no identifier of that kind.
WORDS = [
    (r"crews?", "workers"),
    (r"errands?", "background work"),
    (r"parcels?", "outbox, deferred"),
    (r"stretch(?:es)?", "span (of text), slice (of time)"),
    (r"crowded", "oversubscribed"),
    (r"click_judge\w*", "errors"),
    (r"clicks?_way\w*", "format"),
    (r"store_turn\w*", "block swap"),
    (r"(?:comm|train)/together(?:\.[ch])?", "collective; rendezvous"),
    (r"comm/turn(?:\.[ch])?|data/turns?(?:\.[ch])?", "collective; ordered"),
    (r"thinned out|thinning out", "subsampled, subsampling"),
    (r"report(?:\.|->)words", "examples"),
]
IDENTIFIERS = [
    (r"PATIENCE|patience(?=\()|\w+_patience|patience_\w+", "a time limit, silence timeout"),
    (r"click_columns?", "spill buffer"),
    (r"hands_\w+|\w+_hands", "workers"),
    (r"team_\w+|\w+_team", "workers"),
    (r"letter_\w+", "outbox, deferred"),
    (r"mail_\w+|\w+_mail", "outbox, deferred"),
    (r"told_\w+|(?!assert_)\w+_told", "progress"),
    (r"look_(?:busy|due|least|ms|of|rows|words)|(?:rows|run|task|train)_look(?:ing)?", "evaluate"),
    (r"(?!\w*in_turn\b)\w+_turn|turns_\w+", "collective; ordered; block swap"),
    (r"together_\w+", "collective; rendezvous"),
    (r"struct (?:hands|team|letter|mail|told|look|turn|together|done|kept)", "its plain name"),
]
FOLDERS = ["src", "cli", "include", "tests", "docs", "scripts", "bench", "examples"]
PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md"]
# Texts in which any word may stand: generated English, kept inputs of fuzz targets, this list.
ANY_WORD = re.compile(r"worlds/world\.txt$|^tests/fuzz/corpus/|^scripts/prose\.py$|\.png$|\.pyc$")
SENTENCE_PARTS = 3


def uses(line):
    """Yields (the word found, what to say instead)."""
    for pattern, instead in WORDS:
        for found in re.finditer(r"(?<![A-Za-z])(?:" + pattern + r")(?![a-z])", line, re.IGNORECASE):
            yield found.group(0), instead
    for pattern, instead in IDENTIFIERS:
        for found in re.finditer(r"\b(?:" + pattern + r")(?!\w)", line):
            if found.group(0).count("_") < SENTENCE_PARTS - 1:
                yield found.group(0), instead


def listed(root):
    """The files that are searched: those that git knows, or else all."""
    said = subprocess.run(["git", "-C", root, "ls-files", "-z", "--", *FOLDERS, *PAGES],
                          capture_output=True)
    if said.returncode == 0:
        names = said.stdout.decode().split("\0")
    else:
        names = [os.path.relpath(os.path.join(folder, file), root) for top in FOLDERS
                 for folder, _, files in os.walk(os.path.join(root, top)) for file in files] + PAGES
    return [name for name in sorted(names) if name and not ANY_WORD.search(name)]


def search(root):
    """Prints each use of a replaced word, in names of files and in lines; how many there are."""
    found = 0
    for name in listed(root):
        for word, instead in uses(os.path.basename(name)):
            print(f"{name}: the name has '{word}', want {instead}")
            found += 1
        try:
            with open(os.path.join(root, name), encoding="utf-8") as file:
                lines = file.readlines()
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue
        for number, line in enumerate(lines, 1):
            for word, instead in uses(line):
                print(f"{name}:{number}: '{word}', want {instead}")
                found += 1
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=float, metavar="WORDS", help="most words a sentence")
    parser.add_argument("--words", action="store_true", help="find words that were replaced")
    parser.add_argument("pages", nargs="*", metavar="PAGE")
    args = parser.parse_args()
    if args.words:
        return 1 if search(args.pages[0] if args.pages else ".") else 0
    if not args.pages:
        parser.error("found no page, want at least one")
    return 1 if measure(args.pages, args.most) else 0


if __name__ == "__main__":
    sys.exit(main())

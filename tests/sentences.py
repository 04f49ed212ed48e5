#!/usr/bin/env python3
"""Sentences spell options as the command line does: `--early-stop`, neither `early_stop` nor `early-stop`.

    tests/sentences.py ROOT

Looks at every text of the sources that has a space in it. Prints TAP.
"""

import glob
import os
import re
import sys

TEXT = re.compile(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+')
OPTION = re.compile(r'\{"([a-z][a-z0-9-]+)",\s*(?:\'.\',\s*)?(?:\.type|SHOAL_TYPE)')
COMMENT = re.compile(r"/\*.*?\*/", re.S)


def texts(path):
    """(line, text) of what is printed: adjacent literals are one."""
    with open(path, encoding="utf-8") as f:
        source = COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), f.read())
    for m in TEXT.finditer(source):
        yield source[:m.start()].count("\n") + 1, "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', m.group(0)))


def misspelt(text, options):
    """Names of two words are no English: they are options wherever they stand. Those of one word
    are where a sentence says what they are set to."""
    for name in options:
        forms = f"(?:{name}|{name.replace('-', '_')})"
        if "-" in name and " " in text and re.search(rf"(?<![\w-]){forms}(?![\w-])", text):
            yield name
        if re.match(rf"(?:train|study|gen|phrases|world|serve|vocab): {forms} is ", text):
            yield name


def main():
    root = sys.argv[1]
    sources = sorted(glob.glob(os.path.join(root, "src", "**", "*.[ch]"), recursive=True)
                     + glob.glob(os.path.join(root, "cli", "*.c")))
    options = set()
    for path in sources:
        with open(path, encoding="utf-8") as f:
            options |= set(OPTION.findall(f.read()))
    bad = [f"{path}:{line}: --{name} in: {text}" for path in sources for line, text in texts(path)
           for name in misspelt(text, options)]
    tried = list(misspelt("train: early_stop is 1", {"early-stop"})) and not list(misspelt("lower --min-count", {"min-count"}))
    for i, (name, good, why) in enumerate((("options are found", len(options) > 100, [str(len(options))]),
                                           ("a misspelt option is noticed", tried, []),
                                           ("sentences spell options as the command line does", not bad, bad))):
        print(f"{'ok' if good else 'not ok'} {i + 1} - {name}")
        for line in [] if good else why:
            print(f"# {line}")
    print("1..3")
    return bool(bad) or not tried or len(options) <= 100


if __name__ == "__main__":
    sys.exit(main())

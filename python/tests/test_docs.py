"""The blocks of Python in the documents run, each page from top to bottom in one folder."""
import os
import re

import pytest


def blocks_of(path):
    """(number of the first line, text) of each block ```python."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for found in re.finditer(r"^```python\n(.*?)^```", text, re.S | re.M):
        yield text[:found.start()].count("\n") + 2, found.group(1)


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_the_blocks_of_a_page_run(page, root, world, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.symlink(world[0], "text.txt")
    os.symlink(world[1], "questions.txt")
    names = {"__name__": "__main__"}
    blocks = list(blocks_of(os.path.join(root, page)))
    assert blocks
    for line, block in blocks:
        exec(compile("\n" * (line - 1) + block, page, "exec"), names)


def test_every_exception_and_estimator_stands_in_the_manual(root):
    import shoal
    with open(os.path.join(root, "docs/python.md"), encoding="utf-8") as file:
        text = file.read()
    assert not [name for name in shoal.__all__ if name not in text]

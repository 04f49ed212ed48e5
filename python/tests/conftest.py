"""The package of this source tree, over the library that SHOAL_LIBRARY names."""
import os
import sys

import pytest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
if not os.environ.get("SHOAL_INSTALLED"):
    sys.path.insert(0, os.path.join(ROOT, "python"))
    os.environ.setdefault("SHOAL_LIBRARY", os.path.join(ROOT, "build", "src", "libshoal.so.0"))


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    """A small text to learn words from, and its analogy questions."""
    import ctypes

    from shoal import _c
    folder = tmp_path_factory.mktemp("world")
    text, questions = folder / "text.txt", folder / "questions.txt"
    opts = _c.lib.shoal_world_default()
    opts.words = 100_000
    _c.lib.shoal_world_write(_c.path_bytes(text), _c.path_bytes(questions), ctypes.byref(opts), None)
    return text, questions

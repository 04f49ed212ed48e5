"""Vectors in the formats of word2vec.c, with the choices that gensim offers.

What this is: reading and writing, text and binary. A plain file is read by the C library; what has a limit,
another encoding, another type of numbers or bad bytes is read here, with gensim's exceptions.
Who owns what: what is read is the caller's.
Threads: any number, on files of their own.
"""
import bz2
import ctypes
import gzip
import logging
import lzma
import os
from typing import Any, BinaryIO, Dict, Iterator, List, Optional, Tuple

import numpy as np

from .. import _c

logger = logging.getLogger(__name__)

_OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_MAGIC = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ\0", lzma.open))


def open_bytes(fname: Any, mode: str = "rb") -> BinaryIO:
    """A file, decompressed by its content or compressed by its ending; what is open already stays so."""
    if hasattr(fname, "read" if "r" in mode else "write"):
        return fname
    fname = os.fspath(fname)
    if "r" in mode:
        with open(fname, "rb") as file:
            head = file.read(6)
        for magic, opener in _MAGIC:
            if head.startswith(magic):
                return opener(fname, mode)  # type: ignore[return-value]
        return open(fname, mode)
    return _OPENERS.get(os.path.splitext(fname)[1], open)(fname, mode)  # type: ignore[operator]


# ---- Reading -------------------------------------------------------------------------------------


def _read_counts(fvocab: Any, encoding: str, errors: str) -> Optional[Dict[str, int]]:
    if fvocab is None:
        return None
    counts = {}
    with open_bytes(fvocab) as file:
        for line in file:
            word, count = line.decode(encoding, errors).strip().split()
            counts[word] = int(count)
    return counts


def _by_library(fname: Any) -> Optional[_c.Vectors]:
    """The vectors as the library reads them; None where it does not like the file."""
    try:
        return _c.opened(_c.Vectors, _c.lib.shoal_vectors_map, _c.path_bytes(fname))
    except (_c.FormatError, _c.InvalidError):
        return None


def _header(file: BinaryIO, encoding: str, name: Any) -> Tuple[int, int]:
    line = file.readline().decode(encoding)
    try:
        size, dim = map(int, line.split())
    except ValueError:
        raise ValueError(f"invalid literal in the first line of {name}: found {line[:60]!r}, want the number of "
                         "words and the size of a vector") from None
    return size, dim


def _binary_rows(file: BinaryIO, size: int, dim: int, encoding: str, errors: str,
                 name: Any) -> Iterator[Tuple[str, np.ndarray]]:
    """Rows `word, space, floats`, with or without newlines before the word."""
    room, at, width = b"", 0, 4 * dim
    for _ in range(size):
        while True:
            stop = room.find(b" ", at)
            if stop >= 0 and len(room) >= stop + 1 + width:
                break
            more = file.read(max(1 << 20, 2 * width))
            if not more:
                raise EOFError(f"{name}: unexpected end of input; is count incorrect or file otherwise damaged?")
            room, at = room[at:] + more, 0
        yield room[at:stop].decode(encoding, errors).lstrip("\n"), np.frombuffer(room, np.float32, dim, stop + 1)
        at = stop + 1 + width


def _text_rows(file: BinaryIO, size: int, dim: int, encoding: str, errors: str, datatype: Any,
               name: Any) -> Iterator[Tuple[str, Any]]:
    for number in range(size):
        line = file.readline()
        if line == b"":
            raise EOFError(f"{name}: unexpected end of input; is count incorrect or file otherwise damaged?")
        parts = line.rstrip().split(b" ")
        if len(parts) != dim + 1:
            raise ValueError(f"invalid vector on line {number} of {name} (is this really the text format?): found "
                             f"{len(parts) - 1} numbers, want {dim}")
        yield parts[0].decode(encoding, errors), np.array(parts[1:], dtype=datatype)


def _shape_without_header(fname: Any, encoding: str) -> Tuple[int, int]:
    with open_bytes(fname) as file:
        first = file.readline()
        return 1 + sum(1 for _ in file), len(first.rstrip().split(b" ")) - 1


def load_word2vec(cls: Any, fname: Any, fvocab: Any, binary: bool, encoding: str, unicode_errors: str,
                  limit: Optional[int], datatype: Any, no_header: bool) -> Any:
    """KeyedVectors of a file."""
    counts = _read_counts(fvocab, encoding, unicode_errors)
    plain = limit is None and np.dtype(datatype) == np.float32 and not hasattr(fname, "read") and \
        encoding.lower().replace("-", "") in ("utf8", "ascii")
    found = _load_plain(cls, fname, binary, unicode_errors) if plain else None
    if found is None:
        found = _load_rows(cls, fname, binary, encoding, unicode_errors, limit, datatype, no_header)
    size = len(found)
    if counts is None:
        found.expandos["count"] = np.arange(size, 0, -1, dtype=np.int64)  # in the order of the file
    else:
        for key in found.index_to_key:
            if key not in counts:
                logger.warning("vocabulary file is incomplete: '%s' is missing", key)
        found.expandos["count"] = np.array([counts.get(key, 0) for key in found.index_to_key], dtype=np.int64)
    return found


def _load_plain(cls: Any, fname: Any, binary: bool, errors: str) -> Any:
    """By the library, which is fast; None: rather here."""
    with open(fname, "rb"):  # with Python's exception when it is not there
        pass
    handle = _by_library(fname)
    if handle is None:
        return None
    kv = cls._of(handle, writable=True)
    words = kv.index_to_key
    # What gensim does with newlines and bad bytes is done below, where the words need it.
    if any("\n" in word or not word.isprintable() and _is_bad(word) for word in words):
        return None
    return kv


def _is_bad(word: str) -> bool:
    return any("\udc80" <= letter <= "\udcff" for letter in word)


def _load_rows(cls: Any, fname: Any, binary: bool, encoding: str, errors: str, limit: Optional[int], datatype: Any,
               no_header: bool) -> Any:
    name = getattr(fname, "name", fname)
    with open_bytes(fname) as file:
        size, dim = _shape_without_header(fname, encoding) if no_header else _header(file, encoding, name)
        size = min(size, limit) if limit else size
        kv = cls(dim, dtype=datatype)
        rows = np.zeros((size, dim), dtype=datatype)
        keys: Dict[str, int] = {}
        read = _binary_rows(file, size, dim, encoding, errors, name) if binary else \
            _text_rows(file, size, dim, encoding, errors, datatype, name)
        for word, row in read:
            if word in keys:
                logger.warning("duplicate word '%s' in word2vec file, ignoring all but first", word)
                continue
            rows[len(keys)] = row
            keys[word] = len(keys)
    kv.index_to_key = list(keys)
    kv.key_to_index = keys
    kv.vectors = rows[:len(keys)] if len(keys) == size else np.ascontiguousarray(rows[:len(keys)])
    kv.next_index = len(keys)
    return kv


# ---- Writing -------------------------------------------------------------------------------------


def _order(kv: Any, sort_attr: str) -> List[int]:
    if sort_attr not in kv.expandos:
        logger.warning("attribute %s not present in %s; will store in internal index order", sort_attr, kv)
        return list(range(len(kv)))
    values = kv._attribute(sort_attr)
    if (values[:-1] >= values[1:]).all():
        return list(range(len(kv)))
    return np.argsort(-values, kind="stable").tolist()


def _save_plain(kv: Any, fname: Any, binary: bool, header: bool) -> bool:
    """By the library, which is fast and leaves a whole file or none; False: it cannot."""
    from .keyedvectors import c_words
    words = c_words(kv.index_to_key) if kv.vectors.dtype == np.float32 and len(kv) else None
    if words is None or os.path.splitext(os.fspath(fname))[1] in _OPENERS or binary and not header:
        return False
    opts = _c.save_opts("word2vec" if binary else "text" if header else "glove")
    try:
        with kv._as_vectors(words) as vectors:
            _c.lib.shoal_vectors_save(vectors, _c.path_bytes(fname), ctypes.byref(opts))
    except _c.InvalidError:  # a word that the format cannot carry, or a NaN: gensim writes it
        return False
    return True


def save_word2vec(kv: Any, fname: Any, fvocab: Any, binary: bool, total_vec: Optional[int], write_header: bool,
                  prefix: str, append: bool, sort_attr: str) -> None:
    """Writes them as word2vec.c does."""
    order = _order(kv, sort_attr)
    keys, rows = kv.index_to_key, kv.vectors
    if fvocab is not None:
        with open_bytes(fvocab, "wb") as file:
            for i in order:
                file.write(f"{prefix}{keys[i]} {kv._attribute(sort_attr)[i]}\n".encode("utf-8", "surrogateescape"))
    if not prefix and not append and total_vec is None and not hasattr(fname, "write") and \
            order == list(range(len(order))) and _save_plain(kv, fname, binary, write_header):
        return
    with open_bytes(fname, "ab" if append else "wb") as file:
        if write_header:
            file.write(f"{len(order) if total_vec is None else total_vec} {kv.vector_size}\n".encode())
        for i in order:
            word = f"{prefix}{keys[i]} ".encode("utf-8", "surrogateescape")
            if binary:
                file.write(word + np.ascontiguousarray(rows[i], dtype=np.float32).tobytes())
            else:
                file.write(word + " ".join(map(str, rows[i])).encode() + b"\n")

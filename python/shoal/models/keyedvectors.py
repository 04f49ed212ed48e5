"""Vectors by key, with gensim's names: what is nearest, how similar, how well they answer.

What this is: `KeyedVectors` has rows of numbers and a key for each. Those that were read from a file of
ours are a view of the mapped file: nothing is copied, and keys become Python strings when they are first
asked for. Nearest rows are found by the C library.
Who owns what: `vectors` is a NumPy array, or a read-only view that keeps its file open.
Threads: any number may read; one that adds or changes has it alone. Processes that are forked may read
what was open before.
"""
import ctypes
import itertools
import logging
import math
import os
import pickle
import threading
from numbers import Integral
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple, Union

import numpy as np

from .. import _abi, _c

__all__ = ["KeyedVectors", "Word2VecKeyedVectors", "EuclideanKeyedVectors", "REAL", "pseudorandom_weak_vector",
           "prep_vectors"]

logger = logging.getLogger(__name__)

REAL = np.float32
_KEYS = (str, int, np.integer)
INDEX_LEAST, INDEX_MOST = 1 << 18, 1 << 28  # numbers for which a search by the library is made ready
Key = Union[str, int]
Keys = Union[Key, np.ndarray, Iterable[Any], None]


class MissingKey(KeyError):
    """A key that is not there; its sentence names those spelt nearly alike."""

    def __init__(self, said: str, key: Any, of: "KeyedVectors") -> None:
        super().__init__(said)
        self._key, self._of = key, of

    def __str__(self) -> str:
        near = self._of.spelt_like(self._key) if isinstance(self._key, str) and self._of is not None else []
        return str(self.args[0]) + (f"; closest: {', '.join(near)}" if near else "")

    def __reduce__(self) -> Any:
        return KeyError, (str(self),)


# ---- Rows and words, to and from C ---------------------------------------------------------------


def words_of(vocab: Any) -> List[str]:
    """All words of a vocabulary of the library's."""
    words = _c.lib.shoal_vocab_words(vocab)
    if not words.n:
        return []
    at = ctypes.c_void_p.from_buffer(words, _abi.shoal_words.text.offset).value  # all of it, NULs too
    text = ctypes.string_at(at, words.len)
    found = text.decode("utf-8", "surrogateescape").split("\0")[:words.n]
    if len(found) != words.n or "" in found:
        raise _c.FormatError(f"vectors: found {len(found)} words, want {words.n} that are not empty")
    return found


def counts_of(vocab: Any) -> np.ndarray:
    """Their counts, copied."""
    words = _c.lib.shoal_vocab_words(vocab)
    return np.frombuffer((ctypes.c_uint64 * words.n).from_address(words.counts), dtype=np.uint64).astype(np.int64)


def vocab_of(words: Sequence[str], counts: Optional[np.ndarray] = None) -> _c.Vocab:
    """A vocabulary of the library's, of these words in this order."""
    text = ("\0".join(words) + "\0").encode("utf-8", "surrogateescape")
    given = None
    if counts is not None:
        given = np.ascontiguousarray(counts, dtype=np.uint64)
    struct = _abi.shoal_words(text, len(text), len(words),
                              None if given is None else given.ctypes.data)
    return _c.opened(_c.Vocab, _c.lib.shoal_vocab_new, ctypes.byref(struct))


def matrix_of(rows: np.ndarray, vocab: Optional[_c.Vocab] = None) -> "Tuple[_abi.shoal_matrix, Any]":
    """Rows as the library takes them, and what to keep during the call."""
    if rows.dtype != REAL or rows.ndim != 2 or rows.strides[1] != 4 or rows.strides[0] % 4 or rows.strides[0] < 0:
        rows = np.ascontiguousarray(rows, dtype=REAL)
    stride = rows.strides[0] // 4 if len(rows) > 1 else max(rows.shape[1], rows.strides[0] // 4)
    matrix = _abi.shoal_matrix(rows.ctypes.data, rows.shape[0], rows.shape[1], stride,
                               None if vocab is None else vocab.pointer)
    return matrix, rows


def rows_of(matrix: _abi.shoal_matrix, owner: Any, writable: bool = False) -> np.ndarray:
    """The library's rows as an array that keeps their owner, and copies nothing."""
    size = matrix.rows * matrix.stride
    buffer = (ctypes.c_float * size).from_address(matrix.data)
    buffer.owner = owner  # the array keeps the buffer, the buffer this
    rows = np.frombuffer(buffer, dtype=REAL).reshape(matrix.rows, matrix.stride)[:, :matrix.dim]
    rows.flags.writeable = writable
    return rows


class Owned:
    """Whatever a view must keep."""

    def __init__(self, *kept: Any) -> None:
        self.kept = kept


def c_words(keys: Sequence[Any]) -> Optional[List[str]]:
    """The keys as words of the library's; None where it has no such words."""
    if not all(type(key) is str for key in keys):
        return None
    longest = max(map(len, keys), default=0)
    if "" in keys or any("\0" in key for key in keys) or longest * 4 > _abi.SHOAL_WORD_MAX:
        return None
    try:
        "".join(keys).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a pair: no text
        return None
    return list(keys)


def _word(key: str) -> Optional[bytes]:
    """A key as the library spells it; None where it has no such words."""
    try:
        return key.encode("utf-8", "surrogateescape") if "\0" not in key else None
    except UnicodeEncodeError:
        return None


# ---- Small helpers -------------------------------------------------------------------------------


def unit(vector: np.ndarray) -> np.ndarray:
    """The vector with length 1; zeros stay."""
    length = np.linalg.norm(vector)
    return (vector / length).astype(vector.dtype) if length > 0 else vector


def cosine(a: np.ndarray, b: np.ndarray) -> np.float32:
    """Of two vectors; exactly 1 of one with itself."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    lengths = math.sqrt(np.dot(a, a) * np.dot(b, b))
    return np.float32(np.dot(a, b) / lengths if lengths > 0 else 0)


def _best(scores: np.ndarray, topn: int) -> np.ndarray:
    """Places of the highest, best first, equals by place; what is no number comes last."""
    scores = np.where(np.isnan(scores), -np.inf, scores)
    if topn >= scores.size:
        return np.argsort(-scores, kind="stable")
    # All that reach the topn-th highest, so that equals are chosen by place.
    least = np.partition(scores, scores.size - topn)[scores.size - topn]
    places = np.flatnonzero(scores >= least)
    return places[np.argsort(-scores[places], kind="stable")][:topn]


def _as_list(value: Any) -> List[Any]:
    """A key, a vector or a (key, weight) is one of a list."""
    if value is None:
        return []
    if isinstance(value, _KEYS):
        return [value]
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return [value]
    return list(value)


def pseudorandom_weak_vector(size: int, seed_string: Optional[str] = None,
                             hashfxn: Callable[[str], int] = hash) -> np.ndarray:
    """A short random vector, the same for the same `seed_string`.

    >>> pseudorandom_weak_vector(3, "cat", lambda text: 7).shape
    (3,)
    """
    seed = None if seed_string is None else hashfxn(seed_string) & 0xffffffff
    return ((np.random.default_rng(seed).random(size) - 0.5) / size).astype(REAL)


def prep_vectors(target_shape: Tuple[int, int], prior_vectors: Optional[np.ndarray] = None, seed: int = 0,
                 dtype: Any = REAL) -> np.ndarray:
    """An array of that shape: the rows before, then short random ones."""
    prior = np.zeros((0, target_shape[1]), dtype=dtype) if prior_vectors is None else prior_vectors
    if len(prior) >= target_shape[0]:
        return prior
    fresh = np.random.default_rng(seed).random((target_shape[0] - len(prior), target_shape[1]), dtype=np.float32)
    out = np.empty(target_shape, dtype=dtype)
    out[:len(prior)] = prior
    out[len(prior):] = (fresh * 2 - 1) / target_shape[1]
    return out


# ---- Vectors by key ------------------------------------------------------------------------------


class KeyedVectors:
    """Keys and their vectors.

    >>> kv = KeyedVectors(2)
    >>> kv.add_vectors(["left", "right", "up"], [[-1, 0], [1, 0], [0.1, 1]])
    >>> kv.most_similar("up", topn=1)[0][0]
    'right'
    >>> "left" in kv, kv.key_to_index["up"], len(kv)
    (True, 2, 3)
    >>> kv["lift"]
    Traceback (most recent call last):
        ...
    shoal.models.keyedvectors.MissingKey: Key 'lift' not present; closest: left
    """

    def __init__(self, vector_size: int, count: int = 0, dtype: Any = REAL,
                 mapfile_path: Optional[str] = None) -> None:
        self.vector_size = vector_size
        self._fresh()
        self._index_to_key: Optional[List[Any]] = [None] * count
        self._key_to_index: Optional[Dict[Any, int]] = {}
        self._vectors: np.ndarray = np.zeros((count, vector_size), dtype=dtype)
        self.next_index = 0
        self.expandos = {}
        self.mapfile_path = mapfile_path

    def _fresh(self) -> None:
        self._handle: Optional[_c.Vectors] = None  # where the keys and rows lie in C; None: here
        self._norms: Optional[np.ndarray] = None
        self._index: Any = None
        self._lock = threading.Lock()

    # ---- what it holds ----

    @classmethod
    def _of(cls, handle: _c.Vectors, writable: bool = False) -> "KeyedVectors":
        """Of vectors of the library's, which stay where they are if their numbers are floats."""
        lib = _c.lib
        kv = cls.__new__(cls)
        kv._fresh()
        kv.vector_size = lib.shoal_vectors_dim(handle)
        kv._handle = handle
        kv._index_to_key = kv._key_to_index = None
        kv._set_rows(handle, writable)
        kv.next_index = lib.shoal_vectors_size(handle)
        kv.expandos = {}
        kv.mapfile_path = None
        vocab = lib.shoal_vectors_vocab(handle)
        if lib.shoal_vocab_total(vocab):
            kv.expandos["count"] = _Later(lambda: counts_of(lib.shoal_vectors_vocab(handle)))
        return kv

    def _set_rows(self, handle: _c.Vectors, writable: bool) -> None:
        self._vectors = _all_rows(handle, writable)

    @property
    def vectors(self) -> np.ndarray:
        """[keys][vector_size]. After a change in place, call fill_norms(force=True)."""
        return self._vectors

    @vectors.setter
    def vectors(self, value: np.ndarray) -> None:
        self._vectors = value
        self._forget()

    def _forget(self) -> None:
        """The rows are others now."""
        self._norms = self._index = None

    @property
    def index_to_key(self) -> List[Any]:
        if self._index_to_key is None:
            with self._lock:
                if self._index_to_key is None:
                    self._index_to_key = words_of(_c.lib.shoal_vectors_vocab(self._handle))
        return self._index_to_key

    @index_to_key.setter
    def index_to_key(self, value: List[Any]) -> None:
        self._own_keys()
        self._index_to_key = value

    @property
    def key_to_index(self) -> Dict[Any, int]:
        if self._key_to_index is None:
            keys = self.index_to_key
            with self._lock:
                if self._key_to_index is None:
                    self._key_to_index = {key: i for i, key in enumerate(keys)}
        return self._key_to_index

    @key_to_index.setter
    def key_to_index(self, value: Dict[Any, int]) -> None:
        self._own_keys()
        self._key_to_index = value

    def _own_keys(self) -> None:
        """From here on keys may differ from those in C."""
        self.index_to_key, self.key_to_index  # noqa: B018 - they are read on the way
        self._handle = None

    def _own_rows(self) -> None:
        """Rows that may be written."""
        if not self._vectors.flags.writeable:
            self.vectors = np.array(self._vectors)

    @property
    def norms(self) -> Optional[np.ndarray]:
        return self._norms

    @norms.setter
    def norms(self, value: Optional[np.ndarray]) -> None:
        self._norms = value

    def __str__(self) -> str:
        return f"{type(self).__name__}<vector_size={self.vector_size}, {len(self)} keys>"

    __repr__ = __str__

    def __len__(self) -> int:
        return len(self._vectors) if self._index_to_key is None else len(self._index_to_key)

    def __getitem__(self, key_or_keys: Any) -> np.ndarray:
        """The vector of a key or an index, or rows for a list of them."""
        if isinstance(key_or_keys, _KEYS):
            return self.get_vector(key_or_keys)
        return np.vstack([self.get_vector(key) for key in key_or_keys])

    def __setitem__(self, keys: Any, weights: Any) -> None:
        if not isinstance(keys, list):
            keys, weights = [keys], np.asarray(weights).reshape(1, -1)
        self.add_vectors(keys, weights, replace=True)

    def __contains__(self, key: Any) -> bool:
        return self.has_index_for(key)

    def __iter__(self) -> Any:
        return iter(self.index_to_key)

    def has_index_for(self, key: Any) -> bool:
        return self.get_index(key, -1) >= 0

    def get_index(self, key: Any, default: Optional[int] = None) -> int:
        """The index of a key; of an index below len(self) that itself."""
        found = None
        if self._key_to_index is not None:
            found = self._key_to_index.get(key)
        elif isinstance(key, str):
            word = _word(key)
            found = None if word is None else _c.lib.shoal_vectors_find(self._handle, word, len(word))
            found = None if found == _abi.SHOAL_NO_ID else found
        if found is not None:
            return found
        if isinstance(key, (int, np.integer)) and 0 <= key < len(self):
            return int(key)
        if default is not None:
            return default
        raise MissingKey(f"Key '{key}' not present", key, self)

    def spelt_like(self, key: str, topn: int = 3) -> List[str]:
        """Keys that are spelt nearly as this one, best first."""
        word = _word(key) if self._handle is not None else None
        if word:
            ids, found = (ctypes.c_uint32 * topn)(), ctypes.c_size_t()
            _c.lib.shoal_spellings(self._handle, word, ids, topn, ctypes.byref(found))
            return [_c.text(_c.lib.shoal_vectors_word(self._handle, ids[i])) for i in range(found.value)]
        import difflib
        some = [k for k in itertools.islice(self.index_to_key, 50000) if isinstance(k, str)]
        return difflib.get_close_matches(key, some, topn, 0.6)

    def get_vector(self, key: Any, norm: bool = False) -> np.ndarray:
        """The vector of a key, of length 1 with `norm`."""
        index = self.get_index(key)
        row = self._vectors[index]
        if norm:
            self.fill_norms()
            row = row / (self._norms[index] or 1)
        else:
            row = row.view()
            row.setflags(write=False)
        return row

    def word_vec(self, *args: Any, **kwargs: Any) -> np.ndarray:
        return self.get_vector(*args, **kwargs)

    def get_mean_vector(self, keys: Any, weights: Any = None, pre_normalize: bool = True,
                        post_normalize: bool = False, ignore_missing: bool = True) -> np.ndarray:
        """The mean of vectors, of keys or given as such, each with its weight."""
        if len(keys) == 0:
            raise ValueError("cannot compute mean with no input")
        if isinstance(weights, list):
            weights = np.array(weights)
        if weights is None:
            weights = np.ones(len(keys))
        if len(keys) != len(weights):
            raise ValueError("keys and weights array must have same number of elements")
        mean = np.zeros(self.vector_size, self._vectors.dtype)
        total = 0
        for key, weight in zip(keys, weights):
            if isinstance(key, np.ndarray):
                mean += weight * key
            elif key in self:
                mean += weight * self.get_vector(key, norm=pre_normalize)
            elif not ignore_missing:
                raise MissingKey(f"Key '{key}' not present in vocabulary", key, self)
            else:
                continue
            total += abs(weight)
        if total > 0:
            mean = mean / total
        return unit(mean).astype(self._vectors.dtype) if post_normalize else mean.astype(self._vectors.dtype)

    # ---- attributes of keys ----

    def allocate_vecattrs(self, attrs: Optional[Sequence[str]] = None, types: Optional[Sequence[Any]] = None) -> None:
        """Room for attributes, as many as there are keys."""
        if attrs is None:
            attrs, types = list(self.expandos), [array.dtype for array in self.expandos.values()]
        for attr, kind in zip(attrs, types or []):
            kind = np.dtype(int if kind is int else kind if kind is not str else object)
            before = self.expandos.get(attr)
            if before is not None and not np.issubdtype(before.dtype, kind) and before.dtype != kind:
                raise TypeError(f"Can't allocate type {kind} for attribute {attr}, conflicts with its existing type "
                                f"{before.dtype}")
            have = 0 if before is None else len(before)
            if before is not None and have == len(self):
                continue
            room = np.zeros(len(self), dtype=kind)
            if have:
                room[:min(have, len(self))] = before[:min(have, len(self))]
            self.expandos[attr] = room

    def set_vecattr(self, key: Any, attr: str, val: Any) -> None:
        """An attribute of a key; all keys get room for it."""
        kind = type(val) if isinstance(val, (int, float, bool)) else object
        self.allocate_vecattrs([attr], [np.int64 if kind is int else kind])
        self._attribute(attr)[self.get_index(key)] = val

    def _attribute(self, attr: str) -> np.ndarray:
        return self.expandos[attr]

    @property
    def expandos(self) -> Dict[str, np.ndarray]:
        """Attributes of keys: by name an array with a value for each."""
        return self._expandos

    @expandos.setter
    def expandos(self, value: Dict[str, Any]) -> None:
        self._expandos = _Attributes(value)

    def get_vecattr(self, key: Any, attr: str) -> Any:
        """KeyError where there is no such attribute, or no such key."""
        return self._attribute(attr)[self.get_index(key)]

    # ---- adding ----

    def resize_vectors(self, seed: int = 0) -> None:
        """A row for each key, new ones short and at random."""
        self.vectors = prep_vectors((len(self), self.vector_size), prior_vectors=self._vectors, seed=seed)
        self.allocate_vecattrs()

    def add_vector(self, key: Any, vector: Any) -> int:
        """Adds one at the next index, or over the one that this key has; gives the index."""
        self._own_keys()
        known = self._key_to_index.get(key)
        if known is not None:
            self.add_vectors([key], [vector], replace=True)
            return known
        if self.next_index < len(self._index_to_key) and self._index_to_key[self.next_index] is None:
            at = self.next_index
            self._own_rows()
            self._index_to_key[at] = key
            self._key_to_index[key] = at
            self._vectors[at] = vector
            self._forget()
        else:
            self.add_vectors([key], [vector])
            at = self._key_to_index[key]
        self.next_index = at + 1
        return at

    def add_vectors(self, keys: Any, weights: Any, extras: Optional[Dict[str, Any]] = None,
                    replace: bool = False) -> None:
        """Adds keys and their vectors; those that are there stay, or are changed with `replace`."""
        if isinstance(keys, _KEYS):
            keys, weights = [keys], np.asarray(weights).reshape(1, -1)
        keys = list(keys)
        weights = np.asarray(weights)
        if weights.ndim == 1:
            weights = weights.reshape(len(keys), -1 if len(keys) else self.vector_size)
        if weights.shape != (len(keys), self.vector_size):
            raise ValueError(f"add_vectors: found vectors of shape {weights.shape}, want "
                             f"{(len(keys), self.vector_size)}")
        self._own_keys()
        self.allocate_vecattrs(list((extras or {}).keys()), [array.dtype for array in (extras or {}).values()])
        known, fresh, seen = [], [], set()
        for i, key in enumerate(keys):
            if key in self._key_to_index:
                known.append(i)
            elif key not in seen:
                seen.add(key)
                fresh.append(i)
        if replace and known:
            self._own_rows()
            at = [self._key_to_index[keys[i]] for i in known]
            self._vectors[at] = weights[known]
            for attr, values in (extras or {}).items():
                self._attribute(attr)[at] = np.asarray(values)[known]
            self._forget()
        if not fresh:
            return
        size = len(self._index_to_key)
        for i in fresh:
            self._key_to_index[keys[i]] = len(self._index_to_key)
            self._index_to_key.append(keys[i])
        self.vectors = np.vstack([self._vectors, weights[fresh].astype(self._vectors.dtype)])
        self.next_index = len(self._index_to_key)
        self.allocate_vecattrs()
        for attr, values in (extras or {}).items():
            self._attribute(attr)[size:] = np.asarray(values)[fresh]

    def vectors_for_all(self, keys: Iterable[Any], allow_inference: bool = True,
                        copy_vecattrs: bool = False) -> "KeyedVectors":
        """Those of the given keys that have vectors, as vectors of their own; without `allow_inference` those of
        keys that are here."""
        chosen = [key for key in dict.fromkeys(keys) if (key in self if allow_inference else self.has_index_for(key))]
        out = KeyedVectors(self.vector_size, dtype=self._vectors.dtype)
        if chosen:
            out.add_vectors(chosen, np.vstack([self.get_vector(key) for key in chosen]))
        if copy_vecattrs:
            known = [place for place, key in enumerate(chosen) if self.has_index_for(key)]
            here = [self.get_index(chosen[place]) for place in known]
            for attr in self.expandos:
                values = self._attribute(attr)[here]
                out.allocate_vecattrs([attr], [values.dtype])
                out.expandos[attr][known] = values
        else:
            out.allocate_vecattrs(["count"], [np.int64])
        return out

    def sort_by_descending_frequency(self) -> None:
        """Orders keys by their attribute "count", commonest first."""
        if not len(self):
            return
        order = np.argsort(-self._attribute("count"), kind="stable")
        keys = [self.index_to_key[i] for i in order]
        self._own_keys()
        self._index_to_key = keys
        self._key_to_index = {key: i for i, key in enumerate(keys)}
        for attr in self.expandos:
            self.expandos[attr] = self._attribute(attr)[order]
        if len(self._vectors) == len(order):
            self.vectors = self._vectors[order]

    # ---- lengths ----

    def fill_norms(self, force: bool = False) -> None:
        """Computes the lengths of all rows, if they are not there or with `force`."""
        if self._norms is None or force:
            norms = np.sqrt(np.einsum("ij,ij->i", self._vectors, self._vectors, dtype=np.float32)) \
                if self._vectors.dtype == REAL else np.linalg.norm(self._vectors.astype(np.float32), axis=1)
            self._index = None
            self._norms = norms

    def get_normed_vectors(self) -> np.ndarray:
        """A copy of the rows, each of length 1."""
        self.fill_norms()
        return self._vectors / np.where(self._norms > 0, self._norms, 1)[:, np.newaxis]

    def unit_normalize_all(self) -> None:
        """Makes all rows of length 1."""
        self.vectors = self.get_normed_vectors().astype(self._vectors.dtype)

    def init_sims(self, replace: bool = False) -> None:
        self.fill_norms()
        if replace:
            self.unit_normalize_all()

    # ---- what is nearest ----

    def _searched(self) -> Optional["_Index"]:
        """The rows made ready for the library's search; None where they are few, or too many for a second
        copy in bytes."""
        rows = self._vectors
        index = self._index
        if index is not None and index.rows is rows:
            return index if index.pointer_or_none else None
        if rows.dtype != REAL or not INDEX_LEAST <= rows.size <= INDEX_MOST:
            return None
        with self._lock:
            if self._index is None or self._index.rows is not rows:
                self._index = _Index(rows)
        return self._index if self._index.pointer_or_none else None

    def _nearest(self, query: np.ndarray, topn: int, skip: Sequence[int], start: int,
                 end: int) -> List[Tuple[Any, float]]:
        """The rows start <= i < end nearest to a unit vector, but those to skip."""
        index = self._searched() if 0 <= start < end and topn <= 1000 and query.any() else None
        if index is not None:
            found = index.nearest(query, topn, skip, start, end)
            keys = self.index_to_key if self._index_to_key is not None or self._handle is None else None
            if keys is not None:
                return [(keys[hit.id], hit.score) for hit in found]
            word = _c.lib.shoal_vectors_word
            return [(_c.text(word(self._handle, hit.id)), hit.score) for hit in found]
        scores = self._scores(query, start, end)
        keys = self.index_to_key
        left_out = set(skip)
        best = _best(scores, topn + len(left_out))
        return [(keys[i + start], float(scores[i])) for i in best.tolist() if i + start not in left_out][:topn]

    def _scores(self, query: np.ndarray, start: int = 0, end: Optional[int] = None) -> np.ndarray:
        """The cosines of rows with a unit vector."""
        self.fill_norms()
        norms = self._norms[start:end]
        return np.dot(self._vectors[start:end], query) / np.where(norms > 0, norms, 1)

    def most_similar(self, positive: Keys = None, negative: Keys = None, topn: Optional[int] = 10,
                     clip_start: int = 0, clip_end: Optional[int] = None, restrict_vocab: Optional[int] = None,
                     indexer: Any = None) -> Any:
        """The keys whose vectors lie nearest to the mean of `positive` minus `negative`, by cosine.

        Both may be keys, vectors, or pairs (key or vector, weight). `restrict_vocab` is for the first so
        many keys alone, `clip_start` and `clip_end` for a range of them. `indexer`, as `index()` gives one,
        answers approximately, with the keys of the question among the others. Gives pairs (key, similarity);
        with topn=None the similarities of all keys.
        """
        if isinstance(topn, Integral) and topn < 1:
            return []
        positive, negative = _as_list(positive), _as_list(negative)
        if not positive and not negative:
            raise ValueError("cannot compute mean with no input")
        keys, weights = [], []
        for sign, items in ((1.0, positive), (-1.0, negative)):
            for item in items:
                if isinstance(item, tuple):
                    keys.append(item[0])
                    weights.append(sign * item[1])
                else:
                    keys.append(item)
                    weights.append(sign)
        mean = self.get_mean_vector(keys, weights, pre_normalize=True, post_normalize=True, ignore_missing=False)
        if restrict_vocab:
            clip_start, clip_end = 0, restrict_vocab
        clip_end = len(self) if clip_end is None else min(clip_end, len(self))
        if indexer is not None and topn is not None:
            return indexer.most_similar(mean, topn)
        if topn is None:
            return self._scores(mean, clip_start, clip_end)
        asked = [self.get_index(key) for key in keys if isinstance(key, _KEYS) and self.has_index_for(key)]
        return self._nearest(mean, int(topn), asked, clip_start, clip_end)

    def index(self, **options: Any) -> Any:
        """An index for most_similar(..., indexer=index): similarities.HnswIndexer of these vectors."""
        from ..similarities import HnswIndexer

        return HnswIndexer(self, **options)

    def similar_by_word(self, word: Key, topn: Optional[int] = 10, restrict_vocab: Optional[int] = None) -> Any:
        return self.similar_by_key(word, topn, restrict_vocab)

    def similar_by_key(self, key: Key, topn: Optional[int] = 10, restrict_vocab: Optional[int] = None) -> Any:
        return self.most_similar(positive=[key], topn=topn, restrict_vocab=restrict_vocab)

    def similar_by_vector(self, vector: np.ndarray, topn: Optional[int] = 10,
                          restrict_vocab: Optional[int] = None) -> Any:
        return self.most_similar(positive=[vector], topn=topn, restrict_vocab=restrict_vocab)

    def most_similar_cosmul(self, positive: Keys = None, negative: Keys = None, topn: Optional[int] = 10,
                            restrict_vocab: Optional[int] = None) -> Any:
        """The same by products of cosines (Levy and Goldberg 2014): 3CosMul."""
        if isinstance(topn, Integral) and topn < 1:
            return []
        positive, negative = _as_list(positive), _as_list(negative)
        parts = [[key if isinstance(key, np.ndarray) else self.get_vector(key, norm=True) for key in keys]
                 for keys in (positive, negative)]
        asked = [self.get_index(key) for key in itertools.chain(positive, negative)
                 if isinstance(key, _KEYS) and self.has_index_for(key)]
        if not parts[0]:
            raise ValueError("cannot compute similarity with no input")
        end = min(restrict_vocab, len(self)) if restrict_vocab else len(self)
        ups = [(1 + self._scores(vector, 0, end)) / 2 for vector in parts[0]]
        downs = [(1 + self._scores(vector, 0, end)) / 2 for vector in parts[1]]
        scores = np.prod(ups, axis=0) / (np.prod(downs, axis=0) + 0.000001)
        if topn is None:
            return scores
        keys, left_out = self.index_to_key, set(asked)
        return [(keys[i], float(scores[i])) for i in _best(scores, int(topn) + len(left_out)).tolist()
                if i not in left_out][:int(topn)]

    # ---- how similar ----

    @staticmethod
    def cosine_similarities(vector_1: np.ndarray, vectors_all: np.ndarray) -> np.ndarray:
        """The cosines of a vector with each row."""
        lengths = np.linalg.norm(vectors_all, axis=1) * np.linalg.norm(vector_1)
        return np.dot(vectors_all, vector_1) / lengths

    def distances(self, word_or_vector: Any, other_words: Sequence[Any] = ()) -> np.ndarray:
        """1 - cosine to all keys, or to the given ones."""
        vector = self.get_vector(word_or_vector) if isinstance(word_or_vector, _KEYS) else word_or_vector
        if not other_words:
            return 1 - self.cosine_similarities(vector, self._vectors)
        rows = np.vstack([self.get_vector(word) for word in other_words])
        return 1 - self.cosine_similarities(vector, rows)

    def distance(self, w1: Key, w2: Key) -> float:
        return 1 - self.similarity(w1, w2)

    def similarity(self, w1: Key, w2: Key) -> Any:
        """The cosine of two keys."""
        return cosine(self.get_vector(w1), self.get_vector(w2))

    def n_similarity(self, ws1: Sequence[Key], ws2: Sequence[Key]) -> Any:
        """The cosine of the means of two sets of keys; keys that are not there are left out."""
        if not (len(ws1) and len(ws2)):
            raise ZeroDivisionError("At least one of the passed list is empty.")
        means = [self.get_mean_vector(keys, pre_normalize=False) for keys in (ws1, ws2)]
        return cosine(means[0], means[1])

    def most_similar_to_given(self, key1: Key, keys_list: Sequence[Key]) -> Key:
        """The one of a list that is nearest to a key."""
        return keys_list[int(np.argmax([self.similarity(key1, key) for key in keys_list]))]

    def relative_cosine_similarity(self, wa: Key, wb: Key, topn: int = 10) -> float:
        """The similarity of two keys, beside the sum of those of the first one's nearest."""
        return float(self.similarity(wa, wb) / sum(score for _, score in self.similar_by_word(wa, topn)))

    def closer_than(self, key1: Key, key2: Key) -> List[Any]:
        """The keys that lie nearer to key1 than key2 does."""
        distances = self.distances(key1)
        closer = np.flatnonzero(distances < distances[self.get_index(key2)])
        own = self.get_index(key1)
        return [self.index_to_key[i] for i in closer.tolist() if i != own]

    def words_closer_than(self, word1: Key, word2: Key) -> List[Any]:
        return self.closer_than(word1, word2)

    def rank(self, key1: Key, key2: Key) -> int:
        """How many keys lie as near to key1 as key2 does, or nearer."""
        return len(self.closer_than(key1, key2)) + 1

    def rank_by_centrality(self, words: Sequence[Key], use_norm: bool = True) -> List[Tuple[float, Any]]:
        """The words by their nearness to the mean of all of them, nearest first."""
        self.fill_norms()
        known = [word for word in words if word in self]
        if not known:
            raise ValueError("cannot select a word from an empty list")
        rows = np.vstack([self.get_vector(word, norm=use_norm) for word in known])
        fits = np.dot(rows, unit(rows.mean(axis=0)))
        return sorted(zip(fits, known), reverse=True)

    def doesnt_match(self, words: Sequence[Key]) -> Any:
        """The word that fits the others least.

        >>> kv = KeyedVectors(2)
        >>> kv.add_vectors(["cat", "dog", "tax"], [[1, 0], [0.9, 0.1], [0, 1]])
        >>> kv.doesnt_match(["cat", "dog", "tax"])
        'tax'
        """
        return self.rank_by_centrality(words)[-1][1]

    def wmdistance(self, document1: Sequence[str], document2: Sequence[str], norm: bool = True) -> float:
        """The Word Mover's Distance of two texts; needs the package pyemd."""
        from pyemd import emd
        document1 = [token for token in document1 if token in self]
        document2 = [token for token in document2 if token in self]
        if not document1 or not document2:
            return float("inf")
        tokens = sorted(set(document1) | set(document2), key=str)
        if len(tokens) == 1:
            return 0.0
        rows = np.vstack([self.get_vector(token, norm=norm) for token in tokens]).astype(np.float64)
        apart = np.sqrt(np.maximum(((rows[:, None] - rows[None]) ** 2).sum(axis=2), 0))
        if apart.sum() < 1e-8:
            return float("inf")
        weights = [np.array([document.count(token) / len(document) for token in tokens])
                   for document in (document1, document2)]
        return emd(weights[0], weights[1], apart)

    # ---- how well they answer ----

    def evaluate_word_analogies(self, analogies: Any, restrict_vocab: Optional[int] = 300000,
                                case_insensitive: bool = True, dummy4unknown: bool = False,
                                similarity_function: Any = "most_similar") -> Tuple[float, List[Dict[str, Any]]]:
        """The share of analogies that are answered right, and those right and wrong of each section."""
        from . import evaluation
        return evaluation.analogies(self, analogies, restrict_vocab, case_insensitive, dummy4unknown,
                                    similarity_function)

    def evaluate_word_pairs(self, pairs: Any, delimiter: str = "\t", encoding: str = "utf8",
                            restrict_vocab: Optional[int] = 300000, case_insensitive: bool = True,
                            dummy4unknown: bool = False) -> Tuple[Any, Any, float]:
        """How similarities agree with people's: Pearson's r and Spearman's rho, each with its p, and the
        percentage of pairs with unknown words."""
        from . import evaluation
        return evaluation.pairs(self, pairs, delimiter, encoding, restrict_vocab, case_insensitive, dummy4unknown)

    @staticmethod
    def log_accuracy(section: Dict[str, Any]) -> float:
        """The share that is right of a section."""
        right, wrong = len(section["correct"]), len(section["incorrect"])
        if right + wrong == 0:
            return 0.0
        logger.info("%s: %.1f%% (%i/%i)", section["section"], 100 * right / (right + wrong), right, right + wrong)
        return right / (right + wrong)

    _log_evaluate_word_analogies = log_accuracy

    # ---- files ----

    def save(self, fname: Any, *args: Any, **kwargs: Any) -> None:
        """To a file that `load` reads: our own format where it can hold them, and the program `shoal`
        opens it too; else a pickle."""
        fname = os.fspath(fname) if not hasattr(fname, "write") else fname
        words = c_words(self.index_to_key) if self._vectors.dtype == REAL and len(self) and \
            set(self.expandos) <= {"count"} and not hasattr(fname, "write") else None
        if words is None or not np.isfinite(self._vectors).all():
            with (open(fname, "wb") if not hasattr(fname, "write") else _Same(fname)) as file:
                pickle.dump(self, file, protocol=4)
            return
        self._save_ours(fname, words)

    def _save_ours(self, fname: Any, words: List[str]) -> None:
        with self._as_vectors(words) as vectors:
            opts = _c.save_opts("shoal")
            _c.lib.shoal_vectors_save(vectors, _c.path_bytes(fname), ctypes.byref(opts))

    def _as_vectors(self, words: List[str], hidden: Optional[np.ndarray] = None) -> _c.Vectors:
        """A copy as vectors of the library's."""
        counts = self._attribute("count") if "count" in self.expandos else None
        with vocab_of(words, counts) as vocab:
            rows, kept = matrix_of(self._vectors, vocab)
            more, also = (None, None) if hidden is None else matrix_of(hidden)
            return _c.opened(_c.Vectors, _c.lib.shoal_vectors_new, ctypes.byref(rows),
                             None if more is None else ctypes.byref(more))

    @classmethod
    def load(cls, fname: Any, mmap: Optional[str] = None) -> "KeyedVectors":
        """What `save` wrote, or vectors in any format that the library knows; a file of ours is mapped,
        which takes no time and no memory."""
        if not hasattr(fname, "read"):
            with open(fname, "rb") as file:
                if file.read(1) != b"\x80":  # which begins a pickle
                    return keyed(_c.opened(_c.Vectors, _c.lib.shoal_vectors_map, _c.path_bytes(fname)))
        from .saved import load
        found = load(fname)
        found = getattr(found, "wv", found)
        if not isinstance(found, KeyedVectors):
            raise TypeError(f"{fname}: found {type(found).__name__}, want KeyedVectors")
        return found

    def save_word2vec_format(self, fname: Any, fvocab: Any = None, binary: bool = False,
                             total_vec: Optional[int] = None, write_header: bool = True, prefix: str = "",
                             append: bool = False, sort_attr: str = "count") -> None:
        """As word2vec.c writes them, text or binary; keys by `sort_attr`, highest first."""
        from . import formats
        formats.save_word2vec(self, fname, fvocab, binary, total_vec, write_header, prefix, append, sort_attr)

    @classmethod
    def load_word2vec_format(cls, fname: Any, fvocab: Any = None, binary: bool = False, encoding: str = "utf8",
                             unicode_errors: str = "strict", limit: Optional[int] = None, datatype: Any = REAL,
                             no_header: bool = False) -> "KeyedVectors":
        """Vectors in the formats of word2vec.c, compressed or not; `no_header` for GloVe's."""
        return _load_word2vec_format(cls, fname, fvocab=fvocab, binary=binary, encoding=encoding,
                                     unicode_errors=unicode_errors, limit=limit, datatype=datatype,
                                     no_header=no_header)

    def intersect_word2vec_format(self, fname: Any, lockf: float = 0.0, binary: bool = False, encoding: str = "utf8",
                                  unicode_errors: str = "strict") -> None:
        """Takes over the vectors of keys that are here too; training changes them by the factor `lockf`."""
        other = _load_word2vec_format(KeyedVectors, fname, binary=binary, encoding=encoding,
                                      unicode_errors=unicode_errors)
        if other.vector_size != self.vector_size:
            raise ValueError(f"incompatible vector size {other.vector_size} in file {fname}")
        shared = [key for key in other.index_to_key if key in self]
        self._own_rows()
        rows = [self.get_index(key) for key in shared]
        if rows:
            self._vectors[rows] = np.vstack([other.get_vector(key) for key in shared])
        locks = getattr(self, "vectors_lockf", None)
        if locks is None or len(locks) != len(self):
            locks = np.ones(len(self), dtype=REAL)
        locks[rows] = lockf
        self.vectors_lockf = locks
        self._forget()

    # ---- pickling ----

    def __getstate__(self) -> Dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items()
                 if name not in ("_handle", "_index", "_lock", "_norms")}
        state["_index_to_key"], state["_key_to_index"] = list(self.index_to_key), None
        state["_vectors"] = np.ascontiguousarray(self._vectors)
        state["_expandos"] = dict(self.expandos.items())
        return state

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self._fresh()
        self.__dict__.update(state)
        self.expandos = self._expandos
        self._key_to_index = {key: i for i, key in enumerate(self._index_to_key)}

    # ---- names that gensim 4 took away, with its advice ----

    def _gone(self, instead: str) -> Any:
        raise AttributeError(f"found a name of gensim 3, want {instead}")

    vocab = property(lambda self: self._gone("key_to_index, or get_vecattr(key, 'count')"))
    index2word = property(lambda self: self._gone("index_to_key"))
    index2entity = property(lambda self: self._gone("index_to_key"))
    vectors_norm = property(lambda self: self._gone("get_normed_vectors()"))


class _Index(_c.Handle):
    """Rows made ready for many questions (shoal_index), and the array that it borrows."""

    _end = "shoal_index_free"

    def __init__(self, rows: np.ndarray) -> None:
        self.rows = rows
        matrix, kept = matrix_of(rows)
        out = ctypes.c_void_p()
        self.pointer_or_none: Optional[int] = None
        try:
            _c.lib.shoal_index_new(ctypes.byref(out), ctypes.byref(matrix), 0)
        except _c.InvalidError:  # a NaN: then NumPy is asked
            return
        super().__init__(out, keeps=kept)
        self.pointer_or_none = out.value

    def nearest(self, query: np.ndarray, topn: int, skip: Sequence[int], start: int, end: int) -> Any:
        query = np.ascontiguousarray(query, dtype=REAL)
        hits, found = (_abi.shoal_hit * topn)(), ctypes.c_size_t()
        left_out = (ctypes.c_uint32 * len(skip))(*skip)
        _c.lib.shoal_index_nearest(self.pointer_or_none, query.ctypes.data, left_out, len(skip), start, end, 0, hits,
                                   topn, ctypes.byref(found))
        return hits[:found.value]


class _Later:
    """An array that is made when it is asked for."""

    def __init__(self, make: Callable[[], np.ndarray]) -> None:
        self.make = make


class _Attributes(Dict[str, Any]):
    """Arrays by name, of which some are made when they are asked for."""

    def __getitem__(self, name: str) -> np.ndarray:
        value = super().__getitem__(name)
        if isinstance(value, _Later):
            value = self[name] = value.make()
        return value

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default

    def values(self) -> Any:
        return [self[name] for name in self]

    def items(self) -> Any:
        return [(name, self[name]) for name in self]

    def __reduce__(self) -> Any:
        return dict, (list(self.items()),)


class _Same:
    """A file that stays open behind `with`."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def __enter__(self) -> Any:
        return self.file

    def __exit__(self, *_: Any) -> None:
        pass


def keyed(handle: _c.Vectors) -> KeyedVectors:
    """Vectors of the library's by key: those with n-grams answer for words that were never seen."""
    if _c.lib.shoal_vectors_subwords(handle).maxn == 0:
        return KeyedVectors._of(handle)
    from .fasttext import FastTextKeyedVectors
    return FastTextKeyedVectors._of(handle)


def _all_rows(handle: _c.Vectors, writable: bool) -> np.ndarray:
    lib = _c.lib
    size, dim = lib.shoal_vectors_size(handle), lib.shoal_vectors_dim(handle)
    if lib.shoal_vectors_dtype(handle) == _abi.SHOAL_F32:
        matrix = _abi.shoal_matrix()
        lib.shoal_vectors_matrix(handle, ctypes.byref(matrix))
        return rows_of(matrix, handle, writable)
    rows = np.empty((size, dim), dtype=REAL)
    for i in range(size):
        lib.shoal_vectors_row(handle, i, rows[i].ctypes.data)
    return rows


def _load_word2vec_format(cls: Any, fname: Any, fvocab: Any = None, binary: bool = False, encoding: str = "utf8",
                          unicode_errors: str = "strict", limit: Optional[int] = None, datatype: Any = REAL,
                          no_header: bool = False, binary_chunk_size: int = 100 * 1024) -> Any:
    from . import formats
    return formats.load_word2vec(cls, fname, fvocab, binary, encoding, unicode_errors, limit, datatype, no_header)


Word2VecKeyedVectors = KeyedVectors
EuclideanKeyedVectors = KeyedVectors

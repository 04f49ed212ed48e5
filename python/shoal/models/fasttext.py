"""FastText by gensim's names: words are made of their n-grams, so those never seen have vectors too.

What this is: `FastText` trains as Word2Vec does, with rows of n-grams beside those of words. Models of fastText's
(`.bin`, `.ftz`) are read and written. A word's vector is the mean of a row of its own and of its n-grams'; an unknown
word's is the mean of its n-grams' rows.
Who owns what: vectors that were read keep their file, which is mapped: rows are composed when they are asked for.
Threads: as of Word2Vec and KeyedVectors.
"""
import ctypes
import logging
import os
import struct
from typing import Any, Dict, Iterable, List, Optional, Sequence

import numpy as np

from .. import _abi, _c
from . import _corpus
from ._corpus import Rule
from .formats import open_bytes
from .keyedvectors import (KeyedVectors, MissingKey, REAL, _all_rows, c_words, keyed, matrix_of, rows_of, unit, vocab_of)
from .word2vec import MAX_WORDS_IN_BATCH, Word2Vec, first_rows

__all__ = ["FastText", "FastTextKeyedVectors", "ft_ngram_hashes", "load_facebook_model", "load_facebook_vectors",
           "save_facebook_model"]

logger = logging.getLogger(__name__)

BLOCK = 1 << 16  # rows of n-grams that are looked at together


def ft_ngram_hashes(word: str, minn: int, maxn: int, num_buckets: int) -> List[int]:
    """The buckets of a word's n-grams, by fastText's hash.

    >>> ft_ngram_hashes("cat", 3, 3, 1000)
    [747, 31, 106]
    """
    return _hashes(word, _abi.shoal_subwords(max(minn, 1), maxn if maxn >= minn else 0, num_buckets)).tolist()


def _hashes(word: str, how: _abi.shoal_subwords) -> np.ndarray:
    text = word.encode("utf-8", "surrogateescape")
    room = np.empty(8 * (len(text) + 2), dtype=np.uint32)
    n = _c.lib.shoal_subwords_list(ctypes.byref(how), text, len(text), room.ctypes.data, len(room))
    if n > len(room):
        room = np.empty(n, dtype=np.uint32)
        _c.lib.shoal_subwords_list(ctypes.byref(how), text, len(text), room.ctypes.data, n)
    return room[:n]


# ---- Vectors -------------------------------------------------------------------------------------


class FastTextKeyedVectors(KeyedVectors):
    """Keys, their vectors, and rows of n-grams of which other words are made.

    >>> model = FastText([["fisher", "fishing"], ["farmer", "farming"]] * 20, vector_size=8, min_count=1, bucket=500,
    ...                  epochs=2)
    >>> "fish" in model.wv, "fish" in model.wv.key_to_index, model.wv["fish"].shape
    (True, False, (8,))
    """

    def __init__(self, vector_size: int, min_n: int, max_n: int, bucket: int, count: int = 0, dtype: Any = REAL) -> None:
        self.min_n, self.max_n, self.bucket = min_n, max_n, bucket if max_n >= min_n else 0
        super().__init__(vector_size, count, dtype)
        self.vectors_vocab_lockf = self.vectors_ngrams_lockf = np.ones(1, dtype=REAL)
        self.compatible_hash = True

    def _fresh(self) -> None:
        super()._fresh()
        self._rows: Optional[np.ndarray] = None      # None: in C, composed when somebody asks for all
        self._grams: Optional[np.ndarray] = None     # None: in C (_composer), or all of them zeros
        self._own: Optional[np.ndarray] = None       # vectors_vocab, once somebody asked
        self._composer: Optional[_c.Vectors] = None
        self._read: Optional[_c.Vectors] = None      # all of it is still as it was read from there

    # ---- rows ----

    @property
    def _vectors(self) -> np.ndarray:  # type: ignore[override]
        if self._rows is None:
            with self._lock:
                if self._rows is None:
                    self._rows = _all_rows(self._composer, False)
        return self._rows

    @_vectors.setter
    def _vectors(self, rows: np.ndarray) -> None:
        self._rows, self._own, self._read = rows, None, None

    def _set_rows(self, handle: _c.Vectors, writable: bool) -> None:
        how = _c.lib.shoal_vectors_subwords(handle)
        self.min_n, self.max_n, self.bucket = how.minn, how.maxn, how.buckets if how.maxn else 0
        self.vectors_vocab_lockf = self.vectors_ngrams_lockf = np.ones(1, dtype=REAL)
        self.compatible_hash = True
        self._composer = self._read = handle

    def _own_keys(self) -> None:
        self._vectors  # noqa: B018 - composed while C still has the keys
        super()._own_keys()

    def __len__(self) -> int:
        if self._index_to_key is None:
            return _c.lib.shoal_vectors_size(self._handle)
        return len(self._index_to_key)

    @property
    def how(self) -> _abi.shoal_subwords:
        """What n-grams there are, as the library has it."""
        return _abi.shoal_subwords(max(self.min_n, 1), self.max_n if self.bucket else 0, self.bucket)

    @property
    def vectors_ngrams(self) -> np.ndarray:
        """The rows of n-grams [bucket][vector_size]. Those of a file are copied."""
        if self._grams is None:
            self._grams = np.zeros((self.bucket, self.vector_size), dtype=REAL)
            if self._composer is not None:
                _c.lib.shoal_vectors_gram_rows(self._composer, 0, self.bucket, self._grams.ctypes.data)
        return self._grams

    @vectors_ngrams.setter
    def vectors_ngrams(self, rows: Optional[np.ndarray]) -> None:
        if rows is not None and rows.shape != (self.bucket, self.vector_size):
            raise ValueError(f"vectors_ngrams: found shape {rows.shape}, want {(self.bucket, self.vector_size)}")
        self._vectors  # noqa: B018 - those of C are composed of the rows before
        self._grams, self._composer, self._read = rows, None, None

    @property
    def buckets_word(self) -> List[np.ndarray]:
        """For each key the buckets of its n-grams."""
        how = self.how
        return [_hashes(key, how) for key in self.index_to_key]

    def _sums(self) -> "tuple[np.ndarray, np.ndarray]":
        """Of each key what its n-grams' rows add up to, and how many there are."""
        sums, counts, grams = np.zeros(self._vectors.shape, dtype=REAL), np.zeros(len(self), dtype=REAL), None
        if self.bucket:
            grams = self.vectors_ngrams
            for i, buckets in enumerate(self.buckets_word):
                sums[i], counts[i] = grams[buckets].sum(axis=0), len(buckets)
        return sums, counts

    @property
    def vectors_vocab(self) -> np.ndarray:
        """The rows that words have for themselves. After a change call adjust_vectors()."""
        if self._own is None:
            sums, counts = self._sums()
            self._own = self._vectors * (counts + 1)[:, None] - sums
        return self._own

    @vectors_vocab.setter
    def vectors_vocab(self, rows: np.ndarray) -> None:
        self._own = rows
        self.adjust_vectors()

    def adjust_vectors(self) -> None:
        """Composes the vectors of keys anew of their own rows and their n-grams'."""
        own = self.vectors_vocab
        if len(own) != len(self._vectors):
            self._rows = np.zeros(own.shape, dtype=REAL)
        sums, counts = self._sums()
        self.vectors = ((own + sums) / (counts + 1)[:, None]).astype(REAL)
        self._own = own

    def recalc_char_ngram_buckets(self) -> None:
        """Nothing is kept of them here."""

    # ---- asking ----

    def __contains__(self, word: Any) -> bool:
        """Whether it has a vector: with n-grams every word has."""
        return self.bucket > 0 and isinstance(word, str) or self.has_index_for(word)

    def get_vector(self, word: Any, norm: bool = False) -> np.ndarray:
        """The vector of a word, known or not; of one that has no n-grams, zeros."""
        index = self.get_index(word, -1)
        if index >= 0 and self._rows is None:
            row = np.empty(self.vector_size, dtype=REAL)
            _c.lib.shoal_vectors_row(self._composer, index, row.ctypes.data)
            return unit(row) if norm else row
        if index >= 0:
            return super().get_vector(index, norm=norm)
        if not self.bucket:
            raise MissingKey("cannot calculate vector for OOV word without ngrams", word, self)
        if not isinstance(word, str):
            raise MissingKey(f"Key '{word}' not present", word, self)
        row = self._compose(word)
        return unit(row) if norm else row

    def _compose(self, word: str) -> np.ndarray:
        if self._composer is not None:
            row, text = np.zeros(self.vector_size, dtype=REAL), word.encode("utf-8", "surrogateescape")
            try:
                _c.lib.shoal_vectors_compose(self._composer, text, len(text), row.ctypes.data, None)
            except _c.NotFoundError:
                row[:] = 0
            return row
        buckets = _hashes(word, self.how)
        if not len(buckets):
            logger.warning("could not extract any ngrams from %r, returning origin vector", word)
        if not len(buckets) or self._grams is None:
            return np.zeros(self.vector_size, dtype=REAL)
        return self._grams[buckets].sum(axis=0) / REAL(len(buckets))

    def get_sentence_vector(self, sentence: Sequence[Any]) -> np.ndarray:
        """The mean of the words' directions."""
        return self.get_mean_vector(sentence)

    def resize_vectors(self, seed: int = 0) -> None:
        """A row for each key, new ones at random."""
        have = len(self._vectors)
        self.vectors = np.vstack([self._vectors, first_rows(range(have, len(self)), self.vector_size, seed)])
        self.allocate_vecattrs()

    # ---- files ----

    @property
    def is_as_read(self) -> bool:
        """Whether nothing can have changed since it was read from a file."""
        return self._read is not None and self._handle is self._read and self._grams is None and self._own is None

    def as_library(self, hidden: Optional[np.ndarray] = None) -> _c.Vectors:
        """All of it as vectors of the library's: those that were read, or a copy."""
        words = c_words(self.index_to_key)
        if words is None or not len(self):
            raise ValueError("FastText: found keys that are no words, want strings")
        if hidden is None and self.is_as_read:
            return self._read
        counts = self._attribute("count") if "count" in self.expandos else None
        with vocab_of(words, counts) as vocab:
            given, kept = matrix_of(self._vectors, vocab)
            return _made(self, given, hidden)

    def save(self, fname: Any, *args: Any, **kwargs: Any) -> None:
        """To a file that `load` reads: our own format, which the program opens too; a pickle where something else
        than counts is kept of keys."""
        plain = not hasattr(fname, "write") and len(self) and set(self.expandos) <= {"count"} and \
            self._vectors.dtype == REAL and c_words(self.index_to_key) is not None
        if not plain or not self.bucket or not np.isfinite(self._vectors).all():
            super().save(fname, *args, **kwargs)
            return
        _c.lib.shoal_vectors_save(self.as_library(), _c.path_bytes(fname), ctypes.byref(_c.save_opts("shoal")))

    def __getstate__(self) -> Dict[str, Any]:
        state = super().__getstate__()
        for name in ("_own", "_composer", "_read", "_rows"):
            state.pop(name, None)
        state["_grams"] = _packed(self._grams if self._composer is None else self.vectors_ngrams)
        return state

    def __setstate__(self, state: Dict[str, Any]) -> None:
        state = dict(state)
        rows, grams = state.pop("_vectors"), state.pop("_grams")
        super().__setstate__(state)
        self._rows = rows
        if grams is not None:
            self._grams = np.zeros((self.bucket, self.vector_size), dtype=REAL)
            self._grams[grams[0]] = grams[1]


FastTextKeyedVectors.__init__.__doc__ = "Without keys at first; min_n to max_n characters of n-grams, bucket rows."


def _packed(grams: Optional[np.ndarray]) -> Any:
    """The rows that are not zero, and which they are: most n-grams were never met."""
    if grams is None:
        return None
    used = [begin + np.flatnonzero(grams[begin:begin + BLOCK].any(axis=1)) for begin in range(0, len(grams), BLOCK)]
    places = np.concatenate(used) if used else np.zeros(0, dtype=np.int64)
    return places, np.ascontiguousarray(grams[places])


def _made(wv: FastTextKeyedVectors, rows: _abi.shoal_matrix, hidden: Any) -> _c.Vectors:
    """Vectors of the library's of these rows and the n-grams' that wv has; hidden is an array or what C takes."""
    kept = None
    if isinstance(hidden, np.ndarray):
        more, kept = matrix_of(hidden)
        hidden = ctypes.byref(more)
    grams, also = matrix_of(wv.vectors_ngrams)
    return _c.opened(_c.Vectors, _c.lib.shoal_vectors_new_subwords, ctypes.byref(rows), ctypes.byref(grams),
                     ctypes.byref(wv.how), hidden)


# ---- The model -----------------------------------------------------------------------------------


class FastText(Word2Vec):
    """Word vectors with n-grams of characters, by skip-gram or CBOW.

    >>> sentences = [["walking", "talking"], ["walked", "talked"], ["walks", "talks"]] * 30
    >>> model = FastText(sentences, vector_size=16, window=2, min_count=1, bucket=1000, epochs=5)
    >>> len(model.wv), model.wv["walker"].shape, model.wv.most_similar("walker", topn=1)[0][0] in model.wv.key_to_index
    (6, (16,), True)
    """

    wv: FastTextKeyedVectors

    def __init__(self, sentences: Optional[Iterable[Sequence[Any]]] = None, corpus_file: Any = None, sg: int = 0,
                 hs: int = 0, vector_size: int = 100, alpha: float = 0.025, window: int = 5, min_count: int = 5,
                 max_vocab_size: Optional[int] = None, word_ngrams: int = 1, sample: float = 1e-3,
                 seed: Optional[int] = 1,
                 workers: int = 3, min_alpha: float = 0.0001, negative: int = 5, ns_exponent: float = 0.75,
                 cbow_mean: int = 1, hashfxn: Any = hash, epochs: int = 5, null_word: int = 0, min_n: int = 3,
                 max_n: int = 6, sorted_vocab: int = 1, bucket: int = 2000000, trim_rule: Rule = None,
                 batch_words: int = MAX_WORDS_IN_BATCH, callbacks: Sequence[Any] = (),
                 max_final_vocab: Optional[int] = None, shrink_windows: bool = True) -> None:
        if word_ngrams != 1:
            raise NotImplementedError("FastText: found word_ngrams other than 1, want 1: n-grams of words are for "
                                      "shoal.TextClassifier")
        self.word_ngrams = word_ngrams
        self._subwords = min_n, max_n, bucket
        super().__init__(sentences=sentences, corpus_file=corpus_file, vector_size=vector_size, alpha=alpha,
                         window=window, min_count=min_count, max_vocab_size=max_vocab_size, sample=sample, seed=seed,
                         workers=workers, min_alpha=min_alpha, sg=sg, hs=hs, negative=negative,
                         ns_exponent=ns_exponent, cbow_mean=cbow_mean, hashfxn=hashfxn, epochs=epochs,
                         null_word=null_word, trim_rule=trim_rule, sorted_vocab=sorted_vocab,
                         batch_words=batch_words, callbacks=callbacks, max_final_vocab=max_final_vocab,
                         shrink_windows=shrink_windows)

    def _no_vectors(self) -> FastTextKeyedVectors:
        return FastTextKeyedVectors(self.vector_size, *self._subwords)

    def _new_keys(self, words: List[Any], counts: np.ndarray) -> None:
        _check_words(words)
        super()._new_keys(words, counts)
        self.wv._grams = self.wv._composer = None

    def _more_keys(self, kept: Dict[Any, int], raw: Dict[Any, int]) -> None:
        _check_words(list(kept))
        super()._more_keys(kept, raw)

    def _options(self, *arguments: Any) -> _c.Options:
        options = super()._options(*arguments)
        if self.wv.bucket:
            options.update({"minn": max(self.wv.min_n, 1), "maxn": self.wv.max_n, "buckets": self.wv.bucket})
        return options

    def _made(self, rows: _abi.shoal_matrix, hidden: Any) -> _c.Vectors:
        wv = self.wv
        if not wv.bucket or wv._grams is None and wv._composer is None:
            return super()._made(rows, hidden)  # rows of n-grams begin at zero
        return _made(wv, rows, hidden)

    def _take(self, model: _c.Model, order: Optional[np.ndarray], keys: List[Any]) -> None:
        super()._take(model, order, keys)
        if self.wv.bucket:
            grams = _c.lib.shoal_vectors_grams(_c.lib.shoal_model_vectors(model))
            self.wv.vectors_ngrams = rows_of(grams, model, writable=True)

    def estimate_memory(self, vocab_size: Optional[int] = None, report: Optional[Dict[str, int]] = None) -> Dict[str, int]:
        """About what training takes, in bytes."""
        grams = {"syn0_ngrams": self.wv.bucket * self.vector_size * 4,
                 "buckets_word": 4 * sum(map(len, self.wv.buckets_word)) if self.wv.bucket else 0}
        report = super().estimate_memory(vocab_size, {**(report or {}), **grams})
        report["syn0_vocab"] = report.pop("vectors")
        return report

    @classmethod
    def load_fasttext_format(cls, model_file: Any, encoding: str = "utf8") -> "FastText":
        """As load_facebook_model."""
        return load_facebook_model(model_file, encoding)


def _check_words(words: List[Any]) -> None:
    if _corpus.c_words(words) is None:
        raise TypeError("FastText: found a token that is no string, or an empty one, want words")


# ---- fastText's files ----------------------------------------------------------------------------

MAGIC = 793712314
_HEAD = struct.Struct("<14id3iqq")
_FIELDS = ("magic", "version", "dim", "ws", "epoch", "min_count", "neg", "word_ngrams", "loss", "model", "bucket", "minn",
           "maxn", "lr_update_rate", "t", "size", "nwords", "nlabels", "ntokens", "pruned")
HS, NS, CBOW, SKIPGRAM, SUPERVISED = 1, 2, 1, 2, 3


def _head(path: Any) -> Dict[str, Any]:
    """How fastText made the model, and how many words it has."""
    with open_bytes(path) as file:
        head = file.read(_HEAD.size)
    if len(head) < _HEAD.size or struct.unpack_from("<i", head)[0] != MAGIC:
        raise _c.FormatError(f"{os.fspath(path)}: found no model of fastText's, want .bin or .ftz")
    found = dict(zip(_FIELDS, _HEAD.unpack(head)))
    if found["model"] == SUPERVISED:
        raise NotImplementedError(f"{os.fspath(path)}: found a classifier of texts, want vectors: shoal.load opens it")
    return found


def _tree_rows(path: Any, words: int, dim: int) -> np.ndarray:
    """The output rows of a file, those of its tree: the last that stands in it. Zeros where it has others."""
    size, shape = 4 * words * dim, struct.Struct("<?qq")
    with open_bytes(path) as file:
        file.seek(0, os.SEEK_END)
        begin = file.tell() - size - shape.size
        file.seek(max(begin, 0))
        if begin < 0 or shape.unpack(file.read(shape.size)) != (False, words, dim):
            return np.zeros((words, dim), dtype=REAL)
        return _turned(np.frombuffer(file.read(size), dtype="<f4").reshape(words, dim))


def _turned(rows: np.ndarray) -> np.ndarray:
    """Rows of a tree's nodes as fastText has them of ours, or ours of those: counted from the other end, and with
    the other sign."""
    out = np.zeros(rows.shape, dtype=REAL)
    out[:-1] = -rows[-2::-1]
    return out


def load_facebook_vectors(path: Any, encoding: str = "utf-8") -> FastTextKeyedVectors:
    """The vectors of a model of fastText's, `.bin` or `.ftz`. The file is mapped: rows are composed when they are
    asked for. `encoding` is UTF-8 whatever it says."""
    _head(path)
    found = keyed(_c.opened(_c.Vectors, _c.lib.shoal_vectors_map, _c.path_bytes(path)))
    if isinstance(found, FastTextKeyedVectors):
        return found
    plain = FastTextKeyedVectors(found.vector_size, 1, 0, 0)  # which has no n-grams
    plain.index_to_key, plain.key_to_index, plain.vectors = found.index_to_key, found.key_to_index, found.vectors
    plain.expandos, plain.next_index = dict(found.expandos.items()), len(found)
    return plain


def load_facebook_model(path: Any, encoding: str = "utf-8") -> FastText:
    """A model of fastText's to go on with, and its output rows if they are not quantised."""
    head, wv = _head(path), load_facebook_vectors(path, encoding)
    model = FastText(vector_size=wv.vector_size, window=head["ws"], epochs=head["epoch"], negative=head["neg"],
                     hs=int(head["loss"] == HS), sg=int(head["model"] == SKIPGRAM), sample=head["t"],
                     min_count=head["min_count"], min_n=wv.min_n, max_n=wv.max_n, bucket=wv.bucket)
    model.wv, model.corpus_total_words = wv, head["ntokens"]
    wv.expandos["count"] = wv._attribute("count") if "count" in wv.expandos else np.ones(len(wv), dtype=np.int64)
    model._codes()
    hidden = _c.lib.shoal_vectors_hidden(wv._composer) if wv._composer is not None else _abi.shoal_matrix()
    if model.hs and _is_sorted(wv):
        model._set_output(_tree_rows(path, len(wv), wv.vector_size))
    elif hidden.data and not model.hs:
        model._set_output(rows_of(hidden, wv._composer))
    else:
        model._set_output(np.zeros((len(wv), model.vector_size), dtype=REAL))
    model._read_output = model._output()
    return model


def _is_sorted(wv: KeyedVectors) -> bool:
    counts = wv._attribute("count")
    return bool((counts[:-1] >= counts[1:]).all())


def save_facebook_model(model: FastText, path: Any, encoding: str = "utf-8", lr_update_rate: int = 100,
                        word_ngrams: int = 1) -> None:
    """As fastText's `.bin`, which fastText, gensim and `shoal` open."""
    wv, output, path = model.wv, model._output(), os.fspath(path)
    unchanged = wv.is_as_read and output is getattr(model, "_read_output", None)
    if output is None or model.hs and not _is_sorted(wv):
        output = np.zeros(wv.vectors.shape, dtype=REAL)
    elif model.hs:
        output = _turned(output)
    told = {"ws": model.window, "epoch": model.epochs, "min_count": max(1, model.effective_min_count),
            "neg": model.negative, "word_ngrams": word_ngrams, "loss": HS if model.hs else NS,
            "model": SKIPGRAM if model.sg else CBOW, "lr_update_rate": lr_update_rate, "t": float(model.sample or 0)}
    part = f"{path}.{os.getpid()}.part"
    try:
        vectors = wv.as_library(None if unchanged else output)
        _c.lib.shoal_vectors_save(vectors, _c.path_bytes(part), ctypes.byref(_c.save_opts("fasttext")))
        head = _head(part)
        told["ntokens"] = max(head["ntokens"], model.corpus_total_words or 0)
        head.update(told)
        with open(part, "r+b") as file:
            file.write(_HEAD.pack(*(head[name] for name in _FIELDS)))
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.unlink(part)

"""Pickles read again: those of this package, and what gensim saved.

What this is: models whose parts are Python's own are kept as pickles. Only classes of this package, of NumPy
and plain values are made of them, so that a file runs no code. Classes of gensim become bare records, of
which models of ours are made: files of gensim 1 to 4 are read, gensim is not needed.
Who owns what: what is read is the caller's.
Threads: any number.
"""
import os
import pickle
from typing import Any, Dict, List, Optional

import numpy as np

_PLAIN = {"builtins": {"set", "frozenset", "complex", "slice", "range", "bytearray", "list", "dict", "tuple", "int",
                       "float", "str", "bytes", "bool", "object"},
          "collections": {"OrderedDict", "defaultdict", "Counter", "deque"},
          "_codecs": {"encode"}, "copyreg": {"_reconstructor"}}
_NUMPY = {"ndarray", "dtype", "_reconstruct", "scalar", "_frombuffer", "float32", "float64", "float16", "int64",
          "uint32", "uint64", "int32"}

_OURS = {"shoal.models.keyedvectors": {"KeyedVectors"}, "shoal.models.word2vec": {"Word2Vec"},
         "shoal.models.fasttext": {"FastText", "FastTextKeyedVectors"},
         "shoal.models.phrases": {"FrozenPhrases", "Phrases"}}


class Record:
    """What a class of gensim, or a function in its files, becomes."""

    def __init__(self, *arguments: Any) -> None:
        self.is_a = "?"

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, dict):
            self.__dict__.update(state)

    def __call__(self, *arguments: Any) -> Any:
        return self

    def get(self, *names: str, default: Any = None) -> Any:
        """The first of the names that there is."""
        return next((self.__dict__[name] for name in names if self.__dict__.get(name) is not None), default)


def _record(module: str, name: str) -> Any:
    return type(name, (Record,), {"is_a": name, "__module__": __name__, "__init__": lambda self, *_: None})


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        top = module.split(".")[0]
        if module == "__builtin__":
            module = "builtins"
            name = {"long": "int", "unicode": "str"}.get(name, name)
        if name in _OURS.get(module, ()) or name in _PLAIN.get(module, ()) or top == "numpy" and name in _NUMPY:
            return super().find_class(module, name)
        if top in ("gensim", "numpy") or (module, name) == ("builtins", "hash"):
            return _record(module, name)  # of NumPy the states of random numbers
        raise pickle.UnpicklingError(f"found {module}.{name} in the file, want a model that shoal or gensim saved")


def load(fname: Any) -> Any:
    """What was pickled there."""
    if hasattr(fname, "read"):
        found = _Unpickler(fname, encoding="latin1").load()
        return _ours(found, None)
    with open(fname, "rb") as file:
        found = _Unpickler(file, encoding="latin1").load()
    return _ours(found, os.fspath(fname))


# ---- gensim's ------------------------------------------------------------------------------------


def _ours(found: Any, path: Optional[str]) -> Any:
    if not isinstance(found, Record):
        return found
    if path is not None:
        _beside(found, path)
    if found.is_a in ("Phrases", "Phraser", "FrozenPhrases"):
        return _phrases(found)
    if found.is_a in ("Word2Vec", "FastText"):
        return _word2vec(found)
    if "KeyedVectors" in found.is_a:
        return _keyed(found)
    raise pickle.UnpicklingError(f"found {found.is_a} of gensim, want Word2Vec, FastText, KeyedVectors or "
                                 "Phrases")


def _beside(record: Record, path: str) -> None:
    """Arrays that gensim put into files of their own."""
    state = record.__dict__
    for name in state.get("__recursive_saveloads", ()):
        if isinstance(state.get(name), Record):
            _beside(state[name], f"{path}.{name}")
    for name in state.get("__numpys", ()):
        for ending in (".npy", ".npz"):
            if os.path.exists(f"{path}.{name}{ending}"):
                array = np.load(f"{path}.{name}{ending}", mmap_mode="c" if ending == ".npy" else None)
                state[name] = array if ending == ".npy" else array["val"]


def _keyed(record: Record) -> Any:
    from .keyedvectors import KeyedVectors, REAL
    fast = "FastText" in record.is_a
    rows = record.get("vectors_vocab" if fast else "vectors", "vectors", "syn0")
    words: List[Any] = list(record.get("index_to_key", "index2word", "index2entity", default=[]))
    if rows is None or len(rows) != len(words):
        raise pickle.UnpicklingError(f"found {0 if rows is None else len(rows)} vectors for {len(words)} words, want "
                                     "one each: is a file beside it missing?")
    kv = _with_grams(record, rows.shape[1]) if fast else KeyedVectors(rows.shape[1])
    kv.index_to_key, kv.key_to_index = words, {word: i for i, word in enumerate(words)}
    kv.vectors = np.asarray(rows, dtype=REAL)
    kv.next_index = len(words)
    known = record.get("vocab", default={})
    counts = record.get("expandos", default={}).get("count")
    if counts is None and known:
        counts = [known[word].get("count", default=0) if word in known else 0 for word in words]
    if counts is not None:
        kv.expandos["count"] = np.array(counts, dtype=np.int64)
    if fast:
        kv.vectors_vocab = kv.vectors  # from which vectors are composed
    return kv


def _with_grams(record: Record, dim: int) -> Any:
    """Vectors without words, with the rows of n-grams of gensim's."""
    from .fasttext import FastTextKeyedVectors
    from .keyedvectors import REAL
    grams, bucket = record.get("vectors_ngrams"), int(record.get("bucket", default=0))
    if not record.get("compatible_hash", default=False):
        raise pickle.UnpicklingError("found FastText of gensim before 3.8, whose hashes are others, want a later one")
    places = record.get("hash2index")
    if grams is not None and places and len(grams) < bucket:  # gensim 3 keeps those that it met
        met, grams = grams, np.zeros((bucket, dim), dtype=REAL)
        grams[list(places.keys())] = met[list(places.values())]
    if bucket and (grams is None or grams.shape != (bucket, dim)):
        raise pickle.UnpicklingError(f"found {0 if grams is None else len(grams)} rows of n-grams, want {bucket}: is a "
                                     "file beside it missing?")
    kv = FastTextKeyedVectors(dim, record.get("min_n", default=3), record.get("max_n", default=6), bucket)
    if bucket:
        kv.vectors_ngrams = np.asarray(grams, dtype=REAL)
    return kv


def _word2vec(record: Record) -> Any:
    from .fasttext import FastText
    from .keyedvectors import REAL
    from .word2vec import Word2Vec
    wv, parts = record.get("wv"), [record.get("vocabulary"), record.get("trainables"), record]
    state: Dict[str, Any] = {}
    for part in parts:
        state.update(part.__dict__ if isinstance(part, Record) else {})
    model = (FastText if record.is_a == "FastText" else Word2Vec)(vector_size=int(state.get("vector_size") or wv.get("vector_size") or state["layer1_size"]))
    state.setdefault("epochs", state.get("iter"))
    for name in ("alpha", "min_alpha", "window", "min_count", "sample", "seed", "workers", "sg", "hs", "negative",
                 "ns_exponent", "cbow_mean", "epochs", "max_vocab_size", "max_final_vocab", "sorted_vocab",
                 "shrink_windows", "train_count", "corpus_count"):
        if isinstance(state.get(name), (int, float)):
            setattr(model, name, state[name])
    model.corpus_total_words = state.get("corpus_total_words")
    model.min_alpha_yet_reached = model.alpha
    model.wv = _keyed(wv)
    model._codes()
    for name in ("syn1", "syn1neg"):
        if state.get(name) is not None:
            setattr(model, name, np.asarray(state[name], dtype=REAL))
    if model.hs:  # its nodes have another order
        model.syn1 = np.zeros(model.wv.vectors.shape, dtype=REAL)
    model.wv.vectors_lockf = np.ones(1, dtype=REAL)
    return model


def _text(value: Any) -> Any:
    return value.decode("utf-8") if isinstance(value, bytes) else value


def _phrases(record: Record) -> Any:
    from . import phrases
    delimiter = _text(record.get("delimiter", default="_"))
    scoring = record.get("scoring")
    scoring = scoring if isinstance(scoring, str) else {"npmi_scorer": "npmi"}.get(getattr(scoring, "is_a", ""), "default")
    connectors = frozenset(map(_text, record.get("connector_words", "common_terms", default=())))
    model = phrases.Phrases(min_count=record.get("min_count", default=5),
                            threshold=record.get("threshold", default=10.0), delimiter=delimiter, scoring=scoring,
                            connector_words=connectors,
                            max_vocab_size=record.get("max_vocab_size", default=40000000))
    if record.is_a == "Phrases":
        model.vocab = {_text(word): count for word, count in record.get("vocab", default={}).items()}
        model.corpus_word_count = record.get("corpus_word_count", default=0)
        return model
    frozen = model.freeze()
    for words, score in record.get("phrasegrams", default={}).items():
        if isinstance(words, tuple):  # gensim 3: pairs, and (count, score)
            words = delimiter.join(map(_text, words))
        frozen.phrasegrams[_text(words)] = score[-1] if isinstance(score, tuple) else score
    return frozen

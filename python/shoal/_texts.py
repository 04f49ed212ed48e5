"""Classes of text in scikit-learn's shape, and the answers of any classifier of texts.

What this is: `TextClassifier` trains `shoal train classify` on texts in memory. `guesses` asks such a model, also
fastText's.
Who owns what: texts are copied for the length of a call.
Threads: any number may ask; one fits.
"""
import contextlib
import ctypes
import os
import re
import tempfile
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import _abi, _c
from ._estimators import _Classifier, _threads

__all__ = ["TextClassifier"]

PREFIX = "__label__"
_GUESS = np.dtype([("label", np.uint32), ("p", np.float32)])
_LABEL_IN_TEXT = re.compile(r"(?:(?<=\s)|^)" + PREFIX + r"\S*")
_LINE_ENDS = str.maketrans({"\n": " ", "\r": " ", "\0": " ", "\v": " ", "\f": " "})
ANSWERS_MOST = 1 << 22  # of one call of the library


# ---- Asking --------------------------------------------------------------------------------------


def check_texts(X: Any, name: str = "X") -> List[str]:
    """A list of texts."""
    if isinstance(X, (str, bytes)):
        raise ValueError(f"{name}: found one text, want a list of them")
    texts = X.tolist() if hasattr(X, "tolist") else list(X)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"{name}: found {type(text).__name__} at {i}, want texts")
    return texts


def labels_of(model: _c.Model) -> List[str]:
    """The labels of a classifier, in its order."""
    classifier = _c.lib.shoal_model_classifier(model)
    return [_c.text(_c.lib.shoal_classifier_label(classifier, k))
            for k in range(_c.lib.shoal_classifier_labels(classifier))]


def _memory(texts: Sequence[str]) -> Tuple[np.ndarray, Any]:
    """The texts as an array of struct shoal_memory, and what to keep."""
    parts = [text.encode("utf-8", "surrogateescape") for text in texts]
    joined = b"".join(parts) + b"\0"
    name = ctypes.c_char_p(b"text")
    out = np.zeros((len(parts), 3), dtype=np.uint64)  # name, data, size
    sizes = np.fromiter(map(len, parts), dtype=np.uint64, count=len(parts))
    begin = np.frombuffer(joined, dtype=np.uint8)
    out[:, 0] = ctypes.cast(name, ctypes.c_void_p).value
    out[:, 1] = begin.ctypes.data
    out[1:, 1] += np.cumsum(sizes)[:-1]
    out[:, 2] = sizes
    return out, (joined, name)


def guesses(model: _c.Model, texts: Sequence[str], k: int, threshold: float = 0.0,
            threads: int = 0) -> Tuple[np.ndarray, np.ndarray]:
    """The likeliest labels of texts [n][k], best first, with the fields label and p; and how many each text has."""
    out, found = np.zeros((len(texts), k), dtype=_GUESS), np.zeros(len(texts), dtype=np.uint64)
    if not len(texts) or not k:
        return out, found
    given, kept = _memory(texts)
    opts = _abi.shoal_classify_opts(k, threshold, threads)
    function = _c.lib.shoal_classify
    function(_c.lib.shoal_model_classifier(model), given.ctypes.data_as(ctypes.POINTER(_abi.shoal_memory)), len(texts),
             ctypes.byref(opts), out.ctypes.data_as(ctypes.POINTER(_abi.shoal_guess)), found.ctypes.data)
    return out, found


def likeliest(model: _c.Model, text: Any, k: int = 1, threshold: float = 0.0) -> Tuple[Any, Any]:
    """Labels and probabilities as fasttext's Python module gives them: of one text a tuple and an array, of several
    lists of these. k below 0 is for all labels."""
    names = labels_of(model)
    k = len(names) if k < 0 else min(int(k), len(names))
    texts = [text] if isinstance(text, str) else check_texts(text, "text")
    out, found = guesses(model, texts, k, threshold)
    labels = [tuple(names[i] for i in row["label"][:n].tolist()) for row, n in zip(out, found.tolist())]
    chances = [row["p"][:n].astype(np.float64) for row, n in zip(out, found.tolist())]
    return (labels[0], chances[0]) if isinstance(text, str) else (labels, chances)


def chances(model: _c.Model, texts: Sequence[str], otherwise: np.ndarray, threads: int = 0) -> np.ndarray:
    """Probabilities [n][labels], in the model's order of labels; a text of which it knows nothing has `otherwise`."""
    labels = len(otherwise)
    out = np.zeros((len(texts), labels))
    step = max(1, ANSWERS_MOST // max(labels, 1))
    for begin in range(0, len(texts), step):
        answers, found = guesses(model, texts[begin:begin + step], labels, 0.0, threads)
        part = out[begin:begin + step]
        np.put_along_axis(part, answers["label"].astype(np.int64), answers["p"].astype(np.float64), axis=1)
        part[found == 0] = otherwise
    return out


# ---- Learning ------------------------------------------------------------------------------------


def _several(y: Sequence[Any]) -> bool:
    return any(isinstance(one, (list, tuple, set, frozenset, np.ndarray)) for one in y)


def _names_of(classes: Sequence[Any]) -> List[str]:
    """A label of the library's for each class: its text, without what a label cannot hold."""
    names = [re.sub(r"[\s,=\0]", "_", str(one)) for one in classes]
    return names if len(set(names)) == len(names) and "" not in names else [f"class{k}" for k in range(len(names))]


def _lines(texts: Sequence[str], labels: Sequence[Sequence[int]], names: Sequence[str]) -> bytes:
    """Lines as fastText has them; what looks like a label within a text is none."""
    out = []
    for text, mine in zip(texts, labels):
        if PREFIX in text:
            text = _LABEL_IN_TEXT.sub("", text)
        out.append("".join(f"{PREFIX}{names[k]} " for k in mine) + text.translate(_LINE_ENDS) + "\n")
    return "".join(out).encode("utf-8", "surrogateescape")


class TextClassifier(_Classifier):
    """Classes of text by bags of words and n-grams, as fastText's supervised mode has them.

    Words are what stands between spaces, as it is: lower the case of texts, and part punctuation, before.

    Parameters
    ----------
    lr, epochs : float, int or None
        None: by the number of texts.
    dim : int
        Numbers of a row.
    word_ngrams : int
        Words that follow one another are features too, up to so many.
    minn, maxn : int
        Characters of n-grams of words; maxn 0: none.
    buckets : int
        Numbers that n-grams are hashed to.
    loss : "softmax", "ova", "ns" or "hs"
        "ova", one against all others, is for texts with several labels.
    min_count : int
        Words that come less often get no row.
    class_weight : None, "balanced" or a dict of classes
        How much texts of a class count.
    pretrained : path, KeyedVectors or None
        Vectors of words to begin with.
    threshold : float
        With several labels for a text: predict gives those at least so likely.
    deterministic : bool
        The same bytes each time, for any number of threads; slower.
    seed : int
    n_jobs : int or None
        Threads; None: one for each core.
    verbose : bool
    options : dict or None
        Further options of `shoal train classify`, by name.

    Attributes
    ----------
    classes_, n_iter_, history_, run_
        As of the other estimators.
    class_prior_ : ndarray
        How often each class came.

    Examples
    --------
    >>> texts = ["a goal in the last minute", "shares fell", "the match was lost", "the bank lends"] * 20
    >>> model = TextClassifier(dim=16, seed=1).fit(texts, ["sport", "money", "sport", "money"] * 20)
    >>> model.predict(["the last match", "bank shares"]).tolist()
    ['sport', 'money']
    >>> model.predict_proba(["the last match"]).shape
    (1, 2)
    """

    def __init__(self, *, lr: Optional[float] = None, epochs: Optional[int] = None, dim: int = 100,
                 word_ngrams: int = 1, minn: int = 0, maxn: int = 0, buckets: int = 2000000, loss: str = "softmax",
                 min_count: int = 1, class_weight: Union[None, str, Dict[Any, float]] = None, pretrained: Any = None,
                 threshold: float = 0.5, deterministic: bool = False, seed: int = 1, n_jobs: Optional[int] = None,
                 verbose: bool = False, options: Optional[Dict[str, Any]] = None) -> None:
        self.lr, self.epochs, self.dim, self.word_ngrams = lr, epochs, dim, word_ngrams
        self.minn, self.maxn, self.buckets, self.loss, self.min_count = minn, maxn, buckets, loss, min_count
        self.class_weight, self.pretrained, self.threshold = class_weight, pretrained, threshold
        self.deterministic, self.seed, self.n_jobs = deterministic, seed, n_jobs
        self.verbose, self.options = verbose, options

    def _more_tags(self) -> Dict[str, Any]:
        return {"requires_y": True, "X_types": ["string"], "no_validation": True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array, tags.input_tags.sparse = True, False, False
        tags.no_validation = True
        return tags

    # ---- learning ----

    def _take_labels(self, y: Any, n: int) -> List[List[int]]:
        """The numbers of each text's classes; sets classes_ and several_."""
        y = list(y) if _is_list(y) else y.tolist() if hasattr(y, "tolist") else list(y)
        if len(y) != n:
            raise ValueError(f"y: found {len(y)} labels for {n} texts, want one each")
        self.several_ = _several(y)
        if self.several_ and self.loss != "ova":
            raise ValueError(f"y: found texts with several labels and loss={self.loss!r}, want loss='ova'")
        lists = [list(one) if isinstance(one, (list, tuple, set, frozenset, np.ndarray)) else [one] for one in y] \
            if self.several_ else [[one] for one in y]
        flat = [label for one in lists for label in one]
        if any(label is None or label != label for label in flat):
            raise ValueError("y: found a label that is missing, want one")
        self.classes_ = np.unique(np.array(flat))
        if len(self.classes_) < 2:
            raise ValueError(f"{type(self).__name__}: found {len(self.classes_)} class, want two or more")
        number = {label: k for k, label in enumerate(self.classes_.tolist())}
        plain = np.array(flat).tolist()  # as classes_ has them
        ids = iter([number[label] for label in plain])
        out = [[next(ids) for _ in one] for one in lists]
        self.class_prior_ = np.bincount([k for one in out for k in one], minlength=len(number)) / max(1, n)
        return out

    def _weights(self, names: Sequence[str]) -> Optional[str]:
        if self.class_weight is None or self.class_weight == "balanced":
            return self.class_weight  # type: ignore[return-value]
        if not isinstance(self.class_weight, dict):
            raise ValueError(f"class_weight: found {self.class_weight!r}, want None, 'balanced' or a dict")
        known = dict(zip(self.classes_.tolist(), names))
        unknown = [one for one in self.class_weight if one not in known]
        if unknown:
            raise ValueError(f"class_weight: found {unknown[0]!r}, want classes of y")
        return ",".join(f"{known[one]}={float(weight)!r}" for one, weight in self.class_weight.items())

    def _options(self, names: Sequence[str], pretrained: Any) -> _c.Options:
        return _c.Options("classify", lr=self.lr, epochs=self.epochs, dim=self.dim, word_ngrams=self.word_ngrams,
                          minn=self.minn, maxn=self.maxn, buckets=self.buckets, loss=self.loss,
                          class_weight=self._weights(names), pretrained=pretrained,
                          deterministic=self.deterministic, seed=self.seed, threads=_threads(self.n_jobs))

    @contextlib.contextmanager
    def _beginning(self) -> Iterator[Any]:
        """The file of the vectors to begin with, or None."""
        if self.pretrained is None or isinstance(self.pretrained, (str, bytes, os.PathLike)):
            yield self.pretrained
            return
        with tempfile.TemporaryDirectory(prefix="shoal-") as folder:
            path = os.path.join(folder, "pretrained.bin")
            getattr(self.pretrained, "wv", self.pretrained).save_word2vec_format(path, binary=True)
            yield path

    def fit(self, X: Any, y: Any) -> "TextClassifier":
        """Learns from texts X and their labels y: one for each text, or with loss="ova" lists of them."""
        texts = check_texts(X)
        if not texts:
            raise ValueError("X: found no text, want some")
        labels = self._take_labels(y, len(texts))
        names = _names_of(self.classes_.tolist())
        opts = _c.lib.shoal_labelled_default()
        opts.min_count, opts.threads = self.min_count, _threads(self.n_jobs)
        block, kept = _c.memory("texts", _lines(texts, labels, names))
        with _c.opened(_c.Labelled, _c.lib.shoal_labelled_read_memory, ctypes.byref(block), 1, ctypes.byref(opts),
                       None) as lines, _c.Data.of(labelled=lines) as data, self._beginning() as begin, \
                self._options(names, begin) as options:
            self._train(options, data)
        place = {name: k for k, name in enumerate(names)}
        self._order = np.array([place[name] for name in labels_of(self.model_)])
        return self

    # ---- asking ----

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities [n, classes]. A text of which no word is known has those of class_prior_."""
        model = self._require()
        own = chances(model, check_texts(X), self.class_prior_[self._order], _threads(self.n_jobs))
        out = np.zeros((len(own), len(self.classes_)))
        out[:, self._order] = own
        return out

    def predict(self, X: Any) -> Any:
        """The likeliest class of each text; where texts have several, a list of tuples of those that are at least
        `threshold` likely, likeliest first."""
        chance = self.predict_proba(X)
        if not self.several_:
            return self.classes_[np.argmax(chance, axis=1)]
        order = np.argsort(-chance, axis=1, kind="stable")
        return [tuple(self.classes_[k] for k in row if p[k] >= self.threshold) for row, p in zip(order, chance)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of texts whose class, or all of whose classes and no others, are predicted."""
        said = self.predict(X)
        if not self.several_:
            right = said == np.asarray(y)
        else:
            right = np.array([set(mine) == set(one if isinstance(one, (list, tuple, set, frozenset, np.ndarray))
                                               else [one]) for mine, one in zip(said, y)])
        return float(np.average(right, weights=sample_weight))


def _is_list(y: Any) -> bool:
    return isinstance(y, (list, tuple))


TextClassifier.__module__ = "shoal"

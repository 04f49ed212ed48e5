"""Models from files: of any kind, whoever trained them.

What this is: `load` recognises a file by its content. Word vectors become KeyedVectors, all else a `Model`.
Who owns what: a model has its file's bytes, or for vectors maps the file.
Threads: any number may ask a model.
"""
import ctypes
import os
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import _abi, _arrays, _c, _estimators, _texts
from ._c import Path

__all__ = ["Model", "load"]


def load(path: Path, map: bool = True) -> Any:
    """A saved model of any kind, recognised by its content.

    Word vectors, of shoal, word2vec, GloVe, fastText's .vec, NumPy or safetensors, are a
    `shoal.models.KeyedVectors`; with `map` those of shoal's own format are mapped and open at once. Those with
    n-grams, also of fastText's .bin and .ftz, answer for words that were never seen. Linear models, classifiers of
    text, also fastText's, and nets, also PyTorch's weights of one in safetensors, are a `shoal.Model`.
    """
    kind = ctypes.create_string_buffer(32)
    ours = _c.lib.shoal_kind(_c.path_bytes(path), kind)
    if ours and kind.value != b"vectors":
        return Model(_c.Model.open(path, map))
    if not ours and _c.lib.shoal_net_weights(_c.path_bytes(path)):
        return Model(_c.opened(_c.Model, _c.lib.shoal_model_import, _c.path_bytes(path), 0))
    from .models.keyedvectors import keyed
    model = _c.Model.open(path, map)
    return keyed(_c.BorrowedVectors(model)) if model.kind == "vectors" else Model(model)


def _is_path(value: Any) -> bool:
    return isinstance(value, (str, bytes, os.PathLike))


class Model:
    """A linear model, a classifier of texts or a net that was trained before, here or by the `shoal` program.

    >>> import os, tempfile, numpy as np, shoal
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0]] * 20)
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "model.shoal")
    >>> shoal.LogisticRegression().fit(X, ["no", "yes"] * 20).save(path)
    >>> model = shoal.load(path)
    >>> model.kind, model.classes_
    ('logreg', ['no', 'yes'])
    >>> model.predict([[1.0, 0.0]])
    ['yes']
    """

    def __init__(self, handle: _c.Model) -> None:
        self._handle = handle

    @property
    def kind(self) -> str:
        """ "logreg", "multinomial", "classify", "net" or "nextword"."""
        return self._handle.kind

    @property
    def info(self) -> Dict[str, Any]:
        """What it says of itself, as `shoal info --json` has it."""
        return _c.describe(self._handle, 10)

    @property
    def _net(self) -> Any:
        return _c.lib.shoal_model_net(self._handle.pointer)

    @property
    def _is_linear(self) -> bool:
        return _c.lib.shoal_linear_outputs(self._handle.pointer) > 0

    @property
    def classes_(self) -> Optional[List[str]]:
        """The names of its classes; None where it predicts numbers or words."""
        if self._is_linear:
            n = max(2, _c.lib.shoal_linear_outputs(self._handle.pointer))
            names = [_c.lib.shoal_linear_label(self._handle.pointer, k) for k in range(n)]
            return [str(k) if name is None else _c.text(name) for k, name in enumerate(names)]
        if self.kind == "classify":
            return _texts.labels_of(self._handle)
        if self.kind != "net" or not _c.lib.shoal_net_classes(self._net):
            return None
        out = []
        for k in range(_c.lib.shoal_net_outputs(self._net)):
            room = ctypes.create_string_buffer(512)
            _c.lib.shoal_net_class(self._net, k, room, len(room))
            out.append(_c.text(room.value))
        return out

    @property
    def n_features_in_(self) -> Optional[int]:
        """Inputs of a net; None of others, which take any number of columns."""
        return _c.lib.shoal_net_inputs(self._net) if self.kind == "net" else None

    # ---- asking ----

    def predict(self, X: Any, **how: Any) -> Any:
        """What it predicts.

        For rows of numbers, dense or SciPy's: the name of each row's class, or numbers. For the path of a
        file, or a list of them: the lines that `shoal predict` prints. Of a net on words, for a text: the
        likeliest next words with their probabilities, `topn` of them. Of a classifier of texts, for a text or a
        list of them: the likeliest labels and their probabilities, `k` of them that are at least `threshold` likely.
        """
        if self.kind == "classify":
            return _texts.likeliest(self._handle, X, **how)
        if self.kind == "nextword":
            return self._next_words(X, **how)
        if _is_path(X) or isinstance(X, (list, tuple)) and len(X) > 0 and all(_is_path(one) for one in X):
            return self.predict_files(X)
        classes = self.classes_
        if classes is None:
            return self._net_answers(X)
        return [classes[k] for k in np.argmax(self.predict_proba(X), axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities [n, classes] of rows of numbers, or of texts; one of which no word is known has the same for
        all classes."""
        if self.kind == "classify":
            labels = len(self.classes_ or ())
            return _texts.chances(self._handle, _texts.check_texts(X), np.full(labels, 1 / max(labels, 1)))
        if self._is_linear:
            z = _estimators.scores(self._handle, _arrays.check_rows(X))
            return _estimators.probabilities(z.ravel() if z.shape[1] == 1 else z)
        if self.classes_ is None:
            raise _c.InvalidError(f"predict_proba: found a model of kind {self.kind} that has no classes, want one "
                                  "that has")
        return self._net_answers(X)

    def decision_function(self, X: Any) -> np.ndarray:
        """Of a linear model: margins [n] of two classes, scores [n, classes] of many."""
        z = _estimators.scores(self._handle, _arrays.check_rows(X))
        return z.ravel() if z.shape[1] == 1 else z

    def _net_answers(self, X: Any) -> np.ndarray:
        x = _arrays.dense(_arrays.check_rows(X))
        if x.shape[1] != _c.lib.shoal_net_inputs(self._net):
            raise _c.InvalidError(f"predict: found rows of {x.shape[1]} numbers, want "
                                  f"{_c.lib.shoal_net_inputs(self._net)}")
        y = np.empty((x.shape[0], _c.lib.shoal_net_outputs(self._net)), np.float32)
        _c.lib.shoal_net_predict(self._net, x.ctypes.data, x.shape[0], y.ctypes.data)
        return y.ravel() if y.shape[1] == 1 else y

    def _next_words(self, text: str, topn: int = 10) -> List[Tuple[str, float]]:
        hits, found = (_abi.shoal_hit * topn)(), ctypes.c_size_t()
        _c.lib.shoal_nextword_predict(self._net, _c.encoded(text), hits, topn, ctypes.byref(found))
        return [(_c.text(_c.lib.shoal_nextword_word(self._net, hit.id)), hit.score)
                for hit in hits[:found.value]]

    def predict_files(self, inputs: Union[Path, Sequence[Path]]) -> List[str]:
        """The lines that `shoal predict` prints for files of rows, texts, samples or pictures."""
        parts: List[bytes] = []

        def lines(_user: Any, text: int, length: int) -> bool:
            parts.append(ctypes.string_at(text, length))
            return True

        names, opts = _c.paths(inputs), _c.lib.shoal_ask_default()
        function = _abi.functions["shoal_model_predict"][1][4](lines)
        _c.lib.shoal_model_predict(self._handle.pointer, names, len(names), ctypes.byref(opts), function, None,
                                   None)
        return _c.text(b"".join(parts)).splitlines()

    def evaluate(self, inputs: Union[Path, Sequence[Path]]) -> Dict[str, Any]:
        """How well it does on files with their answers, as `shoal eval --json` has it."""
        told, names, opts = _c.Reports(), _c.paths(inputs), _c.lib.shoal_ask_default()
        _c.lib.shoal_model_eval(self._handle.pointer, names, len(names), ctypes.byref(opts),
                                ctypes.byref(told.struct), None)
        return told.reports[0] if told.reports else {}

    # ---- the file ----

    def save(self, path: Path, **how: Any) -> None:
        """Writes it; the format is by the ending of the path."""
        self._handle.save(path, **how)

    def close(self) -> None:
        """Ends it; without this it ends when it is collected."""
        self._handle.close()

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return "<shoal model, closed>" if self._handle.closed else f"<shoal model: {self.kind}>"


Model.__module__ = load.__module__ = "shoal"

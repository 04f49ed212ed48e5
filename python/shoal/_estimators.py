"""Linear models and nets in scikit-learn's shapes.

scikit-learn is not needed, and not imported: these classes have its methods, so that its `clone`, pipelines,
searches and `check_estimator` take them. Names of parameters are scikit-learn's where they mean the same.
"""
import inspect
import os
import tempfile
import warnings
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import _abi, _arrays, _c, _run
from ._c import Path


def _not_fitted(name: str) -> Exception:
    """scikit-learn's NotFittedError where that is in use, else one that is caught alike."""
    import sys
    kind = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", NotFittedError)
    return kind(f"This {name} instance is not fitted yet. Call 'fit' with appropriate arguments before using "
                "this estimator.")


class NotFittedError(ValueError, AttributeError):
    """An estimator was asked before it was fitted."""


class DoubtWarning(UserWarning):
    """What was learned may be worth nothing."""


NotFittedError.__module__ = DoubtWarning.__module__ = "shoal"


class Estimator:
    """What the estimators share: parameters, what is remembered of X, the model of the library."""

    _fitted = ("model_",)
    _xfail: Dict[str, str] = {}
    _estimator_type = ""

    # ---- parameters ----

    @classmethod
    def _names(cls) -> List[str]:
        return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> Dict[str, Any]:
        """The parameters by name, as scikit-learn's estimators have it."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> "Estimator":
        """Sets parameters by name; gives the estimator itself."""
        known = self._names()
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: "
                                 f"{known!r}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = [f"{name}={getattr(self, name)!r}" for name in self._names()
                   if repr(getattr(self, name)) != repr(defaults[name].default)]
        return f"{type(self).__name__}({', '.join(changed)})"

    # ---- what scikit-learn asks ----

    def _more_tags(self) -> Dict[str, Any]:
        return {"requires_y": True, "_xfail_checks": dict(self._xfail)}

    def __sklearn_tags__(self) -> Any:
        """scikit-learn's from 1.6 on."""
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags
        classifier = self._estimator_type == "classifier"
        return Tags(estimator_type=self._estimator_type, target_tags=TargetTags(required=True),
                    classifier_tags=ClassifierTags() if classifier else None,
                    regressor_tags=None if classifier else RegressorTags(),
                    input_tags=InputTags(sparse=True))

    def __sklearn_is_fitted__(self) -> bool:
        return getattr(self, "model_", None) is not None

    # ---- rows ----

    def _take(self, x: Any, reset: bool, least: int = 1) -> Any:
        """X, checked; on `reset` what it looks like is remembered, else it must look so."""
        names = _arrays.feature_names(x)
        if not reset:
            self._check_names(names)
        x = _arrays.check_rows(x, least)
        if reset:
            self.n_features_in_ = x.shape[1]
            if names is not None:
                self.feature_names_in_ = names
            elif hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
        elif x.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {x.shape[1]} features, but {type(self).__name__} is expecting "
                             f"{self.n_features_in_} features as input")
        return x

    def _check_names(self, names: Optional[np.ndarray]) -> None:
        known = getattr(self, "feature_names_in_", None)
        if names is None and known is None:
            return
        if known is None:
            warnings.warn(f"X has feature names, but {type(self).__name__} was fitted without feature names")
        elif names is None:
            warnings.warn("X does not have valid feature names, but "
                          f"{type(self).__name__} was fitted with feature names")
        elif list(names) != list(known):
            raise ValueError(_names_differ(list(known), list(names)))

    def _require(self) -> _c.Model:
        model = getattr(self, "model_", None)
        if model is None:
            raise _not_fitted(type(self).__name__)
        return model

    # ---- training ----

    def _seed(self) -> int:
        """`random_state` as a seed; None is always the same one."""
        state = self.random_state  # type: ignore[attr-defined]
        if state is None:
            return 1
        if hasattr(state, "randint"):
            return int(state.randint(1, 2**31 - 1))
        return int(state)

    def _train(self, options: _c.Options, data: _c.Data) -> None:
        options.update(self.options or {})  # type: ignore[attr-defined]
        run = _run.run(options, data, verbose=bool(self.verbose), lenient=True)  # type: ignore[attr-defined]
        if run.stats["doubt"]:
            warnings.warn(run.stats["doubt"], DoubtWarning, stacklevel=4)
        self.model_ = run.model
        self.run_ = run
        run.model = None  # once, and pickled once
        self.history_ = run.history
        self.n_iter_ = max(1, run.stats["epochs"])

    def save(self, path: Path) -> None:
        """Writes the model for `shoal predict`, `shoal serve` and shoal.load."""
        self._require().save(path)

    def __getstate__(self) -> Dict[str, Any]:
        state = dict(self.__dict__)
        state["_version"] = _c.version()
        return state

    def __setstate__(self, state: Dict[str, Any]) -> None:
        state.pop("_version", None)
        self.__dict__.update(state)


def _names_differ(known: List[str], names: List[str]) -> str:
    said = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted(set(names) - set(known)), sorted(set(known) - set(names))

    def some(found: Sequence[str]) -> str:
        return "".join(f"- {name}\n" for name in found[:5]) + ("- ...\n" if len(found) > 5 else "")

    if unseen:
        said += "Feature names unseen at fit time:\n" + some(unseen)
    if missing:
        said += "Feature names seen at fit time, yet now missing:\n" + some(missing)
    if not unseen and not missing:
        said += "Feature names must be in the same order as they were in fit.\n"
    return said


class _Classifier(Estimator):
    _estimator_type = "classifier"

    def _take_classes(self, y: Any, n: int) -> np.ndarray:
        """The number of each label's class; sets classes_."""
        y = _arrays.check_classes(_arrays.check_labels(y, n))
        self.classes_, label = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"{type(self).__name__}: found 1 class, {self.classes_[0]!r}, want two or more: "
                             "classifier can't be trained when only one class is present.")
        return label

    def _take_part(self, X: Any, y: Any, classes: Any) -> Tuple[Any, np.ndarray]:
        """X and the number of each label's class, for partial_fit; the first call sets classes_."""
        first = getattr(self, "model_", None) is None
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        X = self._take(X, first)
        if first:
            self.classes_ = np.unique(np.asarray(classes))
            if len(self.classes_) < 2:
                raise ValueError(f"{type(self).__name__}: found 1 class, want two or more")
        elif classes is not None and not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
            raise ValueError(f"classes={classes!r} is not the same as on last call to partial_fit, was: "
                             f"{self.classes_!r}")
        y = _arrays.check_classes(_arrays.check_labels(y, X.shape[0]))
        label = np.searchsorted(self.classes_, y)
        if (label == len(self.classes_)).any() or (self.classes_[label] != y).any():
            raise ValueError(f"y: found a class that is none of {self.classes_!r}, want one of them")
        return X, label

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each row."""
        best = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> np.ndarray:
        raise NotImplementedError

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy: the share of rows whose class is predicted."""
        right = self.predict(X) == np.asarray(y)
        return float(np.average(right, weights=sample_weight))


class LogisticRegression(_Classifier):
    """Logistic regression of two or many classes, on dense or sparse rows.

    Trained by the library's row engine: one step a row, by FTRL, AdaGrad or plain SGD. SciPy's CSR and NumPy
    arrays of float32 and float64 are read where they lie; values of 0 cost nothing.

    Parameters
    ----------
    l1, l2 : float
        How much weights are pulled to 0: by a constant, which makes many 0, and by their size.
    solver : "ftrl", "adagrad" or "sgd"
    learning_rate : float or None
        At the start. None: as the solver likes it.
    max_iter : int or None
        Times through the rows. None: more where there are few, until what is held out gets no better.
    class_weight : None, "balanced" or a dict of classes
        How much rows of a class count.
    scale : bool
        Divide each column by the root mean square of its values other than 0 while learning. Weights
        are those of the columns as they are.
    deterministic : bool
        The same bytes each time, for any number of threads. False is faster on many rows.
    n_jobs : int or None
        Threads; None: one for each core.
    random_state : int, RandomState or None
        None is always the same seed.
    verbose : bool
        Show how far it is.
    options : dict or None
        Further options of `shoal train logreg` and `multinomial`, by name.

    Attributes
    ----------
    classes_, coef_, intercept_, n_features_in_, feature_names_in_, n_iter_
        As scikit-learn's.
    history_ : dict
        Figures of each epoch.
    run_
        The run: its reports, and its chart in a notebook.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [0.2, 0.9], [0.8, 0.1]] * 10)
    >>> y = np.array(["no", "yes", "no", "yes"] * 10)
    >>> model = LogisticRegression().fit(X, y)
    >>> model.predict([[0.9, 0.0], [0.1, 1.0]]).tolist()
    ['yes', 'no']
    >>> model.predict_proba([[0.9, 0.0]]).shape, model.coef_.shape
    ((1, 2), (1, 2))
    """

    _xfail = {"check_sample_weights_invariance": "rows are learned one after the other: leaving out those "
              "of weight 0 changes the order of the others"}

    def __init__(self, *, l1: float = 0.0, l2: float = 0.0, solver: str = "ftrl",
                 learning_rate: Optional[float] = None, max_iter: Optional[int] = None,
                 class_weight: Union[None, str, Dict[Any, float]] = None, scale: bool = True,
                 deterministic: bool = True, n_jobs: Optional[int] = None, random_state: Any = None,
                 verbose: bool = False, options: Optional[Dict[str, Any]] = None) -> None:
        self.l1, self.l2, self.solver = l1, l2, solver
        self.learning_rate, self.max_iter, self.class_weight = learning_rate, max_iter, class_weight
        self.scale, self.deterministic, self.n_jobs = scale, deterministic, n_jobs
        self.random_state, self.verbose, self.options = random_state, verbose, options

    def _options(self) -> _c.Options:
        task = "logreg" if len(self.classes_) == 2 else "multinomial"
        return _c.Options(task, l1=self.l1, l2=self.l2, optimizer=self.solver, lr=self.learning_rate,
                          epochs=self.max_iter, deterministic=self.deterministic, seed=self._seed(),
                          threads=_threads(self.n_jobs))

    def _weights(self, label: np.ndarray, weight: Any) -> Optional[np.ndarray]:
        """What rows count, the mean being 1; None: all the same."""
        if weight is None and self.class_weight is None:
            return None
        weight = np.ones(len(label)) if weight is None else _arrays.check_weights(weight, len(label))
        if self.class_weight is not None:
            weight = weight * self._class_weights(label)[label]
        mean = weight.mean()
        if not mean > 0:
            raise ValueError("sample_weight: found weights whose sum is 0, want more")
        return None if (weight == weight[0]).all() else weight / mean

    def _class_weights(self, label: np.ndarray) -> np.ndarray:
        if isinstance(self.class_weight, dict):
            return np.array([float(self.class_weight.get(one, 1)) for one in self.classes_.tolist()])
        if self.class_weight != "balanced":
            raise ValueError(f"class_weight: found {self.class_weight!r}, want None, 'balanced' or a dict")
        counts = np.maximum(np.bincount(label, minlength=len(self.classes_)), 1)
        return len(label) / (len(self.classes_) * counts)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "LogisticRegression":
        """Learns from rows X [n, features], dense or sparse, and their classes y [n]."""
        X = self._take(X, True)
        label = self._take_classes(y, X.shape[0])
        weight = self._weights(label, sample_weight)
        with _arrays.clicks(X, label, self.classes_, weight, self.scale) as rows, \
                _c.Data.of(rows=rows) as data, self._options() as options:
            self._train(options, data)
        self._set_weights()
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> "LogisticRegression":
        """One time through these rows, from the weights learned before. The first call names all classes;
        columns that these rows lack keep their weights. What the solver summed up is not kept between calls."""
        X, label = self._take_part(X, y, classes)
        weight = self._weights(label, sample_weight)
        with tempfile.TemporaryDirectory(prefix="shoal-") as folder, \
                _arrays.clicks(X, label, self.classes_, weight, self.scale) as rows, \
                _c.Data.of(rows=rows) as data, self._options() as options:
            options.update({"epochs": 1, "valid_share": 0, "early_stop": 0})
            before = getattr(self, "model_", None)
            if before is not None:
                path = os.path.join(folder, "before.shoal")
                before.save(path)
                options.set("start_from", path)
            self._train(options, data)
        self._set_weights()
        return self

    def _set_weights(self) -> None:
        model = self._require()
        outputs = _c.lib.shoal_linear_outputs(model.pointer)
        coef = np.zeros((outputs, self.n_features_in_), np.float32)
        bias = np.zeros(outputs, np.float32)
        _c.lib.shoal_linear_weights(model.pointer, self.n_features_in_, coef.ctypes.data, bias.ctypes.data)
        self.coef_, self.intercept_ = coef.astype(np.float64), bias.astype(np.float64)

    def decision_function(self, X: Any) -> np.ndarray:
        """Margins [n] of the second of two classes; of many, a score for each [n, classes]."""
        model = self._require()
        z = scores(model, self._take(X, False), _threads(self.n_jobs))
        return z.ravel() if z.shape[1] == 1 else z

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities [n, classes], in the order of classes_."""
        return probabilities(self.decision_function(X))

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each row."""
        z = self.decision_function(X)
        return self.classes_[(z > 0).astype(int) if z.ndim == 1 else np.argmax(z, axis=1)]


def _threads(jobs: Optional[int]) -> int:
    """scikit-learn's n_jobs as threads; 0: one for each core."""
    return jobs if jobs is not None and jobs > 0 else 0


def scores(model: _c.Model, x: Any, threads: int = 0) -> np.ndarray:
    """What a linear model says of checked rows: [n, outputs]."""
    import ctypes
    struct, keep = _arrays.rows_of(x)
    z = np.empty((x.shape[0], _c.lib.shoal_linear_outputs(model.pointer)))
    _c.lib.shoal_linear_scores(model.pointer, ctypes.byref(struct), threads, z.ctypes.data)
    del keep
    return z


def probabilities(z: np.ndarray) -> np.ndarray:
    """Of margins [n], or of scores [n, classes]."""
    if z.ndim == 1:
        p = np.where(z >= 0, 1 / (1 + np.exp(-np.abs(z))), 1 - 1 / (1 + np.exp(-np.abs(z))))
        return np.column_stack([1 - p, p])
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


_NET_PARAMETERS = """
    Parameters
    ----------
    hidden_layer_sizes : sequence of int, int or None
        Units of each hidden layer. None: as the number of samples asks for. (): none.
    activation : "auto", "relu", "tanh", "sigmoid" (or "logistic") or "gelu"
    solver : "adam", "momentum" or "sgd"
    learning_rate_init : float or None
        At the start. None: as the solver likes it.
    batch_size : int or None
        Samples of a step.
    max_iter : int or None
        Times through the samples. None: more where there are few, with early stopping.
    weight_decay : float or None
        How much parameters are pulled to 0.
    validation_fraction : float or None
        The share that is held out.
    scale : bool
        Bring inputs to mean 0 and variance 1, and targets likewise.
    n_jobs : int or None
        Threads, which do not change the result; None: one for each core.
    random_state : int, RandomState or None
        None is always the same seed.
    verbose : bool
        Show how far it is.
    options : dict or None
        Further options of `shoal train mlp`, by name.
"""


class _Net(Estimator):
    """What both nets share."""

    def _init(self, hidden_layer_sizes: Any, activation: str, solver: str, learning_rate_init: Any,
              batch_size: Any, max_iter: Any, weight_decay: Any, validation_fraction: Any, scale: bool,
              n_jobs: Any, random_state: Any, verbose: bool, options: Any) -> None:
        self.hidden_layer_sizes, self.activation, self.solver = hidden_layer_sizes, activation, solver
        self.learning_rate_init, self.batch_size, self.max_iter = learning_rate_init, batch_size, max_iter
        self.weight_decay, self.validation_fraction, self.scale = weight_decay, validation_fraction, scale
        self.n_jobs, self.random_state, self.verbose, self.options = n_jobs, random_state, verbose, options

    def _options(self) -> _c.Options:
        layers = self.hidden_layer_sizes
        if layers is not None and np.ndim(layers) == 0:
            layers = [layers]
        if layers is not None:
            layers = ",".join(str(int(width)) for width in layers) or "none"
        activation = "sigmoid" if self.activation == "logistic" else self.activation
        return _c.Options("mlp", layers=layers, activation=activation, optimizer=self.solver,
                          lr=self.learning_rate_init, batch=self.batch_size, epochs=self.max_iter,
                          weight_decay=self.weight_decay, valid_share=self.validation_fraction,
                          raw=not self.scale, seed=self._seed(), threads=_threads(self.n_jobs),
                          regression=self._estimator_type == "regressor")

    def _learn(self, samples: _c.Samples) -> None:
        with samples, _c.Data.of(samples=samples) as data, self._options() as options:
            self._train(options, data)

    def _go_on(self, samples: _c.Samples) -> None:
        """One time through the samples, from the net that is there."""
        with tempfile.TemporaryDirectory(prefix="shoal-") as folder, samples, \
                _c.Data.of(samples=samples) as data, self._options() as options:
            options.update({"epochs": 1, "valid_share": 0, "early_stop": 0, "schedule": "constant"})
            before = getattr(self, "model_", None)
            if before is not None:
                path = os.path.join(folder, "before.shoal")
                before.save(path)
                options.update({"start_from": path, **self._shape(before)})
            self._train(options, data)

    @staticmethod
    def _shape(model: _c.Model) -> Dict[str, str]:
        """What was left to the number of samples when it was first trained."""
        spec = _c.text(_c.lib.shoal_net_spec(_c.lib.shoal_model_net(model.pointer)))
        said = dict(word.split("=", 1) for word in spec.split()[1:])
        return {"layers": said["layers"] or "none", "activation": said["activation"]}

    def _answers(self, X: Any) -> np.ndarray:
        model = self._require()
        x = _arrays.dense(self._take(X, False))
        net = _c.lib.shoal_model_net(model.pointer)
        y = np.empty((x.shape[0], _c.lib.shoal_net_outputs(net)), np.float32)
        _c.lib.shoal_net_predict(net, x.ctypes.data, x.shape[0], y.ctypes.data)
        return y.astype(np.float64)

    @property
    def loss_curve_(self) -> List[float]:
        """The loss of each epoch."""
        return list(self.history_.get("loss", []))


class MLPClassifier(_Net, _Classifier):
    """A perceptron with hidden layers that tells classes apart.

    {parameters}
    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    >>> model = MLPClassifier(hidden_layer_sizes=(16,), max_iter=30).fit(X, y)
    >>> model.predict([[1.0, 1.0], [-1.0, 1.0]]).tolist()
    ['same', 'other']
    >>> model.score(X, y) > 0.9
    True
    """

    def __init__(self, hidden_layer_sizes: Union[None, int, Sequence[int]] = None, *,
                 activation: str = "auto", solver: str = "adam", learning_rate_init: Optional[float] = None,
                 batch_size: Optional[int] = None, max_iter: Optional[int] = None,
                 weight_decay: Optional[float] = None, validation_fraction: Optional[float] = None,
                 scale: bool = True, n_jobs: Optional[int] = None, random_state: Any = None,
                 verbose: bool = False, options: Optional[Dict[str, Any]] = None) -> None:
        self._init(hidden_layer_sizes, activation, solver, learning_rate_init, batch_size, max_iter,
                   weight_decay, validation_fraction, scale, n_jobs, random_state, verbose, options)

    def fit(self, X: Any, y: Any) -> "MLPClassifier":
        """Learns from samples X [n, features] and their classes y [n]."""
        X = self._take(X, True)
        label = self._take_classes(y, X.shape[0])
        self._learn(_arrays.samples(_arrays.dense(X), label, self.classes_))
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> "MLPClassifier":
        """One time through these samples, from what was learned before. The first call names all classes.
        Scaling is that of the first call; the solver's memory is not kept between calls."""
        X, label = self._take_part(X, y, classes)
        self._go_on(_arrays.samples(_arrays.dense(X), label, self.classes_))
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities [n, classes], in the order of classes_."""
        return self._answers(X)


class MLPRegressor(_Net):
    """A perceptron with hidden layers that predicts numbers, by squared error.

    {parameters}
    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(-2, 2, 400).reshape(-1, 1)
    >>> model = MLPRegressor(hidden_layer_sizes=(32,), max_iter=100).fit(X, X.ravel() ** 2)
    >>> model.score(X, X.ravel() ** 2) > 0.95
    True
    """

    _estimator_type = "regressor"

    def __init__(self, hidden_layer_sizes: Union[None, int, Sequence[int]] = None, *,
                 activation: str = "auto", solver: str = "adam", learning_rate_init: Optional[float] = None,
                 batch_size: Optional[int] = None, max_iter: Optional[int] = None,
                 weight_decay: Optional[float] = None, validation_fraction: Optional[float] = None,
                 scale: bool = True, n_jobs: Optional[int] = None, random_state: Any = None,
                 verbose: bool = False, options: Optional[Dict[str, Any]] = None) -> None:
        self._init(hidden_layer_sizes, activation, solver, learning_rate_init, batch_size, max_iter,
                   weight_decay, validation_fraction, scale, n_jobs, random_state, verbose, options)

    def _more_tags(self) -> Dict[str, Any]:
        return {**super()._more_tags(), "multioutput": True}

    def _targets(self, X: Any, y: Any) -> np.ndarray:
        y = _arrays.check_targets(y, X.shape[0])
        self._flat = y.ndim == 1
        return y.reshape(len(y), -1)

    def fit(self, X: Any, y: Any) -> "MLPRegressor":
        """Learns from samples X [n, features] and their targets y [n] or [n, targets]."""
        X = self._take(X, True)
        self._learn(_arrays.samples(_arrays.dense(X), y=self._targets(X, y)))
        return self

    def partial_fit(self, X: Any, y: Any) -> "MLPRegressor":
        """One time through these samples, from what was learned before. Scaling is that of the first call;
        the solver's memory is not kept between calls."""
        X = self._take(X, getattr(self, "model_", None) is None)
        self._go_on(_arrays.samples(_arrays.dense(X), y=self._targets(X, y)))
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Numbers [n], or [n, targets]."""
        y = self._answers(X)
        return y.ravel() if self._flat else y

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2: the share of the variance that is predicted, the mean over targets."""
        y = np.asarray(y, dtype=np.float64)
        said = self.predict(X).reshape(y.shape)
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        mean = np.average(y, axis=0, weights=weight)
        left = np.tensordot(weight, (y - said) ** 2, axes=1)
        all_of_it = np.tensordot(weight, (y - mean) ** 2, axes=1)
        share = np.where(all_of_it > 0, left / np.where(all_of_it > 0, all_of_it, 1), np.where(left > 0, 1, 0))
        return float(np.mean(1 - share))


for _kind in (MLPClassifier, MLPRegressor):
    _kind.__doc__ = (_kind.__doc__ or "").replace("    {parameters}\n", _NET_PARAMETERS.strip("\n") + "\n\n")
for _kind in (LogisticRegression, MLPClassifier, MLPRegressor):  # type: ignore[assignment]
    _kind.__module__ = "shoal"

"""Arrays on their way into the library, and what is wrong with them.

NumPy arrays and SciPy's sparse matrices are taken where they lie if their types are those of C; SciPy and
pandas are asked for by duck typing and never imported.
"""
import ctypes
import warnings
from typing import Any, List, Optional, Tuple

import numpy as np

from . import _abi, _c


def is_sparse(x: Any) -> bool:
    """Whether it is one of SciPy's sparse matrices or arrays."""
    return hasattr(x, "tocsr") and hasattr(x, "nnz")


def feature_names(x: Any) -> Optional[np.ndarray]:
    """The names of a data frame's columns; None where there are none, or none that are strings."""
    columns = getattr(x, "columns", None)
    if columns is None or is_sparse(x):
        return None
    names = np.asarray(columns, dtype=object)
    strings = [isinstance(name, str) for name in names]
    if names.size == 0 or not any(strings):
        return None
    if not all(strings):
        raise TypeError("Feature names are only supported if all input features have string names, but "
                        f"your input has {sorted({type(name).__name__ for name in names})} as feature name "
                        "types. If you want feature names to be stored and validated, you must convert "
                        "them all to strings, by using X.columns = X.columns.astype(str) for example.")
    return names


def _finite(values: np.ndarray, name: str) -> None:
    if values.size and not np.isfinite(values).all():
        raise ValueError(f"Input {name} contains NaN." if np.isnan(values).any()
                         else f"Input {name} contains infinity or a value too large for "
                              f"dtype('{values.dtype}').")
    if values.dtype == np.float64 and values.size and \
            max(values.max(), -values.min()) > np.finfo(np.float32).max:
        raise ValueError(f"Input {name} contains infinity or a value too large for dtype('float32').")


def _numbers(x: Any, name: str) -> np.ndarray:
    """A NumPy array of floats, not copied where it is one."""
    values = np.asarray(x)
    if values.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{name} has values of type {values.dtype}")
    if values.dtype.kind in "USV":
        raise ValueError(f"dtype='numeric' is not compatible with {name} of type {values.dtype}: want numbers")
    if values.dtype.kind == "O":
        try:
            values = values.astype(np.float64)
        except TypeError as error:
            raise TypeError(f"argument must be a string or a number: {error}") from None
        except ValueError as error:
            raise ValueError(f"{name}: found what is no number ({error}), want numbers") from None
    return values


def _inside(places: np.ndarray, what: str, n: int) -> None:
    if places.size and (places.min() < 0 or places.max() >= n):
        found = places.min() if places.min() < 0 else places.max()
        raise ValueError(f"X: found {what} {found} in a sparse matrix, want 0 to {n - 1}")


def check_sparse(x: Any, whole: bool = True) -> None:
    """Refuses a sparse matrix that leads outside of itself, where SciPy would write wherever it points. Without
    `whole` only rows are looked at, not their columns: the library looks at those on its way."""
    form = getattr(x, "format", "")
    if form == "coo":
        _inside(x.row, "row", x.shape[0])
        _inside(x.col, "column", x.shape[1])
    elif form in ("csr", "csc", "bsr"):
        high, wide = x.blocksize if form == "bsr" else (1, 1)
        lines, across = (x.shape[1], x.shape[0]) if form == "csc" else (x.shape[0] // high, x.shape[1] // wide)
        start, has = x.indptr, min(len(x.indices), len(x.data))
        if len(start) != lines + 1 or start[0] < 0 or start[-1] > has:
            raise ValueError(f"X: found {len(start)} places of rows, the ends {start[:1].tolist() + start[-1:].tolist()}, "
                             f"want {lines + 1} from 0 to at most {has}")
        if (start[1:] < start[:-1]).any():
            raise ValueError("X: found a row that ends before it begins, want places of rows in order")
        if whole:
            _inside(x.indices[start[0]:start[-1]], "row" if form == "csc" else "column", across)


def check_rows(x: Any, least: int = 1) -> Any:
    """A matrix to learn from or to predict for: dense and 2-dimensional, or sparse in rows; of float32 or
    float64, finite. Raises with scikit-learn's words, which pipelines and tests look for."""
    if is_sparse(x):
        rows = getattr(x, "format", "") == "csr"
        check_sparse(x, whole=not rows)
        x = x if rows else x.tocsr()
        if not x.has_canonical_format:  # a value given in parts is their sum, as everywhere in SciPy
            x = x.copy()
            x.sum_duplicates()
        if x.data.dtype.kind == "c":
            raise ValueError("Complex data not supported")
        data = x.data
        _finite(data if data.dtype.kind == "f" else data.astype(np.float32), "X")
    else:
        x = _numbers(x, "X")
        if x.ndim != 2:
            raise ValueError(f"Expected 2D array, got {('scalar', '1D')[x.ndim == 1]} array instead:\n"
                             f"array={x}.\nReshape your data either using array.reshape(-1, 1) if your data "
                             "has a single feature or array.reshape(1, -1) if it contains a single sample."
                             if x.ndim < 2 else f"Found array with dim {x.ndim}. Estimator expected <= 2.")
        if x.dtype not in (np.float32, np.float64):
            x = x.astype(np.float32 if x.dtype.itemsize <= 2 else np.float64)
        _finite(x, "X")
    if x.shape[0] < least:
        raise ValueError(f"Found array with {x.shape[0]} sample(s) (shape={x.shape}) while a minimum of "
                         f"{least} is required.")
    if x.shape[1] < 1:
        raise ValueError(f"Found array with 0 feature(s) (shape={x.shape}) while a minimum of 1 is required.")
    return x


def check_labels(y: Any, n: int) -> np.ndarray:
    """One label for each row."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    if is_sparse(y):
        raise ValueError("y: found a sparse matrix, want a dense array")
    y = np.asarray(y)
    if y.dtype.kind == "c":
        raise ValueError("Complex data not supported")
    if y.ndim == 2 and y.shape[1] == 1:
        warnings.warn("A column-vector y was passed when a 1d array was expected. Please change the shape of "
                      "y to (n_samples, ), for example using ravel().", _conversion_warning(), stacklevel=4)
        y = y.ravel()
    if y.ndim != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {y.shape} instead.")
    if len(y) != n:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {[n, len(y)]}")
    return y


def _conversion_warning() -> type:
    import sys
    exceptions = sys.modules.get("sklearn.exceptions")
    return getattr(exceptions, "DataConversionWarning", UserWarning) if exceptions else UserWarning


def check_classes(y: np.ndarray) -> np.ndarray:
    """Labels that are classes: not numbers with a fraction."""
    if y.dtype.kind == "f":
        if not np.isfinite(y).all():
            raise ValueError("Input y contains NaN." if np.isnan(y).any() else "Input y contains infinity.")
        if (y != np.floor(y)).any():
            raise ValueError("Unknown label type: 'continuous'. Maybe you are trying to fit a classifier, "
                             "which expects discrete classes, on a regression target with continuous values.")
    if y.dtype.kind == "O" and any(not isinstance(one, str) for one in y.tolist()) and \
            any(isinstance(one, str) for one in y.tolist()):
        raise TypeError("y: found strings among other labels, want labels of one type")
    return y


def check_targets(y: Any, n: int) -> np.ndarray:
    """Numbers for each row, [n] or [n, targets]."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    if is_sparse(y):
        raise ValueError("y: found a sparse matrix, want a dense array")
    y = _numbers(y, "y")
    if y.ndim not in (1, 2):
        raise ValueError(f"y should be a 1d or 2d array, got an array of shape {y.shape} instead.")
    if len(y) != n:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {[n, len(y)]}")
    if y.ndim == 2 and y.shape[1] == 1:
        warnings.warn("A column-vector y was passed when a 1d array was expected. Please change the shape of "
                      "y to (n_samples, ), for example using ravel().", _conversion_warning(), stacklevel=4)
        y = y.ravel()
    y = y.astype(np.float64, copy=False)
    _finite(y, "y")
    return y


def check_weights(weight: Any, n: int) -> np.ndarray:
    """A weight for each row."""
    weight = _numbers(weight, "sample_weight").astype(np.float64, copy=False)
    if weight.ndim == 0:
        weight = np.full(n, weight)
    if weight.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar")
    if weight.shape != (n,):
        raise ValueError(f"sample_weight.shape == {weight.shape}, expected {(n,)}!")
    _finite(weight, "sample_weight")
    if (weight < 0).any():
        raise ValueError("sample_weight: found a negative one, want 0 or more")
    return weight


# ---- Into C --------------------------------------------------------------------------------------


def rows_of(x: Any) -> Tuple[_abi.shoal_rows, List[Any]]:
    """A checked matrix as struct shoal_rows, and what to keep while that is used. Nothing is copied that
    lies as C wants it: CSR with 32 or 64 bits, dense arrays in C's order."""
    if is_sparse(x):
        place = np.int64 if np.int64 in (x.indptr.dtype, x.indices.dtype) else np.int32
        start = np.ascontiguousarray(x.indptr, dtype=place)
        column = np.ascontiguousarray(x.indices, dtype=place)
        value = np.ascontiguousarray(x.data, dtype=None if x.data.dtype in (np.float32, np.float64)
                                     else np.float64)
        struct = _abi.shoal_rows(rows=x.shape[0], columns=x.shape[1], start=start.ctypes.data,
                                 column=column.ctypes.data, value=value.ctypes.data,
                                 wide_places=place is np.int64, wide_values=value.dtype == np.float64)
        return struct, [start, column, value]
    value = np.ascontiguousarray(x)
    return _abi.shoal_rows(rows=x.shape[0], columns=x.shape[1], value=value.ctypes.data,
                           wide_values=value.dtype == np.float64), [value]


def names_of(classes: np.ndarray) -> Any:
    """The classes as strings for the library; None where two would be the same."""
    names = [str(one).replace("\0", " ").encode("utf-8", "replace")[:255] for one in classes.tolist()]
    return _c.strings(names) if len(set(names)) == len(names) and all(names) else None


def clicks(x: Any, label: np.ndarray, classes: np.ndarray, weight: Optional[np.ndarray],
           scale: bool) -> _c.Clicks:
    """Rows to learn from, with a class each, as its number in `classes`."""
    struct, keep = rows_of(x)
    label = np.ascontiguousarray(label, dtype=np.uint32)
    weight = None if weight is None else np.ascontiguousarray(weight, dtype=np.float32)
    opts = _c.lib.shoal_clicks_default()
    opts.classes, opts.scale = len(classes) > 2, scale
    names = names_of(classes)
    if names is None:
        names = _c.strings([str(k).encode() for k in range(len(classes))])
    opts.labels, opts.nlabels = names, len(classes)
    return _c.opened(_c.Clicks, _c.lib.shoal_clicks_new, ctypes.byref(struct), label.ctypes.data,
                     None if weight is None else weight.ctypes.data, ctypes.byref(opts))


def dense(x: Any) -> np.ndarray:
    """A checked matrix as dense float32 in C's order."""
    if is_sparse(x):
        check_sparse(x)
    return np.ascontiguousarray(x.toarray() if is_sparse(x) else x, dtype=np.float32)


def samples(x: np.ndarray, label: Optional[np.ndarray] = None, classes: Optional[np.ndarray] = None,
            y: Optional[np.ndarray] = None) -> _c.Samples:
    """Samples with a class, as its number in `classes`, or with targets [n, targets]; copied."""
    label = None if label is None else np.ascontiguousarray(label, dtype=np.uint32)
    y = None if y is None else np.ascontiguousarray(y, dtype=np.float32)
    made = _c.opened(_c.Samples, _c.lib.shoal_samples_new, x.ctypes.data, x.shape[0], x.shape[1],
                     None if label is None else label.ctypes.data, None if y is None else y.ctypes.data,
                     0 if y is None else y.shape[1])
    if classes is not None:
        _c.lib.shoal_samples_name_classes(made.pointer, names_of(classes), len(classes))
    return made

"""Estimators learn what can be learned, and scikit-learn takes them for its own."""
import ctypes
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import shoal
from shoal import _arrays, _c

KINDS = [shoal.LogisticRegression, shoal.MLPClassifier, shoal.MLPRegressor]


def blobs(n=300, classes=3, seed=1):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    centres = np.array([[3, 0, 0, 1], [0, 3, 0, 1], [0, 0, 3, 1], [-3, -3, 0, 1]])[:classes]
    return rng.normal(size=(n, 4)) + centres[y], y


# ---- linear models ----


def test_two_classes_are_told_apart_and_coefficients_say_how():
    X, y = blobs(classes=2)
    model = shoal.LogisticRegression().fit(X, y)
    assert model.score(X, y) > 0.97
    assert model.coef_.shape == (1, 4) and model.intercept_.shape == (1,)
    by_hand = X @ model.coef_.ravel() + model.intercept_
    assert np.allclose(model.decision_function(X), by_hand, atol=1e-4)
    assert np.allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-by_hand)), atol=1e-5)
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1)


def test_many_classes_of_any_labels_are_told_apart():
    X, y = blobs(classes=4)
    names = np.array(["ant", "bee", "cat", "dog"])[y]
    model = shoal.LogisticRegression().fit(X, names)
    assert model.score(X, names) > 0.95 and list(model.classes_) == ["ant", "bee", "cat", "dog"]
    assert model.coef_.shape == (4, 4) and model.decision_function(X).shape == (300, 4)
    assert np.allclose(model.decision_function(X), X @ model.coef_.T + model.intercept_, atol=1e-4)
    assert np.allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("place", [np.int32, np.int64])
def test_sparse_and_dense_rows_are_the_same_rows(dtype, place):
    sparse = pytest.importorskip("scipy.sparse")
    X, y = blobs(classes=2)
    X = np.where(np.abs(X) < 1, 0, np.round(X)).astype(dtype)
    rows = sparse.csr_matrix(X)
    rows.indptr, rows.indices = rows.indptr.astype(place), rows.indices.astype(place)
    a, b = shoal.LogisticRegression().fit(X, y), shoal.LogisticRegression().fit(rows, y)
    assert np.array_equal(a.coef_, b.coef_) and np.array_equal(a.intercept_, b.intercept_)
    assert np.array_equal(a.decision_function(rows), a.decision_function(X))
    for form in ("csc", "coo", "lil", "dok"):
        assert np.array_equal(a.predict_proba(rows.asformat(form)), a.predict_proba(X))


def test_rows_in_memory_are_not_copied():
    sparse = pytest.importorskip("scipy.sparse")
    X = sparse.random(50, 20, 0.2, "csr", np.float64, random_state=1)
    struct, _ = _arrays.rows_of(X)
    assert (struct.start, struct.column, struct.value) == (
        X.indptr.ctypes.data, X.indices.ctypes.data, X.data.ctypes.data)
    dense = np.ones((3, 4), np.float32)
    assert _arrays.rows_of(dense)[0].value == dense.ctypes.data


def test_columns_that_no_row_has_weigh_nothing():
    X = np.zeros((40, 1000), np.float32)
    X[::2, 3], X[1::2, 900] = 1, 1
    model = shoal.LogisticRegression().fit(X, np.arange(40) % 2)
    assert set(np.flatnonzero(model.coef_[0])) == {3, 900} and model.coef_[0, 3] < 0 < model.coef_[0, 900]


def test_weights_of_1_are_no_weights_and_large_ones_count():
    X, y = blobs(classes=2)
    plain = shoal.LogisticRegression().fit(X, y)
    ones = shoal.LogisticRegression().fit(X, y, sample_weight=np.ones(len(y)))
    assert np.array_equal(plain.coef_, ones.coef_)
    heavy = shoal.LogisticRegression().fit(X, y, sample_weight=np.where(y == 1, 20.0, 1.0))
    assert heavy.intercept_[0] > plain.intercept_[0] + 0.5
    by_class = shoal.LogisticRegression(class_weight={1: 20}).fit(X, y)
    assert np.array_equal(by_class.coef_, heavy.coef_)
    with pytest.raises(ValueError, match="class_weight: found 'even', want"):
        shoal.LogisticRegression(class_weight="even").fit(X, y)


def test_l1_makes_weights_zero():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 30))
    y = X[:, 0] > 0
    model = shoal.LogisticRegression(l1=10.0, max_iter=3).fit(X, y)
    assert 1 <= np.count_nonzero(model.coef_) < 25 and model.score(X, y) > 0.9
    assert list(model.classes_) == [False, True]


def test_columns_of_any_size_are_learned():
    X, y = blobs(classes=3)
    sizes = np.array([1e-3, 1, 1e3, 1])
    assert shoal.LogisticRegression().fit(X * sizes, y).score(X * sizes, y) > 0.95


def test_the_same_seed_gives_the_same_bytes_on_any_number_of_threads():
    X, y = blobs(n=3000)
    one, two = (shoal.LogisticRegression(n_jobs=n).fit(X, y) for n in (1, 2))
    assert np.array_equal(one.coef_, two.coef_)


def test_what_cannot_be_learned_is_given_with_a_warning():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 1200)).astype(np.float32), rng.integers(0, 2, 3000)
    with pytest.warns(shoal.DoubtWarning, match="learned its rows by heart"):
        model = shoal.LogisticRegression().fit(X, y)
    assert model.predict(X).shape == (3000,)


def test_one_class_or_too_many_are_refused():
    X, y = blobs()
    with pytest.raises(ValueError, match="found 1 class"):
        shoal.LogisticRegression().fit(X, np.zeros(300))
    with pytest.raises(ValueError, match="found 300 classes, want 2 to 254"):
        shoal.LogisticRegression().fit(X, np.arange(300))


def test_a_wrong_option_is_named():
    X, y = blobs()
    with pytest.raises(ValueError, match="--optimizer is 'newton', want"):
        shoal.LogisticRegression(solver="newton").fit(X, y)
    with pytest.raises(ValueError, match="multinomial has no option 'dim'"):
        shoal.LogisticRegression(options={"dim": 3}).fit(X, y)


# ---- nets ----


def test_a_net_learns_what_no_line_divides():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(1500, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    model = shoal.MLPClassifier(hidden_layer_sizes=(32,), max_iter=40).fit(X, y)
    assert model.score(X, y) > 0.95 and shoal.LogisticRegression().fit(X, y).score(X, y) < 0.7
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert len(model.loss_curve_) == model.n_iter_ == 40 and model.loss_curve_[-1] < model.loss_curve_[0]


def test_a_net_predicts_numbers_one_or_several():
    X = np.linspace(-2, 2, 500).reshape(-1, 1)
    y = np.column_stack([X.ravel() ** 2, 1000 + 10 * X.ravel()])
    both = shoal.MLPRegressor(hidden_layer_sizes=(32, 32), max_iter=60).fit(X, y)
    assert both.predict(X).shape == (500, 2) and both.score(X, y) > 0.97
    one = shoal.MLPRegressor(max_iter=60).fit(X, y[:, 0])
    assert one.predict(X).shape == (500,) and one.score(X, y[:, 0]) > 0.97


def test_partial_fit_goes_on_where_it_was():
    X, y = blobs(n=600)
    model = shoal.MLPClassifier(hidden_layer_sizes=(16,))
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        model.partial_fit(X[:100], y[:100])
    scores = []
    for turn in range(20):
        part = slice(turn % 6 * 100, turn % 6 * 100 + 100)
        known = y[part] != 2 if turn == 0 else slice(None)  # a class that the first part lacks
        model.partial_fit(X[part][known], y[part][known], classes=[0, 1, 2])
        scores.append(model.score(X, y))
    assert scores[-1] > 0.93 and scores[0] < scores[-1]
    with pytest.raises(ValueError, match="is not the same as on last call"):
        model.partial_fit(X, y, classes=[0, 1])
    fitted = shoal.MLPClassifier(max_iter=3).fit(X, y)  # its layers were left to the samples
    assert fitted.partial_fit(X[:50], y[:50]).score(X, y) > 0.9


@pytest.mark.parametrize("classes", [2, 3])
def test_partial_fit_of_a_linear_model_keeps_what_it_learned(classes):
    X, y = blobs(n=600, classes=classes)
    model, scores = shoal.LogisticRegression(), []
    for part in range(6):
        rows = slice(part * 100, part * 100 + 100)
        model.partial_fit(X[rows], y[rows], classes=np.arange(classes))
        scores.append(model.score(X, y))
    assert scores[-1] > 0.95
    before = model.coef_.copy()
    X[:, 2] = 0  # a column that no row has keeps its weight
    model.partial_fit(X[:50], y[:50])
    assert np.array_equal(model.coef_[:, 2], before[:, 2]) and not np.array_equal(model.coef_, before)
    model.partial_fit(X[y == 1][:20], y[y == 1][:20])  # rows of one class
    assert model.predict(X[y == 1]).mean() > 0.9
    with pytest.raises(ValueError, match="found a class that is none of"):
        model.partial_fit(X[:2], [0, 9])


def test_partial_fit_of_numbers_keeps_their_units():
    X = np.linspace(-1, 1, 400).reshape(-1, 1)
    y = 500 + 100 * X.ravel()
    model = shoal.MLPRegressor(hidden_layer_sizes=(8,), max_iter=50).fit(X, y)
    model.partial_fit(X[:50], y[:50])
    assert np.abs(model.predict(X) - y).mean() < 30


# ---- all ----


@pytest.mark.parametrize("kind", KINDS)
def test_an_estimator_that_was_not_fitted_says_so(kind):
    with pytest.raises(ValueError, match="not fitted yet"):
        kind().predict([[1.0, 2.0]])
    with pytest.raises(AttributeError):
        kind().predict([[1.0, 2.0]])


@pytest.mark.parametrize("kind", KINDS)
def test_a_pickle_predicts_the_same(kind):
    X, y = blobs()
    model = kind(max_iter=3).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(model.predict(X), again.predict(X)) and again.history_ == model.history_
    assert repr(again) == repr(model) == f"{kind.__name__}(max_iter=3)"


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_are_set_by_name(kind):
    model = kind(max_iter=3)
    assert model.set_params(max_iter=4, random_state=7) is model and model.get_params()["max_iter"] == 4
    with pytest.raises(ValueError, match="Invalid parameter 'C'"):
        model.set_params(C=1)


def test_data_that_cannot_be_learned_from_is_refused():
    X, y = blobs()
    for wrong, said in ((np.full((3, 4), np.nan), "contains NaN"), (np.full((3, 4), np.inf), "infinity"),
                        (np.full((3, 4), 1e300), "too large"), (np.ones(4), "Expected 2D array"),
                        (np.ones((3, 4)) * 1j, "Complex data"), (np.ones((0, 4)), "0 sample"),
                        (np.ones((3, 0)), "0 feature")):
        for kind in KINDS:
            with pytest.raises(ValueError, match=said):
                kind().fit(wrong, [0, 1, 0])
    with pytest.raises(ValueError, match="Unknown label type"):
        shoal.MLPClassifier().fit(X, y + 0.5)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        shoal.MLPClassifier().fit(X, y[:5])
    model = shoal.LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="X has 3 features, but LogisticRegression is expecting 4"):
        model.predict(X[:, :3])


def test_names_of_columns_are_remembered_and_compared():
    class Frame:  # what of a data frame is looked at
        def __init__(self, values, columns):
            self.values, self.columns = values, columns

        def __array__(self, dtype=None, copy=None):
            return np.asarray(self.values, dtype=dtype)

    X, y = blobs()
    model = shoal.LogisticRegression().fit(Frame(X, ["a", "b", "c", "d"]), y)
    assert list(model.feature_names_in_) == ["a", "b", "c", "d"]
    with pytest.raises(ValueError, match="Feature names unseen at fit time:\n- e"):
        model.predict(Frame(X, ["a", "b", "c", "e"]))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)


def test_what_a_model_saved_the_program_predicts_alike(tmp_path):
    import os
    program = os.environ.get("SHOAL_PROGRAM")
    if not program:
        pytest.skip("no SHOAL_PROGRAM")
    X, y = blobs(classes=2, n=50)
    X = np.round(X, 3)
    model = shoal.LogisticRegression().fit(X, y)
    model.save(tmp_path / "model.shoal")
    (tmp_path / "rows.txt").write_text("".join(
        f"{label} " + " ".join(f"{i}:{x:g}" for i, x in enumerate(row)) + "\n" for row, label in zip(X, y)))
    said = subprocess.run([program, "predict", "model.shoal", "rows.txt"], cwd=tmp_path, check=True,
                          capture_output=True, text=True).stdout.split()
    assert np.allclose([float(p) for p in said], model.predict_proba(X)[:, 1], atol=1e-5)


# ---- scikit-learn ----


@pytest.mark.parametrize("kind", KINDS)
def test_scikit_learns_checks_pass(kind):
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    skips = pytest.importorskip("unittest").SkipTest
    done, left = 0, set()
    for estimator, check in checks.check_estimator(kind(), generate_only=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                check(estimator)
                done += 1
            except skips as why:
                left.add(str(why).split(":")[0])
    assert done > 35
    assert all("pandas is not installed" in one or "check_sample_weights_invariance" in one for one in left), left


def test_pipelines_and_searches_take_the_estimators():
    pytest.importorskip("sklearn")
    from sklearn.base import clone, is_classifier, is_regressor
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    X, y = blobs()
    assert is_classifier(shoal.LogisticRegression()) and is_regressor(shoal.MLPRegressor())
    search = GridSearchCV(make_pipeline(StandardScaler(), shoal.LogisticRegression(max_iter=5)),
                          {"logisticregression__l2": [0.0, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.9 and clone(search.best_estimator_)
    assert cross_val_score(shoal.MLPClassifier((16,), max_iter=30), X, y, cv=3).mean() > 0.9


def test_scikit_learn_and_scipy_are_not_imported():
    code = ("import sys, shoal\nimport numpy as np\nX = np.eye(4)\nshoal.LogisticRegression().fit(X, [0, 1, 0, 1])\n"
            "print(sorted(m for m in ('sklearn', 'scipy', 'pandas', 'tqdm') if m in sys.modules))")
    import os
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(shoal.__file__))})
    assert said.stdout.strip() == "[]"


def test_malformed_matrices_never_reach_memory_beyond_them():
    start, column = np.array([0, 1, 2], np.int32), np.array([0, 99], np.int32)
    struct = _c._abi.shoal_rows(rows=2, columns=3, start=start.ctypes.data, column=column.ctypes.data)
    label = np.zeros(2, np.uint32)
    with pytest.raises(shoal.InvalidError, match="rows: row 1 has column 99, want 0 to 2"):
        _c.opened(_c.Clicks, _c.lib.shoal_clicks_new, ctypes.byref(struct), label.ctypes.data, None,
                  ctypes.byref(_c.lib.shoal_clicks_default()))


def broken(kind, name, value):
    """A sparse matrix of 20 x 4 of which one array is another."""
    sparse = pytest.importorskip("scipy.sparse")
    x = sparse.csr_matrix(np.eye(20, 4) + np.eye(20, 4, 1)).asformat(kind)
    places = getattr(x, name).copy()
    if value is None:
        places = places[:-1].copy()
    else:
        places[-1 if name == "indptr" else 0] = value
    setattr(x, name, places)
    return x


@pytest.mark.parametrize("estimator", [shoal.LogisticRegression(), shoal.MLPClassifier(hidden_layer_sizes=(2,)),
                                       shoal.MLPRegressor(hidden_layer_sizes=(2,))])
@pytest.mark.parametrize("kind, name, value", [
    ("csr", "indices", 1000000), ("csr", "indices", -1), ("csr", "indptr", 1000000), ("csr", "indptr", -1),
    ("csr", "indptr", None), ("csr", "data", None), ("csc", "indices", 1000000), ("csc", "indptr", 1000000),
    ("coo", "row", 1000000), ("coo", "col", -1)])
def test_a_sparse_matrix_that_leads_outside_of_itself_is_refused(estimator, kind, name, value):
    """SciPy writes wherever the indices of such a matrix point, which ends the interpreter."""
    with pytest.raises(ValueError, match="found|want"):
        estimator.fit(broken(kind, name, value), np.arange(20) % 2)


def test_sparse_matrices_of_any_kind_are_learned_alike():
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(3)
    x = sparse.csr_matrix(np.where(rng.random((80, 6)) < 0.5, rng.normal(size=(80, 6)), 0))
    y = np.asarray(x[:, 0].toarray() > 0).ravel()
    turned, wide = sparse.csr_matrix((x.data.copy(), x.indices.copy(), x.indptr), shape=x.shape), x.copy()
    for begin, end in zip(x.indptr[:-1], x.indptr[1:]):
        turned.indices[begin:end], turned.data[begin:end] = x.indices[begin:end][::-1], x.data[begin:end][::-1]
    wide.indices, wide.indptr = x.indices.astype(np.int64), x.indptr.astype(np.int64)
    twice = sparse.csr_matrix((np.repeat(x.data / 2, 2), np.repeat(x.indices, 2), x.indptr * 2), shape=x.shape)
    for estimator in (shoal.LogisticRegression(max_iter=3), shoal.MLPClassifier(hidden_layer_sizes=(3,), max_iter=3)):
        want = estimator.fit(x, y).predict_proba(x)
        for other in (turned, wide, twice, x.tocsc(), x.tocoo(), x.tolil(), x.tobsr((2, 2)), x.toarray()):
            assert np.allclose(estimator.fit(other, y).predict_proba(x), want, atol=1e-5)

"""Models of every kind are opened, asked and saved again."""
import ctypes
import os
import subprocess
import threading

import numpy as np
import pytest

import shoal
from shoal import _c, _run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3))
    return X, np.array(["ant", "bee", "cat"])[X.argmax(axis=1)]


@pytest.mark.parametrize("kind", [shoal.LogisticRegression, shoal.MLPClassifier])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_saved_model_predicts_what_it_did(kind, classes, rows, folder):
    X, y = rows[0], np.where(rows[1] == "ant", "ant", "bee") if classes == 2 else rows[1]
    trained = kind(max_iter=20).fit(X, y)
    trained.save(folder / "model.shoal")
    model = shoal.load(folder / "model.shoal")
    assert model.kind == {2: "logreg", 3: "multinomial"}[classes] if kind is shoal.LogisticRegression else "net"
    assert model.classes_ == list(trained.classes_)
    assert model.predict(X) == list(trained.predict(X))
    assert np.allclose(model.predict_proba(X), trained.predict_proba(X))
    assert isinstance(model.info, dict) and model.info["title"]


def test_a_net_of_numbers_gives_numbers(rows, folder):
    trained = shoal.MLPRegressor(max_iter=5).fit(rows[0], rows[0] @ [1, 2, 3])
    trained.save(folder / "numbers.shoal")
    model = shoal.load(folder / "numbers.shoal")
    assert np.allclose(model.predict(rows[0]), trained.predict(rows[0]), atol=1e-5)
    assert model.classes_ is None and model.n_features_in_ == 3
    with pytest.raises(ValueError, match="found rows of 2 numbers, want 3"):
        model.predict(rows[0][:, :2])
    with pytest.raises(ValueError, match="no classes"):
        model.predict_proba(rows[0])


def test_files_are_predicted_and_scored_as_the_program_does_it(folder):
    program = os.environ.get("SHOAL_PROGRAM")
    if not program:
        pytest.skip("no SHOAL_PROGRAM")
    subprocess.run([program, "gen", "clicks", "--rows", "2000", "-o", "clicks.tsv", "-q"], cwd=folder, check=True)
    subprocess.run([program, "train", "logreg", "clicks.tsv", "-o", "clicks.shoal", "-q"], cwd=folder, check=True)
    said = subprocess.run([program, "predict", "clicks.shoal", "clicks.tsv"], cwd=folder, check=True,
                          capture_output=True, text=True).stdout.splitlines()
    model = shoal.load(folder / "clicks.shoal")
    assert model.predict(str(folder / "clicks.tsv")) == said and len(said) == 2000
    assert 0.5 < model.evaluate(folder / "clicks.tsv")["auc"] <= 1
    with pytest.raises(ValueError, match="found a model of rows of criteo, want one of numbered columns"):
        model.predict(np.ones((2, 3)))
    with pytest.raises(FileNotFoundError):
        model.predict(str(folder / "nowhere.tsv"))


def test_word_vectors_are_keyed_vectors(world, folder):
    options = _c.Options("cbow", dim=16, min_count=1, epochs=1)
    with _c.Data.open(options, world[0]) as data:
        _run.run(options, data).model.save(folder / "vectors.shoal")
    for mapped in (True, False):
        vectors = shoal.load(folder / "vectors.shoal", map=mapped)
        assert vectors.vector_size == 16 and len(vectors) > 100
        word = vectors.index_to_key[0]
        assert vectors[word].shape == (16,) and word in vectors


def test_weights_for_other_programs_are_a_net(rows, folder):
    trained = shoal.MLPClassifier(max_iter=3).fit(*rows)
    trained.save(folder / "net.safetensors")
    model = shoal.load(folder / "net.safetensors")
    assert model.kind == "net" and np.allclose(model.predict_proba(rows[0]), trained.predict_proba(rows[0]))
    (folder / "two.txt").write_text("2 3\ncat 1 2 3\ndog 3 2 1\n")
    assert shoal.load(folder / "two.txt").index_to_key == ["cat", "dog"]


def test_the_next_words_are_predicted(world, folder):
    from_text = _c.Options("cbow", dim=8, min_count=1, epochs=1)
    with _c.Data.open(from_text, world[0]) as data:
        _run.run(from_text, data).model.save(folder / "words.shoal")
    options = _c.Options("nextword", vectors=folder / "words.shoal", epochs=1)
    with _c.Data.open(options, world[0]) as data:
        _run.run(options, data).model.save(folder / "nextword.shoal")
    model = shoal.load(folder / "nextword.shoal")
    words = model.predict("the", topn=5)
    assert model.kind == "nextword" and len(words) == 5
    assert all(0 <= p <= 1 for _, p in words) and words == sorted(words, key=lambda w: -w[1])


def test_files_that_are_no_models_are_refused(folder):
    (folder / "empty").write_bytes(b"")
    (folder / "broken.shoal").write_bytes((folder / "vectors.shoal").read_bytes()[:200])
    for name in ("empty", "broken.shoal"):
        with pytest.raises(shoal.Error):
            shoal.load(folder / name)
    with pytest.raises(FileNotFoundError):
        shoal.load(folder / "nowhere")


def test_a_model_answers_many_threads(rows, folder):
    shoal.MLPClassifier(max_iter=3).fit(*rows).save(folder / "many.shoal")
    model = shoal.load(folder / "many.shoal")
    want, wrong = model.predict_proba(rows[0]), []

    def ask():
        for _ in range(20):
            if not np.array_equal(model.predict_proba(rows[0]), want):
                wrong.append(1)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_closed_model_says_so(folder):
    with shoal.load(folder / "many.shoal") as model:
        assert repr(model) == "<shoal model: net>"
    with pytest.raises(ValueError, match="found it closed"):
        model.predict([[1.0, 2.0, 3.0]])
    assert repr(model) == "<shoal model, closed>"


def test_a_model_of_bytes_and_back(rows, folder):
    with open(folder / "many.shoal", "rb") as file:
        data = file.read()
    with _c.Model.of_bytes(data) as model:
        assert model.to_bytes() == data
    with pytest.raises(shoal.Error):
        _c.Model.of_bytes(data[:-1])


def test_a_model_survives_a_fork(rows, folder):
    model = shoal.load(folder / "many.shoal")
    want = model.predict(rows[0][:5])
    child = os.fork()
    if child == 0:
        os._exit(0 if model.predict(rows[0][:5]) == want else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

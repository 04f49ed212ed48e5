"""TextClassifier: what it learns, says and keeps; classifiers of fastText's are asked."""
import ctypes
import os
import pickle

import numpy as np
import pytest

import shoal
from shoal import _c
from shoal.models import KeyedVectors


@pytest.fixture(scope="module")
def news(tmp_path_factory):
    """Texts of four topics and their labels."""
    path = tmp_path_factory.mktemp("news") / "news.txt"
    opts = _c.lib.shoal_gen_news_default()
    opts.lines = 4000
    _c.lib.shoal_gen_news(_c.path_bytes(path), ctypes.byref(opts), None)
    lines = [line.split(" ", 1) for line in path.read_text().splitlines()]
    return [text for _, text in lines], [label[len("__label__"):] for label, _ in lines], path


@pytest.fixture(scope="module")
def fitted(news):
    return shoal.TextClassifier(dim=20, buckets=1000).fit(news[0][:3000], news[1][:3000])


FEW = ["good match", "bad bank", "good team", "bad shares"] * 30
SIDES = ["sport", "money", "sport", "money"] * 30


def quick(**how):
    return shoal.TextClassifier(**dict(dict(dim=8, buckets=1000, n_jobs=1), **how))


# ---- learning


def test_topics_of_texts_are_told(fitted, news):
    assert fitted.score(news[0][3000:], news[1][3000:]) > 0.8
    assert sorted(set(news[1])) == fitted.classes_.tolist()
    assert set(fitted.predict(news[0][:50])) <= set(news[1])
    assert fitted.history_["loss"][-1] < fitted.history_["loss"][0]


def test_probabilities_are_of_classes_in_their_order_and_sum_to_one(fitted, news):
    chance = fitted.predict_proba(news[0][:100])
    assert chance.shape == (100, len(fitted.classes_)) and np.allclose(chance.sum(axis=1), 1, atol=1e-4)
    assert (chance >= 0).all() and (chance <= 1).all()
    assert (fitted.classes_[chance.argmax(axis=1)] == fitted.predict(news[0][:100])).all()
    assert np.allclose(fitted.predict_log_proba(news[0][:3]), np.log(fitted.predict_proba(news[0][:3])))


@pytest.mark.parametrize("loss", ["softmax", "ova", "ns", "hs"])
def test_every_loss_learns(loss):
    assert quick(loss=loss, lr=0.5, epochs=20).fit(FEW, SIDES).score(FEW, SIDES) == 1


def test_n_grams_of_words_and_of_characters_are_features():
    texts, y = ["not good", "good not", "so good", "good so"] * 40, ["a", "b", "a", "b"] * 40
    assert quick(word_ngrams=2, lr=0.5, epochs=30).fit(texts, y).score(texts, y) == 1
    model = quick(minn=3, maxn=5, lr=0.5, epochs=20).fit(["walking home", "barking dog"] * 40, ["go", "dog"] * 40)
    assert model.predict(["walker", "barked"]).tolist() == ["go", "dog"]


def test_texts_may_have_several_labels():
    texts = ["red round", "red", "round", "blue"] * 50
    y = [["colour", "shape"], ["colour"], ["shape"], ["colour"]] * 50
    model = quick(loss="ova", lr=0.5, epochs=30).fit(texts, y)
    assert model.several_ and set(model.predict(["red round"])[0]) == {"colour", "shape"}
    assert model.predict(["round"]) == [("shape",)] and model.score(texts, y) == 1
    with pytest.raises(ValueError, match="want loss='ova'"):
        quick().fit(texts, y)


def test_labels_may_be_numbers_or_hold_spaces():
    assert quick(lr=0.5, epochs=20).fit(FEW, [1, 7, 1, 7] * 30).predict(["good match", "bad bank"]).tolist() == [1, 7]
    spaced = ["my sport", "a, b=c", "my sport", "a, b=c"] * 30
    model = quick(lr=0.5, epochs=20, class_weight={"a, b=c": 2}).fit(FEW, spaced)
    assert model.predict(["good match", "bad bank"]).tolist() == ["my sport", "a, b=c"]


def test_what_looks_like_a_label_or_a_line_end_within_a_text_is_none():
    texts = ["good __label__money\nmatch", "bad\rbank __label__x"] * 30
    model = quick(lr=0.5, epochs=20).fit(texts, ["sport", "money"] * 30)
    assert model.classes_.tolist() == ["money", "sport"]
    assert model.predict(["match\ngood"]).tolist() == ["sport"]


def test_weights_of_classes_move_the_answers():
    texts, y = ["a word"] * 90 + ["a word"] * 10, ["often"] * 90 + ["rarely"] * 10
    plain = quick(lr=0.2, epochs=10).fit(texts, y).predict_proba(["a word"])[0]
    balanced = quick(lr=0.2, epochs=10, class_weight="balanced").fit(texts, y).predict_proba(["a word"])[0]
    given = quick(lr=0.2, epochs=10, class_weight={"rarely": 9}).fit(texts, y).predict_proba(["a word"])[0]
    assert plain[1] < 0.3 < balanced[1] and given[1] > 0.3
    with pytest.raises(ValueError, match="want classes of y"):
        quick(class_weight={"never": 2}).fit(texts, y)


def test_vectors_of_words_may_be_given_to_begin_with(tmp_path):
    words = KeyedVectors(8)
    words.add_vectors(["good", "bad", "fine"], np.eye(3, 8) + 0.01)
    words.save(tmp_path / "words.shoal")
    by_object = quick(pretrained=words, epochs=5, lr=0.1).fit(FEW, SIDES)
    by_path = quick(pretrained=tmp_path / "words.shoal", epochs=5, lr=0.1).fit(FEW, SIDES)
    without = quick(epochs=5, lr=0.1).fit(FEW, SIDES)
    assert np.allclose(by_object.predict_proba(FEW), by_path.predict_proba(FEW), atol=1e-6)
    assert not np.allclose(by_object.predict_proba(FEW), without.predict_proba(FEW))


def test_deterministic_training_is_the_same_on_any_number_of_threads(news):
    said = [shoal.TextClassifier(dim=8, buckets=1000, deterministic=True, n_jobs=n, epochs=2)
            .fit(news[0][:500], news[1][:500]).predict_proba(news[0][:20]) for n in (1, 2)]
    assert (said[0] == said[1]).all()


def test_a_text_without_a_known_word_has_the_shares_of_the_classes():
    model = quick(epochs=5).fit(FEW + ["bad loan"] * 60, SIDES + ["money"] * 60)
    assert np.allclose(model.class_prior_, [2 / 3, 1 / 3])
    assert model.predict([""]).tolist() == ["money"] and model.predict(["zzz"]).tolist() == ["money"]


# ---- as scikit-learn's


def test_parameters_are_read_and_set():
    model = shoal.TextClassifier(dim=5, loss="ova")
    assert model.get_params()["dim"] == 5 and model.set_params(dim=6).dim == 6
    assert repr(model) == "TextClassifier(dim=6, loss='ova')"
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(depth=3)


@pytest.mark.parametrize("X, y, said", [("one text", ["a"], "found one text"), ([1, 2], ["a", "b"], "found int at 0"),
                                        (["a", "b"], ["x"], "found 1 labels for 2 texts"),
                                        (["a", "b"], ["x", "x"], "want two or more"), ([], [], "found no text"),
                                        (["a", "b"], ["x", None], "missing")])
def test_what_cannot_be_learned_is_refused(X, y, said):
    with pytest.raises(ValueError, match=said):
        quick().fit(X, y)


def test_wrong_options_are_named():
    with pytest.raises(ValueError, match="--loss is 'hinge'"):
        quick(loss="hinge").fit(FEW, SIDES)
    with pytest.raises(shoal.NotFittedError):
        quick().predict(["a"])


def test_a_pickle_says_what_the_model_says(fitted, news):
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict_proba(news[0][:50]), fitted.predict_proba(news[0][:50]))


# ---- files


def test_a_saved_model_gives_labels_and_probabilities(fitted, news, tmp_path):
    fitted.save(tmp_path / "news.shoal")
    model = shoal.load(tmp_path / "news.shoal")
    assert model.kind == "classify" and sorted(model.classes_) == fitted.classes_.tolist()
    labels, chance = model.predict(news[0][0])
    assert labels == (fitted.predict(news[0][:1])[0],) and chance.shape == (1,)
    assert np.isclose(chance[0], fitted.predict_proba(news[0][:1]).max())
    labels, chance = model.predict(news[0][:5], k=2)
    assert len(labels) == 5 and all(len(one) == 2 for one in labels) and chance[0][0] >= chance[0][1]
    assert len(model.predict(news[0][0], k=-1)[0]) == len(model.classes_)
    assert model.predict(news[0][0], threshold=1.1)[0] == ()
    order = [model.classes_.index(one) for one in fitted.classes_]
    assert np.allclose(model.predict_proba(news[0][:5])[:, order], fitted.predict_proba(news[0][:5]))
    assert model.evaluate(news[2])["precision_at_1"] > 0.8


def test_a_model_goes_to_fasttext_and_back(fitted, news, tmp_path):
    fitted.save(tmp_path / "news.shoal")
    shoal.load(tmp_path / "news.shoal").save(tmp_path / "news.bin", format="fasttext")
    model = shoal.load(tmp_path / "news.bin")
    labels, chance = model.predict(news[0][:200])
    assert [one[0] for one in labels] == fitted.predict(news[0][:200]).tolist()
    assert np.allclose([one[0] for one in chance], fitted.predict_proba(news[0][:200]).max(axis=1), atol=1e-3)


@pytest.mark.parametrize("name", ["supervised-softmax.bin", "supervised-hs.bin", "supervised-ns.bin",
                                  "supervised-ova.bin"])
def test_classifiers_of_fasttext_are_asked(root, name):
    model = shoal.load(os.path.join(root, "tests", "unit", "fasttext", name))
    labels, chance = model.predict("a", k=-1)
    assert model.kind == "classify" and set(labels) <= set(model.classes_)
    assert (np.diff(chance) <= 0).all() and (chance <= 1.0001).all()


def test_a_classifier_is_served(fitted, news):
    import json
    import urllib.request
    with shoal.serve({"news": fitted}) as server:
        body = json.dumps({"text": news[0][0]}).encode()
        with urllib.request.urlopen(server.url + "/predictions/news", body) as answer:
            said = json.loads(answer.read())
    assert fitted.predict(news[0][:1])[0] in json.dumps(said)

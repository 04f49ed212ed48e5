"""FastText: words never seen, what is learned, kept, and exchanged with fastText's files."""
import os
import pickle
import struct

import numpy as np
import pytest

import shoal
from shoal.models import FastText, KeyedVectors
from shoal.models.callbacks import CallbackAny2Vec
from shoal.models.fasttext import (FastTextKeyedVectors, ft_ngram_hashes, load_facebook_model, load_facebook_vectors,
                                   save_facebook_model)
from shoal.models.word2vec import LineSentence

FEW = [["walking", "talking", "quickly"], ["walked", "talked", "slowly"], ["walks", "talks", "quickly"]] * 40
SMALL = dict(vector_size=12, min_count=1, bucket=500, epochs=3, seed=2, workers=1)


@pytest.fixture(scope="module")
def few():
    return FastText(FEW, **SMALL)


@pytest.fixture(scope="module")
def files(root):
    return os.path.join(root, "tests", "unit", "fasttext")


def hash_of(text):
    h = 2166136261
    for byte in text.encode():
        h = ((h ^ (byte if byte < 128 else byte | 0xffffff00)) * 16777619) & 0xffffffff
    return h


# ---- words never seen


def test_n_grams_have_the_hashes_of_fasttext():
    want = [hash_of(gram) % 1000 for gram in ("<kä", "<käs", "käs", "käse", "äse", "äse>", "se>")]
    assert ft_ngram_hashes("käse", 3, 4, 1000) == want
    assert ft_ngram_hashes("cat", 3, 2, 1000) == [] and ft_ngram_hashes("</s>", 3, 6, 1000) == []


def test_a_word_never_seen_is_the_mean_of_its_n_grams(few):
    wv = few.wv
    assert "walker" not in wv.key_to_index and "walker" in wv
    rows = wv.vectors_ngrams[ft_ngram_hashes("walker", 3, 6, 500)]
    assert np.allclose(wv["walker"], rows.mean(axis=0), atol=1e-7)
    assert np.isclose(np.linalg.norm(wv.get_vector("walker", norm=True)), 1, atol=1e-6)


def test_a_known_word_is_the_mean_of_its_own_row_and_its_n_grams(few):
    wv = few.wv
    rows = wv.vectors_ngrams[ft_ngram_hashes("walked", 3, 6, 500)]
    own = wv.vectors_vocab[wv.key_to_index["walked"]]
    assert np.allclose(wv["walked"], (own + rows.sum(axis=0)) / (len(rows) + 1), atol=1e-6)
    assert np.abs(own).max() > 0


def test_questions_take_words_never_seen(few):
    wv = few.wv
    near = wv.most_similar("walkers", topn=3)
    assert len(near) == 3 and all(word in wv.key_to_index for word, _ in near)
    assert wv.most_similar(positive=["walkers", "talking"], negative=["talkers"], topn=1)
    assert np.isclose(wv.similarity("walker", "walker"), 1)
    assert -1 <= wv.n_similarity(["walker", "walks"], ["talker"]) <= 1
    assert wv.distances("walker", ["talker", "walks"]).shape == (2,)
    assert wv.doesnt_match(["walker", "walkers", "slowly"]) in ("walker", "walkers", "slowly")
    assert len(wv.most_similar_cosmul(["walker"], topn=2)) == 2
    assert wv[["walker", "walks"]].shape == (2, 12)
    assert wv.get_sentence_vector(["walker", "walks"]).shape == (12,)


def test_vectors_for_all_may_leave_out_what_was_never_seen(few):
    asked = ["walks", "walker"]
    assert few.wv.vectors_for_all(asked).index_to_key == asked
    assert few.wv.vectors_for_all(asked, allow_inference=False).index_to_key == ["walks"]
    copied = few.wv.vectors_for_all(asked, copy_vecattrs=True)
    assert copied.get_vecattr("walks", "count") == 40 and copied.get_vecattr("walker", "count") == 0


def test_a_word_too_short_for_n_grams_is_zero():
    model = FastText(FEW, **dict(SMALL, min_n=5, max_n=6))
    assert not model.wv["a"].any()
    with pytest.raises(KeyError):
        model.wv[99]


def test_without_n_grams_unknown_words_are_missing():
    model = FastText(FEW, **dict(SMALL, max_n=0))
    assert model.wv.bucket == 0 and "walker" not in model.wv and "walks" in model.wv
    with pytest.raises(KeyError, match="without ngrams"):
        model.wv["walker"]
    assert np.allclose(model.wv.vectors_vocab, model.wv.vectors)


def test_models_leave_out_words_never_seen_where_rows_of_their_own_are_needed(few):
    assert few.predict_output_word(["walking", "talker"], topn=2) == few.predict_output_word(["walking"], topn=2)
    tree = FastText(FEW, **dict(SMALL, hs=1, negative=0))
    said = tree.score([["walking", "talker", "quickly"], ["walking", "quickly"]])
    assert said[0] == said[1] < 0


# ---- learning


@pytest.mark.parametrize("how", [dict(sg=0), dict(sg=1), dict(hs=1, negative=0), dict(hs=1, negative=0, sg=1),
                                 dict(cbow_mean=0), dict(shrink_windows=False)])
def test_every_way_lowers_the_loss(world, how):
    model = FastText(corpus_file=str(world[0]), vector_size=16, min_count=2, bucket=5000, epochs=4, alpha=0.05, **how)
    told = [report["loss"] for report in model.history]
    assert len(told) == 4 and told[-1] < told[0]


def test_what_is_spelt_alike_lies_near(world):
    words = [word for line in LineSentence(world[0]) for word in line]
    common = max(set(words), key=lambda word: (words.count(word) if len(word) > 5 else 0))
    model = FastText(corpus_file=str(world[0]), vector_size=30, min_count=2, bucket=20000, epochs=5, sg=1)
    unseen = common + common[-1]
    assert unseen not in model.wv.key_to_index
    assert model.wv.similarity(unseen, common) > np.median([model.wv.similarity(unseen, word)
                                                            for word in model.wv.index_to_key[:200]])


def test_one_worker_and_one_seed_give_the_same_vectors():
    a, b, other = FastText(FEW, **SMALL), FastText(FEW, **SMALL), FastText(FEW, **dict(SMALL, seed=3))
    assert (a.wv.vectors == b.wv.vectors).all() and (a.wv["walker"] == b.wv["walker"]).all()
    assert (a.wv.vectors != other.wv.vectors).any()


def test_new_words_join_and_training_goes_on():
    model = FastText(FEW, **SMALL)
    before, unseen = model.wv["walks"].copy(), model.wv["jumper"].copy()
    more = [["jumping", "walks"], ["jumps", "talks"]] * 20
    model.build_vocab(more, update=True)
    assert "jumps" in model.wv.key_to_index and model.wv.vectors.shape == (10, 12)
    assert np.allclose(model.wv["walks"], before)
    model.train(more, total_examples=len(more), epochs=3)
    assert not np.allclose(model.wv["jumper"], unseen) and not np.allclose(model.wv["walks"], before)
    assert model.wv.vectors_ngrams.shape == (500, 12)


def test_callbacks_are_called_epoch_by_epoch():
    class Count(CallbackAny2Vec):
        seen = 0

        def on_epoch_end(self, model):
            self.seen += 1
            assert model.wv["walker"].any()
    count = Count()
    FastText(FEW, callbacks=[count], **SMALL)
    assert count.seen == 3


def test_what_is_no_word_is_refused():
    with pytest.raises(TypeError, match="want words"):
        FastText([[1, 2], [2, 1]], min_count=1)
    with pytest.raises(NotImplementedError):
        FastText(FEW, word_ngrams=2)


def test_own_rows_that_were_changed_are_composed_anew():
    model = FastText(FEW, **SMALL)
    before = model.wv.vectors.copy()
    model.wv.vectors_vocab[:] = 0
    model.wv.adjust_vectors()
    n = len(ft_ngram_hashes("walks", 3, 6, 500))
    i = model.wv.key_to_index["walks"]
    assert np.allclose(model.wv["walks"], model.wv.vectors_ngrams[model.wv.buckets_word[i]].sum(axis=0) / (n + 1),
                       atol=1e-6)
    assert not np.allclose(model.wv.vectors, before)


# ---- files


def same(a, b, within=0.0):
    assert a.index_to_key == b.index_to_key
    for word in ("walks", "walker", "jumping"):
        assert np.allclose(a[word], b[word], atol=within, rtol=0)


def test_a_model_is_saved_and_goes_on(few, tmp_path):
    few.save(tmp_path / "model")
    again = FastText.load(tmp_path / "model")
    same(again.wv, few.wv)
    assert (again.syn1neg == few.syn1neg).all() and again.wv.bucket == 500
    again.train(FEW, total_examples=len(FEW), epochs=1)
    with pytest.raises(AttributeError):
        again.load("x")


def test_vectors_keep_their_n_grams_in_our_format_and_in_pickles(few, tmp_path):
    few.wv.save(tmp_path / "words.shoal")
    for again in (FastTextKeyedVectors.load(tmp_path / "words.shoal"), KeyedVectors.load(tmp_path / "words.shoal"),
                  shoal.load(tmp_path / "words.shoal"), pickle.loads(pickle.dumps(few.wv))):
        assert isinstance(again, FastTextKeyedVectors)
        same(again, few.wv, 1e-9)
        assert [word for word, _ in again.most_similar("walker")] == [word for word, _ in few.wv.most_similar("walker")]
        assert again.get_vecattr("walks", "count") == 40


def test_n_grams_never_met_take_no_room_in_a_pickle():
    model = FastText(FEW, **dict(SMALL, bucket=2000000))
    assert len(pickle.dumps(model.wv)) < 1 << 20


def test_a_model_goes_to_fasttext_and_back(few, tmp_path):
    save_facebook_model(few, tmp_path / "model.bin")
    head = struct.unpack("<14id", (tmp_path / "model.bin").read_bytes()[:64])
    assert head[:2] == (793712314, 12) and head[2:5] == (12, 5, 3) and head[9] == 1 and head[10:13] == (500, 3, 6)
    assert os.listdir(tmp_path) == ["model.bin"]
    again = load_facebook_model(tmp_path / "model.bin")
    same(again.wv, few.wv, 1e-6)
    same(load_facebook_vectors(tmp_path / "model.bin"), few.wv, 1e-6)
    changed = load_facebook_vectors(tmp_path / "model.bin")
    changed["walks"] = np.ones(12)
    changed.save(tmp_path / "changed.shoal")
    assert (shoal.load(tmp_path / "changed.shoal")["walks"] == 1).all()
    same(shoal.load(tmp_path / "model.bin"), few.wv, 1e-6)
    assert np.allclose(again.syn1neg, few.syn1neg) and (again.window, again.sg, again.epochs) == (5, 0, 3)
    again.build_vocab([["jumping", "jumps"]] * 5, update=True)
    again.train([["jumping", "jumps"]] * 5, total_examples=5, epochs=2)
    assert "jumps" in again.wv.key_to_index and len(again.wv) == len(few.wv) + 2


def test_a_model_of_fasttext_that_was_only_read_is_written_as_it_was(files, tmp_path):
    for name in ("cbow-ns.bin", "skipgram-hs.bin"):
        save_facebook_model(load_facebook_model(os.path.join(files, name)), tmp_path / name)
        with open(os.path.join(files, name), "rb") as file:
            assert (tmp_path / name).read_bytes() == file.read()


def test_output_rows_of_a_tree_survive_in_fasttexts_file(tmp_path):
    model = FastText(FEW, **dict(SMALL, hs=1, negative=0))
    save_facebook_model(model, tmp_path / "tree.bin")
    again = load_facebook_model(tmp_path / "tree.bin")
    assert again.hs == 1 and model.syn1.any() and np.allclose(again.syn1[:-1], model.syn1[:-1])


def test_memory_is_estimated_with_the_rows_of_n_grams(few):
    report = few.estimate_memory()
    assert report["syn0_ngrams"] == 500 * 12 * 4 and report["syn0_vocab"] == 8 * 12 * 4
    assert report["total"] == sum(report.values()) - report["total"]


@pytest.mark.parametrize("name", ["cbow-ns.bin", "skipgram-hs.bin", "skipgram-softmax.bin", "whole.bin"])
def test_models_of_fasttext_are_read_and_go_on(files, name):
    wv = load_facebook_vectors(os.path.join(files, name))
    known = wv.index_to_key[1]
    alone = wv[known].copy()
    assert np.allclose(wv.vectors[1], alone) and wv.get_vecattr(known, "count") > 0
    model = load_facebook_model(os.path.join(files, name))
    assert model.hs == int("hs" in name) and model.sg == int(not name.startswith("cbow"))
    sentences = [wv.index_to_key[1:6]] * 50
    model.sample = 0
    model.train(sentences, total_examples=50, epochs=2)
    assert not np.allclose(model.wv[known], alone)


def test_a_file_that_is_none_of_fasttext_is_refused(files, tmp_path):
    (tmp_path / "no.bin").write_bytes(b"2 2\na 1 2\nb 2 1\n")
    with pytest.raises(ValueError, match="found no model of fastText's"):
        load_facebook_model(tmp_path / "no.bin")
    with pytest.raises(NotImplementedError, match="found a classifier of texts"):
        load_facebook_model(os.path.join(files, "supervised-softmax.bin"))

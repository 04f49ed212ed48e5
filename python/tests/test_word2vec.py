"""Word2Vec: what it learns, goes on from, tells and keeps."""
import logging
import pickle
import subprocess
import threading

import numpy as np
import pytest

from shoal.models import KeyedVectors, Word2Vec, word2vec
from shoal.models.callbacks import CallbackAny2Vec
from shoal.models.word2vec import RULE_DEFAULT, RULE_DISCARD, RULE_KEEP, LineSentence, PathLineSentences, Text8Corpus

FEW = [["the", "cat", "sat", "down"], ["the", "dog", "sat", "up"], ["a", "cat", "ran"]] * 30


@pytest.fixture(scope="module")
def sentences(world):
    return list(LineSentence(world[0]))


def equal(a, b):
    return a.wv.index_to_key == b.wv.index_to_key and (a.wv.vectors == b.wv.vectors).all()


# ---- vocabulary


def test_words_are_counted_and_rare_ones_left_out():
    model = Word2Vec(min_count=60)
    model.build_vocab(FEW)
    assert model.wv.index_to_key == ["cat", "sat", "the"]
    assert model.wv.get_vecattr("cat", "count") == 60 and model.corpus_total_words == 330 and model.corpus_count == 90


def test_the_order_of_words_is_by_count_or_as_they_came():
    assert Word2Vec(FEW, min_count=1, epochs=1).wv.index_to_key[0] == "cat"
    assert Word2Vec(FEW, min_count=1, epochs=1, sorted_vocab=0).wv.index_to_key[:3] == ["the", "cat", "sat"]


def test_a_rule_and_a_bound_choose_words():
    def rule(word, count, min_count):
        return {"the": RULE_DISCARD, "up": RULE_KEEP}.get(word, RULE_DEFAULT)
    model = Word2Vec(FEW, min_count=60, trim_rule=rule, epochs=1)
    assert set(model.wv.key_to_index) == {"cat", "sat", "up"}
    assert set(Word2Vec(FEW, min_count=1, max_final_vocab=3, epochs=1).wv.key_to_index) == {"cat", "sat", "the"}


def test_no_word_left_is_an_error():
    with pytest.raises(RuntimeError):
        Word2Vec(FEW, min_count=1000)
    with pytest.raises(RuntimeError):
        Word2Vec([])


def test_a_file_gives_the_vocabulary_that_its_sentences_give(world, sentences):
    of_file, of_lists = Word2Vec(min_count=3), Word2Vec(min_count=3)
    of_file.build_vocab(corpus_file=str(world[0]))
    of_lists.build_vocab(sentences)
    assert of_file.wv.index_to_key == of_lists.wv.index_to_key
    assert (of_file.wv.expandos["count"] == of_lists.wv.expandos["count"]).all()
    assert of_file.corpus_total_words == of_lists.corpus_total_words
    assert of_file.corpus_count == of_lists.corpus_count


# ---- learning


def test_it_learns_what_stands_together(sentences, world):
    model = Word2Vec(sentences, vector_size=50, window=5, min_count=2, sg=1, epochs=10, alpha=0.05, seed=3)
    score, _ = model.wv.evaluate_word_analogies(str(world[1]))
    untrained = Word2Vec(vector_size=50, min_count=2, seed=3)
    untrained.build_vocab(sentences)
    assert score > 3 * untrained.wv.evaluate_word_analogies(str(world[1]))[0] + 0.02


@pytest.mark.parametrize("how", [dict(sg=0), dict(sg=1), dict(sg=0, cbow_mean=0), dict(hs=1, negative=0, sg=1),
                                 dict(hs=1, negative=0), dict(shrink_windows=False), dict(ns_exponent=-0.5),
                                 dict(sample=0), dict(sample=100), dict(window=200, negative=100)])
def test_every_way_lowers_the_loss(sentences, how):
    model = Word2Vec(sentences[:3000], vector_size=20, min_count=2, epochs=6, compute_loss=True, **how)
    losses = [report["loss"] for report in model.history]
    assert len(losses) == 6 and losses[-1] < losses[0]
    assert model.get_latest_training_loss() == pytest.approx(losses[-1])


def test_one_worker_and_a_seed_give_the_same_bytes(sentences):
    a, b, c = (Word2Vec(sentences[:2000], vector_size=20, min_count=2, workers=1, epochs=2, seed=seed)
               for seed in (1, 1, 2))
    assert equal(a, b) and not equal(a, c)


def test_a_file_trains_as_its_sentences_do(world, sentences):
    a = Word2Vec(corpus_file=str(world[0]), vector_size=20, min_count=2, workers=1, epochs=2)
    b = Word2Vec(sentences, vector_size=20, min_count=2, workers=1, epochs=2)
    assert equal(a, b)


def test_python_trains_what_the_program_trains(world, root, tmp_path):
    import os
    program = os.path.join(os.path.dirname(os.environ.get("SHOAL_LIBRARY", "")), "..", "cli", "shoal")
    if not os.path.exists(program):
        pytest.skip("the program was not built")
    out = tmp_path / "v.shoal"
    subprocess.run([program, "train", "cbow", str(world[0]), "--dim", "20", "--min-count", "2", "--threads", "1",
                    "--epochs", "2", "--lr", "0.025", "--min-lr", "0.0001", "--valid", "0", "-o", str(out)],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    model = Word2Vec(vector_size=20, min_count=2, workers=1)
    model.build_vocab(corpus_file=str(world[0]))
    model.wv.vectors = model.wv.vectors / 2  # the program begins within half the range of gensim
    model.train(corpus_file=str(world[0]), total_examples=model.corpus_count, epochs=2)
    theirs = KeyedVectors.load(out)
    assert theirs.index_to_key == model.wv.index_to_key and (theirs.vectors == model.wv.vectors).all()


def test_tokens_may_be_anything_that_can_be_a_key():
    rng = np.random.default_rng(1)
    walks = rng.integers(0, 40, (200, 10))
    text = Word2Vec([[str(node) for node in walk] for walk in walks], vector_size=8, min_count=0, sg=1, workers=1)
    ints = Word2Vec(walks.tolist(), vector_size=8, min_count=0, sg=1, workers=1)
    assert set(ints.wv.key_to_index) == set(range(40)) and set(text.wv.key_to_index) == set(map(str, range(40)))
    odd = Word2Vec([["new york", "", "a\0b", "\n", "x"], ["x", "new york"]] * 5, vector_size=4, min_count=1)
    assert set(odd.wv.key_to_index) == {"new york", "", "a\0b", "\n", "x"}


def test_a_vocabulary_of_one_or_two_words_is_no_error():
    assert len(Word2Vec([["a"]] * 5, min_count=1, vector_size=4).wv) == 1
    assert len(Word2Vec([["a", "b"]] * 5, min_count=1, vector_size=4).wv) == 2


def test_sentences_are_walked_once_by_the_constructor():
    class Walked:
        times = 0

        def __iter__(self):
            self.times += 1
            return iter(FEW)
    walked = Walked()
    Word2Vec(walked, min_count=1, vector_size=4, epochs=4)
    assert walked.times == 1


def test_what_is_no_corpus_is_refused():
    with pytest.raises(TypeError):
        Word2Vec("a string", min_count=1)
    with pytest.raises(TypeError):
        Word2Vec((s for s in FEW), min_count=1)
    model = Word2Vec(FEW, min_count=1, vector_size=4)
    with pytest.raises(TypeError):
        model.train((s for s in FEW), total_examples=90, epochs=2)
    assert model.train((s for s in FEW), total_examples=90, epochs=1) == (330, 330)
    with pytest.raises(TypeError):
        Word2Vec(FEW, corpus_file="x")
    with pytest.raises(TypeError):
        Word2Vec().build_vocab()
    with pytest.raises(FileNotFoundError):
        Word2Vec(corpus_file="/nowhere/text.txt")


def test_an_option_out_of_range_is_a_value_error():
    with pytest.raises(ValueError, match="dim"):
        Word2Vec(FEW, vector_size=5000, min_count=1)


# ---- going on


def test_training_again_goes_on_from_what_was_learned(sentences):
    model = Word2Vec(sentences, vector_size=20, min_count=2, epochs=3, sg=1)
    first = model.get_latest_training_loss()
    model.train(sentences, total_examples=model.corpus_count, epochs=3, start_alpha=0.025)
    assert model.get_latest_training_loss() < first


def test_nothing_moves_at_a_rate_of_nearly_nothing(sentences):
    for hs in (0, 1):
        model = Word2Vec(sentences[:1000], vector_size=20, min_count=2, epochs=1, hs=hs, sg=1)
        rows, output = np.array(model.wv.vectors), np.array(model._output())
        model.train(sentences[:1000], total_examples=1000, epochs=1, start_alpha=1e-30, end_alpha=1e-30)
        assert (model.wv.vectors == rows).all() and np.allclose(model._output(), output, rtol=0, atol=1e-20)


def test_new_words_join_those_that_are_there(sentences):
    model = Word2Vec(sentences[:1000], vector_size=20, min_count=2, epochs=2)
    before, keys = np.array(model.wv.vectors), list(model.wv.index_to_key)
    model.build_vocab([["quagga", "zebra"]] * 1000, update=True)
    assert model.wv.index_to_key == keys + ["quagga", "zebra"] and (model.wv.vectors[:len(keys)] == before).all()
    fresh = np.array(model.wv["quagga"])
    model.train([["quagga", "zebra"]] * 1000, total_examples=1000, epochs=2)
    assert (model.wv["quagga"] != fresh).any() and model.syn1neg.shape == model.wv.vectors.shape
    # Words that did not come, and were no noise, stay where they were.
    assert (model.wv.vectors[:len(keys)] == before).all()


def test_nodes_of_another_tree_begin_anew(sentences):
    model = Word2Vec(sentences[:4000], vector_size=20, min_count=2, epochs=10, hs=1, negative=0, workers=1)
    assert model.syn1.any()
    model.build_vocab([["quagga", "zebra"]] * 40, update=True)
    assert not model.syn1.any() and model.syn1.shape == model.wv.vectors.shape
    # Rows of nodes that the tree before had would pull the two apart: their likeness was 0.58.
    model.train([["quagga", "zebra"]] * 40, total_examples=40, epochs=10)
    assert model.wv.similarity("quagga", "zebra") > 0.68


def test_locked_rows_stay(sentences):
    model = Word2Vec(vector_size=10, min_count=2)
    model.build_vocab(sentences[:500])
    model.wv.vectors_lockf = np.ones(len(model.wv), dtype=np.float32)
    model.wv.vectors_lockf[3] = 0
    before = np.array(model.wv.vectors)
    model.train(sentences[:500], total_examples=500, epochs=2)
    assert (model.wv.vectors[3] == before[3]).all() and (model.wv.vectors[2] != before[2]).any()


def test_training_wants_to_know_how_much_there_is():
    model = Word2Vec(min_count=1)
    with pytest.raises(RuntimeError):
        model.train(FEW, total_examples=9, epochs=1)
    model.build_vocab(FEW)
    with pytest.raises(ValueError):
        model.train(FEW, epochs=1)
    with pytest.raises(ValueError):
        model.train(FEW, total_examples=9)


# ---- being told


def test_callbacks_see_the_model_as_it_learns(sentences):
    told = []

    class Told(CallbackAny2Vec):
        def on_train_begin(self, model):
            told.append("begin")

        def on_epoch_begin(self, model):
            told.append("epoch")

        def on_epoch_end(self, model):
            told.append((model.get_latest_training_loss(), np.array(model.wv.vectors[0])))

        def on_train_end(self, model):
            told.append("end")
    Word2Vec(sentences, vector_size=20, min_count=2, epochs=3, compute_loss=True, callbacks=[Told()])
    ends = [entry for entry in told if isinstance(entry, tuple)]
    assert [entry for entry in told if isinstance(entry, str)] == ["begin", "epoch", "epoch", "epoch", "end"]
    assert ends[2][0] < ends[0][0] and (ends[0][1] != ends[1][1]).any()


def test_what_a_callback_raises_comes_out(sentences):
    class Stop(CallbackAny2Vec):
        def on_epoch_end(self, model):
            raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        Word2Vec(sentences[:500], vector_size=10, min_count=2, callbacks=[Stop()])


def test_other_threads_go_on_while_it_trains(sentences):
    beats, done = [], threading.Event()

    def beat():
        while not done.is_set():
            beats.append(1)
            done.wait(0.005)
    thread = threading.Thread(target=beat)
    thread.start()
    Word2Vec(sentences, vector_size=100, min_count=2, sg=1, epochs=5, workers=1)
    done.set()
    thread.join()
    assert len(beats) > 10


def test_a_sentence_that_is_a_string_is_warned_about(caplog):
    with caplog.at_level(logging.WARNING):
        Word2Vec(min_count=1).build_vocab(["human", "machine"])
    assert "Each 'sentences' item should be a list of words" in caplog.text


@pytest.mark.parametrize("callbacks", [(), (CallbackAny2Vec(),)])
def test_epochs_are_logged(caplog, callbacks):
    with caplog.at_level(logging.INFO):
        Word2Vec(FEW, min_count=1, vector_size=4, epochs=3, callbacks=callbacks)
    said = [record.getMessage() for record in caplog.records]
    assert [line[:12] for line in said if line.startswith("EPOCH")] == ["EPOCH 1 of 3", "EPOCH 2 of 3", "EPOCH 3 of 3"]


# ---- asking and keeping


def test_the_likeliest_word_in_the_middle():
    model = Word2Vec(FEW, vector_size=16, min_count=1, epochs=60, sample=0, alpha=0.1)
    found = model.predict_output_word(["the", "sat"], topn=3)
    assert {word for word, _ in found} < {"cat", "dog", "up", "down"} and sum(p for _, p in model.predict_output_word(["the"], topn=99)) == \
        pytest.approx(1, abs=1e-4)
    assert model.predict_output_word(["nobody"]) is None


def test_scores_are_log_probabilities():
    model = Word2Vec(FEW, vector_size=16, min_count=1, epochs=30, hs=1, negative=0, sample=0, sg=1, alpha=0.1)
    usual, odd = model.score([["the", "cat", "sat"], ["up", "down", "up"]])
    assert odd < usual < 0


def test_the_tree_in_python_is_that_of_the_library(sentences):
    model = Word2Vec(sentences, vector_size=10, min_count=2, hs=1, negative=0, epochs=1, sg=1)
    points = model.wv.expandos["point"]
    assert all(path[0] == 0 for path in points)
    assert sum(0.5 ** len(path) for path in points) == pytest.approx(1)
    # Rows that a path passes have moved; the last one is none.
    used = np.zeros(len(model.wv), dtype=bool)
    for path in points[:20]:
        used[path] = True
    assert (model.syn1[used] != 0).any(axis=1).all() and (model.syn1[-1] == 0).all()


def test_a_model_that_was_saved_goes_on(tmp_path, sentences):
    model = Word2Vec(sentences[:1000], vector_size=20, min_count=2, epochs=2, seed=5)
    model.save(tmp_path / "model")
    again = Word2Vec.load(tmp_path / "model")
    assert equal(model, again) and (again.syn1neg == model.syn1neg).all() and again.seed == 5
    assert equal(model, pickle.loads(pickle.dumps(model)))
    again.train(sentences[:1000], total_examples=1000, epochs=1)
    with pytest.raises(AttributeError):
        again.load(tmp_path / "model")
    model.wv.save(tmp_path / "vectors")
    with pytest.raises(AttributeError):
        Word2Vec.load(tmp_path / "vectors")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "vectors"]


# ---- sentences of files


def test_lines_folders_and_long_texts_are_sentences(tmp_path):
    (tmp_path / "a.txt").write_text("one two\n\nthree\n")
    (tmp_path / "b.txt").write_text("four")
    assert list(LineSentence(tmp_path / "a.txt")) == [["one", "two"], ["three"]]
    assert list(LineSentence(tmp_path / "a.txt", limit=1)) == [["one", "two"]]
    assert list(LineSentence(tmp_path / "a.txt", max_sentence_length=1)) == [["one"], ["two"], ["three"]]
    assert list(PathLineSentences(tmp_path)) == [["one", "two"], ["three"], ["four"]]
    (tmp_path / "long").write_text(" ".join(f"w{i}" for i in range(30000)))
    long = list(Text8Corpus(tmp_path / "long", max_sentence_length=1000))
    assert len(long) == 30 and long[29][-1] == "w29999" and all(len(sentence) == 1000 for sentence in long)


def test_first_values_have_the_range_of_gensim(sentences):
    model = Word2Vec(vector_size=13, min_count=2, seed=9)
    model.build_vocab(sentences[:200])
    assert model.wv.vectors.shape == (len(model.wv), 13) and 0.98 / 13 < abs(model.wv.vectors).max() <= 1 / 13
    assert (word2vec.first_rows([2], 13, 9)[0] == model.wv.vectors[2]).all()


def test_first_values_are_made_in_blocks_that_do_not_show(monkeypatch):
    whole = word2vec.first_rows(range(50), 7, 3)
    for block in (1, 20, 7 * 50 - 1):
        monkeypatch.setattr(word2vec, "FIRST_BLOCK", block)
        assert (word2vec.first_rows(range(50), 7, 3) == whole).all()


def test_a_seed_may_be_none_or_of_numpy():
    """PecanPy gives seed=None unless it is told one."""
    sentences = [["a", "b", "c"], ["b", "c", "d"]] * 20
    made = [Word2Vec(sentences, vector_size=4, min_count=1, seed=seed, workers=1) for seed in (None, None, np.int64(7), 7)]
    assert made[0].seed is None and (made[0].wv.vectors != made[1].wv.vectors).any()
    assert (made[2].wv.vectors == made[3].wv.vectors).all()
    again = pickle.loads(pickle.dumps(made[0]))
    again.train(sentences, total_examples=40, epochs=1)
    made[0].train(sentences, total_examples=40, epochs=1)
    assert (again.wv.vectors == made[0].wv.vectors).all()


@pytest.mark.parametrize("given, said", [
    ({"vector_size": 1 << 21}, "vector_size: found 2097152, want at most 1048576"),
    ({"sample": -1}, "sample: found -1, want 0 or more"), ({"sample": float("nan")}, "sample: found nan"),
    ({"alpha": float("nan")}, "lr is 'nan'"), ({"window": 0}, "window is '0'"), ({"negative": -1}, "negative is '-1'"),
    ({"ns_exponent": float("nan")}, "ns-exponent is 'nan'")])
def test_arguments_outside_of_their_range_are_refused_by_name(given, said):
    with pytest.raises(ValueError, match=said):
        Word2Vec([["a", "b"]] * 20, **{"min_count": 1, "vector_size": 4, **given})


def test_tokens_of_any_spelling_are_learned():
    """With a NUL, of nothing, and with half of a pair, which is no text in UTF-8."""
    tokens = ["a\0b", "", "\ud800", "b c"]
    model = Word2Vec([tokens] * 20, vector_size=4, min_count=1, workers=1)
    assert set(model.wv.index_to_key) == set(tokens)
    again = pickle.loads(pickle.dumps(model))
    assert (again.wv["\ud800"] == model.wv["\ud800"]).all()


def test_walks_over_a_graph_are_learned_as_node2vec_and_pecanpy_ask(tmp_path):
    """Two rings of nodes with one edge between them; the calls are those of both programs."""
    rng = np.random.default_rng(1)
    walks = []
    for walk in range(300):
        node, ring = int(rng.integers(8)), walk % 2
        walks.append([])
        for _ in range(20):
            walks[-1].append(str(8 * ring + node))
            node = (node + int(rng.choice([-1, 1]))) % 8
    nodes = [str(node) for node in range(16)]
    model = Word2Vec(walks, vector_size=16, window=10, min_count=1, batch_words=4, workers=2)
    assert len(model.wv.most_similar("2")) == 10
    model.wv.save_word2vec_format(tmp_path / "nodes.emb")
    assert len(KeyedVectors.load_word2vec_format(tmp_path / "nodes.emb")) == 16
    edges = KeyedVectors(vector_size=model.wv.vector_size)
    edges.add_vectors(keys=[str(("0", node)) for node in nodes], weights=[model.wv["0"] * model.wv[node] for node in nodes])
    assert edges.most_similar(str(("0", "1")), topn=1)[0][0] in edges
    model = Word2Vec(walks, vector_size=16, window=10, sg=1, min_count=0, workers=2, epochs=5, seed=None)
    rows = model.wv[nodes]
    assert rows.shape == (16, 16)
    np.savez(tmp_path / "nodes.npz", IDs=model.wv.index_to_key, data=model.wv.vectors)
    near = [int(key) // 8 for key, _ in model.wv.most_similar("3", topn=5)]
    assert near == [0] * 5

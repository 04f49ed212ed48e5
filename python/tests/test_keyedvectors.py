"""KeyedVectors: what is found, changed, written and read, alone and among threads."""
import gzip
import multiprocessing
import pickle
import threading

import numpy as np
import pytest

import shoal
from shoal.models import KeyedVectors
from shoal.models import keyedvectors
from shoal.models.word2vec import LineSentence


def some(size=6, dim=4, seed=1):
    kv = KeyedVectors(dim)
    kv.add_vectors([f"w{i}" for i in range(size)],
                   np.random.default_rng(seed).standard_normal((size, dim)).astype(np.float32))
    return kv


@pytest.fixture(scope="module")
def many():
    """Enough for the library's search."""
    kv = some(5000, 60)
    assert kv._searched() is not None
    return kv


# ---- what it holds


def test_keys_and_rows_are_found_by_key_index_and_list():
    kv = some()
    assert kv.key_to_index["w3"] == 3 and kv.index_to_key[3] == "w3" and "w3" in kv and "w9" not in kv
    assert (kv["w3"] == kv.vectors[3]).all() and (kv[3] == kv.vectors[3]).all()
    assert kv[["w1", "w2"]].shape == (2, 4) and len(kv) == 6


def test_a_missing_key_names_those_spelt_nearly_alike():
    kv = KeyedVectors(2)
    kv.add_vectors(["house", "mouse", "cat"], np.eye(3, 2))
    with pytest.raises(KeyError) as raised:
        kv["hause"]
    assert "Key 'hause' not present; closest: house" in str(raised.value)
    with pytest.raises(KeyError):
        kv.most_similar("nothing at all")
    with pytest.raises(KeyError):
        kv.similarity("cat", "hause")


def test_a_vector_that_is_given_cannot_be_written_by_mistake():
    with pytest.raises(ValueError):
        some()["w1"][0] = 1


def test_attributes_are_kept_by_key():
    kv = some()
    kv.set_vecattr("w2", "count", 7)
    assert kv.get_vecattr("w2", "count") == 7 and kv.get_vecattr("w1", "count") == 0
    with pytest.raises(KeyError):
        kv.get_vecattr("w2", "colour")
    kv.add_vector("new", np.ones(4))
    assert kv.get_vecattr("new", "count") == 0


def test_keys_are_sorted_with_their_rows_and_attributes():
    kv = some()
    row = np.array(kv["w4"])
    for i in range(6):
        kv.set_vecattr(f"w{i}", "count", i)
    kv.sort_by_descending_frequency()
    assert kv.index_to_key == ["w5", "w4", "w3", "w2", "w1", "w0"]
    assert (kv["w4"] == row).all() and kv.get_vecattr("w4", "count") == 4


def test_adding_keeps_what_is_there_and_replacing_changes_it():
    kv = some()
    before = np.array(kv["w1"])
    kv.add_vectors(["w1", "x"], np.ones((2, 4)))
    assert (kv["w1"] == before).all() and (kv["x"] == 1).all()
    kv.add_vectors(["w1"], np.ones((1, 4)), replace=True)
    assert (kv["w1"] == 1).all()
    kv["w2"] = np.zeros(4)
    assert (kv["w2"] == 0).all()


def test_as_many_vectors_as_keys_are_wanted():
    kv = some()
    for rows in (np.ones((2, 4)), np.ones((1, 3)), np.ones((1, 1, 4))):
        with pytest.raises(ValueError, match="found vectors of shape"):
            kv.add_vectors(["new"], rows)
    kv.add_vectors([], [])
    assert "new" not in kv and len(kv) == 6


def test_rows_made_beforehand_are_filled_one_by_one():
    kv = KeyedVectors(2, count=2)
    assert kv.add_vector("a", [1, 0]) == 0 and kv.add_vector("b", [0, 1]) == 1 and kv.add_vector("c", [1, 1]) == 2
    assert kv.vectors.tolist() == [[1, 0], [0, 1], [1, 1]]


# ---- what is nearest


def slow(kv, query, topn, skip):
    scores = kv.get_normed_vectors() @ (query / np.linalg.norm(query))
    order = [i for i in np.argsort(-scores) if i not in skip][:topn]
    return [(kv.index_to_key[i], scores[i]) for i in order]


def test_the_librarys_search_finds_what_numpy_finds(many):
    for i in range(0, 5000, 500):
        found, want = many.most_similar(f"w{i}", topn=12), slow(many, many.vectors[i], 12, {i})
        assert [key for key, _ in found] == [key for key, _ in want]
        assert np.allclose([score for _, score in found], [score for _, score in want], atol=1e-6)


def test_only_a_range_of_keys_answers(many):
    assert {key for key, _ in many.most_similar("w1", topn=5, restrict_vocab=5)} == {"w0", "w2", "w3", "w4"}
    found = many.most_similar("w1", topn=5, clip_start=100, clip_end=103)
    assert {key for key, _ in found} == {"w100", "w101", "w102"}


def test_several_words_and_weights_make_one_question(many):
    plain = many.most_similar(positive=["w1", "w2"], negative=["w3"], topn=3)
    weighted = many.most_similar(positive=[("w1", 1.0), ("w2", 1.0)], negative=[("w3", 1.0)], topn=3)
    units = many.get_normed_vectors()
    assert plain == weighted
    assert plain[0][0] == slow(many, units[1] + units[2] - units[3], 1, {1, 2, 3})[0][0]


def test_changed_rows_are_searched_anew(many):
    kv = some(5000, 60)
    kv.most_similar("w1")
    kv["w7"] = np.array(kv["w1"])
    assert kv.most_similar("w1", topn=1)[0] == ("w7", pytest.approx(1))
    kv.vectors[8] = kv.vectors[1] * 2
    kv.fill_norms(force=True)
    assert {key for key, _ in kv.most_similar("w1", topn=2)} == {"w7", "w8"}


def test_all_similarities_come_without_topn(many):
    assert many.most_similar("w1", topn=None).shape == (5000,)
    assert many.most_similar("w1", topn=0) == []


def test_no_question_is_a_value_error():
    with pytest.raises(ValueError):
        some().most_similar()
    with pytest.raises(ValueError):
        some().most_similar_cosmul(negative=["w1"])


def test_a_nan_among_the_rows_leaves_the_search_to_numpy():
    kv = some(5000, 60)
    kv.vectors[17] = np.nan
    kv.fill_norms(force=True)
    assert kv._searched() is None and len(kv.most_similar("w1", topn=3)) == 3


def test_a_row_of_zeros_is_similar_to_nothing():
    kv = some(10)
    kv["w3"] = np.zeros(4)
    assert kv.similarity("w1", "w3") == 0 and not np.isnan(kv.most_similar("w1", topn=None)).any()


# ---- how similar


def test_distances_ranks_and_odd_ones():
    kv = KeyedVectors(2)
    kv.add_vectors(["a", "b", "c", "d"], np.array([[1, 0], [1, 0.1], [1, 1], [-1, 0]]))
    assert kv.distance("a", "a") == 0 and kv.similarity("a", "d") == pytest.approx(-1)
    assert kv.closer_than("a", "c") == ["b"] and kv.rank("a", "c") == 2
    assert kv.distances("a", ["b", "d"])[1] == pytest.approx(2)
    assert kv.doesnt_match(["a", "b", "d"]) == "d" and kv.most_similar_to_given("a", ["d", "c"]) == "c"
    assert kv.n_similarity(["a"], ["c"]) == kv.similarity("a", "c")
    with pytest.raises(ZeroDivisionError):
        kv.n_similarity([], ["a"])
    assert kv.n_similarity(["a", "nobody"], ["c"]) == kv.similarity("a", "c") and kv.n_similarity(["nobody"], ["c"]) == 0


# ---- how well they answer


def test_analogies_are_answered_as_one_by_one(tmp_path):
    rng = np.random.default_rng(3)
    people, places = rng.standard_normal((5, 20)), rng.standard_normal(20)
    kv = KeyedVectors(20)
    kv.add_vectors([f"{kind}{i}" for kind in ("cap", "land") for i in range(5)],
                   np.vstack([people, people + places]) + rng.standard_normal((10, 20)) * 0.1)
    path = tmp_path / "questions.txt"
    path.write_text(": capitals\n" + "".join(f"cap{i} land{i} cap{j} land{j}\n" for i in range(5) for j in range(5)
                                             if i != j) + "cap1 land1 cap2 nowhere\n")
    score, sections = kv.evaluate_word_analogies(str(path))
    assert sections[0]["section"] == "capitals" and sections[-1]["section"] == "Total accuracy"
    assert len(sections[0]["correct"]) + len(sections[0]["incorrect"]) == 20 and score > 0.8
    assert sections[0]["correct"][0][0].isupper()
    each, _ = kv.evaluate_word_analogies(str(path), similarity_function=lambda **how: kv.most_similar(**how))
    assert each == score
    dummy, _ = kv.evaluate_word_analogies(str(path), dummy4unknown=True)
    assert dummy == pytest.approx(score * 20 / 21)
    assert kv.evaluate_word_analogies(str(path), similarity_function="most_similar_cosmul")[0] > 0.8


def test_pairs_are_scored_as_scipy_does(tmp_path):
    stats = pytest.importorskip("scipy.stats")
    kv = some(40, 8)
    rng = np.random.default_rng(5)
    lines = [(f"w{i}", f"w{i + 1}", round(float(kv.similarity(i, i + 1) + rng.normal() / 2), 2)) for i in range(30)]
    path = tmp_path / "pairs.tsv"
    path.write_text("# people's\n" + "".join(f"{a}\t{b}\t{x}\n" for a, b, x in lines) + "w1\tnobody\t3\nnonsense\n")
    pearson, spearman, unknown = kv.evaluate_word_pairs(str(path))
    x, y = [line[2] for line in lines], [kv.similarity(a, b) for a, b, _ in lines]
    assert pearson == pytest.approx(tuple(stats.pearsonr(x, y)), rel=1e-6)
    assert spearman == pytest.approx(tuple(stats.spearmanr(x, y)), rel=1e-6)
    assert unknown == pytest.approx(100 / 31)
    assert spearman.correlation == spearman.statistic == spearman[0] and pearson.pvalue == pearson[1]
    path.write_text("nobody\tnowhere\t3\n")
    with pytest.raises(ValueError):
        kv.evaluate_word_pairs(str(path))


# ---- files


@pytest.mark.parametrize("binary", [False, True])
def test_word2vec_files_come_back_exactly(tmp_path, binary):
    kv = some(50, 7)
    path = tmp_path / "v"
    kv.save_word2vec_format(path, binary=binary)
    again = KeyedVectors.load_word2vec_format(path, binary=binary)
    assert again.index_to_key == kv.index_to_key and (again.vectors == kv.vectors).all()
    few = KeyedVectors.load_word2vec_format(path, binary=binary, limit=3)
    assert few.index_to_key == kv.index_to_key[:3] and (few.vectors == kv.vectors[:3]).all()
    half = KeyedVectors.load_word2vec_format(path, binary=binary, datatype=np.float16)
    assert half.vectors.dtype == np.float16


def test_words_with_spaces_and_endings_in_gz_are_written_too(tmp_path):
    kv = some(3)
    path = tmp_path / "v.txt.gz"
    kv.save_word2vec_format(path)
    with gzip.open(path) as file:
        assert file.readline() == b"3 4\n"
    assert (KeyedVectors.load_word2vec_format(path).vectors == kv.vectors).all()
    with gzip.open(path, "rb") as file:
        assert (KeyedVectors.load_word2vec_format(file).vectors == kv.vectors).all()


def test_prefixes_headers_and_counts_are_as_asked(tmp_path):
    kv = some(3)
    for i in range(3):
        kv.set_vecattr(f"w{i}", "count", i + 1)
    path, vocab = tmp_path / "v", tmp_path / "vocab"
    kv.save_word2vec_format(path, fvocab=vocab, prefix="*", write_header=False)
    assert vocab.read_text() == "*w2 3\n*w1 2\n*w0 1\n"
    assert path.read_text().startswith("*w2 ")
    again = KeyedVectors.load_word2vec_format(path, fvocab=vocab, no_header=True)
    assert again.index_to_key == ["*w2", "*w1", "*w0"] and again.get_vecattr("*w1", "count") == 2
    kv.save_word2vec_format(path, append=True, write_header=False)
    assert len(path.read_text().splitlines()) == 6


def test_bad_bytes_are_as_the_caller_says(tmp_path):
    path = tmp_path / "v"
    path.write_bytes(b"2 2\ncaf\xe9 1 2\nplain 3 4\n")
    with pytest.raises(UnicodeDecodeError):
        KeyedVectors.load_word2vec_format(path)
    assert "caf\ufffd" in KeyedVectors.load_word2vec_format(path, unicode_errors="replace")
    assert "caf" in KeyedVectors.load_word2vec_format(path, unicode_errors="ignore")
    assert "caf\xe9" in KeyedVectors.load_word2vec_format(path, encoding="latin1")


def test_a_file_that_ends_too_early_or_is_none_is_refused(tmp_path):
    path = tmp_path / "v"
    path.write_text("3 2\na 1 2\nb 3 4\n")
    with pytest.raises(EOFError):
        KeyedVectors.load_word2vec_format(path)
    path.write_text("hello\n")
    with pytest.raises(ValueError):
        KeyedVectors.load_word2vec_format(path)
    with pytest.raises(FileNotFoundError):
        KeyedVectors.load_word2vec_format(tmp_path / "none")


def test_a_saved_file_is_mapped_and_not_copied(tmp_path):
    kv = some(200, 10)
    kv.set_vecattr("w5", "count", 9)
    path = tmp_path / "v.shoal"
    kv.save(path)
    again = KeyedVectors.load(path)
    assert not again.vectors.flags.owndata and not again.vectors.flags.writeable
    assert again._index_to_key is None and (again["w7"] == kv["w7"]).all() and "w7" in again and "x" not in again
    assert again._index_to_key is None  # nobody asked for all words yet
    assert again.most_similar("w1", topn=3) == kv.most_similar("w1", topn=3)
    with pytest.raises(KeyError) as raised:
        again["w777"]
    assert "closest: w77" in str(raised.value)
    again["w7"] = np.ones(10)  # becomes rows of its own
    assert (again["w7"] == 1).all() and (KeyedVectors.load(path)["w7"] == kv["w7"]).all()


def test_what_no_format_can_hold_is_pickled(tmp_path):
    kv = KeyedVectors(2)
    kv.add_vectors([1, 2, ("a", "b")], np.eye(3, 2))
    kv.save(tmp_path / "v")
    again = KeyedVectors.load(tmp_path / "v")
    assert again.index_to_key == [1, 2, ("a", "b")] and (again.vectors == kv.vectors).all()


@pytest.mark.parametrize("function, argument", [(eval, "open('owned', 'w')"), (shoal.train, "skipgram"),
                                                (shoal.load, "owned"), (LineSentence, "owned")])
def test_a_pickle_of_somebody_else_runs_no_code(tmp_path, function, argument):
    class Evil:
        def __reduce__(self):
            return function, (argument,)
    path = tmp_path / "v"
    path.write_bytes(pickle.dumps(Evil()))
    with pytest.raises(pickle.UnpicklingError, match=f"found .*{function.__name__} in the file"):
        KeyedVectors.load(path)


def test_pickling_keeps_keys_rows_and_attributes(tmp_path):
    kv = some(30)
    kv.set_vecattr("w2", "count", 3)
    kv.save(tmp_path / "v")
    for one in (kv, KeyedVectors.load(tmp_path / "v")):
        again = pickle.loads(pickle.dumps(one))
        assert again.index_to_key == kv.index_to_key and (again.vectors == kv.vectors).all()
        assert again.get_vecattr("w2", "count") == 3 and again.most_similar("w1") == kv.most_similar("w1")


def test_vectors_of_another_file_are_taken_over(tmp_path):
    kv, other = some(6, seed=1), some(4, seed=2)
    other.save_word2vec_format(tmp_path / "v", binary=True)
    kv.intersect_word2vec_format(tmp_path / "v", binary=True)
    assert (kv["w2"] == other["w2"]).all() and kv.vectors_lockf.tolist() == [0, 0, 0, 0, 1, 1]


# ---- threads and processes


def test_many_threads_may_ask_at_once(many):
    want, wrong = [many.most_similar(f"w{i}", topn=4) for i in range(40)], []
    fresh = pickle.loads(pickle.dumps(many))

    def ask():
        for i in range(40):
            if fresh.most_similar(f"w{i}", topn=4) != want[i]:
                wrong.append(i)
    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def ask_in_child(kv, pipe):
    pipe.send(kv.most_similar("w3", topn=2))
    pipe.close()


def test_a_forked_child_may_ask_what_the_parent_mapped(tmp_path, many):
    many.save(tmp_path / "v")
    kv = KeyedVectors.load(tmp_path / "v")
    want = kv.most_similar("w3", topn=2)
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=ask_in_child, args=(kv, theirs))
    child.start()
    theirs.close()
    assert ours.recv() == want
    child.join()
    assert child.exitcode == 0


def test_names_of_gensim_3_say_what_took_their_place():
    with pytest.raises(AttributeError, match="index_to_key"):
        some().index2word
    assert keyedvectors.Word2VecKeyedVectors is KeyedVectors


def test_a_key_that_is_no_text_is_missing_in_a_mapped_file(tmp_path):
    kv = KeyedVectors(2)
    kv.add_vectors(["left", "right"], np.eye(2))
    kv.save(tmp_path / "kv.shoal")
    mapped = KeyedVectors.load(tmp_path / "kv.shoal")
    for key in ("\ud800", "le\0ft", ""):
        assert key not in mapped
        with pytest.raises(KeyError):
            mapped[key]

"""Approximate nearest neighbours: what an index finds, and whose it is."""
import numpy as np
import pytest

import shoal
from shoal import similarities

needs_hnsw = pytest.mark.skipif(not similarities.available(), reason="the library was built without hnswlib")


@pytest.fixture(scope="module")
def words():
    rng = np.random.default_rng(3)
    middles = rng.standard_normal((40, 16)).astype("float32")
    rows = middles[np.arange(2000) % 40] + 0.7 * rng.standard_normal((2000, 16)).astype("float32")
    kv = shoal.KeyedVectors(16)
    kv.add_vectors([f"w{i}" for i in range(2000)], rows)
    return kv


@needs_hnsw
def test_most_of_the_nearest_are_found(words):
    index = words.index(m=8, ef_construction=60, ef=60)
    shared = 0
    for i in range(0, 2000, 40):
        exact = {word for word, _ in words.most_similar(f"w{i}", topn=10)}
        found = words.most_similar(f"w{i}", topn=11, indexer=index)
        assert found[0][0] == f"w{i}" and found[0][1] == pytest.approx(1, abs=1e-5)
        assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
        shared += len(exact & {word for word, _ in found})
    assert shared > 0.95 * 10 * 50


@needs_hnsw
def test_an_index_is_saved_and_is_that_of_its_vectors_alone(words, tmp_path):
    index = similarities.HnswIndexer(words, m=8, ef_construction=40, ef=40, threads=1)
    index.save(tmp_path / "words.hnsw")
    again = similarities.HnswIndexer.load(tmp_path / "words.hnsw", words)
    assert again.ef == 40 and "2000 vectors" in repr(again)
    query = words["w7"]
    assert again.most_similar(query, 5) == index.most_similar(query, 5)
    other = shoal.KeyedVectors(16)
    other.add_vectors(words.index_to_key, words.vectors + 1)
    with pytest.raises(shoal.FormatError, match="is an index of other vectors"):
        similarities.HnswIndexer.load(tmp_path / "words.hnsw", other)
    (tmp_path / "cut.hnsw").write_bytes((tmp_path / "words.hnsw").read_bytes()[:1000])
    with pytest.raises(shoal.Error, match="cut.hnsw"):
        similarities.HnswIndexer.load(tmp_path / "cut.hnsw", words)


@needs_hnsw
def test_the_index_of_a_file_is_that_of_the_model(words, tmp_path):
    words.save_word2vec_format(str(tmp_path / "w.bin"), binary=True)
    again = shoal.KeyedVectors.load_word2vec_format(str(tmp_path / "w.bin"), binary=True)
    similarities.HnswIndexer(words, m=4, ef=30).save(tmp_path / "w.bin.hnsw")
    index = similarities.HnswIndexer.load(tmp_path / "w.bin.hnsw", again)
    assert index.most_similar(again["w3"], 1)[0][0] == "w3"


@needs_hnsw
def test_what_cannot_be_is_said(words):
    with pytest.raises(shoal.InvalidError, match="m is 1"):
        similarities.HnswIndexer(words, m=1)
    index = similarities.HnswIndexer(words, m=4, ef=20)
    with pytest.raises(ValueError, match="want \\(16,\\)"):
        index.most_similar(np.ones(5), 3)
    with pytest.raises(shoal.InvalidError, match="want a direction"):
        index.most_similar(np.zeros(16), 3)
    assert index.most_similar(np.ones(16), 0) == []


def test_a_library_without_hnswlib_says_so(words):
    if similarities.available():
        pytest.skip("the library was built with hnswlib")
    with pytest.raises(shoal.InvalidError, match="hnsw=enabled"):
        similarities.HnswIndexer(words)

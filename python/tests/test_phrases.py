"""Phrases: what is joined, counted, frozen and kept."""
import math
import pickle

import pytest

from shoal.models.phrases import ENGLISH_CONNECTOR_WORDS, FrozenPhrases, Phraser, Phrases, npmi_scorer, original_scorer

TEXTS = [["the", "mayor", "of", "new", "york"], ["new", "york", "was", "there"], ["a", "new", "day"]] * 5


def test_words_that_stand_together_are_joined():
    phrases = Phrases(TEXTS, min_count=1, threshold=1)
    assert phrases[["new", "york", "mayor"]] == ["new_york", "mayor"]
    assert list(phrases[[["new", "york"], ["york", "new"]]]) == [["new_york"], ["york", "new"]]
    assert phrases[[]] == []


def test_scores_are_those_of_the_formulas():
    phrases = Phrases(TEXTS, min_count=1, threshold=1)
    score = dict(phrases.find_phrases(TEXTS))["new_york"]
    assert score == pytest.approx((10 - 1) / (15 * 10) * len(phrases.vocab))
    assert original_scorer(0, 1, 1, 1, 1, 1) == -math.inf and npmi_scorer(2, 2, 2, 9, 1, 8) == pytest.approx(1)
    assert npmi_scorer(2, 2, 1, 9, 5, 8) == -math.inf


def test_connector_words_stand_within_a_phrase():
    phrases = Phrases([["mayor", "of", "york"]] * 5 + [["a", "b"]], min_count=1, threshold=0.5,
                      connector_words=ENGLISH_CONNECTOR_WORDS)
    assert phrases[["the", "mayor", "of", "york"]] == ["the", "mayor_of_york"]


def test_frozen_phrases_join_the_same_and_are_smaller():
    phrases = Phrases(TEXTS, min_count=1, threshold=1)
    frozen = phrases.freeze()
    assert isinstance(frozen, FrozenPhrases) and Phraser is FrozenPhrases
    assert [frozen[text] for text in TEXTS] == [phrases[text] for text in TEXTS]
    assert frozen.phrasegrams == phrases.export_phrases()


def test_counting_goes_on_and_is_bounded():
    phrases = Phrases(TEXTS, min_count=1, threshold=1)
    before = phrases.vocab["new_york"]
    phrases.add_vocab([["new", "york"]] * 3)
    assert phrases.vocab["new_york"] == before + 3 and phrases.corpus_word_count == 60 + 6
    assert len(Phrases([[str(i), str(i + 1)] for i in range(1000)], max_vocab_size=100).vocab) <= 101


@pytest.mark.parametrize("wrong", [dict(min_count=0), dict(threshold=-1), dict(scoring="npmi", threshold=2),
                                   dict(scoring="other"), dict(scoring=lambda a: a), dict(delimiter=b"_")])
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValueError):
        Phrases(TEXTS, **wrong)


def half(worda_count, wordb_count, bigram_count, len_vocab, min_count, corpus_word_count):
    return bigram_count / 2


def test_a_file_keeps_all_but_code(tmp_path):
    for scoring in ("default", "npmi", half):
        phrases = Phrases(TEXTS, min_count=1, threshold=0.4, scoring=scoring)
        phrases.save(tmp_path / "phrases")
        again = Phrases.load(tmp_path / "phrases")
        assert again.scoring is phrases.scoring and again.vocab == phrases.vocab
        assert again.freeze()[["new", "york"]] == phrases[["new", "york"]]
    state = phrases.__getstate__()
    state["scorer"] = "os:system"
    with pytest.raises(pickle.UnpicklingError):
        again.__setstate__(state)

"""Words that stand together more often than chance, by gensim's names.

What this is: `Phrases` counts words and pairs, and joins pairs of a high score: "new", "york" becomes
"new_york". `FrozenPhrases` (or `Phraser`) keeps only the phrases. Files are joined faster by `shoal phrases`.
Who owns what: counts are plain dicts of the object.
Threads: any number may join; one that counts has it alone.
"""
import itertools
import math
import pickle
import sys
from collections import defaultdict
from types import FunctionType
from typing import Any, Callable, Dict, FrozenSet, Iterable, Iterator, List, Optional, Sequence, Tuple, Union

__all__ = ["ENGLISH_CONNECTOR_WORDS", "FrozenPhrases", "Phraser", "Phrases", "npmi_scorer", "original_scorer"]

NEGATIVE_INFINITY = -math.inf

# Words that join the two of a phrase, and are none by themselves.
ENGLISH_CONNECTOR_WORDS: FrozenSet[str] = frozenset(
    "a an the for of with without at from to in on by and or".split())


def original_scorer(worda_count: float, wordb_count: float, bigram_count: float, len_vocab: float, min_count: float,
                    corpus_word_count: float) -> float:
    """(pair - min_count) / a / b * vocabulary (Mikolov et al. 2013, equation 6)."""
    down = worda_count * wordb_count
    return (bigram_count - min_count) / down * len_vocab if down else NEGATIVE_INFINITY


def npmi_scorer(worda_count: float, wordb_count: float, bigram_count: float, len_vocab: float, min_count: float,
                corpus_word_count: float) -> float:
    """Normalized pointwise mutual information, -1 to 1 (Bouma 2009)."""
    if bigram_count < min_count:
        return NEGATIVE_INFINITY
    both = bigram_count / corpus_word_count
    try:
        return math.log(both / (worda_count / corpus_word_count * (wordb_count / corpus_word_count))) / -math.log(both)
    except (ValueError, ZeroDivisionError):
        return NEGATIVE_INFINITY


_SCORERS: Dict[str, Callable[..., float]] = {"default": original_scorer, "npmi": npmi_scorer}
_ARGUMENTS = ("worda_count", "wordb_count", "bigram_count", "len_vocab", "min_count", "corpus_word_count")


def _one_or_many(source: Any) -> Tuple[bool, Any]:
    """Whether it is one sentence, and a way through it that loses nothing."""
    head = iter(source)
    try:
        first = next(head)
    except StopIteration:
        return True, []
    rest = itertools.chain([first], head)
    return isinstance(first, (str, bytes)), source if head is not source else rest


class _Joined:
    """Sentences with phrases joined, walked as often as those behind it can be."""

    def __init__(self, phrases: "_PhrasesTransformation", sentences: Iterable[Sequence[str]]) -> None:
        self.phrases, self.sentences = phrases, sentences

    def __iter__(self) -> Iterator[List[str]]:
        for sentence in self.sentences:
            yield self.phrases._join(sentence)


class _PhrasesTransformation:
    delimiter: str

    def __init__(self, connector_words: Iterable[str] = frozenset()) -> None:
        self.connector_words = frozenset(connector_words)

    def score_candidate(self, word_a: str, word_b: str, in_between: List[str]) -> Tuple[Optional[str], Optional[float]]:
        raise NotImplementedError

    def analyze_sentence(self, sentence: Iterable[str]) -> Iterator[Tuple[str, Optional[float]]]:
        """Words and phrases from left to right, phrases with their score."""
        first: Optional[str] = None
        between: List[str] = []
        for word in sentence:
            if word in self.connector_words:
                if first is None:
                    yield word, None
                else:
                    between.append(word)
                continue
            if first is not None:
                phrase, score = self.score_candidate(first, word, between)
                if score is not None:
                    yield phrase, score  # type: ignore[misc]
                    first, between = None, []
                    continue
                yield first, None
                for other in between:
                    yield other, None
            first, between = word, []
        if first is not None:
            yield first, None
            for other in between:
                yield other, None

    def _join(self, sentence: Iterable[str]) -> List[str]:
        return [token for token, _ in self.analyze_sentence(sentence)]

    def __getitem__(self, sentence: Any) -> Any:
        """A sentence, or many of them, with phrases joined."""
        single, sentence = _one_or_many(sentence)
        return self._join(sentence) if single else _Joined(self, sentence)

    def find_phrases(self, sentences: Iterable[Sequence[str]]) -> Dict[str, float]:
        """The phrases that occur in sentences, and their scores."""
        return {phrase: score for sentence in sentences for phrase, score in self.analyze_sentence(sentence)
                if score is not None}

    def __getstate__(self) -> Dict[str, Any]:
        state = dict(self.__dict__)
        scoring = state.pop("scoring", None)  # by its name: files hold no code
        if scoring is not None:
            state["scorer"] = f"{scoring.__module__}:{scoring.__qualname__}"
        return state

    def __setstate__(self, state: Dict[str, Any]) -> None:
        name = state.pop("scorer", None)
        self.__dict__.update(state)
        if name is not None:
            self.scoring = _scorer_named(name)

    def save(self, fname: Any, *args: Any, **kwargs: Any) -> None:
        """To a file for `load`."""
        if hasattr(fname, "write"):
            pickle.dump(self, fname, protocol=4)
            return
        with open(fname, "wb") as file:
            pickle.dump(self, file, protocol=4)

    @classmethod
    def load(cls, fname: Any, **kwargs: Any) -> Any:
        """What `save` wrote."""
        from .saved import load
        found = load(fname)
        if not isinstance(found, _PhrasesTransformation):
            raise TypeError(f"{fname}: found {type(found).__name__}, want phrases")
        return found


def _scorer_named(name: str) -> Callable[..., float]:
    """A scorer of this module, or of one that the program has imported."""
    module, _, function = name.partition(":")
    for known in _SCORERS.values():
        if name == f"{known.__module__}:{known.__qualname__}":
            return known
    found = getattr(sys.modules.get(module), function, None)
    if not isinstance(found, FunctionType) or not _takes_counts(found):
        raise pickle.UnpicklingError(f"phrases: found no scoring function {name}, want its module imported first")
    return found


def _takes_counts(scoring: Any) -> bool:
    import inspect
    return callable(scoring) and all(name in inspect.signature(scoring).parameters for name in _ARGUMENTS)


class Phrases(_PhrasesTransformation):
    """Finds phrases in sentences.

    >>> sentences = [["the", "mayor", "of", "new", "york"], ["new", "york", "was", "there"]] * 3
    >>> phrases = Phrases(sentences, min_count=1, threshold=1)
    >>> phrases[["new", "york", "trees"]]
    ['new_york', 'trees']
    """

    def __init__(self, sentences: Optional[Iterable[Sequence[str]]] = None, min_count: float = 5,
                 threshold: float = 10.0, max_vocab_size: int = 40000000, delimiter: str = "_",
                 progress_per: int = 10000, scoring: Union[str, Callable[..., float]] = "default",
                 connector_words: Iterable[str] = frozenset()) -> None:
        if min_count <= 0:
            raise ValueError("min_count should be at least 1")
        if threshold <= 0 and scoring == "default":
            raise ValueError("threshold should be positive for default scoring")
        if scoring == "npmi" and not -1 <= threshold <= 1:
            raise ValueError("threshold should be between -1 and 1 for npmi scoring")
        if not isinstance(delimiter, str):
            raise ValueError("delimiter: found no str, want one")
        if isinstance(scoring, str) and scoring not in _SCORERS:
            raise ValueError(f"unknown scoring method string {scoring!r} specified, want 'default' or 'npmi'")
        if not isinstance(scoring, str):
            self._check_scorer(scoring)
        self.min_count, self.threshold, self.max_vocab_size = min_count, threshold, max_vocab_size
        self.vocab: Dict[str, int] = {}
        self.min_reduce, self.corpus_word_count = 1, 0
        self.delimiter, self.progress_per = delimiter, progress_per
        self.scoring = _SCORERS[scoring] if isinstance(scoring, str) else scoring
        super().__init__(connector_words)
        if sentences is not None:
            self.add_vocab(sentences)

    @staticmethod
    def _check_scorer(scoring: Any) -> None:
        if not _takes_counts(scoring):
            raise ValueError("custom scoring function missing expected parameters: want " + ", ".join(_ARGUMENTS))
        if scoring.__module__ == "__main__":
            raise pickle.PickleError("Custom scoring function in Phrases must be pickle-able: want one of a module")

    def __str__(self) -> str:
        return (f"{type(self).__name__}<{len(self.vocab)} vocab, min_count={self.min_count}, "
                f"threshold={self.threshold}, max_vocab_size={self.max_vocab_size}>")

    @staticmethod
    def _learn_vocab(sentences: Iterable[Sequence[str]], max_vocab_size: int, delimiter: str,
                     connector_words: FrozenSet[str], progress_per: int) -> Tuple[int, Dict[str, int], int]:
        counts: Dict[str, int] = defaultdict(int)
        total, least = 0, 1
        for sentence in sentences:
            first: Optional[str] = None
            between: List[str] = []
            for word in sentence:
                total += 1
                if word in connector_words:
                    if first is not None:
                        between.append(word)
                    continue
                counts[word] += 1
                if first is not None:
                    counts[delimiter.join([first, *between, word])] += 1
                first, between = word, []
            if len(counts) > max_vocab_size:
                _prune(counts, least)
                least += 1
        return least, dict(counts), total

    def add_vocab(self, sentences: Iterable[Sequence[str]]) -> None:
        """Counts more sentences."""
        least, counts, total = self._learn_vocab(sentences, self.max_vocab_size, self.delimiter,
                                                 self.connector_words, self.progress_per)
        self.corpus_word_count += total
        if not self.vocab:
            self.vocab = counts
        else:
            self.min_reduce = max(self.min_reduce, least)
            for word, count in counts.items():
                self.vocab[word] = self.vocab.get(word, 0) + count
            if len(self.vocab) > self.max_vocab_size:
                _prune(self.vocab, self.min_reduce)
                self.min_reduce += 1

    def score_candidate(self, word_a: str, word_b: str, in_between: List[str]) -> Tuple[Optional[str], Optional[float]]:
        a, b = self.vocab.get(word_a, 0), self.vocab.get(word_b, 0)
        if a <= 0 or b <= 0:
            return None, None
        phrase = self.delimiter.join([word_a, *in_between, word_b])
        score = self.scoring(worda_count=float(a), wordb_count=float(b),
                             bigram_count=float(self.vocab.get(phrase, 0)), len_vocab=float(len(self.vocab)),
                             min_count=self.min_count, corpus_word_count=float(self.corpus_word_count))
        return (None, None) if score <= self.threshold else (phrase, score)

    def export_phrases(self) -> Dict[str, float]:
        """All phrases that were counted, and their scores."""
        found: Dict[str, float] = {}
        for token in self.vocab:
            words = token.split(self.delimiter)
            if len(words) < 2:
                continue
            phrase, score = self.score_candidate(words[0], words[-1], words[1:-1])
            if score is not None:
                found[phrase] = score  # type: ignore[index]
        return found

    def freeze(self) -> "FrozenPhrases":
        """The phrases alone: smaller and quicker, and nothing can be counted any more."""
        return FrozenPhrases(self)


def _prune(counts: Dict[str, int], least: int) -> None:
    for word in [word for word, count in counts.items() if count < least]:
        del counts[word]


class FrozenPhrases(_PhrasesTransformation):
    """The phrases that `Phrases` found."""

    def __init__(self, phrases_model: Phrases) -> None:
        self.threshold, self.min_count = phrases_model.threshold, phrases_model.min_count
        self.delimiter, self.scoring = phrases_model.delimiter, phrases_model.scoring
        super().__init__(phrases_model.connector_words)
        self.phrasegrams = phrases_model.export_phrases()

    def __str__(self) -> str:
        return f"{type(self).__name__}<{len(self.phrasegrams)} phrases, min_count={self.min_count}, " \
               f"threshold={self.threshold}>"

    def score_candidate(self, word_a: str, word_b: str, in_between: List[str]) -> Tuple[Optional[str], Optional[float]]:
        phrase = self.delimiter.join([word_a, *in_between, word_b])
        score = self.phrasegrams.get(phrase)
        return (None, None) if score is None else (phrase, score)


Phraser = FrozenPhrases

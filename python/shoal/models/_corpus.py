"""Sentences as ids: what training takes.

What this is: tokens of any kind become numbers while they are counted, in one walk; a file is counted and
encoded by the C library. What is left is a corpus in the order that the library likes, commonest first.
Who owns what: a `Corpus` of the library's keeps the ids it borrows.
Threads: one.
"""
import ctypes
import logging
import os
import tempfile
from array import array
from collections import defaultdict
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple

import numpy as np

from .. import _abi, _c, _run
from .keyedvectors import c_words, counts_of, vocab_of, words_of

logger = logging.getLogger(__name__)

END = _abi.SHOAL_SENTENCE_END
RULE_DEFAULT, RULE_DISCARD, RULE_KEEP = 0, 1, 2
Rule = Optional[Callable[[Any, int, int], int]]


def keeps(word: Any, count: int, min_count: int, rule: Rule) -> bool:
    """Whether a word stays in the vocabulary."""
    said = rule(word, count, min_count) if rule is not None else RULE_DEFAULT
    return said == RULE_KEEP or said != RULE_DISCARD and count >= min_count


class Scanned:
    """What one walk over sentences found: `ids` by the order in which words came, with END behind each
    sentence; `words` and their `counts`."""

    def __init__(self, words: List[Any], counts: np.ndarray, ids: np.ndarray, sentences: int) -> None:
        self.words, self.counts, self.ids, self.sentences = words, counts, ids, sentences

    @property
    def total(self) -> int:
        return len(self.ids) - self.sentences


def scan(sentences: Iterable[Sequence[Any]]) -> Scanned:
    """Walks over sentences once.

    >>> found = scan([["a", "b", "a"], ["b"]])
    >>> found.words, found.counts.tolist(), found.sentences, found.total
    (['a', 'b'], [2, 2], 2, 4)
    """
    number: Dict[Any, int] = defaultdict()
    number.default_factory = number.__len__  # type: ignore[assignment]
    ids, walked, warned = array("I"), 0, False
    extend, append, number_of = ids.extend, ids.append, number.__getitem__
    for sentence in sentences:
        if isinstance(sentence, str) and not warned:
            logger.warning("Each 'sentences' item should be a list of words (usually unicode strings). "
                           "First item here is instead plain %s.", type(sentence))
            warned = True
        len(sentence)  # of what has no length, as a generator, TypeError
        extend(map(number_of, sentence))
        append(END)
        walked += 1
    found = np.frombuffer(ids, dtype=np.uint32) if len(ids) else np.zeros(0, dtype=np.uint32)
    number.default_factory = None  # type: ignore[assignment]
    counts = np.bincount(found[found != END], minlength=len(number)) if walked else np.zeros(0, dtype=np.int64)
    return Scanned(list(number), counts, found, walked)


def scan_bounded(sentences: Iterable[Sequence[Any]], most: int, rule: Rule) -> Dict[Any, int]:
    """Counts with at most about so many words: whenever there are more, the rarest are dropped, as gensim
    does it, from 1 on and one count more each time."""
    counts: Dict[Any, int] = defaultdict(int)
    least = 1
    for sentence in sentences:
        for word in sentence:
            counts[word] += 1
        if len(counts) > most:
            for word in [word for word, count in counts.items() if not keeps(word, count, least, rule)]:
                del counts[word]
            least += 1
    return counts


# ---- Corpora of the library's --------------------------------------------------------------------


def names_for(keys: Sequence[Any]) -> List[str]:
    """A word of the library's for each key: the key itself where it is one."""
    return c_words(keys) or [f"\x01{i}" for i in range(len(keys))]


def corpus_of_ids(vocab: _c.Vocab, ids: np.ndarray) -> _c.Corpus:
    """Sentences as ids of the vocabulary; borrowed."""
    ids = np.ascontiguousarray(ids, dtype=np.uint32)
    return _c.opened(_c.Corpus, _c.lib.shoal_corpus_new, vocab, ids.ctypes.data, len(ids), keeps=ids)


def renumbered(ids: np.ndarray, to: np.ndarray) -> np.ndarray:
    """Ids by a table `to`, -1 leaving a word out; END stays, once behind a sentence of which some is left."""
    table = np.append(to, 0).astype(np.uint32)
    ends = ids == END
    out = table[np.where(ends, len(to), ids)]
    out[ends] = END
    kept = ends | (to[np.where(ends, 0, ids)] >= 0) if len(to) else ends
    out, ends = out[kept], ends[kept]
    again = np.empty(len(ends), dtype=bool)  # an end behind an end, or at the beginning
    again[:1] = ends[:1]
    again[1:] = ends[1:] & ends[:-1]
    return out[~again]


def ids_of(sentences: Iterable[Sequence[Any]], place: Dict[Any, int]) -> Tuple[np.ndarray, int, int]:
    """Sentences as ids by `place`, words that it lacks left out; how many words and sentences there were."""
    found = scan(sentences)
    to = np.array([place.get(word, -1) for word in found.words], dtype=np.int64)
    return renumbered(found.ids, to), found.total, found.sentences


def _opts(min_count: int, given: Optional[_c.Vocab] = None) -> _abi.shoal_encode_opts:
    opts = _c.lib.shoal_encode_default()
    opts.vocab.min_count = max(1, min_count)
    if given is not None:
        opts.given = given.pointer
    return opts


def count_file(paths: Any, workers: int = 0) -> Tuple[List[str], np.ndarray, int]:
    """All words of files, their counts, commonest first, and the number of sentences."""
    opts = _opts(1).vocab
    names = _c.paths(paths)
    with _run.watching() as watch:
        opts.watch = watch
        vocab = _c.opened(_c.Vocab, _c.lib.shoal_vocab_build, names, len(names), ctypes.byref(opts), None)
    with vocab:
        return words_of(vocab), counts_of(vocab), _c.lib.shoal_vocab_sentences(vocab)


def encode_file(paths: Any, min_count: int = 1,
                given: Optional[_c.Vocab] = None) -> Tuple[_c.Corpus, _abi.shoal_encode_stats]:
    """Files as a corpus, over the given words or those that come often enough. The encoded file has no name
    by then: it goes with the corpus."""
    stats, opts = _abi.shoal_encode_stats(), _opts(min_count, given)
    names = _c.paths(paths)
    with tempfile.TemporaryDirectory(prefix="shoal-") as folder, _run.watching() as watch:
        opts.vocab.watch = watch
        path = _c.path_bytes(os.path.join(folder, "corpus.shoal"))
        _c.lib.shoal_encode(path, names, len(names), ctypes.byref(opts), ctypes.byref(stats))
        return _c.opened(_c.Corpus, _c.lib.shoal_corpus_open, path), stats


def vocabulary(keys: Sequence[Any], counts: np.ndarray) -> _c.Vocab:
    return vocab_of(names_for(keys), counts)

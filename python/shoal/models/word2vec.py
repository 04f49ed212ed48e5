"""Word2Vec by gensim's names, trained by the C library.

What this is: `Word2Vec` counts and encodes sentences once, and trains without the GIL. What differs from
gensim on purpose stands in docs/python.md.
Who owns what: a model owns its vectors and output rows, which are NumPy arrays.
Threads: `workers` of them train, started and joined by the call; a model belongs to one thread while it
trains, and may be read by many otherwise.
"""
import ctypes
import functools
import itertools
import logging
import os
import pickle
import time
from types import GeneratorType
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Union

import numpy as np

from .. import _abi, _c, _run
from . import _corpus
from ._corpus import RULE_DEFAULT, RULE_DISCARD, RULE_KEEP, Rule
from .formats import open_bytes
from .keyedvectors import (KeyedVectors, MissingKey, Owned, REAL, _Later, c_words, counts_of, rows_of, words_of)

__all__ = ["BrownCorpus", "LineSentence", "PathLineSentences", "RULE_DEFAULT", "RULE_DISCARD", "RULE_KEEP",
           "Text8Corpus", "Word2Vec"]

logger = logging.getLogger(__name__)

MAX_WORDS_IN_BATCH = 10000
WINDOW_MOST, NEGATIVE_MOST = 50, 64  # of the library
DIM_MOST = 1 << 20                   # of the library
STREAM_START = 1                     # the library's stream of first values
FIRST_BLOCK = 1 << 16                # of them so many at a time, which stay in the caches


def _mix(x: np.ndarray) -> np.ndarray:
    """The library's random numbers: SplitMix64."""
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
        return x ^ (x >> np.uint64(31))


def first_rows(rows: Sequence[int], dim: int, seed: int) -> np.ndarray:
    """First values, row by row the same for the same seed: those of the library, twice as large. Within
    1 / dim as in gensim; of a small text half of that teaches skip-gram visibly less."""
    step, mask = 0x9e3779b97f4a7c15, (1 << 64) - 1
    one = np.array([(seed + step) & mask, (STREAM_START * 0xd1342543de82ef95 + 1) & mask], dtype=np.uint64)
    key = np.bitwise_xor.reduce(_mix(one))
    out = np.empty((len(rows), dim), dtype=REAL)
    block = max(1, FIRST_BLOCK // max(dim, 1))
    for begin in range(0, len(rows), block):
        part = np.asarray(rows[begin:begin + block], dtype=np.uint64)[:, None]
        with np.errstate(over="ignore"):
            random = _mix(key + (part * np.uint64(dim) + np.arange(dim, dtype=np.uint64)) * np.uint64(step))
        out[begin:begin + block] = ((random >> np.uint64(11)).astype(np.float64) * 2.0 ** -53 - 0.5) * 2 / dim
    return out


# ---- The Huffman tree ----------------------------------------------------------------------------


def huffman(counts: np.ndarray) -> Tuple[List[np.ndarray], List[np.ndarray]]:
    """Of each word, commonest first, the nodes from the root on and the branch taken at each, as the
    library grows its tree.

    >>> points, codes = huffman(np.array([3, 2, 1]))
    >>> [code.tolist() for code in codes]
    [[1], [0, 1], [0, 0]]
    """
    n = len(counts)
    if n < 2:
        return [np.zeros(0, np.uint32)] * n, [np.zeros(0, np.uint8)] * n
    weight = [int(count) for count in counts] + [0] * (n - 1)
    parent, bit = [0] * (2 * n - 1), bytearray(2 * n - 1)
    leaf, inner = n - 1, n

    def rarest(made: int) -> int:
        nonlocal leaf, inner
        if leaf >= 0 and (inner >= made or weight[leaf] < weight[inner]):
            leaf -= 1
            return leaf + 1
        inner += 1
        return inner - 1

    for node in range(n, 2 * n - 1):
        a, b = rarest(node), rarest(node)
        weight[node] = weight[a] + weight[b]
        parent[a] = parent[b] = node
        bit[b] = 1
    root, points, codes = 2 * n - 2, [], []
    for word in range(n):
        nodes, branches = [], []
        while word != root:
            branches.append(bit[word])
            word = parent[word]
            nodes.append(root - word)
        points.append(np.array(nodes[::-1], dtype=np.uint32))
        codes.append(np.array(branches[::-1], dtype=np.uint8))
    return points, codes


# ---- The model -----------------------------------------------------------------------------------


class Word2Vec:
    """Word vectors, by skip-gram or CBOW, with negative sampling or hierarchical softmax.

    >>> sentences = [["the", "cat", "sat"], ["the", "dog", "sat"], ["a", "cat", "ran"]] * 30
    >>> model = Word2Vec(sentences, vector_size=16, window=2, min_count=1, epochs=5, seed=1)
    >>> len(model.wv), model.wv["cat"].shape, model.wv.most_similar("cat", topn=1)[0][0] in model.wv
    (6, (16,), True)
    >>> model.build_vocab([["the", "cow", "ran"]], update=True)
    >>> _ = model.train([["the", "cow", "ran"]], total_examples=1, epochs=2)
    >>> "cow" in model.wv
    True
    """

    def __init__(self, sentences: Optional[Iterable[Sequence[Any]]] = None, corpus_file: Any = None,
                 vector_size: int = 100, alpha: float = 0.025, window: int = 5, min_count: int = 5,
                 max_vocab_size: Optional[int] = None, sample: float = 1e-3, seed: Optional[int] = 1, workers: int = 3,
                 min_alpha: float = 0.0001, sg: int = 0, hs: int = 0, negative: int = 5, ns_exponent: float = 0.75,
                 cbow_mean: int = 1, hashfxn: Any = hash, epochs: int = 5, null_word: int = 0, trim_rule: Rule = None,
                 sorted_vocab: int = 1, batch_words: int = MAX_WORDS_IN_BATCH, compute_loss: bool = False,
                 callbacks: Sequence[Any] = (), comment: Optional[str] = None,
                 max_final_vocab: Optional[int] = None, shrink_windows: bool = True) -> None:
        corpus_iterable = sentences
        if vector_size > DIM_MOST:  # before memory is asked for
            raise ValueError(f"vector_size: found {vector_size}, want at most {DIM_MOST}")
        if sample and not sample >= 0:
            raise ValueError(f"sample: found {sample}, want 0 or more")
        self.vector_size, self.workers, self.epochs = int(vector_size), int(workers), epochs
        self.train_count, self.total_train_time, self.batch_words = 0, 0.0, batch_words
        self.sg, self.alpha, self.min_alpha = int(sg), float(alpha), float(min_alpha)
        self.window, self.shrink_windows, self.random = int(window), bool(shrink_windows), np.random.RandomState(seed)
        self.hs, self.negative, self.ns_exponent = int(hs), int(negative), ns_exponent
        self.cbow_mean, self.compute_loss = int(cbow_mean), bool(compute_loss)
        self.running_training_loss, self.min_alpha_yet_reached = 0.0, float(alpha)
        self.corpus_count, self.corpus_total_words = 0, 0
        self.max_final_vocab, self.max_vocab_size, self.min_count = max_final_vocab, max_vocab_size, min_count
        self.sample, self.sorted_vocab, self.null_word = sample, sorted_vocab, null_word
        self.raw_vocab: Dict[Any, int] = {}
        self.hashfxn, self.seed, self.comment = hashfxn, seed, comment
        self._seed: Optional[int] = None  # drawn where none is given
        self.effective_min_count = min_count
        self.layer1_size = self.vector_size
        self.history: List[Any] = []
        self.last_run: Any = None  # what the last training told: see shoal.Run
        self.wv = self._no_vectors()
        if self.hs and self.negative:
            logger.info("hs=1: hierarchical softmax alone is trained, without negative=%i", self.negative)
        if corpus_iterable is not None or corpus_file is not None:
            self._check_corpus(corpus_iterable, corpus_file, passes=epochs + 1)
            scanned = self._build(corpus_iterable, corpus_file, trim_rule=trim_rule)
            self.train(corpus_iterable, corpus_file, total_examples=self.corpus_count,
                       total_words=self.corpus_total_words, epochs=self.epochs, start_alpha=self.alpha,
                       end_alpha=self.min_alpha, compute_loss=self.compute_loss, callbacks=callbacks,
                       _scanned=scanned)
        else:
            if trim_rule is not None:
                logger.warning("The rule, if given, is only used to prune vocabulary during build_vocab() and is not "
                               "stored as part of the model. Model initialized without sentences.")
            if callbacks:
                logger.warning("Callbacks are no longer retained by the model, so must be provided whenever training "
                               "is triggered.")
        self.load = _on_class_only  # type: ignore[assignment]

    def _no_vectors(self) -> KeyedVectors:
        return KeyedVectors(self.vector_size)

    # ---- vocabulary ----

    @staticmethod
    def _check_corpus(corpus_iterable: Any = None, corpus_file: Any = None, passes: int = 1) -> None:
        if corpus_file is None and corpus_iterable is None:
            raise TypeError("Either one of corpus_file or corpus_iterable value must be provided")
        if corpus_file is not None and corpus_iterable is not None:
            raise TypeError("Both corpus_file and corpus_iterable must not be provided at the same time")
        if corpus_file is not None and not isinstance(corpus_file, (str, os.PathLike)):
            raise TypeError(f"Parameter corpus_file must be a valid path to a file, got {corpus_file!r} instead")
        if isinstance(corpus_iterable, (str, bytes)):
            raise TypeError("sentences: found a string, want lists of words; a path goes to corpus_file")
        if corpus_file is None and not hasattr(corpus_iterable, "__iter__"):
            raise TypeError("The corpus_iterable must be an iterable of lists of strings, got "
                            f"{corpus_iterable!r} instead")
        if isinstance(corpus_iterable, GeneratorType) and passes > 1:
            raise TypeError("Using a generator as corpus_iterable can't support multiple passes. Try a re-iterable "
                            "sequence.")

    def build_vocab(self, corpus_iterable: Optional[Iterable[Sequence[Any]]] = None, corpus_file: Any = None,
                    update: bool = False, progress_per: int = 10000, keep_raw_vocab: bool = False,
                    trim_rule: Rule = None, **kwargs: Any) -> None:
        """Counts words, and makes rows for those that come often enough; with `update` new words join those
        that are there."""
        self._check_corpus(corpus_iterable, corpus_file, passes=1)
        self._build(corpus_iterable, corpus_file, update, keep_raw_vocab, trim_rule, **kwargs)

    def _build(self, corpus_iterable: Any, corpus_file: Any, update: bool = False, keep_raw_vocab: bool = False,
               trim_rule: Rule = None, **kwargs: Any) -> Any:
        """The same; gives what was scanned, for a training that follows at once."""
        if corpus_file is not None and not (update or keep_raw_vocab or trim_rule or kwargs or self.max_vocab_size or
                                            self.max_final_vocab):
            return self._build_from_file(corpus_file)
        scanned = self._scan(corpus_iterable, corpus_file, trim_rule)
        self.prepare_vocab(update=update, keep_raw_vocab=keep_raw_vocab, trim_rule=trim_rule, **kwargs)
        self.prepare_weights(update=update)
        return scanned

    def _build_from_file(self, corpus_file: Any) -> Any:
        """By the library alone: counted and encoded at once."""
        self.effective_min_count = self.min_count
        try:
            corpus, stats = _corpus.encode_file(corpus_file, self.min_count)
        except _c.InvalidError as error:
            if "no word" in str(error) or "none of" in str(error) or "fewer" in str(error):
                self._new_keys([], np.zeros(0, dtype=np.int64))
                return None
            raise
        vocab = _c.lib.shoal_corpus_vocab(corpus)
        self.corpus_count = stats.vocab.text.sentences
        self.corpus_total_words = stats.vocab.text.words
        self._new_keys(words_of(vocab), counts_of(vocab))
        self.prepare_weights()
        return corpus

    def build_vocab_from_freq(self, word_freq: Dict[Any, int], keep_raw_vocab: bool = False,
                              corpus_count: Optional[int] = None, trim_rule: Rule = None,
                              update: bool = False) -> None:
        """The same of words that were counted before."""
        self.raw_vocab = dict(word_freq)
        self.corpus_count = corpus_count or 0
        self.corpus_total_words = sum(self.raw_vocab.values())
        self.prepare_vocab(keep_raw_vocab=keep_raw_vocab, trim_rule=trim_rule, update=update)
        self.prepare_weights(update=update)

    def scan_vocab(self, corpus_iterable: Any = None, corpus_file: Any = None, progress_per: int = 10000,
                   workers: Optional[int] = None, trim_rule: Rule = None) -> Tuple[int, int]:
        """Counts words; gives how many there are, and how many sentences."""
        self._scan(corpus_iterable, corpus_file, trim_rule)
        return self.corpus_total_words, self.corpus_count

    def _scan(self, corpus_iterable: Any, corpus_file: Any, trim_rule: Rule) -> Any:
        if corpus_file is not None and not self.max_vocab_size:
            words, counts, sentences = _corpus.count_file(corpus_file)
            self.raw_vocab = dict(zip(words, counts.tolist()))
            self.corpus_count, self.corpus_total_words = sentences, int(counts.sum())
            return None
        if corpus_file is not None:
            corpus_iterable = LineSentence(corpus_file)
        scanned = _corpus.scan(corpus_iterable)
        self.raw_vocab = dict(zip(scanned.words, scanned.counts.tolist()))
        if self.max_vocab_size and len(self.raw_vocab) > self.max_vocab_size:
            # By what was kept of the one walk: sentences may be such as can be walked only once.
            self.raw_vocab = _corpus.scan_bounded(_sentences_of(scanned), self.max_vocab_size, trim_rule)
        self.corpus_count, self.corpus_total_words = scanned.sentences, scanned.total
        return scanned

    def prepare_vocab(self, update: bool = False, keep_raw_vocab: bool = False, trim_rule: Rule = None,
                      min_count: Optional[int] = None, sample: Optional[float] = None,
                      dry_run: bool = False) -> Dict[str, Any]:
        """Chooses the words, and says what is left; with `dry_run` nothing else."""
        min_count, sample = min_count or self.min_count, sample or self.sample
        self.effective_min_count = min_count
        raw = self.raw_vocab
        if self.max_final_vocab is not None:
            ordered = sorted(raw.values(), reverse=True)
            least = ordered[self.max_final_vocab] + 1 if self.max_final_vocab < len(ordered) else 1
            self.effective_min_count = max(least, min_count)
        least = self.effective_min_count
        kept = {word: count for word, count in raw.items() if count >= least} if trim_rule is None else \
            {word: count for word, count in raw.items() if _corpus.keeps(word, count, least, trim_rule)}
        total = sum(kept.values())
        if not dry_run:
            if update:
                self._more_keys(kept, raw)
            else:
                self.min_count, self.sample = min_count, sample
                self._fresh_keys(kept)
            if not keep_raw_vocab:
                self.raw_vocab = {}
        threshold = total if not sample else sample * total if sample < 1 else int(sample * (3 + np.sqrt(5)) / 2)
        counts = np.array(list(kept.values()), dtype=np.float64)
        chance = np.minimum(1, (np.sqrt(counts / threshold) + 1) * (threshold / counts)) if total else counts
        return {"drop_unique": len(raw) - len(kept), "retain_total": total,
                "downsample_unique": int((chance < 1).sum()), "downsample_total": int((chance * counts).sum()),
                "num_retained_words": len(kept)}

    def _fresh_keys(self, kept: Dict[Any, int]) -> None:
        words = list(kept)
        if self.sorted_vocab:
            words.sort(key=lambda word: (-kept[word], word if isinstance(word, str) else str(word)))
        self._new_keys(words, np.array([kept[word] for word in words], dtype=np.int64))

    def _new_keys(self, words: List[Any], counts: np.ndarray) -> None:
        self.wv.index_to_key, self.wv.key_to_index = words, {word: i for i, word in enumerate(words)}
        self.wv.vectors = np.zeros((0, self.vector_size), dtype=REAL)
        self.wv.next_index = len(words)
        self.wv.expandos = {"count": counts}
        self._codes()

    def _more_keys(self, kept: Dict[Any, int], raw: Dict[Any, int]) -> None:
        wv = self.wv
        fresh = [word for word in kept if word not in wv.key_to_index]
        before = wv._attribute("count") if "count" in wv.expandos else np.zeros(len(wv), dtype=np.int64)
        wv._own_keys()
        for word in fresh:
            wv.key_to_index[word] = len(wv.index_to_key)
            wv.index_to_key.append(word)
        counts = np.append(before, np.zeros(len(fresh), dtype=np.int64))
        counts += np.array([raw.get(word, 0) for word in wv.index_to_key], dtype=np.int64)
        wv.expandos = {"count": counts}
        wv.next_index = len(wv.index_to_key)
        self._codes()

    def _codes(self) -> None:
        """Of hierarchical softmax, paths in the tree; made when somebody asks."""
        if not self.hs:
            return
        counts = self.wv.expandos["count"]

        def of(which: int) -> np.ndarray:
            order = np.argsort(-counts, kind="stable")
            paths = huffman(counts[order])[which]
            out = np.empty(len(counts), dtype=object)
            for place, path in zip(order, paths):
                out[place] = path
            return out

        self.wv.expandos["point"] = _Later(lambda: of(0))
        self.wv.expandos["code"] = _Later(lambda: of(1))

    def create_binary_tree(self) -> None:
        self._codes()

    def prepare_weights(self, update: bool = False) -> None:
        """Rows for words that have none yet."""
        if update:
            self.update_weights()
        else:
            self.init_weights()

    def _random_rows(self, first: int, end: int) -> np.ndarray:
        return first_rows(range(first, end), self.vector_size, self._drawn() & 0xffffffffffffffff)

    def _drawn(self) -> int:
        """The seed; of None one that is drawn once, and not the same in another model."""
        if self.seed is not None:
            return int(self.seed)
        if self._seed is None:
            self._seed = int(self.random.randint(1 << 31))
        return self._seed

    def init_weights(self) -> None:
        self.wv.vectors = self._random_rows(0, len(self.wv))
        self._set_output(np.zeros((len(self.wv), self.vector_size), dtype=REAL))
        self.wv.vectors_lockf = np.ones(1, dtype=REAL)

    def update_weights(self) -> None:
        wv, have = self.wv, len(self.wv.vectors)
        if not have:
            raise RuntimeError("You cannot do an online vocabulary-update of a model which has no prior vocabulary. "
                               "First build the vocabulary of your model with a corpus before doing an online update.")
        wv.vectors = np.vstack([wv.vectors, self._random_rows(have, len(wv))])
        out = self._output()
        if out is None or self.hs:  # nodes of the tree over the counts as they are now are others
            out = np.zeros((0, self.vector_size), dtype=REAL)
        self._set_output(np.vstack([out, np.zeros((len(wv) - len(out), self.vector_size), dtype=REAL)]))
        lockf = getattr(wv, "vectors_lockf", np.ones(1, dtype=REAL))
        if len(lockf) == have and have > 1:
            wv.vectors_lockf = np.append(lockf, np.ones(len(wv) - have, dtype=REAL))

    def _output(self) -> Optional[np.ndarray]:
        return getattr(self, "syn1" if self.hs else "syn1neg", None)

    def _set_output(self, rows: np.ndarray) -> None:
        if self.hs:
            self.syn1 = rows
        if self.negative:
            self.syn1neg = rows

    @property
    def cum_table(self) -> np.ndarray:
        """Sums of counts ** ns_exponent, up to 2 ** 31 - 1: by which noise is drawn."""
        sums = np.cumsum(np.maximum(self.wv._attribute("count"), 1).astype(np.float64) ** self.ns_exponent)
        return np.round(sums / sums[-1] * (2 ** 31 - 1)).astype(np.uint32)

    # ---- training ----

    def train(self, corpus_iterable: Optional[Iterable[Sequence[Any]]] = None, corpus_file: Any = None,
              total_examples: Optional[int] = None, total_words: Optional[int] = None,
              epochs: Optional[int] = None, start_alpha: Optional[float] = None, end_alpha: Optional[float] = None,
              word_count: int = 0, queue_factor: int = 2, report_delay: float = 1.0, compute_loss: bool = False,
              callbacks: Sequence[Any] = (), _scanned: Any = None, **kwargs: Any) -> Tuple[int, int]:
        """Trains further from what is there. Gives the words that were learned from, and those that were
        read."""
        self.alpha = start_alpha or self.alpha
        self.min_alpha = end_alpha or self.min_alpha
        self.epochs = epochs or 0
        self._check_training(epochs=epochs, total_examples=total_examples, total_words=total_words)
        self._check_corpus(corpus_iterable, corpus_file, passes=self.epochs)
        self.compute_loss, self.running_training_loss = compute_loss, 0.0
        began = time.monotonic()
        for callback in callbacks:
            callback.on_train_begin(self)
        trained, read = self._train(corpus_iterable, corpus_file, _scanned, callbacks)
        self.total_train_time += time.monotonic() - began
        for callback in callbacks:
            callback.on_train_end(self)
        return trained, read

    def _check_training(self, epochs: Optional[int] = 0, total_examples: Optional[int] = None,
                        total_words: Optional[int] = None) -> None:
        if not self.hs and not self.negative:
            logger.warning("You must set either 'hs' or 'negative' to be positive for proper training. When both "
                           "'hs=0' and 'negative=0', there will be no training.")
        if self.alpha > self.min_alpha_yet_reached:
            logger.warning("Effective 'alpha' higher than previous training cycles")
        if not len(self.wv):
            raise RuntimeError("you must first build vocabulary before training the model")
        if not len(self.wv.vectors):
            raise RuntimeError("you must initialize vectors before training the model")
        if total_words is None and total_examples is None:
            raise ValueError("You must specify either total_examples or total_words, for proper learning-rate and "
                             "progress calculations. If you've just built the vocabulary using the same corpus, using "
                             "the count cached in the model is sufficient: total_examples=model.corpus_count.")
        if epochs is None or epochs <= 0:
            raise ValueError("You must specify an explicit epochs count. The usual value is epochs=model.epochs.")

    def _in_order(self) -> Tuple[Optional[np.ndarray], List[Any], np.ndarray]:
        """Keys and counts as the library wants them, commonest first; and which of ours each is, or None where
        that is the same."""
        counts = np.asarray(self.wv._attribute("count"), dtype=np.int64) if "count" in self.wv.expandos else \
            np.ones(len(self.wv), dtype=np.int64)
        keys = self.wv.index_to_key
        if (counts[:-1] >= counts[1:]).all():
            return None, keys, counts
        order = np.argsort(-counts, kind="stable")
        return order, [keys[i] for i in order], counts[order]

    def _open(self, corpus_iterable: Any, corpus_file: Any, scanned: Any, keys: List[Any],
              counts: np.ndarray) -> Tuple[Optional[_c.Corpus], int]:
        """The corpus over those keys, and how many words were read; None where no word is left."""
        if isinstance(scanned, _c.Corpus):
            return scanned, self.corpus_total_words
        with _corpus.vocabulary(keys, counts) as vocab:
            if corpus_file is not None and c_words(keys) is not None:
                try:
                    corpus, stats = _corpus.encode_file(corpus_file, given=vocab)
                except _c.InvalidError as error:
                    if "none of" not in str(error):
                        raise
                    return None, 0
                return corpus, stats.vocab.text.words
            if corpus_file is not None:
                corpus_iterable = LineSentence(corpus_file)
            place = {key: i for i, key in enumerate(keys)}
            if scanned is None:
                ids, read, _ = _corpus.ids_of(corpus_iterable, place)
            else:
                to = np.array([place.get(word, -1) for word in scanned.words], dtype=np.int64)
                ids, read = _corpus.renumbered(scanned.ids, to), scanned.total
            if not len(ids):
                return None, read
            return _corpus.corpus_of_ids(vocab, ids), read

    def _train(self, corpus_iterable: Any, corpus_file: Any, scanned: Any, callbacks: Sequence[Any]) -> Tuple[int, int]:
        order, keys, counts = self._in_order()
        corpus, read = self._open(corpus_iterable, corpus_file, scanned, keys, counts)
        words = 0 if corpus is None else _c.lib.shoal_corpus_words(corpus)
        self.history = []
        locks = getattr(self.wv, "vectors_lockf", None)
        locks = locks if locks is not None and len(locks) == len(self.wv) and (locks != 1).any() else None
        parts = self.epochs if callbacks or locks is not None else 1
        each, trained = self.epochs // parts, 0
        try:
            for part in range(parts):
                for callback in callbacks:
                    callback.on_epoch_begin(self)
                if corpus is not None and (self.hs or self.negative) and len(keys) > 1:
                    fall = (self.alpha - self.min_alpha) / parts
                    trained += self._run(corpus, order, keys, counts, locks, each, self.alpha - part * fall,
                                         self.alpha - (part + 1) * fall, part)
                for callback in callbacks:
                    callback.on_epoch_end(self)
        finally:
            if corpus is not None:
                corpus.close()
        self.train_count += 1
        self.min_alpha_yet_reached = min(self.min_alpha_yet_reached, self.alpha if not words else self.min_alpha)
        return trained, read * self.epochs

    def _options(self, epochs: int, alpha: float, end: float, part: int, total: int, words: int) -> _c.Options:
        window, negative = self.window, self.negative
        if window > WINDOW_MOST:
            logger.warning("window=%i: found more than the library takes, training with %i", window, WINDOW_MOST)
        if negative > NEGATIVE_MOST:
            logger.warning("negative=%i: found more than the library takes, training with %i", negative, NEGATIVE_MOST)
        sample = float(self.sample or 0)
        if sample >= 1:
            sample = min(int(sample * (3 + np.sqrt(5)) / 2) / max(total, 1), 0.999999)
        options = _c.Options("skipgram" if self.sg else "cbow", dim=self.vector_size, epochs=epochs,
                             window=min(window, WINDOW_MOST), shrink_windows=self.shrink_windows,
                             loss="hs" if self.hs else "ns", sample=sample, lr=float(alpha), lr_scaling="off",
                             min_lr=float(end) if end > 0 else float(alpha) * 1e-9, valid=0, threads=self._threads(words),
                             # A number of its own for each part, and each call of train().
                             seed=(self._drawn() + 0x9e3779b9 * (part + 1000 * self.train_count)) & (2 ** 64 - 1))
        if not self.hs:
            options.update({"negative": min(negative, NEGATIVE_MOST), "ns_exponent": float(self.ns_exponent)})
        if not self.sg:
            options.update({"cbow_mean": bool(self.cbow_mean)})
        return options

    def _threads(self, words: int) -> int:
        """More threads than cores only wait for each other; few words are one worker's, as a batch is in gensim."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return max(1, min(self.workers, cores, words // MAX_WORDS_IN_BATCH))

    def _run(self, corpus: _c.Corpus, order: Optional[np.ndarray], keys: List[Any], counts: np.ndarray, locks: Any,
             epochs: int, alpha: float, end: float, part: int) -> int:
        """One run of the library from the rows that are here, which it replaces."""
        before = self.wv.vectors
        output = self._output()
        start = self._start(order, keys, counts, before, output)
        words = _c.lib.shoal_corpus_words(corpus)
        with self._options(epochs, alpha, end, part, int(counts.sum()), words) as options, \
                _c.Data.of(corpus=corpus, vectors=start) as data:
            run = _run.run(options, data, [functools.partial(_log, part, self.epochs)], verbose=False)
        start.close()
        self._take(run.model, order, keys)
        if locks is not None:
            # Rows that are locked stay, others move by their factor.
            self.wv.vectors = (before + locks[:, None] * (self.wv.vectors - before)).astype(REAL)
        self.last_run = run
        self.history.extend(report for report in run.reports if report["event"] == "epoch")
        told = [report["loss"] for report in self.history if np.isfinite(report.get("loss", np.nan))]
        self.running_training_loss = float(told[-1]) if told else 0.0  # a short epoch may predict nothing
        return run.stats["examples"]

    def _start(self, order: Optional[np.ndarray], keys: List[Any], counts: np.ndarray, rows: np.ndarray,
               output: Optional[np.ndarray]) -> _c.Vectors:
        from .keyedvectors import matrix_of
        if rows.shape[1] != self.vector_size or len(rows) != len(keys):
            raise ValueError(f"{type(self).__name__}: found vectors of shape {rows.shape}, want {(len(keys), self.vector_size)}")
        if order is not None:
            rows = rows[order]
        if output is not None and self.hs:
            output = output[:len(keys) - 1]  # nodes have an order of their own
        elif output is not None and order is not None:
            output = output[order]
        with _corpus.vocabulary(keys, counts) as vocab:
            given, kept = matrix_of(rows, vocab)
            more, also = (None, None) if output is None else matrix_of(output)
            return self._made(given, None if more is None else ctypes.byref(more))

    def _made(self, rows: _abi.shoal_matrix, hidden: Any) -> _c.Vectors:
        return _c.opened(_c.Vectors, _c.lib.shoal_vectors_new, ctypes.byref(rows), hidden)

    def _take(self, model: _c.Model, order: Optional[np.ndarray], keys: List[Any]) -> None:
        """What a run gave becomes ours."""
        lib, vectors = _c.lib, _c.lib.shoal_model_vectors(model)
        matrix = _abi.shoal_matrix()
        lib.shoal_vectors_matrix(vectors, ctypes.byref(matrix))
        rows = rows_of(matrix, model, writable=True)
        hidden = rows_of(lib.shoal_vectors_hidden(vectors), model, writable=True)
        if order is not None:
            back = np.argsort(order)
            rows = rows[back]
            hidden = hidden if self.hs else hidden[back]
        if self.hs:
            hidden = np.vstack([hidden, np.zeros((len(keys) - len(hidden), self.vector_size), dtype=REAL)])
            self.syn1 = hidden
        else:
            self.syn1neg = hidden
        self.wv.vectors = rows

    def get_latest_training_loss(self) -> float:
        """The mean loss of a prediction in the last epoch, in nats."""
        return self.running_training_loss

    # ---- asking ----

    def predict_output_word(self, context_words_list: Sequence[Any], topn: int = 10) -> Optional[List[Tuple[Any, float]]]:
        """The likeliest words in the middle of others, with their probabilities; of negative sampling alone."""
        if not self.negative or self.hs:
            raise RuntimeError("We have currently only implemented predict_output_word for the negative sampling "
                               "scheme, so you need to have run word2vec with negative > 0 for this to work.")
        if not len(self.wv) or not hasattr(self, "syn1neg") or len(self.syn1neg) != len(self.wv):
            raise RuntimeError("Parameters required for predicting the output words not found.")
        rows = [self.wv.get_index(word) for word in context_words_list if self.wv.has_index_for(word)]
        if not rows:
            logger.warning("All the input context words are out-of-vocabulary for the current model.")
            return None
        hidden = self.wv.vectors[rows].sum(axis=0)
        if self.cbow_mean:
            hidden = hidden / len(rows)
        scores = self.syn1neg @ hidden
        chance = np.exp(scores - scores.max())
        chance /= chance.sum()
        best = np.argsort(-chance, kind="stable")[:topn]
        return [(self.wv.index_to_key[i], chance[i]) for i in best]

    def score(self, sentences: Iterable[Sequence[Any]], total_sentences: int = int(1e6), chunksize: int = 100,
              queue_factor: int = 2, report_delay: float = 1) -> np.ndarray:
        """The logarithm of each sentence's probability; of hierarchical softmax alone."""
        if not len(self.wv):
            raise RuntimeError("you must first build vocabulary before scoring new data")
        if not self.hs:
            raise RuntimeError("We have currently only implemented score for the hierarchical softmax scheme, so you "
                               "need to have run word2vec with hs=1 and negative=0 for this to work.")
        points, codes = self.wv._attribute("point"), self.wv._attribute("code")
        return np.array([self._score(sentence, points, codes)
                         for sentence in itertools.islice(sentences, total_sentences)], dtype=REAL)

    def _score(self, sentence: Sequence[Any], points: np.ndarray, codes: np.ndarray) -> float:
        ids = [self.wv.get_index(word) for word in sentence if self.wv.has_index_for(word)]
        total = 0.0
        for place, word in enumerate(ids):
            around = ids[max(0, place - self.window):place] + ids[place + 1:place + 1 + self.window]
            if not around:
                continue
            rows = self.wv.vectors[around]
            if not self.sg:
                rows = rows.sum(axis=0, keepdims=True)
                rows = rows / len(around) if self.cbow_mean else rows
            margins = (rows @ self.syn1[points[word]].T) * (1 - 2.0 * codes[word])
            total -= float(np.logaddexp(0, -margins).sum())
        return total

    def reset_from(self, other_model: "Word2Vec") -> None:
        """Takes over the words of another model, and begins anew."""
        other = other_model.wv
        self._new_keys(list(other.index_to_key), np.array(other._attribute("count")))
        self.corpus_count, self.corpus_total_words = other_model.corpus_count, other_model.corpus_total_words
        self.init_weights()

    def estimate_memory(self, vocab_size: Optional[int] = None, report: Optional[Dict[str, int]] = None) -> Dict[str, int]:
        """About what training takes, in bytes."""
        size = vocab_size or len(self.wv)
        report = report or {}
        report["vocab"] = size * (700 if self.hs else 500)
        report["vectors"] = size * self.vector_size * 4
        if self.hs:
            report["syn1"] = report["vectors"]
        elif self.negative:
            report["syn1neg"] = report["vectors"]
        report["total"] = sum(report.values())
        return report

    def init_sims(self, replace: bool = False) -> None:
        self.wv.init_sims(replace=replace)

    def __str__(self) -> str:
        return f"{type(self).__name__}<vocab={len(self.wv)}, vector_size={self.wv.vector_size}, alpha={self.alpha}>"

    __repr__ = __str__

    # ---- files ----

    def __getstate__(self) -> Dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name not in ("load", "last_run", "hashfxn", "_read_output")}
        for name in ("syn1", "syn1neg"):
            if name in state:
                state[name] = np.ascontiguousarray(state[name])
        state["random"] = None
        state["history"] = [dict(report) for report in self.history]
        return state

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.random, self.hashfxn, self.last_run = np.random.RandomState(self.seed), hash, None
        self.load = _on_class_only  # type: ignore[assignment]

    def save(self, fname: Any, *args: Any, **kwargs: Any) -> None:
        """All of it, for `load` and more training."""
        if hasattr(fname, "write"):
            pickle.dump(self, fname, protocol=4)
            return
        path = f"{os.fspath(fname)}.{os.getpid()}.part"
        try:
            with open(path, "wb") as file:
                pickle.dump(self, file, protocol=4)
            os.replace(path, fname)
        finally:
            if os.path.exists(path):
                os.unlink(path)

    @classmethod
    def load(cls, fname: Any, rethrow: bool = False, **kwargs: Any) -> "Word2Vec":
        """What `save` wrote."""
        from .saved import load
        if not hasattr(fname, "read"):
            with open(fname, "rb") as file:
                if file.read(1) != b"\x80":
                    raise AttributeError(f"{fname}: found no model that Word2Vec.save wrote; vectors alone are loaded "
                                         "by KeyedVectors.load")
        model = load(fname)
        if not isinstance(model, cls):
            raise AttributeError(f"Model of type {type(model)} can't be loaded by {cls}")
        return model


def _log(before: int, epochs: int, report: Any) -> None:
    """As gensim does at the level INFO: after each epoch, and within a long one about once a second."""
    if report["event"] == "epoch":
        logger.info("EPOCH %i of %i: %i words, %.0f words/s, loss %.4f", before + report["epoch"], epochs,
                    report["examples"], report["rate"], report.get("loss", np.nan))
    elif report["event"] == "interval":
        logger.info("PROGRESS: at %.2f%% words, %.0f words/s", 100 * report["progress"], report["rate"])


def _on_class_only(*args: Any, **kwargs: Any) -> Any:
    raise AttributeError("This method should be called on a class object.")


def _sentences_of(scanned: _corpus.Scanned) -> Iterator[List[Any]]:
    words, begin = scanned.words, 0
    for end in np.flatnonzero(scanned.ids == _corpus.END).tolist():
        yield [words[i] for i in scanned.ids[begin:end].tolist()]
        begin = end + 1


# ---- Sentences of files --------------------------------------------------------------------------


class LineSentence:
    """The lines of a file, as lists of words; compressed files too.

    >>> import io
    >>> list(LineSentence(io.BytesIO(b"a b\\nc\\n")))
    [['a', 'b'], ['c']]
    """

    def __init__(self, source: Any, max_sentence_length: int = MAX_WORDS_IN_BATCH, limit: Optional[int] = None) -> None:
        self.source, self.max_sentence_length, self.limit = source, max_sentence_length, limit

    def __iter__(self) -> Iterator[List[str]]:
        if hasattr(self.source, "seek"):
            try:
                self.source.seek(0)
            except (OSError, ValueError):
                pass
            yield from self._lines(self.source)
        elif hasattr(self.source, "read") or not isinstance(self.source, (str, os.PathLike)):
            yield from self._lines(self.source)
        else:
            with open_bytes(self.source) as file:
                yield from self._lines(file)

    def _lines(self, file: Iterable[Union[bytes, str]]) -> Iterator[List[str]]:
        most = self.max_sentence_length
        for line in itertools.islice(file, self.limit):
            words = (line.decode("utf-8") if isinstance(line, bytes) else line).split()
            for at in range(0, len(words), most):
                yield words[at:at + most]


class PathLineSentences:
    """The lines of all files of a folder, by name; or of one file."""

    def __init__(self, source: Any, max_sentence_length: int = MAX_WORDS_IN_BATCH, limit: Optional[int] = None) -> None:
        self.source, self.max_sentence_length, self.limit = os.fspath(source), max_sentence_length, limit
        if os.path.isfile(self.source):
            self.input_files = [self.source]
        elif os.path.isdir(self.source):
            self.input_files = [os.path.join(self.source, name) for name in sorted(os.listdir(self.source))]
        else:
            raise ValueError(f"input is neither a file nor a path: {self.source}")

    def __iter__(self) -> Iterator[List[str]]:
        for path in self.input_files:
            yield from LineSentence(path, self.max_sentence_length, self.limit)


class Text8Corpus:
    """The words of one long line, in sentences of `max_sentence_length`."""

    def __init__(self, fname: Any, max_sentence_length: int = MAX_WORDS_IN_BATCH) -> None:
        self.fname, self.max_sentence_length = fname, max_sentence_length

    def __iter__(self) -> Iterator[List[str]]:
        words: List[str] = []
        rest = b""
        with open_bytes(self.fname) as file:
            while True:
                block = file.read(1 << 16)
                text = rest + block
                cut = len(text) if not block else max(text.rfind(b" "), text.rfind(b"\n")) + 1
                words += text[:cut].decode("utf-8").split()
                rest = text[cut:]
                while len(words) >= self.max_sentence_length:
                    yield words[:self.max_sentence_length]
                    words = words[self.max_sentence_length:]
                if not block:
                    break
        if words:
            yield words


class BrownCorpus:
    """The sentences of the Brown corpus (of NLTK): words with the first two letters of their tag."""

    def __init__(self, dirname: Any) -> None:
        self.dirname = dirname

    def __iter__(self) -> Iterator[List[str]]:
        for name in sorted(os.listdir(self.dirname)):
            path = os.path.join(self.dirname, name)
            if not os.path.isfile(path):
                continue
            with open_bytes(path) as file:
                for line in file:
                    tokens = [token.split("/") for token in line.decode("utf-8").split()]
                    words = [f"{token[0].lower()}/{token[1][:2]}" for token in tokens
                             if len(token) == 2 and token[1][:2].isalpha()]
                    if words:
                        yield words

"""How well vectors answer: analogies and pairs, with gensim's results.

What this is: all analogies are asked in blocks, as products of matrices, rather than one after the other.
Who owns what: results are plain values.
Threads: any number.
"""
import itertools
import logging
import math
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from .formats import open_bytes

logger = logging.getLogger(__name__)

BLOCK = 1 << 24  # products at a time


# ---- Analogies -----------------------------------------------------------------------------------


def _known(kv: Any, restrict: Optional[int], fold: bool) -> Dict[str, int]:
    """The first so many keys and their index; of keys that are equal without case the first."""
    keys = kv.index_to_key[:restrict] if restrict else kv.index_to_key
    out: Dict[str, int] = {}
    for i, key in enumerate(keys):
        if isinstance(key, str):
            out.setdefault(key.upper() if fold else key, i)
    return out


def _questions(source: Any, fold: bool) -> Tuple[List[str], List[Tuple[int, Tuple[str, ...]]]]:
    """Names of sections, and (section, four words) in the order of the file."""
    names: List[str] = []
    asked: List[Tuple[int, Tuple[str, ...]]] = []
    with open_bytes(source) as file:
        for number, raw in enumerate(file, 1):
            line = raw.decode("utf-8") if isinstance(raw, bytes) else raw
            if line.startswith(": "):
                names.append(line[2:].strip())
                continue
            if not names:
                raise ValueError(f"Missing section header before line #{number} in {source}")
            words = (line.upper() if fold else line).split()
            if len(words) == 4:
                asked.append((len(names) - 1, tuple(words)))
            elif words:
                logger.info("Skipping invalid line #%i in %s", number, source)
    return names, asked


def _answers(kv: Any, known: Dict[str, int], questions: List[Tuple[str, ...]], fold: bool, mul: bool) -> np.ndarray:
    """The index of the best answer to each question, of which all words are known."""
    kv.fill_norms()
    end = 1 + max(known.values())
    rows = kv.vectors[:end].astype(np.float32, copy=False)
    units = np.ascontiguousarray(rows / np.where(kv.norms[:end] > 0, kv.norms[:end], 1)[:, None], dtype=np.float32)
    same: Dict[str, List[int]] = {}
    for i, key in enumerate(kv.index_to_key[:end]):
        if isinstance(key, str):
            same.setdefault(key.upper() if fold else key, []).append(i)
    ids = np.array([[known[word] for word in words[:3]] for words in questions], dtype=np.intp)
    best = np.empty(len(questions), dtype=np.intp)
    step = max(1, BLOCK // end)
    for at in range(0, len(questions), step):
        a, b, c = (units[ids[at:at + step, j]] for j in range(3))
        if mul:
            scores = ((1 + b @ units.T) / 2) * ((1 + c @ units.T) / 2) / ((1 + a @ units.T) / 2 + 0.000001)
        else:
            scores = (b - a + c) @ units.T
        for row, words in enumerate(questions[at:at + step]):
            for word in words[:3]:
                scores[row, same[word]] = -np.inf
        best[at:at + step] = scores.argmax(axis=1)
    return best


def _ask_each(kv: Any, known: Dict[str, int], questions: List[Tuple[str, ...]], restrict: Optional[int], fold: bool,
              ask: Any) -> List[Optional[str]]:
    """The same by a function of the caller's, one by one."""
    out: List[Optional[str]] = []
    for a, b, c, _ in questions:
        keys = [kv.index_to_key[known[word]] for word in (a, b, c)]
        found = ask(positive=[keys[1], keys[2]], negative=[keys[0]], topn=5, restrict_vocab=restrict)
        for key, _score in found:
            said = key.upper() if fold else key
            if said in known and said not in (a, b, c):
                out.append(said)
                break
        else:
            out.append(None)
    return out


def analogies(kv: Any, source: Any, restrict: Optional[int], fold: bool, dummy: bool,
              ask: Any) -> Tuple[float, List[Dict[str, Any]]]:
    known = _known(kv, restrict, fold)
    names, asked = _questions(source, fold)
    sections: List[Dict[str, Any]] = [{"section": name, "correct": [], "incorrect": []} for name in names]
    can = [(section, words) for section, words in asked if all(word in known for word in words)]
    questions = [words for _, words in can]
    said: List[Optional[str]] = []
    if questions and ask in ("most_similar", "most_similar_cosmul"):
        keys = kv.index_to_key
        said = [keys[i].upper() if fold else keys[i]
                for i in _answers(kv, known, questions, fold, ask != "most_similar")]
    elif questions:
        said = _ask_each(kv, known, questions, restrict, fold, getattr(kv, ask) if isinstance(ask, str) else ask)
    answers = iter(said)
    for section, words in asked:
        if all(word in known for word in words):
            sections[section]["correct" if next(answers) == words[3] else "incorrect"].append(words)
        elif dummy:
            sections[section]["incorrect"].append(words)
    total = {"section": "Total accuracy",
             "correct": list(itertools.chain.from_iterable(s["correct"] for s in sections)),
             "incorrect": list(itertools.chain.from_iterable(s["incorrect"] for s in sections))}
    if not total["correct"] and not total["incorrect"]:
        logger.warning("no analogy of %s has all its words among the vectors", source)
    missing = len(asked) - len(can)
    if missing:
        logger.info("%i of %i analogies have words that are not there", missing, len(asked))
    for section in sections:
        kv.log_accuracy(section)
    score = kv.log_accuracy(total)
    return score, sections + [total]


# ---- Pairs ---------------------------------------------------------------------------------------


def _ranks(values: np.ndarray) -> np.ndarray:
    """From 1, equals having the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - (counts - 1) / 2)[place]


def _beta_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    h = d
    for m in range(1, 500):
        for up in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                   -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d = 1 + up * d
            d = 1 / (d if abs(d) > tiny else tiny)
            c = 1 + up / c
            c = c if abs(c) > tiny else tiny
            h *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return h


def _incomplete_beta(a: float, b: float, x: float) -> float:
    if x <= 0 or x >= 1:
        return float(x >= 1)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(a, b, x) / a
    return 1 - front * _beta_fraction(b, a, 1 - x) / b


class Correlation(NamedTuple):
    """A pair with SciPy's names, old and new."""
    statistic: float
    pvalue: float

    @property
    def correlation(self) -> float:
        return self.statistic


def correlation(x: np.ndarray, y: np.ndarray) -> Correlation:
    """Pearson's r, and how likely one as far from 0 is by chance (Student's t, two sides).

    >>> r, p = correlation(np.array([1., 2, 3, 4]), np.array([1., 3, 2, 4]))
    >>> round(r, 6), round(p, 6)
    (0.8, 0.2)
    """
    x, y = x - x.mean(), y - y.mean()
    down = math.sqrt(float(x @ x) * float(y @ y))
    if len(x) < 3 or down == 0:
        return Correlation(math.nan, math.nan)
    r = max(-1.0, min(1.0, float(x @ y) / down))
    return Correlation(r, _incomplete_beta((len(x) - 2) / 2, 0.5, 1 - r * r))


def pairs(kv: Any, source: Any, delimiter: str, encoding: str, restrict: Optional[int], fold: bool,
          dummy: bool) -> Tuple[Correlation, Correlation, float]:
    known = _known(kv, restrict, fold)
    gold: List[float] = []
    found: List[float] = []
    missing = 0
    with open_bytes(source) as file:
        for number, raw in enumerate(file, 1):
            line = raw.decode(encoding) if isinstance(raw, bytes) else raw
            if not line.strip() or line.startswith("#"):
                continue
            try:
                a, b, value = (line.upper() if fold else line).rstrip("\r\n").split(delimiter)
                score = float(value)
            except ValueError:
                logger.info("Skipping invalid line #%i in %s", number, source)
                continue
            if a not in known or b not in known:
                missing += 1
                if not dummy:
                    continue
                gold.append(score)
                found.append(0.0)
                continue
            gold.append(score)
            found.append(float(kv.similarity(known[a], known[b])))
    if not gold:
        raise ValueError(f"No valid similarity gold standards found in {source}, want lines with two words that are "
                         f"among the vectors and a number, with {delimiter!r} between")
    x, y = np.array(gold), np.array(found)
    rate = missing / len(gold) * 100 if dummy else missing / (len(gold) + missing) * 100
    return correlation(x, y), correlation(_ranks(x), _ranks(y)), rate

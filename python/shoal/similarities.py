"""Approximate nearest neighbours, as gensim's indexers have them.

>>> import numpy as np
>>> from shoal import KeyedVectors
>>> from shoal.similarities import HnswIndexer, available
>>> vectors = KeyedVectors(4)
>>> vectors.add_vectors(["sea", "tide", "oak", "elm"], np.eye(4, dtype="float32") + 0.1)
>>> if available():
...     index = HnswIndexer(vectors)
...     assert [word for word, _ in vectors.most_similar("sea", topn=1, indexer=index)] == ["sea"]
"""
import ctypes
import os
from typing import Any, List, Optional, Tuple, Union

import numpy as np

from . import _abi, _c
from .models.keyedvectors import REAL, matrix_of

__all__ = ["HnswIndexer", "available"]


def available() -> bool:
    """Whether the library was built with hnswlib."""
    try:
        _c.lib.shoal_hnsw_there()
    except _c.Error:
        return False
    return True


class _Graph(_c.Handle):
    _end = "shoal_hnsw_free"


class HnswIndexer:
    """An HNSW index over the vectors of a model, for `most_similar(..., indexer=index)`.

    `model` is KeyedVectors, or a model that has them as `wv`. `m` are the links of a vector, and
    `ef_construction` the candidates among which they are chosen. `ef` is how many candidates a question
    keeps; without it as few as find the share `recall` of the ten nearest. `threads=1` gives the same index
    for the same `seed` each time. The index has the vectors as they are now: later changes do not reach it.
    """

    def __init__(self, model: Any, m: int = 16, ef_construction: int = 200, ef: Optional[int] = None,
                 recall: float = 0.95, seed: int = 1, threads: int = 0) -> None:
        opts = _c.lib.shoal_hnsw_default()
        opts.m, opts.ef_construction, opts.ef = m, ef_construction, ef or 0
        opts.recall, opts.seed, opts.threads = recall, seed, threads
        self.model = model
        matrix, kept = matrix_of(self._keys().vectors)
        out = ctypes.c_void_p()
        _c.lib.shoal_hnsw_new_rows(ctypes.byref(out), ctypes.byref(matrix), ctypes.byref(opts))
        del kept
        self._graph = _Graph(out)

    @classmethod
    def load(cls, fname: Union[str, "os.PathLike[str]"], model: Any) -> "HnswIndexer":
        """The index that `save` or `shoal index` wrote; of other vectors than the model's it is refused."""
        self = cls.__new__(cls)
        self.model = model
        matrix, kept = matrix_of(self._keys().vectors)
        out = ctypes.c_void_p()
        _c.lib.shoal_hnsw_open_rows(ctypes.byref(out), ctypes.byref(matrix), os.fsencode(fname))
        del kept
        self._graph = _Graph(out)
        return self

    def save(self, fname: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the links; the vectors stay in the model's own file."""
        _c.lib.shoal_hnsw_save(self._graph, os.fsencode(fname))

    def _keys(self) -> Any:
        return getattr(self.model, "wv", self.model)

    @property
    def ef(self) -> int:
        """Candidates that a question keeps."""
        return int(_c.lib.shoal_hnsw_facts(self._graph).ef)

    def most_similar(self, vector: Any, num_neighbors: int, ef: int = 0) -> List[Tuple[Any, float]]:
        """The keys nearest to a vector, with their cosines; a few of the nearest may be missing.

        As with gensim's indexers the key that was asked with is among them.
        """
        query = np.ascontiguousarray(vector, dtype=REAL)
        facts = _c.lib.shoal_hnsw_facts(self._graph)
        if query.shape != (facts.dim,):
            raise ValueError(f"vector: found the shape {query.shape}, want ({facts.dim},)")
        count = max(0, min(int(num_neighbors), facts.size))
        hits, found = (_abi.shoal_hit * max(count, 1))(), ctypes.c_size_t()
        _c.lib.shoal_hnsw_nearest(self._graph, query.ctypes.data, None, 0, ef, hits, count, ctypes.byref(found))
        keys = self._keys().index_to_key
        return [(keys[hit.id], hit.score) for hit in hits[:found.value]]

    def __repr__(self) -> str:
        facts = _c.lib.shoal_hnsw_facts(self._graph)
        return f"HnswIndexer({facts.size} vectors, m={facts.m}, ef={facts.ef})"

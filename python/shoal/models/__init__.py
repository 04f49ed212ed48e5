"""Words and their vectors, by gensim's names.

>>> from shoal.models import Word2Vec
>>> model = Word2Vec([["cat", "sat"], ["dog", "sat"]] * 10, vector_size=8, min_count=1, epochs=2)
>>> sorted(model.wv.key_to_index)
['cat', 'dog', 'sat']
"""
from . import callbacks, fasttext, keyedvectors, phrases, word2vec
from .fasttext import FastText
from .keyedvectors import KeyedVectors
from .phrases import Phrases
from .word2vec import Word2Vec

__all__ = ["FastText", "KeyedVectors", "Phrases", "Word2Vec", "callbacks", "fasttext", "keyedvectors", "phrases",
           "word2vec"]

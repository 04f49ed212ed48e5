"""shoal: word vectors, linear models and small nets, trained by many workers and served.

The C library does the work; this package finds it, and gives it the shapes that Python users know:
gensim's for words, scikit-learn's for the rest. docs/python.md is its manual.
"""
from ._c import (DivergedError, Error, FileError, FormatError, InvalidError, LimitError, NotFoundError,
                 OutOfMemoryError, Stopped)
from ._estimators import DoubtWarning, LogisticRegression, MLPClassifier, MLPRegressor, NotFittedError
from ._models import Model, load
from ._run import Report, Run, resume, train
from ._serve import Server, serve
from ._texts import TextClassifier
from . import models, similarities
from .models import FastText, KeyedVectors, Phrases, Word2Vec

__version__ = "0.2.0"

__all__ = [
    "DivergedError", "Error", "FileError", "FormatError", "InvalidError", "LimitError", "NotFoundError",
    "OutOfMemoryError", "Stopped",
    "DoubtWarning", "LogisticRegression", "MLPClassifier", "MLPRegressor", "NotFittedError",
    "TextClassifier",
    "Model", "Report", "Run", "Server", "load", "resume", "serve", "train",
    "FastText", "KeyedVectors", "Phrases", "Word2Vec", "models", "similarities",
]

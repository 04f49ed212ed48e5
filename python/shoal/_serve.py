"""A server of models within this process, for notebooks and tests.

What this is: the library's HTTP server (docs/serving.md), on a free port of this machine.
Who owns what: the server ends at the end of `with`, by stop(), when collected, or with the interpreter.
Threads: its own, which need no GIL; a `log` is called from any of them.
"""
import ctypes
import os
import tempfile
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Union

from . import _abi, _c
from ._c import Path

__all__ = ["Server", "serve"]


class _Handle(_c.Handle):
    _end = "shoal_serve_stop"


class Server:
    """A running server: `url` is where it answers, `models` how many it serves; `grpc_address` is the host and port of
    gRPC, or None."""

    def __init__(self, handle: _Handle, folder: Any) -> None:
        self._handle, self._folder = handle, folder
        self.url = self._url(_abi.SHOAL_INFERENCE)
        self.management_url = self._url(_abi.SHOAL_MANAGEMENT)
        self.metrics_url = self._url(_abi.SHOAL_METRICS)
        self.grpc_address = _c.text(_c.lib.shoal_serve_address(handle.pointer, _abi.SHOAL_GRPC)) or None

    def _url(self, which: int) -> Optional[str]:
        address = _c.text(_c.lib.shoal_serve_address(self._handle.pointer, which))
        return f"http://{address}" if address else None

    @property
    def models(self) -> int:
        """How many models it serves."""
        return _c.lib.shoal_serve_models(self._handle.pointer)

    def stop(self) -> None:
        """Answers what is under way, and ends; again does nothing."""
        self._handle.close()
        if self._folder is not None:
            self._folder.cleanup()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()

    def __repr__(self) -> str:
        return "<shoal server, stopped>" if self._handle.closed else f"<shoal server at {self.url}>"

    def _repr_html_(self) -> str:
        return "stopped" if self._handle.closed else f'<a href="{self.url}" target="_blank">{self.url}</a>'


Served = Union[Path, Any]


def _specs(models: Union[Served, Iterable[Served], Mapping[str, Served]], folder: str) -> List[bytes]:
    """ "[NAME=]FILE" of each; objects that can be saved are, into the folder."""
    if isinstance(models, Mapping):
        named = list(models.items())
    elif isinstance(models, (str, bytes, os.PathLike)) or hasattr(models, "save"):
        named = [(None, models)]
    else:
        named = [(None, model) for model in models]
    out = []
    for number, (name, model) in enumerate(named):
        if not isinstance(model, (str, bytes, os.PathLike)):
            if not hasattr(model, "save"):
                raise TypeError(f"serve: found a model of type {type(model).__name__}, want a path or a model "
                                "of shoal")
            name = name or (f"model{number + 1}" if len(named) > 1 else "model")
            path = os.path.join(folder, f"{number + 1}.shoal")
            _save(model, path)
            model = path
        prefix = b"" if name is None else _c.encoded(name) + b"="
        out.append(prefix + _c.path_bytes(model))
    return out


def _save(model: Any, path: str) -> None:
    vectors = getattr(model, "wv", model)
    if not hasattr(vectors, "key_to_index"):
        model.save(path)
        return
    from .models.keyedvectors import c_words
    words = c_words(vectors.index_to_key)  # `save` of shoal.models may write a pickle
    if not words:
        raise _c.InvalidError(f"serve: found {vectors} with keys that are no words, want strings without NUL" if
                              len(vectors) else f"serve: found {vectors}, want some")
    vectors._save_ours(path, words)


def serve(models: Union[Served, Iterable[Served], Mapping[str, Served]], port: int = 0,
          host: str = "127.0.0.1", log: Optional[Callable[[str], Any]] = None, **options: Any) -> Server:
    """Serves models over HTTP until the end of `with`, at a free port of this machine by default.

    `models` is a path, a list of paths, or a dict of paths by name; models of this package (estimators,
    shoal.Model, KeyedVectors, Word2Vec) are taken too. `options` are fields of `struct shoal_serve_opts`, such
    as `batch_size` and `max_body`; `management`, `metrics` and `grpc` are addresses, and not there by
    default.

    >>> import json, urllib.request, numpy as np, shoal
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0]] * 20)
    >>> model = shoal.LogisticRegression().fit(X, [0, 1] * 20)
    >>> with shoal.serve({"clicks": model}) as server:
    ...     with urllib.request.urlopen(server.url + "/ping") as answer:
    ...         print(json.load(answer)["status"])
    Healthy
    """
    opts = _c.lib.shoal_serve_default()
    known = dict(_abi.shoal_serve_opts._fields_)
    folder = tempfile.TemporaryDirectory(prefix="shoal-")
    try:
        specs = _c.strings(_specs(models, folder.name))
        settings: Dict[str, Any] = {"inference": f"{host}:{port}", "management": "none", "metrics": "none",
                                    **options}
        for name, value in settings.items():
            if name not in known or name in ("models", "nmodels", "log", "log_line", "user_data", "sandbox", "user"):
                raise _c.InvalidError(f"serve: found the option {name!r}, want a field of struct "
                                      "shoal_serve_opts other than models, log, user and sandbox")
            try:
                setattr(opts, name, _c.path_bytes(value) if known[name] is ctypes.c_char_p and value is not None
                        else value)
            except TypeError as error:
                raise _c.InvalidError(f"serve: found {name} {value!r}, which does not fit: {error}") from None
        opts.models, opts.nmodels, opts.sandbox = specs, len(specs), False
        function = known["log"]((lambda _user, said: log(_c.text(said))) if log else 0)
        opts.log = function
        handle = _c.opened(_Handle, _c.lib.shoal_serve_start, ctypes.byref(opts), keeps=(function, specs))
    except BaseException:
        folder.cleanup()
        raise
    return Server(handle, folder)


Server.__module__ = serve.__module__ = "shoal"

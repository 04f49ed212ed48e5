"""The C library, from Python: found, loaded, checked; statuses become exceptions, handles objects.

What this is: `lib` has every function of the headers under its C name, with the types of `_abi`. One that
returns a status raises instead. The classes here end what the library gives them.
Who owns what: a `Handle` ends its C object when it is closed or collected, and keeps alive what that
object borrows.
Threads: calls release the GIL. Handles of what the headers call immutable (models, vectors, vocabularies,
corpora, rows, samples) may be used by many threads; the others by one at a time. Nobody may use what
another thread is closing.
"""
import ctypes
import ctypes.util
import errno
import os
import threading
import weakref
from typing import Any, Dict, Iterable, List, Optional, Sequence, Union

import numpy as np

from . import _abi

__all__ = ["Error", "InvalidError", "FormatError", "NotFoundError", "FileError", "LimitError",
           "OutOfMemoryError", "Stopped", "DivergedError", "lib", "Handle", "Options", "Data", "Model"]

Path = Union[str, bytes, "os.PathLike[str]"]


# ---- Failures ------------------------------------------------------------------------------------


class Error(RuntimeError):
    """What the library says of a failure: who, what was found, what was wanted.

    `status` is the name of its status, such as "EINVAL".
    """

    status = "?"


class InvalidError(Error, ValueError):
    """An argument or an option that is not valid."""

    status = "EINVAL"


class OutOfMemoryError(Error, MemoryError):
    """There was no memory left."""

    status = "ENOMEM"


class FileError(Error, OSError):
    """Reading or writing failed."""

    status = "EIO"

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""  # without the number of errno


class FormatError(Error, ValueError):
    """Data that is malformed."""

    status = "EFORMAT"


class NotFoundError(FileError, FileNotFoundError):
    """A file, or what was asked for, is not there."""

    status = "ENOENT"


class LimitError(Error):
    """Over a limit: what would be needed does not fit."""

    status = "ELIMIT"


class Stopped(Error):
    """Stopped on request, with a checkpoint where there is a folder for it."""

    status = "ESTOP"


class DivergedError(Error, ArithmeticError):
    """Training went astray: the loss grew without end."""

    status = "EDIVERGE"


_ERRORS = {
    _abi.SHOAL_EINVAL: InvalidError,
    _abi.SHOAL_ENOMEM: OutOfMemoryError,
    _abi.SHOAL_EIO: FileError,
    _abi.SHOAL_EFORMAT: FormatError,
    _abi.SHOAL_ENOENT: NotFoundError,
    _abi.SHOAL_ELIMIT: LimitError,
    _abi.SHOAL_ESTOP: Stopped,
    _abi.SHOAL_EDIVERGE: DivergedError,
}


for _kind in (Error, *_ERRORS.values()):
    _kind.__module__ = "shoal"  # where users find them


def failure(status: int) -> Error:
    """The exception for a status that a function of the library just gave, in this thread."""
    sentence = text(lib.shoal_error()) or text(lib.shoal_status_name(status))
    kind = _ERRORS.get(status, Error)
    error = kind(sentence)
    error.status = text(lib.shoal_status_name(status))
    if isinstance(error, OSError):
        error.errno = errno.ENOENT if isinstance(error, FileNotFoundError) else errno.EIO
    return error


def _checked(status: int, function: Any, arguments: Any) -> int:
    if status != _abi.SHOAL_OK:
        raise failure(status)
    return status


# ---- The library ---------------------------------------------------------------------------------


def _candidates() -> Iterable[str]:
    """Where the library may be, in order: as the environment says, beside this file, the system's."""
    given = os.environ.get("SHOAL_LIBRARY")
    if given:
        yield given
        return
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libshoal.so.0")
    if os.path.exists(beside):
        yield beside
        return
    yield "libshoal.so.0"
    found = ctypes.util.find_library("shoal")
    if found:
        yield found


def _load() -> ctypes.CDLL:
    tried = []
    for path in _candidates():
        try:
            return ctypes.CDLL(path)
        except OSError as error:
            tried.append(f"{path}: {error}")
    raise ImportError("shoal: found no library libshoal, want it beside the package, in the system, or "
                      "named by SHOAL_LIBRARY; " + "; ".join(tried))


def _check_version(library: ctypes.CDLL) -> None:
    try:
        number = library.shoal_version_num
    except AttributeError:
        raise ImportError("shoal: found a library without a version, want libshoal") from None
    number.restype = ctypes.c_uint
    want, found = _abi.SHOAL_VERSION_NUM, number()
    if found < want or found // 100 != want // 100:
        raise ImportError(f"shoal: found libshoal {found // 10000}.{found // 100 % 100}.{found % 100}, "
                          f"want {want // 10000}.{want // 100 % 100}.{want % 100} or a later patch of it")


class _Library:
    """Functions by their C names; each gets its types when it is first used."""

    def __init__(self) -> None:
        self._library: Optional[ctypes.CDLL] = None
        self._lock = threading.Lock()

    def loaded(self) -> ctypes.CDLL:
        with self._lock:
            if self._library is None:
                library = _load()
                _check_version(library)
                self._library = library
            return self._library

    def __getattr__(self, name: str) -> Any:
        if name in _abi.functions:
            result, arguments = _abi.functions[name]
            try:
                function = self.loaded()[name]  # an object of its own, which nobody else has
            except AttributeError:
                raise ImportError(f"shoal: found a libshoal without {name}, want that of this package's "
                                  "version") from None
            function.restype = result
            function.argtypes = arguments
            if name in _abi.statuses:
                function.errcheck = _checked
        elif name in _abi.tables:
            function = ctypes.cast(ctypes.addressof(ctypes.c_char.in_dll(self.loaded(), name)),
                                   ctypes.POINTER(_abi.tables[name]))
        else:
            raise AttributeError(f"libshoal has no {name}")
        setattr(self, name, function)
        return function

    @property
    def path(self) -> str:
        """Where it was found."""
        return self.loaded()._name


lib = _Library()


def version() -> str:
    """The version of the library that is loaded."""
    return text(lib.shoal_version())


# ---- Values --------------------------------------------------------------------------------------


def text(value: Optional[bytes]) -> str:
    """A string of the library's; bytes that are not UTF-8 survive, as in the names of files."""
    return "" if value is None else value.decode("utf-8", "surrogateescape")


def encoded(value: Union[str, bytes]) -> bytes:
    """A string for the library."""
    value = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogateescape")
    if b"\0" in value:
        raise InvalidError("shoal: found a NUL within a string, want none")
    return value


def path_bytes(path: Path) -> bytes:
    """A path for the library: str, bytes or whatever os.fspath takes."""
    path = os.fsencode(path)
    if b"\0" in path:
        raise InvalidError("shoal: found a NUL within a path, want none")
    return path


def strings(values: Sequence[bytes]) -> Any:
    """An array for a `const char *const *`; keep it while the call lasts."""
    return (ctypes.c_char_p * len(values))(*values)


def paths(inputs: Union[Path, Sequence[Path]]) -> Any:
    """One path or several, as such an array."""
    if isinstance(inputs, (str, bytes, os.PathLike)):
        inputs = [inputs]
    return strings([path_bytes(path) for path in inputs])


def memory(name: str, data: Any) -> "tuple[_abi.shoal_memory, Any]":
    """Bytes or a C-contiguous buffer as struct shoal_memory, not copied; and what to keep during the
    call."""
    view = np.frombuffer(data, dtype=np.uint8)
    return _abi.shoal_memory(encoded(name), view.ctypes.data, view.nbytes), view


def taken(pointer: ctypes.c_void_p) -> bytes:
    """A string that is for free(), copied and freed."""
    try:
        return ctypes.string_at(pointer.value) if pointer.value else b""
    finally:
        lib.shoal_free(pointer)


def as_dict(struct: ctypes.Structure) -> Dict[str, Any]:
    """The fields of a struct of plain values."""
    out: Dict[str, Any] = {}
    for name, kind in struct._fields_:  # type: ignore[misc]
        value = getattr(struct, name)
        if isinstance(value, bytes):
            value = text(value)
        elif isinstance(value, ctypes.Structure):
            value = as_dict(value)
        elif isinstance(value, ctypes.Array):
            value = list(value)
        out[name] = value
    return out


# ---- Handles -------------------------------------------------------------------------------------


class Handle:
    """An object of the library's, ended once: by close(), at the end of `with`, or when collected."""

    _end = ""  # the function that ends it

    def __init__(self, pointer: ctypes.c_void_p, keeps: Any = None) -> None:
        self._pointer: Optional[int] = pointer.value
        self._keeps = keeps
        self._finalizer = weakref.finalize(self, getattr(lib, self._end), pointer.value)

    @property
    def pointer(self) -> int:
        """The C pointer; ValueError after close()."""
        if self._pointer is None:
            raise ValueError(f"{type(self).__name__}: found it closed, want it open")
        return self._pointer

    @property
    def _as_parameter_(self) -> int:
        return self.pointer

    @property
    def closed(self) -> bool:
        return self._pointer is None

    def close(self) -> None:
        """Ends it; again does nothing."""
        self._pointer = None
        self._finalizer()
        self._keeps = None

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError(f"{type(self).__name__}: found an object of the C library, want one that can be "
                        "pickled")


def opened(kind: Any, function: Any, *arguments: Any, keeps: Any = None) -> Any:
    """The handle that a function `shoal_status f(T **out, ...)` gives."""
    out = ctypes.c_void_p()
    function(ctypes.byref(out), *arguments)
    return kind(out, keeps)


class Vocab(Handle):
    _end = "shoal_vocab_free"


class Corpus(Handle):
    _end = "shoal_corpus_close"


class Vectors(Handle):
    _end = "shoal_vectors_close"


class BorrowedVectors(Vectors):
    """Those of a model, which is kept and has them."""

    def __init__(self, model: "Model") -> None:
        self._pointer = lib.shoal_model_vectors(model)
        self._keeps = model
        self._finalizer = lambda: None


class Labelled(Handle):
    _end = "shoal_labelled_close"


class Clicks(Handle):
    _end = "shoal_clicks_close"


class Samples(Handle):
    _end = "shoal_samples_close"


class Images(Handle):
    _end = "shoal_images_close"


# ---- Options -------------------------------------------------------------------------------------


def option_text(value: Any) -> str:
    """A Python value as an option takes it."""
    if isinstance(value, bool) or type(value).__name__ == "bool_":
        return "true" if value else "false"
    if isinstance(value, bytes):
        return text(value)
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if isinstance(value, (list, tuple)):
        return ",".join(option_text(part) for part in value)
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        return option_text(value.item())
    return repr(value) if isinstance(value, float) else str(value)


class Options(Handle):
    """What a run of a task is told, by name; `_` in a name stands for `-`.

    >>> options = Options("cbow", dim=50, min_count=1)
    >>> options["dim"], options["min_count"], options.task
    ('50', '1', 'cbow')
    >>> options["dim"] = 0
    Traceback (most recent call last):
        ...
    shoal.InvalidError: --dim is '0', want a whole number from 1 to 4096
    """

    _end = "shoal_options_free"

    def __init__(self, task: Union[str, ctypes.c_void_p], keeps: Any = None, **values: Any) -> None:
        if isinstance(task, str):
            out = ctypes.c_void_p()
            lib.shoal_options_new(ctypes.byref(out), encoded(task))
            task = out
        super().__init__(task, keeps)
        self.update(values)

    @classmethod
    def resume(cls, folder: Path, **values: Any) -> "Options":
        """Those of the last checkpoint of a folder, to go on with."""
        options = opened(cls, lib.shoal_options_resume, path_bytes(folder))
        options.update(values)
        return options

    @staticmethod
    def _name(name: str) -> bytes:
        return encoded(name.replace("_", "-"))

    def set(self, name: str, value: Any) -> None:
        """Sets one; None leaves it as it is."""
        if value is not None:
            lib.shoal_options_set(self.pointer, self._name(name), encoded(option_text(value)))

    def update(self, values: Dict[str, Any]) -> None:
        for name, value in values.items():
            self.set(name, value)

    def read(self, path: Path) -> None:
        """Sets those of a file, JSON or lines `name value`."""
        lib.shoal_options_read(self.pointer, path_bytes(path))

    def get(self, name: str) -> Optional[str]:
        """As text; None: there is no such option, or it has no value."""
        value = lib.shoal_options_get(self.pointer, self._name(name))
        return None if value is None else text(value)

    def given(self, name: str) -> bool:
        """Whether it was set rather than left as it is by default."""
        return lib.shoal_options_given(self.pointer, self._name(name))

    def check(self) -> None:
        """Raises unless they go together."""
        lib.shoal_options_check(self.pointer)

    def __getitem__(self, name: str) -> Optional[str]:
        if name.replace("_", "-") not in self.names():
            raise KeyError(name)
        return self.get(name)

    __setitem__ = set

    @property
    def task(self) -> str:
        return text(lib.shoal_options_task(self.pointer).contents.name)

    @property
    def unit(self) -> str:
        """Of examples: "words", "rows", "samples"."""
        return text(lib.shoal_options_task(self.pointer).contents.unit)

    def names(self) -> List[str]:
        """All there are, as the command line spells them."""
        return [text(option.name) for option in _options_of(lib.shoal_options_task(self.pointer).contents)]

    def __repr__(self) -> str:
        if self.closed:
            return "<Options, closed>"
        given = {name: self.get(name) for name in self.names() if self.given(name)}
        return f"Options({self.task!r}" + "".join(
            f", {name.replace('-', '_')}={value!r}" for name, value in given.items()) + ")"


def _options_of(task: _abi.shoal_task) -> Iterable[_abi.shoal_option]:
    group = 0
    while task.groups[group].options:
        at = 0
        while task.groups[group].options[at].name:
            yield task.groups[group].options[at]
            at += 1
        group += 1


def tasks() -> List[str]:
    """What can be trained.

    >>> "cbow" in tasks() and "mlp" in tasks()
    True
    """
    out: List[str] = []
    while lib.shoal_task_at(len(out)):
        out.append(text(lib.shoal_task_at(len(out)).contents.name))
    return out


# ---- Data ----------------------------------------------------------------------------------------


class Data(Handle):
    """What a task learns from."""

    _end = "shoal_data_close"

    @classmethod
    def open(cls, options: Options, inputs: Union[Path, Sequence[Path]] = (), watch: Any = None) -> "Data":
        """Of files, folders and globs, encoded where need be; without inputs those that the options
        remember (Options.resume). `watch` is a struct shoal_watch or None."""
        names = paths(inputs)
        return opened(cls, lib.shoal_data_open, options, names, len(names), None,
                      None if watch is None else ctypes.byref(watch))

    @classmethod
    def of(cls, **sources: Handle) -> "Data":
        """Of objects that are there already, by the fields of struct shoal_sources; they are kept."""
        struct = _abi.shoal_sources(**{name: source.pointer for name, source in sources.items()
                                       if source is not None})
        return opened(cls, lib.shoal_data_new, ctypes.byref(struct), keeps=list(sources.values()))

    def found(self) -> _abi.shoal_found:
        """What was found on the way; its pointers live as long as this."""
        return lib.shoal_data_found(self.pointer)


# ---- Models --------------------------------------------------------------------------------------

FORMATS = {"auto": _abi.SHOAL_FORMAT_AUTO, "word2vec": _abi.SHOAL_FORMAT_WORD2VEC,
           "text": _abi.SHOAL_FORMAT_TEXT, "glove": _abi.SHOAL_FORMAT_GLOVE,
           "shoal": _abi.SHOAL_FORMAT_SHOAL, "npy": _abi.SHOAL_FORMAT_NPY,
           "safetensors": _abi.SHOAL_FORMAT_SAFETENSORS, "fasttext": _abi.SHOAL_FORMAT_FASTTEXT,
           "floret": _abi.SHOAL_FORMAT_FLORET}
DTYPES = {"f32": _abi.SHOAL_F32, "f16": _abi.SHOAL_F16, "bf16": _abi.SHOAL_BF16, "int8": _abi.SHOAL_INT8}


def save_opts(format: str = "auto", dtype: str = "f32", normalize: bool = False,
              top: int = 0) -> _abi.shoal_save_opts:
    """How a model is saved."""
    for name, value, known in (("format", format, FORMATS), ("dtype", dtype, DTYPES)):
        if value not in known:
            raise InvalidError(f"save: found {name} {value!r}, want one of {', '.join(known)}")
    opts = lib.shoal_save_default()
    opts.format, opts.dtype, opts.normalize, opts.top = FORMATS[format], DTYPES[dtype], normalize, top
    return opts


class Model(Handle):
    """A trained model of any kind. Immutable: any number of threads may use it."""

    _end = "shoal_model_close"

    @classmethod
    def open(cls, path: Path, map: bool = False) -> "Model":
        """Recognised by content; with `map` what can be mapped is, and takes no memory."""
        return opened(cls, lib.shoal_model_map if map else lib.shoal_model_open, path_bytes(path))

    @classmethod
    def of_bytes(cls, data: bytes, name: str = "bytes") -> "Model":
        """Of the bytes of a file, which are copied."""
        return opened(cls, lib.shoal_model_open_memory, encoded(name), data, len(data))

    def save(self, path: Path, **how: Any) -> None:
        """To a file, whole or not at all; `how` as save_opts()."""
        lib.shoal_model_save(self.pointer, path_bytes(path), ctypes.byref(save_opts(**how)))

    def to_bytes(self) -> bytes:
        """The bytes of its file, in our own format."""
        import tempfile
        with tempfile.TemporaryDirectory(prefix="shoal-") as folder:
            path = os.path.join(folder, "model.shoal")
            self.save(path)
            with open(path, "rb") as file:
                return file.read()

    @property
    def kind(self) -> str:
        """ "vectors", "logreg", "multinomial", "classify", "net" or "nextword"."""
        return text(lib.shoal_model_kind(self.pointer))

    def __reduce__(self) -> Any:
        return type(self).of_bytes, (self.to_bytes(), self.kind)


def _value(value: _abi.shoal_value) -> Any:
    if value.type == _abi.SHOAL_TEXT:
        return None if value.text is None else text(value.text)
    return value.count if value.type in (_abi.SHOAL_COUNT, _abi.SHOAL_BYTES) else value.real


class Reports:
    """A reporter that keeps what it is told for programs: a dict for each report."""

    def __init__(self) -> None:
        self.reports: List[Dict[str, Any]] = []
        self.warnings: List[str] = []
        kinds = dict(_abi.shoal_reporter._fields_)
        self.struct = _abi.shoal_reporter(begin=kinds["begin"](self._begin), fact=kinds["fact"](self._fact),
                                          row=kinds["row"](self._row), warn=kinds["warn"](self._warn))

    def _begin(self, _user: Any, title: Optional[bytes]) -> None:
        self.reports.append({} if title is None else {"title": text(title)})

    def _at(self) -> Dict[str, Any]:
        if not self.reports:
            self.reports.append({})
        return self.reports[-1]

    def _fact(self, _user: Any, fact: Any) -> None:
        if fact.contents.key is not None:
            self._at()[text(fact.contents.key)] = _value(fact.contents.value)

    def _row(self, _user: Any, grid: Any, cells: Any, marks: int) -> None:
        grid = grid.contents
        if grid.key is None:
            return
        columns = [(grid.columns[i].key, _value(cells[i])) for i in range(grid.n)
                   if grid.columns[i].key is not None]
        row: Any = [value for _, value in columns] if any(key == b"" for key, _ in columns) else \
            {text(key): value for key, value in columns}
        self._at().setdefault(text(grid.key), []).append(row)

    def _warn(self, _user: Any, fact: Any) -> None:
        if fact.contents.note is not None:
            self.warnings.append(text(fact.contents.note))


def describe(model: Model, top: int = 0) -> Dict[str, Any]:
    """What a model says of itself, with `top` of its commonest words or largest weights."""
    told = Reports()
    lib.shoal_model_describe(model, top, ctypes.byref(told.struct))
    return told.reports[0] if told.reports else {}

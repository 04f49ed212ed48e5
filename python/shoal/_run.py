"""A training run: its progress, its history, its end.

What this is: `run` trains in C. The library reports about once a second; the GIL is taken for that alone.
Who owns what: a `Run` has plain values and the model that came out.
Threads: a run is driven by the thread that called; Ctrl-C stops it there, if that is the main thread.
"""
import contextlib
import ctypes
import html
import json
import math
import os
import signal
import sys
import tempfile
import threading
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Union

import numpy as np

from . import _abi, _c

EVENTS = {_abi.SHOAL_EVENT_INTERVAL: "interval", _abi.SHOAL_EVENT_EPOCH: "epoch",
          _abi.SHOAL_EVENT_CHECKPOINT: "checkpoint", _abi.SHOAL_EVENT_DONE: "done",
          _abi.SHOAL_EVENT_EVALUATION: "evaluation", _abi.SHOAL_EVENT_RETRY: "retry",
          _abi.SHOAL_EVENT_AGAIN: "again"}
_PARTS = {_abi.SHOAL_OF_TRAINING: "train", _abi.SHOAL_OF_VALIDATION: "valid", _abi.SHOAL_OF_RUN: "run"}
_PREFIX = {"train": "", "valid": "valid_", "run": ""}
_FIELDS = ("event", "epoch", "epochs", "progress", "unit", "examples", "steps", "seconds", "rate", "lr",
           "memory")


# ---- Ctrl-C --------------------------------------------------------------------------------------


class Interrupt:
    """Within `with`, Ctrl-C sets `pressed` instead of raising: the library then stops in good order."""

    def __init__(self) -> None:
        self.pressed = False
        self._before: Any = None

    def _note(self, _number: int, _frame: Any) -> None:
        self.pressed = True

    def __enter__(self) -> "Interrupt":
        if threading.current_thread() is threading.main_thread() and \
                signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: Any) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before = None


class Caller:
    """Calls Python from within a call of C: what is raised there stops the C call, and comes out of
    `with` when that has ended."""

    def __init__(self) -> None:
        self.raised: Optional[BaseException] = None
        self.interrupt = Interrupt()

    def call(self, function: Callable[..., Any], *arguments: Any) -> bool:
        """Whether to go on: not after an exception, an interrupt, or a function that returned False."""
        try:
            if self.raised is not None or function(*arguments) is False:
                return False
        except BaseException as raised:  # it must not pass through C
            self.raised = raised
            return False
        return not self.interrupt.pressed

    def __enter__(self) -> "Caller":
        self.interrupt.__enter__()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.interrupt.__exit__()
        if self.raised is not None:
            raise self.raised
        if self.interrupt.pressed:
            raise KeyboardInterrupt(*(error.args if isinstance(error, _c.Stopped) else ()))


@contextlib.contextmanager
def watching(progress: Optional[Callable[[Dict[str, Any]], Any]] = None) -> Iterator[_abi.shoal_watch]:
    """A struct shoal_watch for long work: `progress` is told, Ctrl-C stops it.

    `progress` gets a dict with phase, done, total, unit and seconds; returning False stops the work.
    """
    with Caller() as caller:
        def told(_user: Any, at: Any) -> bool:
            return caller.call(progress or (lambda _: None), _c.as_dict(at.contents) if progress else None)

        yield _abi.shoal_watch(fn=dict(_abi.shoal_watch._fields_)["fn"](told))


# ---- Reports -------------------------------------------------------------------------------------


class Report(Dict[str, Any]):
    """What a run tells: `event`, `epoch`, `epochs`, `progress`, `examples`, `steps`, `seconds`, `rate`,
    `lr`, `eta`, `memory`, and figures such as `loss`, `valid_loss`, `accuracy`; also as attributes."""

    parts: Dict[str, List[str]]  # the names of its figures: of training, of validation, of the run

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def _report(report: _abi.shoal_report) -> Report:
    out = Report(event=EVENTS.get(report.event, "?"), unit=_c.text(report.unit))
    for name in ("epoch", "epochs", "progress", "examples", "steps", "seconds", "rate", "lr", "eta",
                 "memory"):
        out[name] = getattr(report, name)
    out.parts = {"train": [], "valid": [], "run": []}
    for one in (report.figures.at[i] for i in range(report.figures.n)):
        out.parts[_PARTS[one.of]].append(_c.text(one.name))
    out.update(_figures(report.figures))
    return out


def _figures(figures: _abi.shoal_figures) -> Dict[str, float]:
    return {_PREFIX[_PARTS[one.of]] + _c.text(one.name): one.value
            for one in (figures.at[i] for i in range(figures.n))}


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def history_of(reports: Sequence[Report], event: str = "epoch") -> Dict[str, List[Any]]:
    """By name a list with a value for each report of that event; NaN where one had none."""
    chosen = [report for report in reports if report["event"] == event]
    names = list(dict.fromkeys(name for report in chosen for name in report))
    return {name: [report.get(name, math.nan) for report in chosen] for name in names
            if name not in ("event", "unit", "epochs", "eta")}


def records_of(reports: Sequence[Report]) -> np.recarray:
    """All reports as a NumPy record array."""
    names = list(dict.fromkeys(name for report in reports for name in report if name != "unit"))
    kinds = {"event": "U12", "epoch": "u4", "epochs": "u4", "examples": "u8", "steps": "u8", "memory": "u8"}
    dtype = [(name, kinds.get(name, "f8")) for name in names]
    rows = [tuple(report.get(name, math.nan) for name in names) for report in reports]
    return np.array(rows, dtype=dtype).view(np.recarray)


# ---- Progress ------------------------------------------------------------------------------------


def _short(number: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g} {letter}"
    return f"{number:.3g} "


def _said(report: Report) -> str:
    parts = [f"epoch {report['epoch']}/{report['epochs']}"]
    for name in ("loss", "valid_loss", "accuracy", "valid_accuracy", "valid_auc"):
        if not math.isnan(report.get(name, math.nan)):
            parts.append(f"{name} {report[name]:.4g}")
    if report["rate"] > 0:
        parts.append(_short(report["rate"]) + report["unit"] + "/s")
    return ", ".join(parts)


class _Line:
    """One line on standard error, written over and over."""

    def __init__(self, title: str) -> None:
        self.title, self.width = title, 0

    def show(self, report: Report) -> None:
        line = f"{self.title} {100 * report['progress']:5.1f}% {_said(report)}"
        sys.stderr.write("\r" + line.ljust(self.width))
        sys.stderr.flush()
        self.width = len(line)

    def close(self) -> None:
        if self.width:
            sys.stderr.write("\n")
            sys.stderr.flush()


class _Tqdm:
    """The same by tqdm, which draws in notebooks too."""

    def __init__(self, title: str, tqdm: Any) -> None:
        self.bar = tqdm(total=100, desc=title, bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed}{postfix}")

    def show(self, report: Report) -> None:
        self.bar.set_postfix_str(_said(report), refresh=False)
        self.bar.update(max(0.0, 100 * report["progress"] - self.bar.n))

    def close(self) -> None:
        self.bar.close()


class _Silence:
    def show(self, report: Report) -> None:
        pass

    def close(self) -> None:
        pass


def progress_bar(title: str, verbose: Optional[bool] = None) -> Any:
    """tqdm's bar if tqdm is installed, else a line of our own; nothing without `verbose`. None: where
    somebody sits at a terminal."""
    if verbose is None:
        verbose = bool(sys.stderr and sys.stderr.isatty())
    if not verbose or sys.stderr is None:
        return _Silence()
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line(title)
    return _Tqdm(title, tqdm)


# ---- A run ---------------------------------------------------------------------------------------


class Run:
    """A run that came to its end.

    `model` is what was trained, `reports` all that was told on the way, `stats` how it went. `history` is
    a dict of lists with a value for each epoch, `records` a NumPy record array of all reports. A notebook
    shows it as the chart of `shoal report`.
    """

    def __init__(self, task: str, model: Optional[_c.Model], reports: List[Report], stats: Dict[str, Any],
                 settings: Dict[str, Any]) -> None:
        self.task, self.model, self.reports, self.stats = task, model, reports, stats
        self.settings = settings

    @property
    def history(self) -> Dict[str, List[Any]]:
        return history_of(self.reports)

    @property
    def records(self) -> np.recarray:
        return records_of(self.reports)

    def __repr__(self) -> str:
        loss = self.stats["figures"].get("loss", math.nan)
        return (f"<shoal run of {self.task}: {self.stats['epochs']} epochs, {self.stats['examples']:,} "
                f"{self.stats['unit']} in {self.stats['seconds']:.3g} s"
                + ("" if math.isnan(loss) else f", loss {loss:.4g}") + ">")

    def report(self, title: Optional[str] = None) -> str:
        """The page of `shoal report`, as HTML that asks for no other file."""
        with self._read() as handle:
            opts = lib_report_opts(title or f"{self.task}")
            out, length = ctypes.c_void_p(), ctypes.c_size_t()
            runs = (ctypes.c_void_p * 1)(handle.pointer)
            _c.lib.shoal_report_text(ctypes.byref(out), ctypes.byref(length), runs, 1, ctypes.byref(opts))
            return _c.text(_c.taken(out))

    def metrics(self) -> str:
        """What `shoal train --metrics` writes of such a run: a JSON object a line."""
        lines = [self.settings]
        for report in self.reports:
            lines.append({name: _finite(report[name]) for name in _FIELDS if name in report})
            for part, names in report.parts.items():
                lines[-1][part] = {name: report[_PREFIX[part] + name] for name in names
                                   if math.isfinite(report[_PREFIX[part] + name])}
        return "".join(json.dumps(line) + "\n" for line in lines if line["event"] != "retry")

    @contextlib.contextmanager
    def _read(self) -> Iterator["_Metrics"]:
        with tempfile.TemporaryDirectory(prefix="shoal-") as folder:
            path = os.path.join(folder, self.task + ".jsonl")
            with open(path, "w", encoding="utf-8") as file:
                file.write(self.metrics())
            with _c.opened(_Metrics, _c.lib.shoal_run_read, _c.path_bytes(path)) as handle:
                yield handle

    def charts(self) -> Dict[str, str]:
        """The report's charts by name, each as SVG."""
        with tempfile.TemporaryDirectory(prefix="shoal-") as folder, self._read() as handle:
            opts = lib_report_opts(self.task)
            opts.plots = _c.path_bytes(folder)
            runs = (ctypes.c_void_p * 1)(handle.pointer)
            page = os.path.join(folder, "report.html")
            _c.lib.shoal_report_write(_c.path_bytes(page), runs, 1, ctypes.byref(opts))
            found = {}
            for name in sorted(os.listdir(folder)):
                if name.endswith(".svg"):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        found[name[:-4]] = file.read()
            return found

    def _repr_html_(self) -> str:
        said = html.escape(repr(self).strip("<>"))
        try:
            charts = self.charts()
        except _c.Error as error:
            return f"<p>{said}</p><p>{html.escape(str(error))}</p>"
        chart = charts.get("loss") or next(iter(charts.values()), "")
        start = chart.find("<svg")
        return f"<figure><figcaption>{said}</figcaption>{chart[max(start, 0):]}</figure>"


class _Metrics(_c.Handle):
    _end = "shoal_run_free"


def lib_report_opts(title: str) -> _abi.shoal_report_opts:
    opts = _c.lib.shoal_report_default()
    opts.title = _c.encoded(title)
    return opts


def _stats(stats: _abi.shoal_train_stats) -> Dict[str, Any]:
    out = {name: getattr(stats, name) for name in
           ("examples", "steps", "seconds", "startup", "memory", "checkpoints", "resumed", "enough",
            "best_epoch", "epochs", "again", "again_epochs", "lr")}
    for name in ("unit", "kernel", "doubt"):
        out[name] = _c.text(getattr(stats, name))
    out["figures"] = _figures(stats.figures)
    return out


def _settings(options: _c.Options) -> Dict[str, Any]:
    """The first line of its metrics."""
    out: Dict[str, Any] = {"event": "settings", "task": options.task, "unit": options.unit, "ranks": 1,
                           "version": _c.version()}
    for name in options.names():
        value = options.get(name)
        if value is not None:
            out[name.replace("-", "_")] = value
    return out


def run(options: _c.Options, data: _c.Data, callbacks: Sequence[Callable[[Report], Any]] = (),
        verbose: Optional[bool] = None, lenient: bool = False) -> Run:
    """Trains, in C and without the GIL.

    Each of `callbacks` is called with a `Report` about once a second and after each epoch. One that
    returns False stops the run: `Stopped` is raised. One that raises stops it too, and what it raised
    comes out here. Ctrl-C stops it and raises KeyboardInterrupt. A run with a `checkpoint` folder that was
    stopped writes one first: `Options.resume(folder)` goes on. With `lenient` a model that learned nothing
    is given all the same, and `stats["doubt"]` says why.
    """
    reports: List[Report] = []
    out, stats = ctypes.c_void_p(), _abi.shoal_train_stats()
    bar = progress_bar(options.task, verbose)

    def told(report: Report) -> bool:
        if report["event"] != "again":
            reports.append(report)
        bar.show(report)
        return all([callback(report) is not False for callback in callbacks])

    try:
        with Caller() as caller:
            how = _abi.shoal_train_how(lenient=lenient, report=dict(_abi.shoal_train_how._fields_)["report"](
                lambda _user, report: caller.call(lambda: told(_report(report.contents)))))
            _c.lib.shoal_train(ctypes.byref(out), options, data, ctypes.byref(how), ctypes.byref(stats))
    finally:
        bar.close()
    model = _c.Model(out) if out.value else None
    return Run(options.task, model, reports, _stats(stats), _settings(options))


def train(task: str, inputs: Union[_c.Path, Sequence[_c.Path]], callbacks: Sequence[Callable[[Report], Any]] = (),
          verbose: Optional[bool] = None, **options: Any) -> Run:
    """Trains any task of `shoal train` on files, with its options by name (`_` for `-`).

    Each of `callbacks` gets a `Report`, a dict with attributes, about once a second and after each epoch. One that
    returns False stops the run, as shoal.Stopped; what one raises stops it and comes out. Ctrl-C stops it as
    KeyboardInterrupt. With `checkpoint=FOLDER` a run that was stopped goes on with shoal.resume.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = os.path.join(folder, "text.txt")
    ...     with open(text, "w") as file:
    ...         _ = file.write("the fish swims in the sea\\nthe bird flies in the air\\n" * 100)
    ...     run = train("cbow", text, dim=8, min_count=1, epochs=2)
    ...     run.model.save(os.path.join(folder, "vectors.bin"))
    >>> run.history["epoch"]
    [1, 2]
    """
    with _c.Options(task, **options) as told:
        return _train_on(told, inputs, callbacks, verbose)


def resume(folder: _c.Path, callbacks: Sequence[Callable[[Report], Any]] = (), verbose: Optional[bool] = None,
           **options: Any) -> Run:
    """Goes on from the last checkpoint of a folder, to the same bytes as if nothing had happened. Options that
    decide the result cannot be changed."""
    with _c.Options.resume(folder, **options) as told:
        return _train_on(told, (), callbacks, verbose)


def _train_on(options: _c.Options, inputs: Any, callbacks: Any, verbose: Optional[bool]) -> Run:
    with watching() as watch:
        data = _c.Data.open(options, inputs, watch)
    with data:
        return run(options, data, callbacks, verbose)


for _thing in (Run, Report, train, resume):
    _thing.__module__ = "shoal"

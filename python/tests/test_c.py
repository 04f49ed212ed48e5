"""The binding is that of the headers, and nothing that goes wrong in C harms the interpreter."""
import ctypes
import gc
import os
import signal
import subprocess
import sys
import threading
import types

import numpy as np
import pytest

from shoal import _abi, _c, _run


def make(root, *arguments):
    return subprocess.run([sys.executable, os.path.join(root, "scripts/python_abi.py"), *arguments, root],
                          check=True, capture_output=True, text=True).stdout


# ---- The binding ----


def test_the_module_is_what_the_headers_make(root):
    with open(os.path.join(root, "python/shoal/_abi.py"), encoding="utf-8") as file:
        assert file.read() == make(root), "run scripts/python_abi.py >python/shoal/_abi.py"


def test_every_struct_has_the_size_and_offsets_that_the_compiler_gives_it(root, tmp_path):
    (tmp_path / "probe.c").write_text(make(root, "--probe"), encoding="utf-8")
    subprocess.run(["cc", "-std=gnu17", "-Wall", "-Werror", "-I", os.path.join(root, "include"),
                    tmp_path / "probe.c", "-o", tmp_path / "probe"], check=True)
    said = subprocess.run([tmp_path / "probe"], check=True, capture_output=True, text=True).stdout
    structs = 0
    for line in said.splitlines():
        name, *numbers = line.split()
        numbers = [int(n) for n in numbers]
        if name.startswith("SHOAL_"):
            assert getattr(_abi, name) == numbers[0], name
        elif "." in name:
            struct, field = name.split(".")
            at = getattr(getattr(_abi, struct), field)
            assert [at.offset, at.size] == numbers, name
        else:
            assert ctypes.sizeof(getattr(_abi, name)) == numbers[0], name
            structs += 1
    assert structs > 50


def test_every_function_of_the_headers_is_in_the_library():
    for name in [*_abi.functions, *_abi.tables]:
        assert getattr(_c.lib, name)


def test_a_name_that_no_header_has_is_an_attribute_error():
    with pytest.raises(AttributeError):
        _c.lib.shoal_no_such_function


def in_python(code, **env):
    root = os.path.dirname(os.path.dirname(_c.__file__))
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": root, **env})


def test_a_library_that_is_not_there_is_an_import_error():
    said = in_python("import shoal\nfrom shoal import _c\n_c.version()", SHOAL_LIBRARY="/nowhere/libshoal.so")
    assert "ImportError: shoal: found no library libshoal, want it" in said.stderr


def test_another_library_is_refused():
    said = in_python("from shoal import _c\n_c.version()", SHOAL_LIBRARY="libm.so.6")
    assert "ImportError: shoal: found a library without a version, want libshoal" in said.stderr


def test_a_library_of_another_version_is_refused(monkeypatch):
    monkeypatch.setattr(_abi, "SHOAL_VERSION_NUM", 300)
    with pytest.raises(ImportError, match="want 0.3.0 or a later patch"):
        _c._check_version(_c.lib.loaded())


# ---- Failures ----


def test_failures_are_exceptions_with_the_librarys_sentence():
    import shoal
    with pytest.raises(FileNotFoundError) as caught:
        _c.Model.open("/nowhere/model.shoal")
    assert isinstance(caught.value, shoal.Error) and isinstance(caught.value, RuntimeError)
    assert str(caught.value) == "/nowhere/model.shoal: No such file or directory"
    assert caught.value.status == "ENOENT" and caught.value.errno == 2
    with pytest.raises(ValueError, match="--dim is '0', want a whole number from 1 to 4096") as caught:
        _c.Options("cbow", dim=0)
    assert isinstance(caught.value, shoal.Error) and caught.value.status == "EINVAL"


def test_malformed_data_is_a_format_error(tmp_path):
    path = tmp_path / "broken.shoal"
    path.write_bytes(b"\x93NUMPY nothing of the sort")
    with pytest.raises(_c.FormatError):
        _c.Model.open(path)


def test_every_status_has_an_exception():
    for name in ("EINVAL", "ENOMEM", "EIO", "EFORMAT", "ENOENT", "ELIMIT", "ESTOP", "EPEER", "EDIVERGE"):
        error = _c.failure(getattr(_abi, "SHOAL_" + name))
        assert isinstance(error, _c.Error) and error.status == name
    assert issubclass(_c.OutOfMemoryError, MemoryError) and issubclass(_c.FormatError, ValueError)
    assert issubclass(_c.FileError, OSError) and issubclass(_c.DivergedError, ArithmeticError)


def test_errors_can_be_pickled():
    import pickle
    with pytest.raises(_c.NotFoundError) as caught:
        _c.Model.open("/nowhere")
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is _c.NotFoundError and str(again) == str(caught.value)


def test_a_nul_within_a_string_is_refused():
    with pytest.raises(ValueError, match="NUL"):
        _c.Options("cbow\0x")
    with pytest.raises(ValueError, match="NUL"):
        _c.Model.open("a\0b")


# ---- Handles ----


def test_a_handle_is_ended_once_and_refuses_use_afterwards():
    options = _c.Options("cbow")
    with options:
        assert options.task == "cbow"
    options.close()
    assert options.closed
    with pytest.raises(ValueError, match="Options: found it closed"):
        options.get("dim")


def test_what_is_collected_is_ended():
    options = _c.Options("cbow")
    finalizer = options._finalizer
    assert finalizer.alive
    del options
    gc.collect()
    assert not finalizer.alive


def test_data_keeps_what_it_borrows():
    x = np.zeros((4, 2), np.float32)
    label = np.array([0, 1, 0, 1], np.uint32)
    samples = _c.opened(_c.Samples, _c.lib.shoal_samples_new, x.ctypes.data, 4, 2, label.ctypes.data, None, 0)
    data = _c.Data.of(samples=samples)
    finalizer = samples._finalizer
    del samples
    gc.collect()
    assert finalizer.alive
    data.close()
    gc.collect()
    assert not finalizer.alive


# ---- Options ----


def test_options_take_python_values():
    options = _c.Options("cbow", dim=np.int64(20), min_count=2, lr=0.025, deterministic=True, sample=0,
                         seed=None)
    assert options["dim"] == "20" and options["min-count"] == "2" and options["lr"] == "0.025"
    assert options["deterministic"] == "true" and not options.given("seed")
    assert _c.Options("mlp", layers=[8, 4])["layers"] == "8,4"
    with pytest.raises(KeyError):
        options["no_such_option"]
    with pytest.raises(ValueError, match="cbow has no option 'no-such-option'"):
        options.set("no_such_option", 1)


def test_strings_that_are_no_utf8_survive(tmp_path):
    name = os.fsdecode(b"text-\xff.shoal")
    assert _c.Options("cbow", output=tmp_path / name)["output"].endswith(name)


# ---- Runs ----


@pytest.fixture
def spiral():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 2)).astype(np.float32)
    label = (x[:, 0] * x[:, 1] > 0).astype(np.uint32)
    samples = _c.opened(_c.Samples, _c.lib.shoal_samples_new, x.ctypes.data, 400, 2, label.ctypes.data, None, 0)
    return _c.Data.of(samples=samples)


def test_a_run_has_a_history_as_a_dict_and_as_records(spiral):
    run = _run.run(_c.Options("mlp", layers=8, epochs=5), spiral, verbose=False)
    assert run.history["epoch"] == [1, 2, 3, 4, 5] and len(run.history["loss"]) == 5
    assert run.history["loss"][-1] < run.history["loss"][0]
    epochs = run.records[run.records.event == "epoch"]
    assert list(epochs.loss) == run.history["loss"] and epochs.valid_loss[-1] > 0
    assert run.stats["epochs"] == 5 and run.model.kind == "net"
    assert repr(run).startswith("<shoal run of mlp: 5 epochs")


def test_a_run_is_drawn_as_the_report_draws_it(spiral):
    run = _run.run(_c.Options("mlp", layers=8, epochs=5), spiral, verbose=False)
    shown = run._repr_html_()
    assert shown.count("<svg") == 1 and "loss" in shown
    assert {"loss-time", "lr"} <= set(run.charts())
    assert run.report().startswith("<!DOCTYPE html>") and "mlp" in run.report()


def test_a_callback_that_returns_false_stops_the_run(spiral):
    seen = []
    with pytest.raises(_c.Stopped, match="train: stopped on request"):
        _run.run(_c.Options("mlp", epochs=1000), spiral, [lambda r: seen.append(r.epoch) or r.epoch < 3])
    assert seen[-1] == 3


def test_what_a_callback_raises_stops_the_run_and_comes_out(spiral):
    def fails(report):
        raise ZeroDivisionError(report.event)

    with pytest.raises(ZeroDivisionError, match="interval"):
        _run.run(_c.Options("mlp", epochs=1000), spiral, [fails])


def test_ctrl_c_stops_the_run_with_its_checkpoint_and_it_goes_on(spiral, tmp_path):
    folder = tmp_path / "checkpoints"
    options = _c.Options("mlp", layers=8, epochs=200, checkpoint=folder, seed=3)
    before = signal.getsignal(signal.SIGINT)

    def press(report):
        if report.event == "epoch" and report.epoch == 50:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        _run.run(options, spiral, [press])
    assert signal.getsignal(signal.SIGINT) is before
    goes_on = _run.run(_c.Options.resume(folder), spiral)
    assert goes_on.stats["resumed"] and goes_on.stats["epochs"] == 200
    whole = _run.run(_c.Options("mlp", layers=8, epochs=200, seed=3), spiral)
    assert goes_on.history["loss"][-1] == whole.history["loss"][-1]


def test_a_second_run_on_all_samples_can_be_stopped_too(spiral):
    """Where epochs are chosen, a run with early stopping is followed by one on all samples."""
    seen = []
    with pytest.raises(_c.Stopped):
        _run.run(_c.Options("mlp"), spiral, [lambda r: seen.append(r.event) or r.event != "again"])
    assert seen[-2:] == ["done", "again"]
    finished = _run.run(_c.Options("mlp"), spiral)
    assert "again" not in finished.records.event and finished.stats["again"] == 400


def test_other_threads_run_while_c_trains(spiral):
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    try:
        _run.run(_c.Options("mlp", layers=64, epochs=100), spiral)
    finally:
        done.set()
        thread.join()
    assert counted[0] > 1000


def test_runs_in_several_threads_are_independent(spiral):
    losses = []

    def train():
        run = _run.run(_c.Options("mlp", layers=8, epochs=20, threads=1, seed=5), spiral)
        losses.append(run.history["loss"][-1])

    threads = [threading.Thread(target=train) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(losses) == 4 and len(set(losses)) == 1


def test_reading_text_can_be_watched_and_stopped(world):
    options = _c.Options("cbow", min_count=1)
    seen = []
    with _run.watching(lambda progress: seen.append(progress["phase"])) as watch:
        _c.Data.open(options, world[0], watch)
    with pytest.raises(ZeroDivisionError):
        with _run.watching(lambda progress: 1 // 0) as watch:
            _c.Data.open(options, world[0], watch)
            assert not seen  # so short that nobody was told
            1 // 0


def test_any_task_is_trained_on_files_stopped_and_resumed(world, tmp_path):
    import shoal
    how = dict(dim=8, min_count=1, epochs=3, seed=4, deterministic=True)
    with pytest.raises(shoal.Stopped):
        shoal.train("skipgram", world[0], [lambda report: report.epoch < 2], checkpoint=tmp_path / "run", **how)
    resumed = shoal.resume(tmp_path / "run")
    whole = shoal.train("skipgram", world[0], **how)
    assert resumed.model.to_bytes() == whole.model.to_bytes()
    with pytest.raises(shoal.InvalidError, match="--dim"):
        shoal.resume(tmp_path / "run", dim=16)
    with pytest.raises(FileNotFoundError):
        shoal.resume(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError):
        shoal.train("skipgram", tmp_path / "nowhere.txt")


def test_the_line_of_progress_is_our_own_without_tqdm(spiral, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    _run.run(_c.Options("mlp", layers=8, epochs=5), spiral, verbose=True)
    said = capsys.readouterr().err
    assert "mlp 100.0% epoch 5/5, loss " in said and said.endswith("\n")
    _run.run(_c.Options("mlp", layers=8, epochs=5), spiral, verbose=False)
    assert capsys.readouterr().err == ""


def test_the_bar_is_that_of_tqdm_where_it_is_installed(spiral, monkeypatch):
    """A module with what is asked of tqdm: whether the machine has the real one is its own affair."""
    bars = []

    class Bar:
        def __init__(self, total, desc, bar_format):
            self.total, self.desc, self.n, self.said, self.closed = total, desc, 0, [], 0
            bars.append(self)

        def set_postfix_str(self, said, refresh):
            self.said.append(said)

        def update(self, more):
            self.n += more

        def close(self):
            self.closed += 1

    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.ModuleType("tqdm.auto"))
    sys.modules["tqdm.auto"].tqdm = Bar
    _run.run(_c.Options("mlp", layers=8, epochs=5), spiral, verbose=True)
    assert [bar.desc for bar in bars] == ["mlp"] and bars[0].n == bars[0].total == 100 and bars[0].closed == 1
    assert "epoch 5/5, loss " in bars[0].said[-1]

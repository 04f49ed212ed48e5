"""Runs the tests and the docstrings' examples; prints a TAP line for each.

    python/tests/run.py LIBSHOAL SHOAL [PYTEST OPTION...]
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


class Tap:
    """What pytest says, as TAP."""

    def __init__(self):
        self.cases = 0

    def say(self, good, name, note="", details=""):
        self.cases += 1
        print(f"{'ok' if good else 'not ok'} {self.cases} - {name.replace('#', ' ')}{note}")
        for line in str(details).splitlines():
            print(f"# {line}")

    def pytest_configure(self, config):
        """Nobody else prints."""
        config.pluginmanager.unregister(config.pluginmanager.get_plugin("terminalreporter"))

    def pytest_collectreport(self, report):
        if report.failed:
            self.say(False, f"{report.nodeid} is collected", details=report.longrepr)

    def pytest_runtest_logreport(self, report):
        name = report.nodeid.split("/")[-1].replace("::", ": ", 1).replace("_", " ")
        if report.skipped:
            self.say(True, name, " # skip " + str(report.longrepr[2] if report.longrepr else ""))
        elif report.failed:
            self.say(False, name, details=report.longrepr)
        elif report.when == "call":
            self.say(True, name)


def main():
    library, program, *more = sys.argv[1:]
    os.environ["SHOAL_LIBRARY"] = os.path.abspath(library)
    os.environ["SHOAL_PROGRAM"] = os.path.abspath(program)
    sys.path.insert(0, os.path.dirname(HERE))
    try:
        import numpy  # noqa: F401
        import pytest
    except ImportError as error:
        print(f"1..0 # skip {error}")
        return 77  # which Meson takes for a skipped test
    tap = Tap()
    Tap.pytest_configure = pytest.hookimpl(trylast=True)(Tap.pytest_configure)
    status = pytest.main(["-p", "no:cacheprovider", "--doctest-modules",
                          "--rootdir", os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "shoal"),
                          HERE, *more], plugins=[tap])
    print(f"1..{tap.cases}")
    return int(status)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main())

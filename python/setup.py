"""Builds libshoal without MPI and bundles it: the package has no compiled extension of Python.

    SHOAL_SYSTEM=1      bundle nothing: the library of the system is used, which pkg-config must know
    SHOAL_BUNDLE=FILE   bundle this libshoal.so, built before

The C sources are those above this folder, or in `library/` of a source distribution.
"""
import os
import shutil
import subprocess
import sys

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

try:
    from setuptools.command.bdist_wheel import bdist_wheel  # setuptools 70.1 and later
except ImportError:
    from wheel.bdist_wheel import bdist_wheel

HERE = os.path.dirname(os.path.abspath(__file__))
NAME = "libshoal.so.0"
SOURCES = ["meson.build", "meson_options.txt", "LICENSE", "src", "include", "scripts"]


def in_system():
    return os.environ.get("SHOAL_SYSTEM", "") not in ("", "0")


def sources():
    """The folder of the C sources."""
    for folder in (os.path.join(HERE, "library"), os.path.dirname(HERE)):
        if os.path.exists(os.path.join(folder, "src", "meson.build")):
            return folder
    raise SystemExit("shoal: found no C sources above this folder, want the whole repository, or a source "
                     "distribution; or SHOAL_SYSTEM=1 with libshoal installed")


def call(*words):
    try:
        subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise SystemExit(f"shoal: found no program {words[0]}, want it installed to build the library "
                         "(scripts/setup.sh build)") from None
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"shoal: {' '.join(words)} failed with status {error.returncode}") from None


def built(folder):
    """The library, built in this folder."""
    root = sources()
    if not os.path.exists(os.path.join(folder, "build.ninja")):
        call("meson", "setup", folder, root, "-Dmpi=disabled", "-Dsmpi=disabled", "-Donly_library=true")
    call("meson", "compile", "-C", folder, "shoal:shared_library")
    return os.path.join(folder, "src", NAME)


class Build(build_py):
    def run(self):
        super().run()
        if in_system():
            call("pkg-config", "--exists", "--print-errors", "shoal")
            return
        library = os.environ.get("SHOAL_BUNDLE") or built(os.path.join(HERE, "build", "library"))
        package = HERE if getattr(self, "editable_mode", False) else self.build_lib
        target = os.path.join(package, "shoal", NAME)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(os.path.realpath(library), target)
        os.chmod(target, 0o755)

    def get_outputs(self, *arguments, **named):
        bundled = [] if in_system() else [os.path.join(self.build_lib, "shoal", NAME)]
        return super().get_outputs(*arguments, **named) + bundled


class WithLibrary(Distribution):
    def has_ext_modules(self):
        """Of this machine, as an extension would be, where a library is bundled."""
        return not in_system()


class Wheel(bdist_wheel):
    def get_tag(self):
        """Any Python 3; the library is of this machine."""
        return "py3", "none", super().get_tag()[2]


class Source(sdist):
    """With the sources of the library."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        root = sources()
        for name in SOURCES:
            path, to = os.path.join(root, name), os.path.join(base_dir, "library", name)
            if os.path.isdir(path):
                shutil.copytree(path, to, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
            else:
                os.makedirs(os.path.dirname(to), exist_ok=True)
                shutil.copyfile(path, to)


if sys.platform != "linux":
    raise SystemExit(f"shoal: found {sys.platform}, want Linux")
setup(distclass=WithLibrary, cmdclass={"build_py": Build, "bdist_wheel": Wheel, "sdist": Source})

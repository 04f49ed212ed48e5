"""The package is built, installed, used and removed in a clean environment; its versions agree."""
import glob
import os
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

import shoal
from shoal import _abi, _c

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.dirname(HERE)


def test_versions_agree(root):
    with open(os.path.join(root, "meson.build"), encoding="utf-8") as file:
        project = re.search(r"version: '([^']+)'", file.read()).group(1)
    assert shoal.__version__ == project == _c.version()
    major, minor, patch = (int(part) for part in project.split("."))
    assert _abi.SHOAL_VERSION_NUM == 10000 * major + 100 * minor + patch


def test_every_public_name_has_a_docstring_and_is_there():
    for name in shoal.__all__:
        assert getattr(shoal, name).__doc__, name


def test_every_function_says_its_types():
    """py.typed promises it: of what is public, no argument and no result is without an annotation."""
    import inspect
    bare = []
    for name in shoal.__all__:
        thing = getattr(shoal, name)
        members = [thing] if inspect.isfunction(thing) else [
            member for _, member in inspect.getmembers(thing, inspect.isfunction)
            if member.__module__.startswith("shoal")]
        for member in members:
            signature = inspect.signature(member)
            missing = [p for p in signature.parameters.values() if p.name != "self" and p.annotation is p.empty]
            if missing or signature.return_annotation is signature.empty:
                bare.append(member.__qualname__)
    assert not bare


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Of a copy of the package, which bundles the library that is tested."""
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "python"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("build", "dist", "*.egg-info", "__pycache__",
                                                                 "tests", "libshoal*"))
    code = "from setuptools import build_meta; build_meta.build_wheel('dist')"
    said = subprocess.run([sys.executable, "-c", code], cwd=copy, capture_output=True, text=True,
                          env={**os.environ, "SHOAL_BUNDLE": _c.lib.path, "PYTHONPATH": ""})
    assert said.returncode == 0, said.stderr
    return glob.glob(str(copy / "dist" / "*.whl"))[0]


def test_the_wheel_is_for_any_python_3_and_has_the_library(wheel):
    assert re.fullmatch(r"shoal-\d+\.\d+\.\d+-py3-none-linux_\w+\.whl", os.path.basename(wheel))
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert {"shoal/__init__.py", "shoal/_c.py", "shoal/libshoal.so.0", "shoal/py.typed",
                "shoal/models/__init__.py"} <= set(names)
        assert not [name for name in names if name.endswith((".so",)) or "tests" in name]
        metadata = archive.read([n for n in names if n.endswith("METADATA")][0]).decode()
    assert "Requires-Python: >=3.9" in metadata and re.findall("Requires-Dist: (.*)", metadata)[0].startswith("numpy")


def test_a_system_library_is_not_bundled(tmp_path, wheel):
    copy = os.path.dirname(os.path.dirname(wheel))
    (tmp_path / "shoal.pc").write_text("Name: shoal\nDescription: x\nVersion: 0.2.0\n")
    code = f"from setuptools import build_meta; build_meta.build_wheel({str(tmp_path)!r})"
    shutil.rmtree(os.path.join(copy, "build"), ignore_errors=True)
    subprocess.run([sys.executable, "-c", code], cwd=copy, check=True, capture_output=True,
                   env={**os.environ, "SHOAL_SYSTEM": "1", "PKG_CONFIG_PATH": str(tmp_path), "PYTHONPATH": ""})
    made = glob.glob(str(tmp_path / "*.whl"))[0]
    assert made.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(made) as archive:
        assert not [name for name in archive.namelist() if "libshoal" in name]


def readme_lines(root):
    """The block of Python in README.md."""
    with open(os.path.join(root, "README.md"), encoding="utf-8") as file:
        return re.search(r"```python\n(.*?)```", file.read(), re.S).group(1)


def test_a_clean_environment_with_numpy_alone(wheel, root, tmp_path):
    """Install, the lines of README.md, uninstall. NumPy is Debian's, by a link; nothing else is seen."""
    import numpy
    place = tmp_path / "venv"
    if subprocess.run([sys.executable, "-m", "venv", "--without-pip", place]).returncode:
        pytest.skip("no venv")
    python = str(place / "bin" / "python")
    site = glob.glob(str(place / "lib" / "python3*" / "site-packages"))[0]
    os.symlink(os.path.dirname(numpy.__file__), os.path.join(site, "numpy"))
    env = {name: value for name, value in os.environ.items() if not name.startswith(("SHOAL_", "PYTHON"))}
    pip = [sys.executable, "-m", "pip", "--python", python, "-q", "--disable-pip-version-check"]
    if subprocess.run([*pip, "list"], env=env, capture_output=True).returncode:
        pytest.skip("no pip that installs elsewhere")
    subprocess.run([*pip, "install", "--no-deps", "--no-index", wheel], check=True, env=env)
    lines = readme_lines(root)
    with open(tmp_path / "text.txt", "w", encoding="utf-8") as text:
        text.write("the fish swims in the sea\nthe bird flies in the air\n" * 500)
    said = subprocess.run([python, "-c", lines], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    assert len([line for line in lines.splitlines() if line.strip()]) <= 10 and said.stdout
    where = subprocess.run([python, "-c", "from shoal import _c; print(_c.lib.path)"], cwd=tmp_path, env=env,
                           check=True, capture_output=True, text=True).stdout
    assert where.strip() == os.path.join(site, "shoal", "libshoal.so.0")
    subprocess.run([*pip, "uninstall", "-y", "shoal"], check=True, env=env)
    assert not os.path.exists(os.path.join(site, "shoal"))
    assert subprocess.run([python, "-c", "import shoal"], cwd=tmp_path, env=env, capture_output=True).returncode == 1


def test_python_below_3_9_and_other_systems_are_refused_by_name():
    with open(os.path.join(PACKAGE, "pyproject.toml"), encoding="utf-8") as file:
        assert 'requires-python = ">=3.9"' in file.read()
    said = subprocess.run([sys.executable, "-c", "import sys; sys.platform = 'plan9'; exec(open('setup.py').read(), {'__file__': 'setup.py'})"],
                          cwd=PACKAGE, capture_output=True, text=True)
    assert said.returncode == 1 and "shoal: found plan9, want Linux" in said.stderr


def test_a_folder_without_the_sources_is_refused(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "alone", ignore=shutil.ignore_patterns("build", "dist", "*.egg-info"))
    env = {name: value for name, value in os.environ.items() if not name.startswith("SHOAL_")}
    said = subprocess.run([sys.executable, "-c", "from setuptools import build_meta; build_meta.build_wheel('d')"],
                          cwd=tmp_path / "alone", capture_output=True, text=True, env=env)
    assert said.returncode == 1 and "shoal: found no C sources above this folder" in said.stderr

"""The wheel in an empty environment without torch: it is built from the sdist, installed, and used outside of a checkout.

MSTORCH_RELEASE_PYTHON names another Python than the one that runs the tests: .github/workflows/release.yml does it on all of them.
"""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from mstorch._src.version import __version__

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
PYTHON = os.environ.get("MSTORCH_RELEASE_PYTHON", sys.executable)
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".*", "*.egg-info", "build", "dist", "tests", "docs")
BUILD = "import sys; sys.path.insert(0, 'tools'); import build_backend as backend; print(getattr(backend, sys.argv[1])(sys.argv[2]))"
LOADER = """
import mstorch as torch
from mstorch.utils.data import DataLoader, TensorDataset

if __name__ == "__main__":
    loader = DataLoader(TensorDataset(torch.arange(40.0)), batch_size=4, num_workers=2)
    print(sum(batch.sum().item() for (batch,) in loader), len(list(loader)))
"""


def ran(*command: str, cwd: Path, code: int = 0) -> str:
    """Return the output of a command in an environment without this one's paths."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MSTORCH_", "PYTHON"))}
    done = subprocess.run(command, cwd=cwd, env={**kept, "GLOG_v": "3"}, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == code, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Return the sdist, the wheel of a copy of this checkout, and the wheel of the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    shutil.copytree(ROOT, folder / "checkout", ignore=LEFT_OUT)
    ran(PYTHON, "-m", "venv", "tools", cwd=folder)
    build = str(folder / "tools" / "bin" / "python")
    ran(build, "-m", "pip", "install", "-q", "setuptools>=68", cwd=folder)
    sdist = folder / ran(build, "-c", BUILD, "build_sdist", str(folder), cwd=folder / "checkout").split()[-1]
    wheel = folder / ran(build, "-c", BUILD, "build_wheel", str(folder), cwd=folder / "checkout").split()[-1]
    shutil.unpack_archive(sdist, folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    (folder / "again").mkdir()
    again = folder / "again" / ran(build, "-c", BUILD, "build_wheel", str(folder / "again"), cwd=unpacked).split()[-1]
    return sdist, wheel, again


@pytest.fixture(scope="module")
def empty(wheels: tuple[Path, Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the examples, and ``venv`` in it, where the wheel and its dependencies are installed."""
    folder = tmp_path_factory.mktemp("empty")
    ran(PYTHON, "-m", "venv", "venv", cwd=folder)
    ran(str(folder / "venv" / "bin" / "python"), "-m", "pip", "install", "-q", str(wheels[2]), cwd=folder)
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=LEFT_OUT)
    (folder / "loader.py").write_text(LOADER)
    return folder


def test_wheel_and_sdist_hold_the_same(wheels: tuple[Path, Path, Path]) -> None:
    sdist, wheel, again = wheels
    assert sdist.name == f"mstorch-{__version__}.tar.gz" and wheel.name == again.name == f"mstorch-{__version__}-py3-none-any.whl"
    names = [sorted(zipfile.ZipFile(path).namelist()) for path in (wheel, again)]
    assert names[0] == names[1]
    held = set(names[0])
    for path in (ROOT / "mstorch").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            assert path.relative_to(ROOT).as_posix() in held
    assert "mstorch_hook.pth" in held and not [name for name in held if name.startswith(("tests/", "tools/", "examples/"))]


# A command in the environment, and its output.
USES = {
    "env": (("mstorch", "env"), rf"mstorch version: +{re.escape(__version__)}"),
    "scan": (("mstorch", "scan", "examples"), r"100 % of \d+ uses"),
    "compare": (("mstorch", "compare", "--help"), r"--torch-python"),
    "main job": (("python", "-m", "mstorch", "examples/digits_cnn.py"), r"test accuracy 9\d"),
    "loader": (("python", "loader.py"), r"780\.0 10"),
    "processes": (("mstorchrun", "--nproc-per-node", "2", "examples/digits_ddp.py", "--epochs", "2"), r"test accuracy [2-9]\d"),
    "check": (("mstorch", "check", "--only", "memory", "--only", "random"), r"0 differ or raise; please send"),
    "profile": (("mstorch", "profile", "examples/digits_mlp.py", "--epochs", "1"), r"the costliest lines:"),
}


@pytest.mark.long
@pytest.mark.parametrize("use", USES)
def test_it_works_without_torch(use: str, empty: Path) -> None:
    (program, *arguments), words = USES[use]
    told = ran(str(empty / "venv" / "bin" / program), *arguments, cwd=empty)
    assert re.search(words, told), told


@pytest.mark.long
def test_there_is_no_torch(empty: Path) -> None:
    python = str(empty / "venv" / "bin" / "python")
    code = "import importlib.util as u, mstorch; print(u.find_spec('torch'), mstorch.__file__)"
    found, _, file = ran(python, "-c", code, cwd=empty).strip().partition(" ")
    assert found == "None" and Path(file).is_relative_to(empty)
    listed = ran(python, "-m", "pip", "list", cwd=empty)
    assert re.search(rf"^mstorch +{re.escape(__version__)}$", listed, re.MULTILINE) and not re.search(r"^torch ", listed, re.MULTILINE)

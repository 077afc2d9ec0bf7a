"""The hook in child processes, installed from the wheel, in fresh environments of both kinds of installation."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import mstorch
from mstorch._src import hook

pytestmark = pytest.mark.slow

ROOT = Path(mstorch.__file__).parents[1]
PURELIB = "import sysconfig; print(sysconfig.get_path('purelib'))"


@pytest.fixture(scope="module", params=["wheel", "editable"])
def python(request, tmp_path_factory) -> str:
    """Return the interpreter of an environment that has mstorch installed and also sees the packages of this one."""
    pytest.importorskip("setuptools", minversion="68")
    pytest.importorskip("wheel")
    folder = tmp_path_factory.mktemp(request.param)
    source = folder / "source"
    for name in ("mstorch", "tools"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy(ROOT / name, source)
    run(sys.executable, "-m", "venv", "--without-pip", str(folder / "venv"))
    python = str(folder / "venv" / "bin" / "python")
    site = Path(run(python, "-c", PURELIB).strip())
    # A line of a .pth file adds a folder, whose own .pth files are ignored.
    (site / "packages.pth").write_text(sysconfig.get_path("purelib") + "\n")
    options = ["-e"] if request.param == "editable" else []
    run(python, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--disable-pip-version-check",
        "--no-index", "--ignore-installed", *options, str(source))  # fmt: skip
    assert (site / "mstorch_hook.pth").is_file()
    return python


def run(*command: str, cwd: Path | None = None, **variables: str) -> str:
    """Return the output of a command, which must print nothing else and succeed."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MSTORCH_HOOK")}
    result = subprocess.run(
        command, cwd=cwd, env=kept | {"GLOG_v": "3"} | variables, capture_output=True, text=True, timeout=300, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_without_the_variable_nothing_is_loaded(python, tmp_path):
    code = "import sys; print([n for n in sys.modules if 'mstorch._src.hook' in n or n == 'importlib.metadata'], sys.meta_path)"
    assert "mstorch._src.hook" not in run(python, "-c", code, cwd=tmp_path)


def test_the_variable_alone_loads_no_package(python, tmp_path):
    code = (
        "import sys, importlib.metadata as m, importlib.util as u; print(m.version('torch'), u.find_spec('torch').origin); "
        "print('mstorch' in sys.modules, 'mindspore' in sys.modules)"
    )
    version, loaded = run(python, "-c", code, cwd=tmp_path, MSTORCH_HOOK="1").splitlines()
    assert version.startswith(f"{hook.versions()[1]} ") and version.endswith("/mstorch/__init__.py")
    assert loaded == "False False"


def test_child_processes(python, tmp_path):
    (tmp_path / "helper.py").write_text("import torch\n\n\ndef name(x):\n    return torch.__version__ + str(x)\n")
    (tmp_path / "child.py").write_text("import torch\nprint('child', torch.__version__, torch.ones(2).tolist())\n")
    (tmp_path / "script.py").write_text(
        "import multiprocessing, subprocess, sys\n"
        "import torch, helper\n"
        "if __name__ == '__main__':\n"
        "    print(subprocess.run([sys.executable, 'child.py'], capture_output=True, text=True).stdout.strip())\n"
        "    for method in ('spawn', 'forkserver', 'fork'):\n"
        "        with multiprocessing.get_context(method).Pool(1) as pool:\n"
        "            print(method, pool.map(helper.name, [1]))\n"
    )
    ours = mstorch.__version__
    assert run(python, "-W", "ignore::DeprecationWarning", "-m", "mstorch", "script.py", cwd=tmp_path).splitlines() == [
        f"child {ours} [1.0, 1.0]",
        *(f"{method} ['{ours}1']" for method in ("spawn", "forkserver", "fork")),
    ]


def test_uninstall_ends_it(python, tmp_path):
    code = (
        "import os, subprocess, sys, mstorch\n"
        "child = [sys.executable, '-c', 'import importlib.util as u; print(u.find_spec(\"torch\").origin)']\n"
        "with mstorch.as_torch():\n"
        "    print(subprocess.run(child, capture_output=True, text=True).stdout.strip())\n"
        "print(subprocess.run(child, capture_output=True, text=True).stdout.strip())\n"
    )
    inside, outside = run(python, "-c", code, cwd=tmp_path).splitlines()
    assert inside.endswith("/mstorch/__init__.py") and outside.endswith("/torch/__init__.py")


def test_extensions_that_are_linked_to_torchs_library_are_not_there(tmp_path):
    """Extensions of torchaudio and torchvision are linked to torch's library; torch's own extension represents them here."""
    import torch

    package = tmp_path / "audio_like"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "_ext.so").symlink_to(torch._C.__file__)
    script = (
        "import importlib, importlib.metadata, importlib.util, sys\n"
        "finders = list(sys.meta_path)\n"
        "import mstorch._src.hook as hook\n"
        "assert importlib.util.find_spec('audio_like._ext') is not None\n"
        "hook.install()\n"
        "importlib.invalidate_caches()\n"
        "assert importlib.util.find_spec('audio_like._ext') is None and importlib.util.find_spec('audio_like') is not None\n"
        "try: import audio_like._ext\n"
        "except ModuleNotFoundError as error: assert error.name == 'audio_like._ext'\n"
        "else: raise AssertionError\n"
        "import numpy.core._multiarray_umath as there\n"
        "assert not hook.is_linked_to_torch(there.__file__) and importlib.metadata.version('numpy')\n"
        "import torch\n"
        "try: torch.ops.load_library(hook.__file__)\n"
        "except OSError as error: assert 'Could not load this library' in str(error)\n"
        "else: raise AssertionError\n"
        "hook.uninstall()\n"
        "assert [f for f in finders if f not in sys.meta_path] == [] and importlib.util.find_spec('audio_like._ext') is not None\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", ""), os.getcwd()])}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment)


def test_a_package_that_looks_for_its_library_itself(tmp_path):
    """torchaudio gets mstorch's operators in place of its own libraries, and finds no other that is linked to torch's."""
    import torch

    package = tmp_path / "torchaudio"
    (package / "_extension").mkdir(parents=True)
    (package / "lib").mkdir()
    (package / "__init__.py").write_text("")
    (package / "_extension" / "__init__.py").write_text("from .utils import _load_lib\nFOUND = _load_lib('_torchaudio')\n")
    (package / "_extension" / "utils.py").write_text(
        "from pathlib import Path\nimport torch\n_LIB_DIR = Path(__file__).parent.parent / 'lib'\n\n"
        "def _load_lib(lib):\n    paths = list(_LIB_DIR.glob(f'{lib}*.so'))\n"
        "    return bool(paths) and (torch.ops.load_library(paths[0]) or True)\n"
    )
    for name in ("_torchaudio", "torchaudio_prefixctc"):
        (package / "lib" / f"{name}.so").symlink_to(torch._C.__file__)
    script = (
        "import mstorch._src.hook as hook\nhook.install()\nimport torchaudio._extension as found, torchaudio._extension.utils as utils\n"
        "assert found.FOUND is True and utils._load_lib('nothing') is False and utils._load_lib('torchaudio_prefixctc') is False\n"
        "import torch\nassert utils.__file__.endswith('utils.py') and torch.ops._torchaudio.is_align_available()\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", ""), os.getcwd()])}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment)


def test_pickles_by_a_pickler_in_c(tmp_path):
    """cloudpickle's pickler, and others that derive from the C pickler, write classes, functions and dtypes by torch's names."""
    script = (
        "import io, pickle, types, zipfile, _pickle\nimport mstorch._src.hook as hook\nhook.install()\nimport torch\n"
        "class Pickler(_pickle.Pickler): pass\n"
        "mine = types.SimpleNamespace(__name__='mine', Pickler=Pickler, Unpickler=pickle.Unpickler, dumps=pickle.dumps, load=pickle.load)\n"
        "net = torch.nn.Linear(2, 2)\nnet.kind, net.dtype, net.act = torch.Tensor, torch.float32, torch.relu\n"
        f"torch.save(net, {str(tmp_path / 'net.pt')!r}, pickle_module=mine)\n"
        f"assert b'mstorch' not in zipfile.ZipFile({str(tmp_path / 'net.pt')!r}).read('net/data.pkl')\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH", ""), os.getcwd()]))}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment)
    import torch

    net = torch.load(tmp_path / "net.pt", weights_only=False)
    assert (net.kind, net.dtype, net.act) == (torch.Tensor, torch.float32, torch.relu) and net.weight.shape == (2, 2)

"""`python -m mstorch`: scripts with `import torch`, in processes of their own."""

from __future__ import annotations

import os
import py_compile
import subprocess
import sys
import zipapp
from pathlib import Path
from types import ModuleType

import pytest

import mstorch
from mstorch import __main__
from mstorch._src import hook as _hook
from tests import warm

pytestmark = pytest.mark.slow

if sys.version_info >= (3, 11):
    import tomllib

ROOT = str(Path(mstorch.__file__).parents[1])


def run(*arguments: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess:
    """Run `python -m mstorch …`; mstorch need not be installed."""
    environment = os.environ | {"PYTHONPATH": ROOT, **variables}
    command = ["-m", "mstorch", *arguments]
    return warm.done(*command, environment=environment, folder=cwd, seconds=120)


def ran(tmp_path: Path, source: str, *arguments: str) -> subprocess.CompletedProcess:
    """Write a script into a folder of its own and run it from the outside."""
    folder = tmp_path / "scripts"
    folder.mkdir()
    (folder / "helper.py").write_text("import torch\nvalue = torch\n")
    (folder / "script.py").write_text(source)
    return run("scripts/script.py", *arguments, cwd=tmp_path)


MAIN = """
import pickle, sys, torch, helper
class A: pass
pickle.loads(pickle.dumps(A()))
print(torch is helper.value, torch.__file__.split("/")[-2], sys.argv[1:], __name__, __package__, __spec__ is None, __file__)
sys.exit(3)
"""


def test_archives_folders_and_compiled_scripts(tmp_path):
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "helper.py").write_text("import torch\nvalue = torch\n")
    (folder / "__main__.py").write_text(MAIN)
    zipapp.create_archive(folder, tmp_path / "app.pyz")
    py_compile.compile(str(folder / "__main__.py"), str(folder / "compiled.pyc"))
    py_compile.compile(str(folder / "__main__.py"), str(folder / "compiled.bin"))
    names = {"app.pyz": "app.pyz/__main__.py", "app": "app/__main__.py", "app/compiled.pyc": "app/compiled.pyc", "app/compiled.bin": "app/compiled.bin"}
    for name, file in names.items():
        found = run(name, "a", "--b", cwd=tmp_path)
        compiled = "compiled" in name
        wanted = f"True mstorch ['a', '--b'] __main__ {None if compiled else ''} {compiled} {tmp_path / file}"
        assert (found.returncode, found.stdout.strip()) == (3, wanted), (name, found.stderr[-500:])
    (tmp_path / "bad.pyc").write_bytes(b"garbage")
    (tmp_path / "empty").mkdir()
    for name, said in (("bad.pyc", "bad magic number"), ("empty", "can't find '__main__' module in")):
        found = run(name, cwd=tmp_path)
        assert found.returncode == 1 and said in found.stderr


def test_a_script(tmp_path):
    source = """
import importlib.util
import pickle
import sys

import torch
import torch.autograd.grad_mode as mode
from torch import autograd

import helper
import mstorch

assert torch is mstorch is helper.value
assert sys.modules["torch.autograd"] is sys.modules["mstorch.autograd"] is autograd
assert mode is sys.modules["mstorch.autograd.grad_mode"]
assert torch.__spec__.name == "mstorch" and autograd.__spec__.name == "mstorch.autograd"
assert torch.__name__ == "torch" and torch.__file__ == mstorch.__file__ and torch.__file__.endswith("__init__.py")
assert __name__ == "__main__" and __package__ is None and __spec__ is None
assert sys.argv == ["scripts/script.py", "a", "--b"], sys.argv
assert __file__ == sys.path[0] + "/script.py" and sys.path[0].endswith("/scripts")


class Mine:
    pass


assert type(pickle.loads(pickle.dumps(Mine()))) is Mine

try:
    import torch.no_such_thing
except ModuleNotFoundError as error:
    print(error, error.name)
try:
    torch.no_such_name
except AttributeError as error:
    print(error)
assert importlib.util.find_spec("torch.no_such_thing") is None
assert importlib.util.find_spec("torch.autograd") is not None
assert not any("site-packages/torch/" in (getattr(m, "__file__", None) or "") for m in list(sys.modules.values()))
print((torch.ones(2) + 1).tolist())
"""
    result = ran(tmp_path, source, "a", "--b")
    assert result.stderr == ""
    assert result.stdout.splitlines() == [
        "No module named 'torch.no_such_thing' torch.no_such_thing",
        "module 'torch' has no attribute 'no_such_name'",
        "[2.0, 2.0]",
    ]
    assert result.returncode == 0


def test_a_traceback_starts_in_the_script(tmp_path):
    result = ran(tmp_path, "def f():\n    raise ValueError('here')\n\n\nf()\n")
    lines = result.stderr.splitlines()
    script = tmp_path / "scripts" / "script.py"
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1] == f'  File "{script}", line 5, in <module>'
    assert lines[-1] == "ValueError: here"
    assert sum(line.startswith("  File") for line in lines) == 2
    assert result.returncode == 1


def test_warnings_name_the_line_of_the_script(tmp_path):
    lines = ["import torch", "x = torch.ones(1, requires_grad=True) * 2", "float(x)", "torch.tensor(torch.ones(2))", "x.grad", "torch.nn.Softmax()(torch.ones(2))"]
    done = ran(tmp_path, "\n".join(lines))
    assert [line for line in range(1, 7) if f"script.py:{line}: UserWarning" in done.stderr] == [3, 4, 5, 6], done.stderr
    assert "mstorch" + os.sep not in done.stderr


@pytest.mark.parametrize(
    ("source", "code", "error"),
    [
        ("import sys; sys.exit(7)", 7, ""),
        ("raise SystemExit('bye')", 1, "bye\n"),
        ("raise SystemExit", 0, ""),
        ("x = (", 1, "SyntaxError: '(' was never closed\n"),
    ],
)
def test_exit_codes(tmp_path, source, code, error):
    result = ran(tmp_path, source)
    assert result.returncode == code
    assert result.stderr.endswith(error)
    assert "__main__.py" not in result.stderr
    assert error != "" or result.stderr == ""


def test_functorch(tmp_path):
    """The package functorch, which torch installs, is mstorch's too."""
    source = """
import functorch
import torch
from functorch import make_functional
from functorch.experimental import replace_all_batch_norm_modules_

assert functorch.__version__ == torch.__version__ and functorch.__file__.startswith(torch.__file__.removesuffix("__init__.py"))
try:
    import functorch.dim
except ModuleNotFoundError as error:
    print(error, error.name)
"""
    result = ran(tmp_path, source)
    assert result.stdout.startswith("No module named 'functorch.dim' (mstorch"), result.stdout + result.stderr


def test_the_scripts_own_excepthook(tmp_path):
    source = "import sys\nsys.excepthook = lambda k, e, t: print(k.__name__, t.tb_lineno, t.tb_next)\n1 / 0\n"
    result = ran(tmp_path, source)
    assert (result.stdout, result.stderr, result.returncode) == ("ZeroDivisionError 3 None\n", "", 1)


def test_modules(tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "part.py").write_text("name = __name__\n")
    source = "import sys\nimport torch\nfrom .part import name\n"
    (package / "__main__.py").write_text(source + "print(torch.__spec__.name, name, __name__, __package__, sys.argv)\n")
    result = run("-m", "package", "a", cwd=tmp_path)
    assert result.stderr == ""
    assert result.stdout == f"mstorch package.part __main__ package ['{package}/__main__.py', 'a']\n"
    result = run("-m", "package.none", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (1, f"{sys.executable}: No module named package.none\n")


def test_code_and_env(tmp_path):
    result = run("-c", "import sys, torch; print(torch.__spec__.name, sys.argv)", "a", cwd=tmp_path)
    assert (result.stdout, result.stderr) == ("mstorch ['-c', 'a']\n", "")
    result = run("env", cwd=tmp_path)
    rows = dict(line.split(": ", 1) for line in result.stdout.splitlines() if ": " in line)
    assert rows["mstorch version"] == _hook.versions()[0]
    assert {"PyTorch version", "Python version", "OS", "CPU", "MindSpore version", "device", "tuning", "oneDNN", "CANN"} <= set(rows)
    assert "[pip3] numpy==" in result.stdout


@pytest.mark.parametrize("module", ["numpy", "mindspore"])
def test_env_without_the_packages_that_mstorch_needs(module, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        f"import sys\nclass Blocks:\n    def find_spec(self, name, path=None, target=None):\n        if name == {module!r}:\n"
        f"            raise ModuleNotFoundError('No module named {module}', name={module!r})\nsys.meta_path.insert(0, Blocks())\n"
    )
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "mstorch", "env"]
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 1 and result.stderr == ""
    assert f"mstorch cannot be imported: No module named {module}: pip install" in result.stdout
    assert "Python version: " in result.stdout


def test_bad_command_lines(tmp_path, capsys):
    (tmp_path / "broken.py").write_text("x = (")
    assert __main__.main([]) == 2
    assert __main__.main(["--no-such-option"]) == 2
    assert __main__.main(["-m"]) == 2
    assert __main__.main(["scan"]) == 2
    assert __main__.main([str(tmp_path / "none.py")]) == 2
    assert "can't open file" in capsys.readouterr().err
    assert __main__.main(["scan", str(tmp_path)]) == 1
    assert "broken.py: cannot be read" in capsys.readouterr().out


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib")
def test_the_installed_command(tmp_path):
    """The script that `pip install` writes calls the function named in pyproject.toml, without arguments."""
    scripts = tomllib.loads((Path(ROOT) / "pyproject.toml").read_text())["project"]["scripts"]
    module, _, function = scripts["mstorch"].partition(":")
    (tmp_path / "uses.py").write_text("import torch\ntorch.ones(2)\n")
    (tmp_path / "command").write_text(f"import sys\nfrom {module} import {function}\nsys.exit({function}())\n")
    command = [sys.executable, str(tmp_path / "command")]
    environment = os.environ | {"PYTHONPATH": ROOT}
    for arguments, code, text in ((["env"], 0, "mindspore"), (["scan", "uses.py"], 0, "100 % of 2 uses"), ([], 2, "python -m mstorch")):
        found = subprocess.run([*command, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert (found.returncode, text in found.stdout + found.stderr) == (code, True), found.stderr


def test_torch_that_is_already_there():
    assert "torch" in sys.modules or __import__("torch")
    with pytest.raises(RuntimeError, match="torch is already imported in this process"):
        _hook.install()


SIBLINGS = """
import importlib
import pkgutil
import sys
from types import ModuleType

import torch

names = [info.name.replace("mstorch", "torch", 1) for info in pkgutil.walk_packages(torch.__path__, "mstorch.")]
names = [name for name in names if not name.endswith(("__main__", ".pytest")) and "._companions" not in name]
for name in list(names):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        # A module over a package that is not installed, such as tensorboard
        assert error.name.partition(".")[0] not in ("torch", "mstorch"), error
        names.remove(name)
for name in names:
    package, _, child = name.rpartition(".")
    print(name, isinstance(getattr(sys.modules[package], child), ModuleType))
"""


def test_a_submodule_never_replaces_a_function_of_its_name(tmp_path):
    result = ran(tmp_path, SIBLINGS)
    assert result.stderr == ""
    ours = dict(line.split() for line in result.stdout.splitlines())
    assert len(ours) > 300 and ours["torch.autograd.gradcheck"] == "False"
    wrong = []
    for name, is_module in ours.items():
        package, _, child = name.rpartition(".")
        home = _torch_object(package)
        if isinstance(home, ModuleType) and hasattr(home, child):
            theirs = getattr(home, child)
            if isinstance(theirs, ModuleType) != (is_module == "True"):
                wrong.append(name)
    assert not wrong


def _torch_object(path):
    import torch

    value = torch
    for part in path.split(".")[1:]:
        value = getattr(value, part, None)
    return value


def test_in_and_out(tmp_path):
    source = """
import importlib.metadata
import importlib.util
import os
import sys
import mstorch

assert mstorch.__name__ == "mstorch"
before = list(sys.meta_path), dict(os.environ)
mstorch.install()
mstorch.install()
import torch.nn
import helper
assert torch is mstorch is helper.value and torch.__name__ == "torch"
assert importlib.metadata.version("torch") == torch.__version__ == "2.13.0+mstorch" + mstorch.version.mstorch
assert importlib.metadata.distribution("Torch").metadata["Name"] == "torch"
assert "torch" in importlib.metadata.packages_distributions()["torch"]
with mstorch.as_torch() as inside:
    assert inside is mstorch
assert importlib.util.find_spec("torch").origin == mstorch.__file__
mstorch.uninstall()
mstorch.uninstall()
assert (list(sys.meta_path), dict(os.environ)) == before
assert mstorch.__name__ == "mstorch" and "torch" not in sys.modules and "torch.nn" not in sys.modules
import mstorch.nn
assert helper.value is mstorch and sys.modules["mstorch.nn"] is mstorch.nn
try:
    with mstorch.as_torch():
        import torch.linalg
        1 / 0
except ZeroDivisionError:
    pass
assert (list(sys.meta_path), dict(os.environ)) == before and "torch.linalg" not in sys.modules
"""
    folder = tmp_path / "scripts"
    folder.mkdir()
    (folder / "helper.py").write_text("import torch\nvalue = torch\n")
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"}
    environment.pop(_hook.VARIABLE, None)
    result = warm.done("-c", source, environment=environment, seconds=120)
    assert (result.stdout, result.stderr, result.returncode) == ("", "", 0)


def test_pytest_plugin(tmp_path):
    (tmp_path / "conftest.py").write_text("import torch\nassert torch.version.mstorch\n")
    (tmp_path / "test_it.py").write_text(
        "import torch\nfrom torch import nn\n\n\ndef test_it():\n    assert nn.Linear(2, 1)(torch.ones(3, 2)).shape == (3, 1)\n"
    )
    command = ["-m", "pytest", "-p", "mstorch.pytest", "-p", "no:cacheprovider", "-v", str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": ROOT}
    result = warm.done(*command, environment=environment, folder=tmp_path, seconds=120)
    assert f"torch: mstorch {_hook.versions()[0]}" in result.stdout and "1 passed" in result.stdout, result.stdout


def test_an_unknown_name_suggests_the_nearest():
    for name, nearest in (("arnage", "arange"), ("cross_entorpy", None), ("lingspace", "linspace"), ("Tensr", "Tensor")):
        with pytest.raises(AttributeError) as caught:
            getattr(mstorch, name)
        end = f". Did you mean: '{nearest}'?" if nearest else ""
        assert str(caught.value) == f"module 'torch' has no attribute '{name}'{end}"
    with pytest.raises(AttributeError, match=r"^module 'torch.nn' has no attribute 'Linaer'\. Did you mean: 'Linear'\?$"):
        mstorch.nn.Linaer  # noqa: B018


def test_errors_of_missing_attributes():
    """What torch has is said to be lacking here; a misspelt name is not."""
    lacking = f" (mstorch {_hook.versions()[0]} does not provide it yet)"
    for module, name, end in (
        ("mstorch.nn", "x", ""), ("mstorch", "_six", ""), ("mstorch", "_fused_dropout", lacking), ("mstorch", "_sync", lacking),
        ("mstorch._inductor.config", "x", lacking),
    ):  # fmt: skip
        error = _hook.missing_attribute(module, name)
        assert str(error) == f"module '{module.replace('mstorch', 'torch')}' has no attribute '{name}'{end}"
        assert error.name == name


AT_EVERY_DEPTH = """
import resource

def called():
    return 1

def page_faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(200):
        called()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

def deep(levels):
    return page_faults() if levels == 0 else deep(levels - 1)

print(max(deep(levels) for levels in range(300)))
"""


def test_no_depth_of_calls_is_slow(tmp_path):
    assert int(ran(tmp_path, AT_EVERY_DEPTH).stdout) < 100  # one for each call at some depth, without room for the frames

"""`python -m mstorch`: what a script sees that says `import torch`, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import mstorch
from mstorch import __main__, _hook

ROOT = str(Path(mstorch.__file__).parents[1])


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess:
    """Run `python -m mstorch …`; mstorch need not be installed."""
    environment = os.environ | {"PYTHONPATH": ROOT, "GLOG_v": "3"}
    command = [sys.executable, "-m", "mstorch", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120, check=False)


def ran(tmp_path: Path, source: str, *arguments: str) -> subprocess.CompletedProcess:
    """Write a script into a folder of its own and run it from the outside."""
    folder = tmp_path / "scripts"
    folder.mkdir()
    (folder / "helper.py").write_text("import torch\nvalue = torch\n")
    (folder / "script.py").write_text(source)
    return run("scripts/script.py", *arguments, cwd=tmp_path)


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
    not_yet = f"(mstorch {_hook.__version__} does not provide it yet)"
    assert result.stdout.splitlines() == [
        f"No module named 'torch.no_such_thing' {not_yet} torch.no_such_thing",
        f"module 'torch' has no attribute 'no_such_name' {not_yet}",
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
    rows = dict(line.split(maxsplit=1) for line in result.stdout.splitlines())
    assert rows["mstorch"] == _hook.__version__
    assert {"python", "platform", "mindspore", "numpy", "device", "tuning"} <= set(rows)


def test_scan(tmp_path, capsys):
    (tmp_path / "uses.py").write_text(
        "import torch\n"
        "import torch.no_package.inner as inner\n"
        "from torch import Tensor as T, no_name\n"
        "from torch.autograd import no_grad, no_grad_at_all\n"
        "import torchvision\n"
        "x = torch.ones(2).no_method_is_seen()\n"
        "y = torch.no_function(torch.Tensor.no_such_method, T.add)\n"
        "inner.f(torch.float32.itemsize, torchvision.models)\n"
    )
    (tmp_path / "fine.py").write_text("import torch\ntorch.ones(2)\n")
    assert __main__.main(["scan", str(tmp_path)]) == 1
    file = tmp_path / "uses.py"
    assert capsys.readouterr().out.splitlines() == [
        f"{file}:2 torch.no_package",
        f"{file}:3 torch.no_name",
        f"{file}:4 torch.autograd.no_grad_at_all",
        f"{file}:7 torch.Tensor.no_such_method",
        f"{file}:7 torch.no_function",
        f"{file}:8 torch.no_package",
        "5 names missing, 6 uses, in 2 files",
    ]
    assert __main__.main(["scan", str(tmp_path / "fine.py")]) == 0
    assert capsys.readouterr().out == "0 names missing, 0 uses, in 1 files\n"


def test_bad_command_lines(tmp_path, capsys):
    (tmp_path / "broken.py").write_text("x = (")
    assert __main__.main([]) == 2
    assert __main__.main(["--no-such-option"]) == 2
    assert __main__.main(["-m"]) == 2
    assert __main__.main(["scan"]) == 2
    assert __main__.main([str(tmp_path / "none.py")]) == 2
    assert "can't open file" in capsys.readouterr().err
    assert __main__.main(["scan", str(tmp_path)]) == 1
    assert "broken.py: cannot be read" in capsys.readouterr().err


def test_torch_that_is_already_there():
    assert "torch" in sys.modules or __import__("torch")
    with pytest.raises(RuntimeError, match="torch is already imported in this process"):
        _hook.install()


def test_errors_of_missing_attributes():
    error = _hook.missing_attribute("mstorch.nn", "x")
    assert str(error) == f"module 'torch.nn' has no attribute 'x' (mstorch {_hook.__version__} does not provide it yet)"
    assert error.name == "x"

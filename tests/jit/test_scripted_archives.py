"""TorchScript archives that mstorch writes of scripted modules and functions: real torch loads them, and computes the same."""
from __future__ import annotations

import io
import json
import random
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import mstorch
from mstorch import nn
from tests.chosen import chosen
from tests.jit.ours import ROOT, differs_in_torch, scripts

pytestmark = pytest.mark.filterwarnings("ignore")
NAMES = list(scripts())
UNWRITTEN = {"packed_sequences": "a call of 'pack_padded_sequence'"}
R = mstorch.randn


@pytest.fixture(scope="module")
def written(request: pytest.FixtureRequest, tmp_path_factory: Any) -> tuple[Path, dict[str, str]]:
    """The folder of the archives that mstorch, imported as torch, writes in another process, and what is wrong by name."""
    folder = tmp_path_factory.mktemp("scripts")
    command = [sys.executable, "-m", "tests.jit.ours", *chosen(request), "--stage", "scripts", "--folder", str(folder)]
    run = subprocess.run(command, cwd=ROOT, text=True, capture_output=True)
    told = [line for line in run.stdout.splitlines() if line.startswith("TOLD ")]
    assert told, run.stderr
    return folder, json.loads(told[0][5:])


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_torch_computes_what_mstorch_writes_of_scripts(name: str, written: tuple[Path, dict[str, str]]) -> None:
    folder, told = written
    if name in UNWRITTEN:
        assert UNWRITTEN[name] in told[name]
        return
    assert told[name] == ""  # written, loaded and computed by mstorch
    assert differs_in_torch(folder / f"own, {name}.scripted") == ""


class Inner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.norm = nn.BatchNorm1d(3)
        self.register_buffer("calls", mstorch.zeros(1))

    def forward(self, x: mstorch.Tensor, steps: int = 2) -> mstorch.Tensor:
        for _ in range(steps):
            x = self.norm(self.linear(x)).relu()
        self.calls += 1
        return x

    @mstorch.jit.export
    def guarded(self, x: mstorch.Tensor) -> mstorch.Tensor:
        if x.size(0) > 3:
            raise ValueError(f"{x.size(0)} rows")
        assert x.dim() == 2, "a matrix is needed"
        return x


def test_gradients_state_errors_and_modes() -> None:
    mstorch.manual_seed(0)
    network, file = Inner(), io.BytesIO()
    mstorch.jit.save(mstorch.jit.script(network), file)
    program, own = torch.jit.load(io.BytesIO(file.getvalue())), mstorch.jit.load(io.BytesIO(file.getvalue()))
    assert [name for name, _ in program.named_modules()] == [name for name, _ in network.named_modules()]
    assert list(program.state_dict()) == list(network.state_dict()) == list(own.state_dict())
    x = R(4, 3)
    for library, other in ((torch, program), (mstorch, own)):
        for training in (True, False):
            network.train(training), other.train(training)
            network.zero_grad(), other.zero_grad()
            before = {key: value.clone() for key, value in network.state_dict().items()}
            want, got = network(x, 3), other(library.tensor(x.numpy()), 3)
            want.square().sum().backward(), got.square().sum().backward()
            np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), rtol=1e-4, atol=1e-5)
            for (key, one), (_, two) in zip(network.named_parameters(), other.named_parameters()):
                np.testing.assert_allclose(two.grad.numpy(), one.grad.numpy(), rtol=1e-3, atol=1e-4, err_msg=key)
            for key, value in other.state_dict().items():
                np.testing.assert_allclose(value.numpy(), network.state_dict()[key].numpy(), rtol=1e-4, atol=1e-5, err_msg=key)
            assert training is False or not mstorch.equal(before["calls"], network.calls)
        network.load_state_dict(mstorch.jit.load(io.BytesIO(file.getvalue())).state_dict())
        with pytest.raises(library.jit.Error, match="builtins.ValueError: 4 rows"):
            other.guarded(library.ones(4, 2))
        with pytest.raises(library.jit.Error, match="AssertionError: a matrix is needed"):
            other.guarded(library.ones(2))


def test_modules_of_the_same_text_share_a_class() -> None:
    file = io.BytesIO()
    mstorch.jit.save(mstorch.jit.script(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 3))), file)
    with zipfile.ZipFile(file) as archive:
        text = next(archive.read(name).decode() for name in archive.namelist() if name.endswith("linear.py"))
    assert text.count("class Linear(Module)") == 1
    with zipfile.ZipFile(file) as archive:
        assert sum("/linear" in name for name in archive.namelist()) == 2  # the class of other constants has a name of its own
    assert torch.jit.load(io.BytesIO(file.getvalue()))(torch.ones(1, 2)).shape == (1, 3)


def _tried(x: mstorch.Tensor) -> mstorch.Tensor:
    try:  # line
        return x + 1
    except RuntimeError:
        return x


def _with_lambda(x: mstorch.Tensor) -> mstorch.Tensor:
    f = lambda y: y + 1  # line
    return f(x)


def _with_python(x: mstorch.Tensor) -> mstorch.Tensor:
    return x * random.random()  # line


def _with_numpy(x: mstorch.Tensor) -> mstorch.Tensor:
    return x + np.pi * np.sum(x)  # line


def _mixed(x: mstorch.Tensor) -> mstorch.Tensor:
    items = [x, 1, "a"]  # line
    return items[0]


def _of_either(x: mstorch.Tensor, flag: bool) -> mstorch.Tensor:
    if flag:
        y = x
    else:
        y = "text"
    return y  # line


def _undefined(x: mstorch.Tensor, flag: bool) -> mstorch.Tensor:
    if flag:
        y = x
    return y  # line


def _of_none(x: mstorch.Tensor, y: mstorch.Tensor | None) -> mstorch.Tensor:
    return x + y  # line


def _wrong_result(x: mstorch.Tensor) -> str:
    return x.relu()  # line


def _unknown_method(x: mstorch.Tensor) -> mstorch.Tensor:
    return x.no_such_method()  # line


def _wrong_call(x: mstorch.Tensor) -> mstorch.Tensor:
    return mstorch.softmax(x, axis="rows")  # line


def _wrong_element(x: mstorch.Tensor) -> list[int]:
    out: list[int] = []
    out.append(x)  # line
    return out


def _starred(x: mstorch.Tensor, *rest: mstorch.Tensor) -> mstorch.Tensor:  # line
    return x


def _unknown_type(x: mstorch.Tensor, generator: random.Random) -> mstorch.Tensor:  # line
    return x


def _changing(x: mstorch.Tensor, n: int) -> mstorch.Tensor:
    y = "text"
    for i in range(n):
        y = x * i  # line
    return x if y == "text" else x + 1


def _as_condition(x: mstorch.Tensor, names: list[str]) -> mstorch.Tensor:
    if names:  # line
        return x
    return x + 1


def _generated(x: mstorch.Tensor) -> mstorch.Tensor:
    yield x  # line


def _global(x: mstorch.Tensor) -> mstorch.Tensor:
    return x + _TABLE["a"]  # line


def _formatted(x: mstorch.Tensor) -> str:
    return f"{x.dim():>4}"  # line


def _inner_function(x: mstorch.Tensor) -> mstorch.Tensor:
    def inner(y: mstorch.Tensor) -> mstorch.Tensor:  # line
        return y

    return inner(x)


def _without_annotation(x: mstorch.Tensor, state=None) -> mstorch.Tensor:  # type: ignore[no-untyped-def] # line
    return x


@mstorch.jit._overload
def _with_overloads(x: int) -> int: ...


@mstorch.jit._overload  # type: ignore[no-redef]
def _with_overloads(x: mstorch.Tensor) -> mstorch.Tensor: ...


def _with_overloads(x: Any) -> Any:  # type: ignore[no-redef]
    return x


def _calling_overloads(x: mstorch.Tensor) -> mstorch.Tensor:
    return _with_overloads(x)  # line


_TABLE = {"a": R(1)}
REFUSED: dict[str, Callable[..., Any]] = {
    function.__name__.strip("_"): function
    for function in (
        _tried, _with_lambda, _with_python, _with_numpy, _mixed, _of_either, _undefined, _of_none, _wrong_result, _unknown_method, _wrong_call,
        _wrong_element, _starred, _unknown_type, _changing, _as_condition, _generated, _global, _formatted, _inner_function,
        _without_annotation, _calling_overloads,
    )
}  # fmt: skip


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_is_no_torchscript_raises_names_the_line_and_leaves_the_file(name: str, tmp_path: Path) -> None:
    function, path = REFUSED[name], tmp_path / "program.pt"
    path.write_bytes(b"old")
    first = function.__code__.co_firstlineno
    lines = Path(__file__).read_text().splitlines()
    line = next(number for number, text in enumerate(lines[first - 1 :], first) if text.endswith("# line"))
    with pytest.raises(RuntimeError, match=rf"mstorch: torch.jit.save .*\(.*test_scripted_archives.py:{line}\)"):
        mstorch.jit.save(mstorch.jit.script(function), path)
    assert path.read_bytes() == b"old" and [entry.name for entry in tmp_path.iterdir()] == ["program.pt"]


class Ignoring(nn.Module):
    @mstorch.jit.ignore
    def drawn(self, x: mstorch.Tensor) -> mstorch.Tensor:
        return x * random.random()

    def forward(self, x: mstorch.Tensor) -> mstorch.Tensor:
        return self.drawn(x)


class Leaving(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2)])

    def forward(self, x: mstorch.Tensor) -> mstorch.Tensor:
        for layer in self.layers:
            if x.size(0) > 2:
                break
            x = layer(x)
        return x


class Choosing(Leaving):
    def forward(self, x: mstorch.Tensor, place: int) -> mstorch.Tensor:
        return self.layers[place](x)


class Holding(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.handle = random.Random()

    def forward(self, x: mstorch.Tensor) -> mstorch.Tensor:
        return x * self.handle.random()


def _hooked() -> nn.Module:
    network = nn.Sequential(nn.Linear(2, 2))
    network[0].register_forward_hook(lambda module, args, result: result + 1)
    return network


MODULES: dict[str, tuple[Callable[[], nn.Module], str]] = {
    "an ignored method": (Ignoring, "'drawn', which is ignored"),
    "a break in a loop over modules": (Leaving, "a break in a loop over modules"),
    "a module that is chosen by a value": (Choosing, "a module that is chosen by a value"),
    "an attribute of another type": (Holding, "the attribute 'handle'"),
    "hooks": (_hooked, "the hooks of Linear"),
}


@pytest.mark.parametrize("name", list(MODULES))
def test_modules_that_are_no_torchscript_raise(name: str) -> None:
    make, message = MODULES[name]
    with pytest.raises(RuntimeError, match=message):
        mstorch.jit.save(mstorch.jit.script(make()), io.BytesIO())


def _whole(x: mstorch.Tensor) -> int:
    return x.sum()


def _real(x: mstorch.Tensor) -> float:
    return x


def test_tensors_that_are_no_numbers() -> None:
    programs = []
    for function in (_whole, _real):
        file = io.BytesIO()
        mstorch.jit.save(mstorch.jit.script(function), file)
        programs.append([load(io.BytesIO(file.getvalue())) for load in (torch.jit.load, mstorch.jit.load)])
    whole, real = programs
    for library, own_whole, own_real in ((torch, whole[0], real[0]), (mstorch, whole[1], real[1])):
        assert own_whole(library.tensor([1, 2])) == 3 and own_real(library.tensor(2)) == 2.0
        for call, x, message in (
            (own_whole, library.ones(2), "a tensor of type Float as an integral argument"),
            (own_real, library.ones(1), "a tensor of dimension other than 0"),
            (own_real, library.tensor(1.0, requires_grad=True), "a tensor that requires grad"),
        ):
            with pytest.raises(RuntimeError, match=f"Cannot input {message}"):
                call(x)

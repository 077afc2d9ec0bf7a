"""torch.jit: scripted and traced code returns torch's results, although Python runs it here."""
from __future__ import annotations

import copy
import importlib
import io
import os
import pickle
import subprocess
import sys
import textwrap
import threading

import pytest

import mstorch
from mstorch._src.serialization import atomic
from mstorch.jit import _archive
from tests.against_torch import both


def double(x):
    return x * 2


class Gate(mstorch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = mstorch.nn.Linear(3, 2)
        self.register_buffer("scale", mstorch.tensor(2.0))
        self.drop = mstorch.nn.Dropout(0.5)
        self.power = 3

    def forward(self, x):
        y = self.drop(self.linear(x)) * self.scale
        return y if mstorch.jit.is_scripting() else y + 0


def _network(torch):
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Sequential(torch.nn.Dropout(0.5)))


@pytest.mark.parametrize("make", ["script", "trace"])
def test_modules_share_their_parameters(make):
    def body(torch):
        net, x = _network(torch), torch.randn(5, 3)
        made = torch.jit.script(net) if make == "script" else torch.jit.trace(net, x, check_trace=False)
        made(x).sum().backward()
        results = [
            net[0].weight.grad.clone(), list(made.state_dict()), [name for name, _ in made.named_modules()], repr(made),
            next(made.parameters()) is net[0].weight, isinstance(made, torch.jit.ScriptModule), isinstance(made, torch.nn.Module),
            made.original_name,
        ]  # fmt: skip
        made.eval()
        results += [made.training, net.training, made(x)]
        made.double()
        results += [net[0].weight.dtype, made(x.double())]
        made.load_state_dict({name: torch.zeros_like(value) for name, value in made.state_dict().items()})
        return [*results, net[0].weight.detach(), made(x.double())]

    both(body, rtol=1e-4)


def _of_numbers(x, p: float, n: int = 1, q: float | None = None, r: list[float] | None = None):
    return p, n, q, r, x * p


class _OfNumbers(mstorch.nn.Module):
    def forward(self, x, p: float, n: int = 2):
        return p, n, x * p


def test_numbers_arrive_as_what_they_are_annotated():
    def body(torch):
        made, x = torch.jit.script(_of_numbers), torch.tensor([1, 2])
        return [
            made(x, 2), made(x, p=True), made(x, torch.tensor(2)), made(x, torch.tensor([2.5]), torch.tensor(3.7)), made(x, 1, True, 3, [1, 2]),
            made(x, 0.5, q=torch.tensor(2), r=(1, 2.5)), made(x, 1.5, 2, None, None),
        ]  # fmt: skip

    both(body)


def test_numbers_arrive_in_forward_and_in_files(tmp_path):
    made = mstorch.jit.script(_OfNumbers())
    made.save(tmp_path / "numbers.pt")
    for net in (made, mstorch.jit.load(tmp_path / "numbers.pt", weights_only=False), copy.deepcopy(made)):
        p, n, product = net(mstorch.tensor([1, 2]), 2, n=True)
        assert (type(p), type(n), str(product.dtype)) == (float, int, "torch.float32")


def test_marks_and_annotations():
    def body(torch):
        class Net(torch.nn.Module):
            size: torch.jit.Final[int]

            def __init__(self):
                super().__init__()
                self.size = 3

            @torch.jit.export
            def more(self, x: torch.Tensor) -> torch.Tensor:
                return x + self.size

            @torch.jit.ignore
            def aside(self, x: int) -> int:
                return x

            @torch.jit.unused
            def never(self, x: int) -> int:
                return x

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return self.more(x)

        internal = importlib.import_module(f"{torch.__name__}._jit_internal")
        marks = [internal.get_torchscript_modifier(f) for f in (Net.more, Net.aside, Net.never, Net.forward)]
        return [marks, Net().forward(torch.ones(2)), torch.jit.annotate(list, [1]), tuple(torch.jit.Attribute(1, int)),
                torch.jit.is_scripting(), torch.jit.is_tracing()]  # fmt: skip

    both(body)
    both(lambda torch: torch.jit.ignore(3))


@pytest.mark.parametrize("value, kind", [
    ([1], list[int]), ([1, "a"], list[int]), ([], list[str]), ({"a": 1}, dict[str, int]), ((1, "a"), tuple[int, str]),
    ((1,), tuple[int, str]), (None, int | None), (3, int | None), ("a", int | None), ([[1]], list[list[int]]), (3, (int, str)),
    ([1], list), ({}, dict), ((), tuple),
], ids=str)  # fmt: skip
def test_isinstance(value, kind):
    both(lambda torch: torch.jit.isinstance(value, kind))


def test_functions():
    def body(torch):
        traced = torch.jit.trace(double, torch.ones(2))
        wrapped = torch.jit.script_if_tracing(double)
        return [
            traced(torch.arange(3.0)), traced.name, wrapped(torch.ones(1)), torch.jit.wait(torch.jit.fork(double, torch.ones(2))),
            torch.jit.trace(lambda x: (x, [x + 1]), torch.ones(2), strict=False)(torch.zeros(2)),
        ]  # fmt: skip

    both(body)
    both(lambda torch: torch.jit.trace(lambda x: "text", torch.ones(1)))
    both(lambda torch: torch.jit.trace(lambda x: {"a": x}, torch.ones(1)))
    both(lambda torch: torch.jit.script(3))
    both(lambda torch: torch.jit.freeze(torch.nn.Linear(2, 2)))
    both(lambda torch: torch.jit.freeze(torch.jit.script(torch.nn.Linear(2, 2))))


def test_frozen():
    def body(torch):
        net = torch.nn.Linear(2, 2).eval()
        frozen = torch.jit.freeze(torch.jit.script(net))
        x = torch.ones(1, 2, requires_grad=True)
        before = frozen(x)
        torch.nn.init.zeros_(net.weight)
        return list(frozen.state_dict()), before, frozen(x), repr(frozen), type(frozen).__name__

    both(body)


def test_modes():
    seen = []

    def look(x):
        seen.append((mstorch.jit.is_scripting(), mstorch.jit.is_tracing()))
        return x

    scripted = mstorch.jit.script(look)
    scripted(mstorch.ones(1))
    threading.Thread(target=look, args=(1,)).start()
    traced = mstorch.jit.trace(look, mstorch.ones(1))
    traced(mstorch.ones(1))
    assert seen == [(True, False), (False, False), (False, True), (False, False)]


PARAMETRIZED = {
    "registered": lambda torch, net: torch.nn.utils.parametrize.register_parametrization(net, "weight", torch.nn.Softplus()),
    "weight_norm": lambda torch, net: torch.nn.utils.parametrizations.weight_norm(net),
    "spectral_norm": lambda torch, net: torch.nn.utils.parametrizations.spectral_norm(net.eval()),
    "below": lambda torch, net: torch.nn.Sequential(torch.nn.utils.parametrizations.orthogonal(net)),
}


@pytest.mark.parametrize("name", PARAMETRIZED)
def test_parametrized_modules_are_traced(name):
    def body(torch):
        torch.manual_seed(0)
        net = torch.nn.Linear(2, 2)
        net = PARAMETRIZED[name](torch, net) or net
        x = torch.tensor([[1.0, 2.0]])
        made = torch.jit.trace(net, x)
        made(x).sum().backward()
        grads = {key: value.grad for key, value in net.named_parameters()}
        return made(x).detach(), sorted(made.state_dict()), grads, torch.equal(made(x), net(x)), type(made).__name__

    both(body, rtol=1e-4)


class _Full(io.FileIO):
    """A file on a disk without room."""

    def write(self, data):
        raise OSError(28, "No space left on device")


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "net.pt"
    made = mstorch.jit.trace(Gate(), mstorch.ones(1, 3))
    mstorch.jit.save(made, path)
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(atomic, "open", lambda name, mode: _Full(name, mode.replace("b", "")), raising=False)
        with pytest.raises(RuntimeError, match="file write failed: .*No space left on device"):
            mstorch.jit.save(made, path)
        with pytest.raises(RuntimeError, match="file write failed: .*No space left on device"):
            made.save(str(path))
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["net.pt"]


@mstorch.jit.script
def tripled(x: mstorch.Tensor) -> mstorch.Tensor:
    return x * 3


def test_files(tmp_path):
    net = Gate()
    x = mstorch.ones(1, 3)
    made = mstorch.jit.script(net).eval()
    for target in (tmp_path / "net.pt", io.BytesIO()):
        mstorch.jit.save(made, target, _extra_files={"note": "text"})
        if isinstance(target, io.BytesIO):
            target.seek(0)
        extra = {"note": ""}
        back = mstorch.jit.load(target, _extra_files=extra)
        assert extra == {"note": b"text"} and back.power == 3
        assert mstorch.equal(back(x), made(x)) and not back.training
        assert list(back.state_dict()) == list(net.state_dict())
    assert mstorch.equal(copy.deepcopy(made)(x), made(x))


def _old_file(made, target):
    """Write a file with the Python object, as mstorch 0.3 wrote scripted modules and functions."""
    with open(target, "wb") as file:
        _archive._write_object(made, file, {"note": "text"})


def test_former_files_of_modules(tmp_path):
    net, x = Gate(), mstorch.ones(1, 3)
    made, extra = mstorch.jit.script(net).eval(), {"note": ""}
    _old_file(made, tmp_path / "net.pt")
    back = mstorch.jit.load(tmp_path / "net.pt", _extra_files=extra, weights_only=False)
    assert extra == {"note": b"text"} and type(back) is type(made) and back.power == 3
    assert mstorch.equal(back(x), made(x)) and not back.training and list(back.state_dict()) == list(net.state_dict())
    back.train()
    assert back._python.training


def test_former_files_of_functions_and_what_is_no_file(tmp_path, monkeypatch):
    _old_file(tripled, tmp_path / "f.pt")
    for trusted in ({"weights_only": False}, {}):  # the second load: this process wrote the file
        assert mstorch.jit.load(tmp_path / "f.pt", **trusted)(mstorch.ones(1)).item() == 3
    with pytest.raises(pickle.UnpicklingError, match="Unsupported global"):
        mstorch.jit.load(tmp_path / "f.pt", weights_only=True)
    monkeypatch.setattr(_archive, "_written", set())  # from now on the file counts as another process's
    with pytest.raises(pickle.UnpicklingError, match=r"Unsupported global: GLOBAL tests.jit.test_jit.tripled"):
        mstorch.jit.load(tmp_path / "f.pt")
    with mstorch.serialization.safe_globals([(tripled, "tests.jit.test_jit.tripled")]):
        assert mstorch.jit.load(tmp_path / "f.pt")(mstorch.ones(1)).item() == 3
    mstorch.save({"a": 1}, tmp_path / "h.pt")
    with pytest.raises(RuntimeError, match="failed locating file constants.pkl"):
        mstorch.jit.load(tmp_path / "h.pt")
    with pytest.raises(ValueError, match="does not exist"):
        mstorch.jit.load(tmp_path / "nothing.pt")


def test_code():
    assert mstorch.jit.script(mstorch.nn.Linear(1, 1)).code.startswith("def forward(self, input: Tensor) -> Tensor:\n")
    assert tripled.code == "def forward(self, x: Tensor) -> Tensor:\n  return (x * 3)\n"
    assert [node.kind() for node in tripled.graph.nodes()] == ["prim::Constant", "aten::mul"]
    with pytest.raises(AttributeError, match=r"a lambda.*test_jit.py:\d+"):
        _ = mstorch.jit.script(lambda x: x).code


def test_scripted_functions_in_classes_bind_no_instance():
    def body(torch):
        class Holder:
            scripted, traced = torch.jit.script(_scaled), torch.jit.trace(_scaled, torch.ones(1))

        x = torch.ones(2)
        return Holder().scripted(x, factor=3), Holder.scripted(x), Holder().traced(x), Holder.scripted.__name__, Holder.scripted.name

    both(body)


def _scaled(x, factor: float = 2.0):
    return x * factor


@pytest.mark.slow
def test_pytorch_jit_0_leaves_functions_and_modules_alone(tmp_path):
    program = """
        def same(x):
            return x

        net = torch.nn.Linear(2, 2)
        print(torch.jit.script(net) is net, torch.jit.script(same) is same, torch.jit.trace(same, torch.ones(2)) is same)
        print(torch.jit.trace_module(net, {"forward": torch.ones(1, 2)}) is net, bool(torch.jit._state._enabled))
        torch.jit._state.disable()
        print(torch.jit.script(net) is net)
    """
    for setting, expected in (("0", "True True True\nTrue False\nTrue\n"), ("1", "False False False\nFalse True\nTrue\n")):
        for library in ("torch", "mstorch"):
            script = tmp_path / "script.py"
            script.write_text(f"import {library} as torch\n" + textwrap.dedent(program))
            environment = {**os.environ, "PYTORCH_JIT": setting, "PYTHONWARNINGS": "ignore"}
            run = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True)
            assert run.stdout == expected, run.stderr
    wrong = subprocess.run([sys.executable, "-c", "import mstorch.jit"], env={**os.environ, "PYTORCH_JIT": "2"}, capture_output=True, text=True)
    assert "ValueError: Unknown setting of PYTORCH_JIT" in wrong.stderr

"""TorchScript archives that real torch writes: mstorch loads them, and computes the same."""
from __future__ import annotations

import ast
import copy
import io
import zipfile
from typing import Any

import numpy as np
import pytest
import torch

import mstorch
from tests.against_torch import same
from tests.jit import torchscript_operators  # noqa: F401 - registers its samples
from tests.jit.torchscript_samples import SAMPLES
from tests.saved import saved

pytestmark = pytest.mark.filterwarnings("ignore")


def ours(value: Any) -> Any:
    """Return a value of torch as one of mstorch."""
    if isinstance(value, torch.Tensor):
        made = mstorch.tensor(value.detach().numpy().copy())
        return made.requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)):
        return type(value)(map(ours, value)) if not hasattr(value, "_fields") else type(value)(*map(ours, value))
    return {key: ours(item) for key, item in value.items()} if isinstance(value, dict) else value


def leaves(value: Any) -> list[Any]:
    """Return the floating-point tensors of a result that are differentiable."""
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item)]
    if isinstance(value, dict):
        return leaves(list(value.values()))
    return [value] if hasattr(value, "grad_fn") and value.grad_fn is not None and not value.is_complex() else []


def loss(value: Any) -> Any:
    """Return a number that depends on all differentiable tensors of a result; None if there are none."""
    parts = [(leaf * leaf).sum() + leaf.sum() for leaf in leaves(value)]
    return sum(parts) if parts else None


def tracked(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments, the floating-point tensors with gradients."""
    return tuple(arg.clone().requires_grad_() if isinstance(arg, torch.Tensor) and arg.is_floating_point() else arg for arg in args)


def compare(theirs: Any, own: Any, args: tuple[Any, ...]) -> None:
    """Compare a call of both programs: results, gradients of parameters and arguments, and the state afterwards."""
    args = tracked(args)
    given = ours(args)
    want, got = theirs(*args), own(*given)
    same(want, got, rtol=1e-4, atol=1e-5, strides=False)
    number, other = loss(want), loss(got)
    assert (number is None) == (other is None)
    if number is None:
        return
    number.backward()
    other.backward()
    for place, (one, two) in enumerate(zip(args, given)):
        if isinstance(one, torch.Tensor) and one.grad is not None:
            np.testing.assert_allclose(two.grad.numpy(), one.grad.numpy(), rtol=1e-3, atol=2e-4, err_msg=f"gradient of argument {place}")
    for (name, one), (_, two) in zip(theirs.named_parameters(), own.named_parameters()):
        assert (one.grad is None) == (two.grad is None), f"gradient of {name}"
        if one.grad is not None:
            np.testing.assert_allclose(two.grad.numpy(), one.grad.numpy(), rtol=1e-3, atol=2e-4, err_msg=f"gradient of {name}")


@pytest.mark.sweep
@pytest.mark.parametrize("name", list(SAMPLES))
def test_archive_computes_the_same(name: str) -> None:
    torch.manual_seed(0)
    program, args = SAMPLES[name]()
    file = saved(torch.jit.save, program)
    theirs, own = torch.jit.load(io.BytesIO(file.getvalue())), mstorch.jit.load(file)
    assert list(theirs.state_dict()) == list(own.state_dict())
    assert [name for name, _ in theirs.named_modules()] == [name for name, _ in own.named_modules()]
    twin = copy.deepcopy(own)
    compare(theirs, own, args)
    same(dict(theirs.state_dict()), dict(own.state_dict()), rtol=1e-4, atol=1e-5, strides=False)
    fresh = torch.jit.load(io.BytesIO(file.getvalue()))
    same(fresh(*args), twin(*ours(args)), rtol=1e-4, atol=1e-5, strides=False)  # a copy shares no state
    theirs.eval(), own.eval()
    same(theirs(*args), own(*ours(args)), rtol=1e-4, atol=1e-5, strides=False)


def _added(self: Any, input: tuple[torch.Tensor]) -> torch.Tensor:
    return input[0] + 1


def _seen(self: Any, input: tuple[torch.Tensor]) -> None:
    print(input[0].sum())


def _subtracted(self: Any, input: tuple[torch.Tensor], output: torch.Tensor) -> torch.Tensor:
    return output - input[0] * 100


def _moved(self: Any, input: tuple[torch.Tensor], output: torch.Tensor) -> torch.Tensor:
    return output + 7


class _Tripled(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 3


class _Hooked(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = _Tripled()
        self.inner.register_forward_pre_hook(_added)
        self.inner.register_forward_hook(_moved)
        self.register_forward_pre_hook(_added)
        self.register_forward_pre_hook(_seen)
        self.register_forward_hook(_subtracted)
        self.register_forward_hook(_moved)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x)

    @torch.jit.export
    def other(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x) + 1


def test_hooks_run_where_torch_runs_them() -> None:
    file = saved(torch.jit.save, torch.jit.script(_Hooked()))
    theirs, own = torch.jit.load(io.BytesIO(file.getvalue())), mstorch.jit.load(file)
    for module in (own, copy.deepcopy(own)):
        x, y = torch.ones(2, requires_grad=True), mstorch.ones(2, requires_grad=True)
        for call in (
            lambda module: module, lambda module: module.forward, lambda module: module.inner, lambda module: module.inner.forward,
            lambda module: module.other,
        ):  # fmt: skip
            same(call(theirs)(x), call(module)(y), strides=False)
        theirs(x).sum().backward()
        module(y).sum().backward()
        same(x.grad, y.grad)
        for kind in ("_forward_hooks", "_forward_pre_hooks"):
            assert len(getattr(theirs, kind)) == len(getattr(module, kind)) == 2


def archive(name: str) -> io.BytesIO:
    """Return the archive of a sample."""
    torch.manual_seed(0)
    return saved(torch.jit.save, SAMPLES[name]()[0])


def said(call: Any) -> str:
    """Return the kind and text of the exception that a call raises."""
    with pytest.raises(Exception) as caught:
        call()
    return f"{caught.type.__name__}: {caught.value}"


def loaded(name: str, **options: Any) -> tuple[Any, Any]:
    """Return a sample as torch and as mstorch load it."""
    file = archive(name)
    return torch.jit.load(io.BytesIO(file.getvalue()), **options), mstorch.jit.load(file, **options)


def test_code_attributes_methods_and_wrong_arguments() -> None:
    theirs, own = loaded("methods")
    assert own.code == theirs.code and own.original_name == theirs.original_name
    assert repr(own) == repr(theirs)
    x = torch.randn(2)
    same(theirs.halved(x, times=3), own.halved(ours(x), times=3))
    for args in ((), (3,), (x, 1.5), (x, 1, 2)):
        want, got = said(lambda: theirs.halved(*args)), said(lambda: own.halved(*ours(args)))
        assert got.split("\n")[0] == want.split("\n")[0]
    for name in ("halved", "guarded", "forward"):
        assert callable(getattr(own, name))
    with pytest.raises(AttributeError):
        own.absent  # noqa: B018
    want, got = said(lambda: theirs.guarded(-x.abs(), True)), said(lambda: own.guarded(ours(-x.abs()), True))
    assert want.split(":")[0] == got.split(":")[0] == "Error"
    assert want.strip().split("\n")[-1] == got.strip().split("\n")[-1] == "builtins.ValueError: negative: 1"


def test_constants_are_attributes_and_modes_are_set() -> None:
    theirs, own = loaded("convolutions")
    modules = list(zip(theirs.modules(), own.modules()))
    assert [one.training for one, _ in modules] == [two.training for _, two in modules]
    theirs.train(), own.train()
    assert all(two.training for _, two in modules)
    batch_norm = dict(own.named_modules())["1"]
    assert batch_norm.eps == dict(theirs.named_modules())["1"].eps == 1e-5
    x = torch.randn(2, 3, 12, 12)
    same(theirs(x), own(ours(x)), rtol=1e-4, atol=1e-5)
    same(dict(theirs.state_dict()), dict(own.state_dict()), rtol=1e-4, atol=1e-5, strides=False)


def test_state_dict_is_loaded_into_weights_that_lists_hold_too() -> None:
    theirs, own = loaded("recurrent")
    args = (torch.randn(2, 3, 4), torch.randn(1, 2, 6))
    state = {name: torch.randn_like(value) for name, value in theirs.state_dict().items()}
    theirs.load_state_dict(state)
    own.load_state_dict({name: ours(value) for name, value in state.items()})
    same(theirs(*args), own(*ours(args)), rtol=1e-4, atol=1e-5, strides=False)
    theirs.double(), own.double()
    assert {str(value.dtype) for value in own.state_dict().values()} == {"torch.float64"}
    double = tuple(arg.double() for arg in args)
    same(theirs(*double), own(*ours(double)), strides=False)


def test_an_optimizer_trains_it() -> None:
    theirs, own = loaded("mlp")
    x = torch.randn(4, 6)
    for library, module, value in ((torch, theirs, x), (mstorch, own, ours(x))):
        optimizer = library.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)
        for _ in range(3):
            optimizer.zero_grad()
            module(value)[:, 0].sum().backward()
            optimizer.step()
    same(dict(theirs.state_dict()), dict(own.state_dict()), strides=False)


@pytest.mark.parametrize("place", ["cpu", None])
def test_extra_files_and_places(tmp_path: Any, place: str | None) -> None:
    path = tmp_path / "net.pt"
    torch.jit.save(SAMPLES["mlp"]()[0], path, _extra_files={"a.txt": b"\x00text"})
    want, got = {"a.txt": "", "b.txt": ""}, {"a.txt": "", "b.txt": ""}
    torch.jit.load(path, map_location=place, _extra_files=want)
    mstorch.jit.load(path, map_location=place, _extra_files=got)
    assert got == want == {"a.txt": b"\x00text", "b.txt": b""}


def test_frozen() -> None:
    _, own = loaded("convolutions")
    x = mstorch.randn(2, 3, 12, 12)
    frozen = mstorch.jit.freeze(own.eval())
    assert not frozen.state_dict()
    assert mstorch.equal(frozen(x), own(x))


FORMER = {
    # operators whose meaning has changed: the text of a method, as archives of older versions have it
    "quotients": "return (torch.div(i, j), torch.div(x, i), torch.div(i, 2), torch.div(i, 2.), torch.div_(torch.add(i, 5), j), torch.div(x, 2), torch.div(i, j, rounding_mode=\"floor\"))",
    "quotients_by_out": "return (torch.div(i, j, out=torch.empty_like(i)), torch.div(x, i, out=torch.empty_like(x)))",
    "filled": "return (torch.full([2], 3), torch.full([2], True, dtype=None), torch.full([2], 3, dtype=4), torch.full([2], 2.5))",
    "spaced": "return (torch.linspace(0, 1, None), torch.linspace(0, 1, 5), torch.logspace(0, 1, None, 2.), torch.linspace(0, 1, None, dtype=7))",
    "curved": "return (torch.gelu(x), torch.mul(x, 2))",
}
_BUMPED = {"quotients": 4, "quotients_by_out": 4, "filled": 5, "spaced": 8, "curved": 10}


def _of_version(name: str, version: int) -> io.BytesIO:
    """Return an archive that holds a method's text, of a version of operators."""
    text = f"class Net(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n  def forward(self: __torch__.Net,\n    x: Tensor,\n    i: Tensor,\n    j: Tensor) -> Any:\n    {FORMER[name]}\n"
    text = text.replace(" -> Any", f" -> Tuple[{', '.join(['Tensor'] * len(_items(name)))}]")
    pickled = b"\x80\x02c__torch__\nNet\n)\x81}X\x08\x00\x00\x00training\x89sb."
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for title, data in {"data.pkl": pickled, "code/__torch__.py": text.encode(), "constants.pkl": b"\x80\x02).", "version": f"{version}\n".encode()}.items():
            archive.writestr(f"net/{title}", data)
    file.seek(0)
    return file


def _items(name: str) -> list[Any]:
    (result,) = ast.parse(f"def f():\n  {FORMER[name]}").body[0].body  # type: ignore[attr-defined]
    return result.value.elts


@pytest.mark.parametrize("name", list(FORMER))
def test_operators_of_older_versions(name: str) -> None:
    args = (torch.tensor([1.5, -7.0]), torch.tensor([7, -7]), torch.tensor([2, 2]))
    results = {}
    for version in range(2, 12):
        text = _of_version(name, version).getvalue()
        want, got = said_or_done(lambda: torch.jit.load(io.BytesIO(text))(*args)), said_or_done(lambda: mstorch.jit.load(io.BytesIO(text))(*ours(args)))
        assert (type(want) is str) == (type(got) is str), (version, want, got)
        if type(want) is not str:
            same(want, got, rtol=1e-6, atol=1e-7)
            results[version] = want
    assert _BUMPED[name] - 1 in results  # the older form is run by torch too


def said_or_done(call: Any) -> Any:
    """Return what a call returns, or the text of what it raises."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - that there is one is the result
        return f"{type(error).__name__}: {error}"


def _as_version(file: io.BytesIO, version: int) -> bytes:
    """Return an archive with another version of its operators."""
    changed = io.BytesIO()
    with zipfile.ZipFile(file) as archive, zipfile.ZipFile(changed, "w") as other:
        for name in archive.namelist():
            other.writestr(name, f"{version}\n".encode() if name.endswith("version") and name.count("/") == 1 else archive.read(name))
    return changed.getvalue()


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["mlp", "convolutions", "recurrent", "loops", "divisions", "factories", "embeddings"])
def test_archives_of_older_versions_compute_what_torch_computes(name: str) -> None:
    torch.manual_seed(0)
    program, args = SAMPLES[name]()
    program.eval()
    file, run = saved(torch.jit.save, program), 0
    for version in range(2, 11):
        data = _as_version(file, version)
        want = said_or_done(lambda: torch.jit.load(io.BytesIO(data))(*args))
        got = said_or_done(lambda: mstorch.jit.load(io.BytesIO(data))(*ours(args)))
        assert (type(want) is str) == (type(got) is str), (version, want, got)
        if type(want) is not str:
            same(want, got, rtol=1e-4, atol=1e-5, strides=False)
            run += 1
    assert run >= 5

"""Complex numbers of half precision: casts, views, operations of torch's CPU, errors, random numbers, files."""
from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np
import pytest
import torch as real_torch

import mstorch

OTHERS = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()
NAN, INF = float("nan"), float("inf")
FIRST = [1.5 + 2j, -3 - 0.25j, 0, 65504, 1e-7 + 1e5j, -0.3333 + 7.77j, complex(NAN, 1), complex(-INF, 2)]
SECOND = [2 - 1j, 1 + 1j, 3, 4j, 0.1, 1e-5j, 2, 3j]


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls the dtype experimental
        yield


def _made(library: Any, values: Any) -> Any:
    return library.tensor(values, dtype=library.complex64).to(library.chalf)


def _shown(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_shown(item) for item in value]
    if hasattr(value, "dtype") and hasattr(value, "stride"):
        plain = value.detach().resolve_conj()
        return str(value.dtype), tuple(value.shape), tuple(value.stride()), repr(plain.tolist())
    return repr(value)


def _told(library: Any, call: Any) -> Any:
    try:
        return _shown(call(library))
    except Exception as error:  # noqa: BLE001 - which one is compared
        return type(error).__name__


def _same(call: Any) -> None:
    assert _told(mstorch, call) == _told(real_torch, call)


@pytest.mark.parametrize("name", OTHERS)
def test_casts(name: str) -> None:
    _same(lambda t: _made(t, FIRST[:4]).to(getattr(t, name)))
    numbers = [True, False] if name == "bool" else [1.5, 2, 1e5, 70000.0] if "float" in name or "complex" in name else [1, 2, 100]
    _same(lambda t: t.tensor(numbers, dtype=getattr(t, name)).to(t.chalf))
    _same(lambda t: str(t.promote_types(t.chalf, getattr(t, name))))
    _same(lambda t: (t.can_cast(t.chalf, getattr(t, name)), t.can_cast(getattr(t, name), t.chalf)))


COMPUTED = (
    "x+y x-y x*y x*2.5 2j*x 1-x x+1 -x x.abs() x.conj() x.conj_physical() x.real x.imag x.isnan() x.isinf() x.isfinite() x==y x!=y "
    "x.any() x.all() t.nonzero(x) t.view_as_real(x) x.clone() t.cat([x,y]) t.stack([x,y]) x[2:5] x.reshape(2,4).t() "
    "t.outer(y,y) t.where(x==y,x,y) x.index_select(0,t.tensor([1,0])) x[t.tensor([3,1])] x.masked_fill(x==x,2j) "
    "x.index_fill(0,t.tensor([1]),1) x.repeat(2) x.view(t.int32) x.view(t.half) t.tril(x.reshape(2,4)) t.zeros_like(x) t.ones_like(x) "
    "t.full((2,),1+2j,dtype=t.chalf) t.tensor([1,2j],dtype=t.chalf) t.tensor(5.5,dtype=t.half)*2j t.ones(2,dtype=t.half).chalf() "
    "t.view_as_complex(t.arange(4.).half().reshape(2,2)) t.complex(t.ones(2).half(),t.zeros(2).half()) x.fill_(1j) x.copy_(y) "
    "x.tolist() x[0].item() complex(x[0]) bool(x[0]) t.finfo(t.chalf).max t.addcmul(y,y,y,value=2) "
    "t.nn.functional.pad(x,(1,1)) x+t.ones(8) x+t.ones(8,dtype=t.cfloat)"
).split()


@pytest.mark.parametrize("text", COMPUTED)
def test_what_torch_computes(text: str) -> None:
    _same(lambda t: eval(text, {"t": t, "x": _made(t, FIRST), "y": _made(t, SECOND)}))


REFUSED = (
    "x/2 x/y x.exp() x.sin() x.sqrt() x.log() x.tanh() x.pow(2) x**y x.sum() x.mean() x.prod() x.cumsum(0) x.reciprocal() x.angle() "
    "x@y t.mm(x.reshape(4,2),y.reshape(2,4)) t.arange(3,dtype=t.chalf) t.linspace(0,1,3,dtype=t.chalf) x.numpy() x.sort() x.max() "
    "x.ceil() t.maximum(x,y) x.flip(0) x.gather(0,t.tensor([0,1])) x.take(t.tensor([0])) x<y x.unique() t.tensor(1e6).to(t.chalf).floor()"
).split()


@pytest.mark.parametrize("text", REFUSED)
def test_what_torch_refuses(text: str) -> None:
    def call(t: Any) -> Any:
        return eval(text, {"t": t, "x": _made(t, FIRST), "y": _made(t, SECOND)})

    assert _told(real_torch, call) in ("NotImplementedError", "RuntimeError", "TypeError")
    _same(call)


def test_random_numbers() -> None:
    def drawn(t: Any) -> Any:
        t.manual_seed(3)
        return [t.randn(5, dtype=t.chalf), t.randn(20, dtype=t.chalf), t.rand(7, dtype=t.chalf)]

    _same(drawn)


@pytest.mark.on_the_cpu  # a device refuses them
def test_gradients() -> None:
    def gradients(t: Any) -> Any:
        x, found = _made(t, SECOND).requires_grad_(), []
        for part in (x.real, x.imag, t.view_as_real(x)):
            x.grad = None
            part.float().pow(2).sum().backward()
            found.append(x.grad)
        halves = t.ones(2, 2).half().requires_grad_()
        t.view_as_complex(halves).to(t.cfloat).abs().sum().backward()
        return [*found, halves.grad]

    def steps(t: Any) -> Any:
        x = _made(t, SECOND).requires_grad_()
        (x * x + x).abs().float().sum().backward()
        return x.grad.to(t.complex64).tolist()

    _same(gradients)
    assert steps(mstorch) == pytest.approx(steps(real_torch), rel=2e-3)  # rounded to half precision at each step


def test_parts_are_views_and_files_hold_them(tmp_path: Any) -> None:
    x = _made(mstorch, SECOND)
    x.real.copy_(mstorch.ones(8))
    assert x.real.tolist() == [1.0] * 8 and x.imag.tolist() == _made(real_torch, SECOND).imag.tolist()
    for writer, reader in ((mstorch, real_torch), (real_torch, mstorch)):
        held = io.BytesIO()
        writer.save(_made(writer, FIRST).cpu(), held)
        held.seek(0)
        found = reader.load(held)
        assert found.dtype is reader.complex32 and repr(found.tolist()) == repr(_made(reader, FIRST).tolist())
    assert (mstorch.ones(2, dtype=mstorch.chalf, device="meta") * 2).dtype is mstorch.complex32


@pytest.mark.parametrize("name", ["std", "var", "std_mean", "var_mean"])
@pytest.mark.parametrize("options", [
    {}, {"dim": 0}, {"dim": (0, 2)}, {"dim": 1, "keepdim": True}, {"dim": -1, "correction": 0}, {"dim": (), "correction": 2}, {"dim": 0, "unbiased": False},
    {"dim": 0, "correction": 3}, {"dim": 3},
])  # fmt: skip
def test_spreads(name: str, options: dict[str, Any]) -> None:
    draws = np.random.default_rng(3)
    values = (draws.normal(size=(3, 4, 2)) + 1j * draws.normal(size=(3, 4, 2)) * 40).tolist()
    for shown in (values, 2 + 3j):
        _same(lambda t: getattr(t, name)(_made(t, shown), **options))
    _same(lambda t: getattr(t, name)(_made(t, values).transpose(0, 2).conj(), **options))


@pytest.mark.on_the_cpu  # the mean of infinite numbers has an infinite part on a device; torch's CPU returns NaN
@pytest.mark.parametrize("name", ["std", "var", "std_mean", "var_mean"])
def test_spreads_of_infinite_numbers(name: str) -> None:
    for options in ({}, {"dim": 0}, {"dim": -1, "correction": 0}):
        _same(lambda t: getattr(t, name)(_made(t, FIRST), **options))


@pytest.mark.on_the_cpu  # a device refuses them
def test_gradients_of_spreads() -> None:
    """torch raises here; mstorch computes the gradients in single precision and rounds them."""
    found = []
    for kind in (mstorch.complex64, mstorch.chalf):
        x = mstorch.tensor(SECOND, dtype=mstorch.complex64).to(kind).requires_grad_()
        x.std().backward()
        found.append(mstorch.view_as_real(x.grad).float())
    assert x.grad.dtype is mstorch.chalf
    mstorch.testing.assert_close(found[1], found[0], rtol=1e-2, atol=1e-3)

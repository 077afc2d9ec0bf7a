"""Functions on operands of each pair of dtypes: mstorch raises where torch's CPU raises, and results have torch's dtype."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch as real_torch

import mstorch

pytestmark = pytest.mark.on_the_cpu  # a device has other kernels

DTYPES = ("bool", "uint8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128")

# Calls with x, a matrix of the first dtype; y, ones of the second dtype; and d, the second dtype.
EXPRESSIONS = """
torch.linalg.norm(x, dtype=d)
torch.linalg.norm(x, 2, dim=0, dtype=d)
torch.linalg.norm(x, "fro", dtype=d)
torch.linalg.norm(x, "nuc", dtype=d)
torch.linalg.norm(x, 1, dtype=d)
torch.linalg.vector_norm(x, dtype=d)
torch.linalg.vector_norm(x, 0, dtype=d)
torch.linalg.matrix_norm(x, dtype=d)
torch.linalg.matrix_norm(x, 2, dtype=d)
torch.linalg.matrix_norm(x, 1, dtype=d)
torch.norm(x, dtype=d)
torch.norm(x, 1, dtype=d)
torch.norm(x, 1, 0, dtype=d)
torch.norm(x, "nuc", dtype=d)
x.sum(dtype=d)
x.mean(dtype=d)
x.mean(0, dtype=d)
x.prod(dtype=d)
x.nansum(dtype=d)
x.nanmean(dtype=d)
x.cumsum(0, dtype=d)
x.cumprod(0, dtype=d)
x.clone().cumsum_(0, dtype=d)
x.softmax(0, dtype=d)
x.log_softmax(0, dtype=d)
F.softmin(x, 0, dtype=d)
torch.sum(x, 0, out=torch.empty(2, dtype=d))
torch.add(x, x, out=torch.empty(2, 2, dtype=d))
torch.mm(x, x, out=torch.empty(2, 2, dtype=d))
torch.exp(x, out=torch.empty(2, 2, dtype=d))
torch.linalg.vector_norm(x, out=torch.empty((), dtype=d))
x.clone().add_(y)
x.clone().mul_(y)
x.clone().pow_(y)
x.clone().copy_(y)
x.lerp(y, 0.5)
torch.where(x.bool(), x, y)
x.index_add(0, torch.tensor([0, 1]), y)
x.scatter(0, torch.tensor([[0, 1]]), y)
x.masked_scatter(x.bool(), y)
torch.addmm(x, y, x)
torch.dot(x[0], y[0])
torch.cdist(x, y)
F.linear(x, y)
F.mse_loss(x, y)
F.binary_cross_entropy(x, y)
F.l1_loss(x, y)
F.huber_loss(x, y)
F.smooth_l1_loss(x, y)
F.kl_div(x, y, reduction="sum")
F.cross_entropy(x, y / 2)
F.soft_margin_loss(x, y)
F.hinge_embedding_loss(x, y)
F.hinge_embedding_loss(x, y, reduction="none")
F.poisson_nll_loss(x, y)
F.gaussian_nll_loss(x, y, torch.ones(2, 2))
F.layer_norm(x, (2,), y[0])
F.batch_norm(x, y[0] * 0, y[0])
F.prelu(x, y[0])
torch.isin(x, y[0])
torch.searchsorted(x, y[:, :1])
torch.bucketize(x, y[0])
torch.tensordot(x, y, 1)
torch.polar(x, y)
torch.complex(x, y)
torch.linalg.cross(torch.ones(3, dtype=x.dtype), torch.ones(3, dtype=d))
torch.linalg.solve(x, y)
x.quantile(y[0, 0])
F.embedding(y[0], x)
F.grid_sample(x[None, None], torch.zeros(1, 1, 1, 2, dtype=d))
F.cosine_similarity(x, y)
torch.bincount(torch.ones(2, dtype=torch.int64), x[0])
torch.take_along_dim(x, y * 0, 0)
x.gather(0, y * 0)
x.take(y[0] * 0)
x.index_select(0, y[0] * 0)
x[y[0] * 0]
x[y[0, 0] * 0]
x[y[0] * 0, y[0] * 0]
x.clone().__setitem__(y[0] * 0, 1)
x.index_fill(0, y[0] * 0, 1)
x.index_copy(0, y[0] * 0, x)
x.put(y[0] * 0, x[0])
x.repeat_interleave(y[0], 0)
x.masked_fill(y, 1)
x.masked_select(y)
x & y
x << y
x.clone().__iand__(y)
"""

# Calls with x only.
LONE = """
torch.gradient(x)[0]
torch.bernoulli(x)
torch.poisson(x)
x.renorm(2, 0, 1)
x.histc(3)
x.histogram(2).hist
x.histogram(x[0]).hist
torch.isin(x, 1j)
x.kthvalue(1)[0]
x.aminmax()[0]
x.logcumsumexp(0)
x.cummax(0)[0]
x.unique()
x.msort()
x.cov()
F.pad(x[None], (1, 1), mode="reflect")
F.pad(x[None], (1, 1, 1, 1), mode="reflect")
F.pad(x[None, None], (1, 1, 1, 1, 0, 0), mode="reflect")
F.pad(x[None], (1, 1), mode="replicate")
F.pad(x[None, None], (1, 1, 1, 1, 0, 0), mode="replicate")
F.pad(x[None], (1, 1), mode="circular")
F.interpolate(x[None], 4)
F.interpolate(x[None], 4, mode="linear")
F.max_pool2d(x[None], 2)
F.avg_pool2d(x[None], 2)
F.adaptive_avg_pool2d(x[None], 1)
F.adaptive_max_pool2d(x[None], 1)
F.unfold(x[None, None], 2)
F.pixel_shuffle(torch.ones(1, 4, 1, 1, dtype=x.dtype), 2)
F.local_response_norm(x[None], 2)
F.normalize(x)
F.one_hot(x)
F.dropout(x, 0.5, True)
F.glu(x)
F.rrelu(x)
F.elu(x)
F.hardswish(x)
F.logsigmoid(x)
F.softsign(x)
F.mish(x)
F.gelu(x)
x & 1
x & 1.5
torch.arange(0, 2, 0.5, dtype=x.dtype)
torch.arange(0, 1j, dtype=x.dtype)
"""


def outcome(torch: Any, expression: Any, of: Callable[[Any], dict[str, Any]]) -> str:
    """Return the class of the error that the expression raises, or the dtype of its result."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = eval(expression, {"torch": torch, "F": torch.nn.functional, **of(torch)})
        except RuntimeError:  # NotImplementedError is a RuntimeError
            return "RuntimeError"
        except (IndexError, TypeError, ValueError) as error:
            return type(error).__name__
    return str(getattr(found, "dtype", found))


def differences(expression: str, second: tuple[str, ...]) -> list[str]:
    """Return the pairs of dtypes for which the libraries differ."""
    code, found = compile(expression, "expression", "eval"), []
    for one in DTYPES:
        for other in second:
            def of(torch: Any, one: str = one, other: str = other) -> dict[str, Any]:
                d = getattr(torch, other)
                return {"x": torch.eye(2, dtype=getattr(torch, one)), "y": torch.ones(2, 2, dtype=d), "d": d}

            want, got = outcome(real_torch, code, of), outcome(mstorch, code, of)
            if want != got:
                found.append(f"{one}, {other}: {want} expected, {got} given")
    return found


@pytest.mark.parametrize("expression", EXPRESSIONS.strip().splitlines())
def test_pairs(expression: str) -> None:
    assert differences(expression, DTYPES) == []


@pytest.mark.parametrize("expression", LONE.strip().splitlines())
def test_lone(expression: str) -> None:
    assert differences(expression, DTYPES[-3:-2]) == []


SCATTERS = {
    "src": lambda x, i, y: x.scatter(0, i, y), "value": lambda x, i, y: x.scatter(0, i, 1), "add": lambda x, i, y: x.scatter_add(0, i, y),
    "src, add": lambda x, i, y: x.scatter(0, i, y, reduce="add"), "value, multiply": lambda x, i, y: x.scatter(0, i, 1, reduce="multiply"),
    "in place": lambda x, i, y: x.clone().scatter_(0, i, y), "nowhere": lambda x, i, y: x.scatter(0, i[:0], y),
    "meta": lambda x, i, y: x.to("meta").scatter(0, i.to("meta"), y.to("meta")),
    **{f"{how}, {own}": lambda x, i, y, how=how, own=own: x.scatter_reduce(0, i, y, how, include_self=own)
       for how in ("sum", "prod", "mean", "amax", "amin") for own in (True, False)},
}  # fmt: skip


def _said(call):
    try:
        return str(call().dtype)
    except Exception as error:  # noqa: BLE001 - compared with torch's
        return type(error).__name__, str(error).split("\n")[0]


@pytest.mark.parametrize("kind", ["uint8", "uint16", "uint32", "uint64", "bool", "int16"])
@pytest.mark.filterwarnings("ignore:The reduce argument:UserWarning")
def test_scattered_dtypes(kind):
    for name, call in SCATTERS.items():
        want, got = (
            _said(lambda t=t, call=call: call(t.zeros(3, dtype=getattr(t, kind)), t.tensor([0, 2]), t.ones(2, dtype=getattr(t, kind))))
            for t in (real_torch, mstorch)
        )
        assert got == want, name


@pytest.mark.parametrize("kind", ["uint8", "int8", "int16", "int32", "int64", "bool", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_convolved_dtypes(rank, kind):
    for name in (f"conv{rank}d", f"conv_transpose{rank}d"):
        want, got = (
            _said(lambda t=t, name=name: getattr(t.nn.functional, name)(*(t.ones(1, 1, *[2] * rank, dtype=getattr(t, kind)) for _ in range(2))))
            for t in (real_torch, mstorch)
        )
        assert got == want, name

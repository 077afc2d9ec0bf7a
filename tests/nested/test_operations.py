"""Kinds of operations on nested tensors of both layouts, forward and back to the parts, against real torch.

Where torch has no such gradient, or gives a wrong one, mstorch is held against the same operation on each part.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as real_torch

import mstorch
from tests.against_torch import same

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
LENGTHS = (3, 1, 4)
Case = Callable[[Any, Any, Any], Any]  # of the library, a nested tensor (3, *, 4) and a plain one from which it is made

BOTH: dict[str, Case] = {
    "unary": lambda t, x, draw: t.abs(x),
    "in place on a result": lambda t, x, draw: (x * 1.0).relu_(),
    "activation": lambda t, x, draw: t.nn.functional.gelu(x),
    "number": lambda t, x, draw: x * 2.5 + 0.5,
    "two": lambda t, x, draw: x * x.sin() - x,
    "no dimension": lambda t, x, draw: x * t.tensor(3.0),
    "comparison": lambda t, x, draw: x > 0.1,
    "masked_fill": lambda t, x, draw: x.masked_fill(x > 0.1, 7.0),
    "cast": lambda t, x, draw: x.to(t.float64),
    "clone": lambda t, x, draw: x.clone(),
    "zeros_like": lambda t, x, draw: t.zeros_like(x),
    "linear": lambda t, x, draw: t.nn.functional.linear(x, draw(5, 4), draw(5)),
    "layer_norm": lambda t, x, draw: t.nn.functional.layer_norm(x, (4,), draw(4), draw(4)),
    "softmax of the last": lambda t, x, draw: t.softmax(x, -1),
    "transpose": lambda t, x, draw: x.transpose(1, 2) * 2,
    "unsqueeze": lambda t, x, draw: x.unsqueeze(-1) * 1.5,
    "squeeze": lambda t, x, draw: x.unsqueeze(-1).squeeze(-1) * 1.5,
    "view": lambda t, x, draw: x.view(3, -1, 2, 2) + 1,
    "reshape": lambda t, x, draw: x.reshape(3, -1, 2, 2) + 1,
    "dropout of nothing": lambda t, x, draw: t.nn.functional.dropout(x, 0.0),
    "unbind": lambda t, x, draw: list(x.unbind()),
    "item": lambda t, x, draw: x[1],
    "to_padded_tensor": lambda t, x, draw: x.to_padded_tensor(-1.0),
}
STRIDED: dict[str, Case] = {
    "sum": lambda t, x, draw: x.sum(-1, True),
    "softmax of the parts": lambda t, x, draw: t.softmax(x, 1),
    "bmm": lambda t, x, draw: t.bmm(x, x.transpose(1, 2)),
    "matmul": lambda t, x, draw: t.matmul(x.transpose(1, 2), x),
    "contiguous": lambda t, x, draw: x.transpose(1, 2).contiguous(),
    "attention": lambda t, x, draw: t.nn.functional.scaled_dot_product_attention(x, x * 0.5, x + 1),
}
JAGGED: dict[str, Case] = {
    "values": lambda t, x, draw: x.values() * 2,
    "broadcast of the last": lambda t, x, draw: x * draw(4),
    "broadcast of ones": lambda t, x, draw: x + draw(1, 1, 4),
    "broadcast of parts": lambda t, x, draw: x * draw(3, 1, 4),
    "where": lambda t, x, draw: t.where(x > 0, x, -x),
    "sum of all": lambda t, x, draw: x.sum(),
    "mean of the last": lambda t, x, draw: x.mean(-1, True),
    "amax of the last": lambda t, x, draw: x.amax(-1),
    "max of the last": lambda t, x, draw: list(x.max(-1)),
    "any": lambda t, x, draw: (x > 0).any(1),
    "all": lambda t, x, draw: (x > -9).all(1),
    "argmax": lambda t, x, draw: x.argmax(1),
    "rms_norm": lambda t, x, draw: t.nn.functional.rms_norm(x, (4,), draw(4)),
    "matmul": lambda t, x, draw: x @ draw(4, 5),
    "matmul of parts": lambda t, x, draw: x @ draw(3, 4, 2),
    "permute": lambda t, x, draw: x.permute(0, 2, 1) * 2,
    "flatten": lambda t, x, draw: x.unflatten(-1, (2, 2)).flatten(-2) * 2,
    "chunk": lambda t, x, draw: list(x.chunk(2, -1)),
    "split": lambda t, x, draw: list(x.split(3, -1)),
    "cat": lambda t, x, draw: t.cat([x, x * 2], -1),
    "stack": lambda t, x, draw: t.stack([x, x * 2], -1),
    "expand": lambda t, x, draw: x.unsqueeze(-1).expand(3, x.shape[1], 4, 2) * 1.0,
    "attention": lambda t, x, draw: t.nn.functional.scaled_dot_product_attention(
        *((x * f).unflatten(-1, (2, 2)).transpose(1, 2) for f in (1.0, 0.5, 2.0))
    ),
    "clamp": lambda t, x, draw: x.clamp(-0.5, 0.5),
}  # fmt: skip
# Operations whose gradient is missing or wrong in torch: compared with real torch's on each component, dimension 0 along it.
BY_PARTS: dict[str, tuple[str, Case, Callable[[Any, Any, Any], Any]]] = {
    "tanh": ("strided", lambda t, x, draw: x.tanh(), lambda t, p, draw: p.tanh()),
    "matmul, plain": ("strided", lambda t, x, draw: t.matmul(x, draw(4, 2)), lambda t, p, draw: p @ draw(4, 2)),
    "cat, parts": ("strided", lambda t, x, draw: t.cat([x, x * 2]).narrow(0, 3, 3), lambda t, p, draw: p * 2),
    "cat, last": ("strided", lambda t, x, draw: t.cat([x, x * 2], -1), lambda t, p, draw: t.cat([p, p * 2], -1)),
    "chunk, strided": ("strided", lambda t, x, draw: x.chunk(2, -1)[1] * 3, lambda t, p, draw: p.chunk(2, -1)[1] * 3),
    "select, strided": ("strided", lambda t, x, draw: x.select(2, 1) * 3, lambda t, p, draw: p.select(1, 1) * 3),
    "values": ("strided", lambda t, x, draw: t.nested.as_nested_tensor(list((x * 2).values().view(8, 4).split(LENGTHS))),
               lambda t, p, draw: p * 2),
    "select": ("jagged", lambda t, x, draw: x.select(2, 1) * 3, lambda t, p, draw: p.select(1, 1) * 3),
    "softmax": ("jagged", lambda t, x, draw: t.softmax(x, 1), lambda t, p, draw: t.softmax(p, 0)),
    "sum of the parts": ("jagged", lambda t, x, draw: x.sum(1), lambda t, p, draw: p.sum(0)),
    "sum of the last": ("jagged", lambda t, x, draw: x.sum(-1), lambda t, p, draw: p.sum(-1)),
    "mean of the parts": ("jagged", lambda t, x, draw: x.mean(1), lambda t, p, draw: p.mean(0)),
    "amax of the parts": ("jagged", lambda t, x, draw: x.amax(1), lambda t, p, draw: p.amax(0)),
    "prod of the parts": ("jagged", lambda t, x, draw: x.prod(1), lambda t, p, draw: p.prod(0)),
    "sum, kept": ("jagged", lambda t, x, draw: x.sum(1, True), lambda t, p, draw: p.sum(0, True)),
    "narrow": ("jagged", lambda t, x, draw: x.narrow(-1, 1, 2) * 2, lambda t, p, draw: p.narrow(-1, 1, 2) * 2),
    "addcmul": ("jagged", lambda t, x, draw: t.addcmul(x, x, x, value=0.5), lambda t, p, draw: t.addcmul(p, p, p, value=0.5)),
    "causal attention": (
        "jagged",
        lambda t, x, draw: t.nn.functional.scaled_dot_product_attention(
            *((x * f).unflatten(-1, (2, 2)).transpose(1, 2) for f in (1.0, 0.5, 2.0)), is_causal=True),
        lambda t, p, draw: t.nn.functional.scaled_dot_product_attention(
            *((p * f).unflatten(-1, (2, 2)).transpose(0, 1) for f in (1.0, 0.5, 2.0)), is_causal=True),
    ),
    "attention of chunks": (
        "jagged",
        lambda t, x, draw: t.nn.functional.scaled_dot_product_attention(
            *(y.unflatten(-1, (2, 1)).transpose(1, 2) for y in t.cat([x, x * 0.5], -1).split([2, 2, 4], -1)[:2]),
            (x * 2).chunk(2, -1)[0].unflatten(-1, (2, 1)).transpose(1, 2)),
        lambda t, p, draw: t.nn.functional.scaled_dot_product_attention(
            *(y.unflatten(-1, (2, 1)).transpose(0, 1) for y in (p[:, :2], p[:, 2:], p[:, :2] * 2))),
    ),
    "slice": ("jagged", lambda t, x, draw: x[:, :, 1:3] * 2, lambda t, p, draw: p[:, 1:3] * 2),
    "normalize": (
        "jagged", lambda t, x, draw: x / x.pow(2).sum(-1, True).sqrt(), lambda t, p, draw: t.nn.functional.normalize(p, dim=-1)
    ),
    "index_put": (
        "jagged", lambda t, x, draw: x.index_put((t.tensor([0, 1, 2]), t.tensor([0, 0, 0])), t.tensor(5.0)),
        lambda t, p, draw: t.cat([p[:1] * 0 + 5.0, p[1:]]),
    ),
}  # fmt: skip


def _parts(library: Any) -> list[Any]:
    generator = np.random.RandomState(0)
    return [library.tensor(generator.uniform(-1, 1, (n, 4)).astype(np.float32)).requires_grad_() for n in LENGTHS]


def _drawing(library: Any) -> Callable[..., Any]:
    generator = np.random.RandomState(1)
    return lambda *size: library.tensor(generator.uniform(-1, 1, size).astype(np.float32)).requires_grad_()


def _plain(result: Any) -> Any:
    """Return a result with nested tensors as lists of their components."""
    if isinstance(result, list):
        return [_plain(item) for item in result]
    return [item.detach() for item in result.unbind()] if result.is_nested else result.detach()


def _loss(result: Any) -> Any:
    if isinstance(result, list):
        return sum(_loss(item) for item in result if item.requires_grad)
    if result.is_nested and not result.is_contiguous():
        return sum((part * part).sum() for part in result.unbind())
    whole = result.to_padded_tensor(0.0) if result.is_nested else result
    return (whole * whole).sum()


def _run(library: Any, layout: str, case: Case) -> tuple[Any, list[Any], bool]:
    parts = _parts(library)
    result = case(library, library.nested.as_nested_tensor(parts, layout=getattr(library, layout)), _drawing(library))
    results = result if isinstance(result, list) else [result]
    followed = any(item.requires_grad for item in results)
    if followed:
        _loss(result).backward()
    return _plain(result), [part.grad for part in parts], followed


CASES = [("strided", name, case) for name, case in {**BOTH, **STRIDED}.items()]
CASES += [("jagged", name, case) for name, case in {**BOTH, **JAGGED}.items()]


@pytest.mark.parametrize(("layout", "case"), [(layout, case) for layout, _, case in CASES], ids=[f"{a}-{b}" for a, b, _ in CASES])
def test_values_and_gradients(layout: str, case: Case) -> None:
    want, got = _run(real_torch, layout, case), _run(mstorch, layout, case)
    same(want[0], got[0], rtol=1e-4, atol=1e-5, strides=False)
    assert want[2] == got[2]
    same(want[1], got[1], rtol=1e-4, atol=1e-5, strides=False, what="gradients of the parts")


@pytest.mark.parametrize("name", BY_PARTS)
def test_gradients_that_torch_has_not(name: str) -> None:
    layout, nested, single = BY_PARTS[name]
    parts, others = _parts(mstorch), _parts(real_torch)
    result = nested(mstorch, mstorch.nested.as_nested_tensor(parts, layout=getattr(mstorch, layout)), _drawing(mstorch))
    wanted = [single(real_torch, part, _drawing(real_torch)) for part in others]
    _loss(result).backward()
    _loss(wanted).backward()
    same([one.detach() for one in wanted], [one.detach() for one in result.unbind()], strides=False)
    same([one.grad for one in others], [one.grad for one in parts], rtol=1e-4, atol=1e-5, strides=False, what="gradients of the parts")


def test_the_sweep_can_fail() -> None:
    with pytest.raises(AssertionError):
        same(_run(real_torch, "jagged", BOTH["unary"])[0], _run(mstorch, "jagged", BOTH["activation"])[0])

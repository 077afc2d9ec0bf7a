"""Every kernel of an operation with a formula beside the formula, at the numbers where texts written twice come to differ.

The formula is computed by NumPy in float64. The host's kernels and the gradients are compared as programs call them, MindSpore's kernels on
the CPU as the table has them, Ascend's on MindSpore's plugin.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import mstorch as torch
from mstorch._src.backend.formulas import activation
from mstorch._src.backend.formulas.elementwise import SLOPES
from mstorch._src.backend.host import namespace as xp
from mstorch._src.backend.raw import from_numpy
from mstorch._src.backend.table import ROWS
from mstorch._src.quiet import quiet
from tests.cann.plugin import on_plugin

F = torch.nn.functional
INF, NAN = math.inf, math.nan
TINY = 1e-41  # a denormal float32
SIZES = (0.0, TINY, 1e-8, 0.2, 0.5, 1, 1.7, 3, 6, 11, 25, 90, 3e38, INF)
POINTS = [NAN, *SIZES, *(-size for size in SIZES)]


class Case(NamedTuple):
    """An activation as programs call it, the numbers that its kernel takes, and those of its gradient."""

    call: Callable[[Any], Any]
    numbers: tuple[float, ...] = ()
    gradient: tuple[float, ...] | None = None


CASES = {
    "relu": Case(torch.relu), "hardtanh": Case(lambda x: F.hardtanh(x, -1, 3), (-1.0, 3.0)), "gelu": Case(F.gelu),
    "gelu_tanh": Case(lambda x: F.gelu(x, approximate="tanh")), "silu": Case(F.silu), "mish": Case(F.mish),
    "leaky_relu": Case(lambda x: F.leaky_relu(x, 0.2), (0.2,)), "elu": Case(lambda x: F.elu(x, 1.7), (1.7, 1.0, 1.0)),
    "softplus": Case(lambda x: F.softplus(x, 0.5, 3), (0.5, 3.0)), "logsigmoid": Case(F.logsigmoid), "hardsigmoid": Case(F.hardsigmoid),
    "hardswish": Case(F.hardswish), "softshrink": Case(lambda x: F.softshrink(x, 0.5), (0.5,)),
    "hardshrink": Case(lambda x: F.hardshrink(x, 0.5), (0.5,)),
    "threshold": Case(lambda x: F.threshold(x, 0.5, -2.0), (0.5, -2.0), (0.5,)), "tanhshrink": Case(F.tanhshrink),
    "softsign": Case(F.softsign),
}  # fmt: skip


KNOWN: dict[tuple[str, str, str], dict[object, str]] = {
    ("cpu", "gelu", "value"): {
        INF: "oneDNN's GELU of infinity is NaN, in torch too", 3e38: "oneDNN's GELU of the largest numbers is infinity, in torch too",
    },
    ("npu", "elu", "gradient"): {"nan": "torch, which computes CANN's operators here, passes the gradient on if it is given the argument"},
}  # fmt: skip
KNOWN["npu", "gelu", "value"] = KNOWN["cpu", "gelu", "value"]
"""Points at which a kernel is not the formula, with the reason; NaN by its name."""


def _formulas(name: str, *args: Any) -> list[np.ndarray]:
    """Return a formula's values in float64, rounded, and in float32, in which some overflow."""
    with quiet():
        wide = [value.astype(np.float64) if isinstance(value, np.ndarray) else value for value in args]
        return [np.asarray(getattr(activation, name)(xp, *values)).astype(np.float32) for values in (wide, args)]


def _different(values: Any, formulas: list[np.ndarray]) -> dict[float, tuple[float, float]]:
    """Return the points at which values are neither of the formula's, up to rounding, of a sum of numbers as large as the point too; NaN
    and infinities have to be the same."""
    values = np.asarray(values, np.float32)
    with quiet():
        room = 3e-7 * np.minimum(np.abs(np.array(POINTS, np.float32)), 3) + 2 * TINY  # MindSpore's kernels take denormals for 0
        same = [
            (np.abs(values - wanted) <= 4e-6 * np.abs(wanted) + room) | (np.isnan(values) & np.isnan(wanted)) | (values == wanted)
            for wanted in formulas
        ]
    fits = same[0] | same[1]
    return {point: (float(value), float(other)) for point, value, other, fit in zip(POINTS, values, formulas[0], fits) if not fit}


def _compare(name: str, device: str, repeats: int) -> Iterator[tuple[str, dict[float, tuple[float, float]]]]:
    """Yield the differences of a call's values and gradients from the formulas, except known ones. Large arrays, by ``repeats``, have
    kernels of their own."""
    case, points = CASES[name], np.array(POINTS, np.float32)
    x = torch.tensor(points, device=device).repeat(repeats).requires_grad_()
    y = case.call(x)
    y.backward(torch.ones_like(y))
    values = y.detach().cpu().numpy()[-len(points) :]
    differences = {"value": _different(values, _formulas(name, points, *case.numbers))}
    numbers = case.numbers if case.gradient is None else case.gradient
    word = "shrink" if name in ("softshrink", "hardshrink") else name
    wanted = _formulas(f"{word}_gradient", np.ones_like(points), values if name == "relu" else points, *numbers)
    differences["gradient"] = _different(x.grad.cpu().numpy()[-len(points) :], wanted)
    for what, places in differences.items():
        known = KNOWN.get((device, name, what), {})
        yield what, {point: place for point, place in places.items() if point not in known and repr(point) not in known}


@pytest.mark.parametrize("repeats", [1, 400])
@pytest.mark.parametrize("name", CASES)
def test_activations_on_the_host(name: str, repeats: int) -> None:
    for what, differences in _compare(name, "cpu", repeats):
        assert not differences, what


@pytest.mark.parametrize("name", CASES)
def test_activations_of_mindspore(name: str) -> None:
    points = np.array(POINTS, np.float32)
    value = ROWS[name].functions["CPU"](from_numpy(points), *CASES[name].numbers).asnumpy()
    assert not _different(value, _formulas(name, points, *CASES[name].numbers))


@on_plugin
def test_activations_on_ascend() -> None:
    differences = {(name, what): places for name in CASES for what, places in _compare(name, "npu", 1) if places}
    assert not differences, differences


def _function(op: str) -> Callable[[Any], Any]:
    return getattr(torch, op, None) or getattr(torch.special, op)


def _compare_slope(op: str, device: str) -> dict[float, tuple[float, float]]:
    """Return the differences of the gradients of a function of one argument from its formula."""
    formula, points = SLOPES[op], np.array(POINTS, np.float32)
    x = torch.tensor(points, device=device).requires_grad_()
    y = _function(op)(x)
    y.backward(torch.ones_like(y))
    wanted = []
    for kind in (np.float64, np.float32):
        with quiet():
            result = _function(op)(torch.tensor(points.astype(kind))).numpy() if kind is np.float64 else y.detach().cpu().numpy()
            value = result if formula.of_result else points.astype(kind)
            wanted.append(np.asarray(formula.gradient(xp, np.ones(points.shape, kind), value)).astype(np.float32))
    return _different(x.grad.cpu().numpy(), wanted)


@pytest.mark.parametrize("op", SLOPES)
def test_slopes_on_the_host(op: str) -> None:
    assert not _compare_slope(op, "cpu")


@on_plugin
def test_slopes_on_ascend() -> None:
    differences = {op: places for op in SLOPES if (places := _compare_slope(op, "npu"))}
    assert not differences, differences

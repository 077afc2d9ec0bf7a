"""Special functions: MindSpore's kernels where they are correct, else compositions of them, else SciPy in float64."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from mindspore import ops

from ...quiet import quiet
from ..host.special import numpy_polygamma
from ..raw import Raw, from_numpy
from ..table import FLOATS, VIA_HALF, define
from ._nodes import (
    chained,
    constant,
    node,
    prim_add,
    prim_equal,
    prim_less,
    prim_mul,
    prim_neg,
    prim_select,
    prim_sub,
    sum_to,
    zeros_like,
)  # fmt: skip
from .elementwise import composed_div, sign
from .namespace import by_formula, erf, exp, log, log1p, plus, times

NO_KERNEL = "MindSpore has no kernel; SciPy computes in float64"
WRONG = "MindSpore's kernel is off by 1e-3 and more (2.10); SciPy computes in float64"

_erfc, _lgamma = ops.Erfc(), ops.Lgamma()
_i0, _i0e, _i1, _i1e = ops.BesselI0(), ops.BesselI0e(), ops.BesselI1(), ops.BesselI1e()
_k0, _k0e, _k1, _k1e = ops.BesselK0(), ops.BesselK0e(), ops.BesselK1(), ops.BesselK1e()

_ROOT_HALF = math.sqrt(0.5)
_TWO_BY_ROOT_PI = 2 / math.sqrt(math.pi)


def scipy_function(name: str) -> Callable[..., Raw]:
    """Return a scipy.special function on raw tensors, computed in float64. SciPy, a dependency of MindSpore, is imported on first use."""

    def forward(*args: Any) -> Raw:
        function = getattr(importlib.import_module("scipy.special"), name)
        arrays = [arg.asnumpy() if isinstance(arg, Raw) else arg for arg in args]
        kind = next(array.dtype for array in arrays if isinstance(array, np.ndarray))
        with quiet():
            wide = [array.astype(np.float64) if isinstance(array, np.ndarray) else array for array in arrays]
            return from_numpy(np.asarray(function(*wide), kind, order="C"))

    return forward


# Error functions


erfinv = by_formula("erfinv", scipy_function("erfinv"))
erfcx = chained(
    "SpecialErfcxBackward0", scipy_function("erfcx"), lambda x, y: plus(times(prim_mul(x, y), 2), -_TWO_BY_ROOT_PI)
)
erfc = by_formula("erfc", _erfc)


def _ndtr(raw: Raw) -> Raw:
    return times(_erfc(times(raw, -_ROOT_HALF)), 0.5)


ndtr = by_formula("ndtr", _ndtr)
ndtri = by_formula("ndtri", scipy_function("ndtri"))


def _log_ndtr(raw: Raw) -> Raw:
    low = prim_less(raw, constant(-1, raw))
    turned = times(raw, _ROOT_HALF)
    one = constant(1, raw)
    tail = log(times(erfcx(prim_neg(prim_select(low, turned, one))), 0.5))
    tail = prim_sub(tail, prim_mul(turned, turned))
    rest = log1p(times(_erfc(prim_select(low, one, turned)), -0.5))
    return prim_select(low, tail, rest)


log_ndtr = chained(
    "SpecialLogNdtrBackward0", _log_ndtr,
    lambda x, y: composed_div(constant(math.sqrt(2 / math.pi), x), erfcx(times(x, -_ROOT_HALF))),
)  # fmt: skip


# Gamma functions


lgamma = chained("LgammaBackward0", _lgamma, lambda x, y: digamma(x))
digamma: Callable[..., Raw] = chained(
    "DigammaBackward0", scipy_function("psi"), lambda x, y: polygamma(x, 1), ops.digamma
)


def _polygamma(raw: Raw, order: int) -> Raw:
    values = raw.asnumpy()
    with quiet():
        return from_numpy(np.asarray(numpy_polygamma(values.astype(np.float64), order), values.dtype, order="C"))


def _polygamma_backward(gradient: Raw, result: Raw, raw: Raw, order: int) -> tuple[Raw, None]:
    return prim_mul(gradient, polygamma(raw, order + 1)), None


polygamma: Callable[..., Raw] = node("PolygammaBackward0", _polygamma, _polygamma_backward)


def _gammainc_slope(first: Raw, second: Raw) -> Raw:
    power = prim_sub(prim_mul(plus(first, -1), log(second)), prim_add(second, lgamma(first)))
    return exp(power)


def _no_derivative(of: Raw, words: str) -> None:
    """Raise NotImplementedError if the operand requires grad, because torch has no such gradient either; MindSpore would return zero."""
    if of._requires_grad:
        raise NotImplementedError(f"the derivative for '{words}' is not implemented.")


def _incomplete_backward(sign: int) -> Callable[..., Any]:
    def backward(gradient: Raw, result: Raw, first: Raw, second: Raw) -> tuple[Raw, Raw]:
        _no_derivative(first, "igamma: input" if sign > 0 else "igammac: input")
        slope = prim_mul(gradient, _gammainc_slope(first, second))
        if sign < 0:
            slope = prim_neg(slope)
        return sum_to(zeros_like(gradient), first.shape), sum_to(slope, second.shape)

    return backward


gammainc = node("IgammaBackward0", scipy_function("gammainc"), _incomplete_backward(1))
gammaincc = node("IgammacBackward0", scipy_function("gammaincc"), _incomplete_backward(-1))


def _zeta_backward(gradient: Raw, result: Raw, first: Raw, second: Raw) -> tuple[Raw, Raw]:
    _no_derivative(first, "zeta")
    slope = prim_neg(prim_mul(first, zeta(plus(first, 1), second)))
    return sum_to(zeros_like(gradient), first.shape), sum_to(prim_mul(gradient, slope), second.shape)


def _zeta(first: Raw, second: Raw) -> Raw:
    x, q = first.asnumpy().astype(np.float64), second.asnumpy().astype(np.float64)
    with quiet():
        found = importlib.import_module("scipy.special").zeta(x, q)
    return from_numpy(np.asarray(found, first.asnumpy().dtype, order="C"))


zeta = node("SpecialZetaBackward0", _zeta, _zeta_backward)


# Entropy


def _entr(raw: Raw) -> Raw:
    zero = constant(0, raw)
    inside = prim_less(zero, raw)
    product = prim_neg(prim_mul(raw, log(prim_select(inside, raw, constant(1, raw)))))
    outside = prim_select(prim_less(raw, zero), constant(-math.inf, raw), prim_mul(raw, zero))
    return prim_select(inside, product, outside)


entr = by_formula("entr", _entr)


# Bessel functions


def _quotient_with_limit(first: Raw, raw: Raw, at_zero: float) -> Raw:
    """Return ``first / raw``, with a given limit at 0."""
    zero = prim_equal(raw, constant(0, raw))
    quotient = composed_div(first, prim_select(zero, constant(1, raw), raw))
    return prim_select(zero, constant(at_zero, raw), quotient)


i0 = chained("I0Backward0", _i0, lambda x, y: i1(x))
i0e = chained("SpecialI0EBackward0", _i0e, lambda x, y: prim_sub(i1e(x), prim_mul(sign(x), y)))
i1: Callable[..., Raw] = chained("SpecialI1Backward0", _i1, lambda x, y: prim_sub(i0(x), _quotient_with_limit(y, x, 0.5)))


def _i1e_slope(x: Raw, y: Raw) -> Raw:
    return prim_sub(prim_sub(i0e(x), prim_mul(sign(x), y)), _quotient_with_limit(y, x, 0.5))


i1e: Callable[..., Raw] = chained("SpecialI1EBackward0", _i1e, _i1e_slope)


def _positive_only(primitive: Callable[[Raw], Raw], at_zero: float) -> Callable[[Raw], Raw]:
    """Return ``primitive`` with two corrections: NaN for negative numbers, for which MindSpore's kernels return infinity, and ``at_zero``
    at 0, where BesselY1 returns NaN."""

    def composed(raw: Raw) -> Raw:
        zero = constant(0, raw)
        found = prim_select(prim_less(raw, zero), constant(math.nan, raw), primitive(raw))
        return prim_select(prim_equal(raw, zero), constant(at_zero, raw), found)

    return composed


def scipy_airy(raw: Raw) -> Raw:
    values = raw.asnumpy()
    return from_numpy(
        np.asarray(importlib.import_module("scipy.special").airy(values.astype(np.float64))[0], values.dtype)
    )


def _row(op: str, function: Callable[..., Any], reason: str = "") -> None:
    define(op, cpu=function, dtypes=FLOATS, via=VIA_HALF, numpy_reason=reason)


_row("erf", erf)
_row("erfc", erfc)
_row("erfinv", erfinv, WRONG)
_row("erfcx", erfcx, NO_KERNEL)
_row("ndtr", ndtr)
_row("ndtri", ndtri, NO_KERNEL)
_row("log_ndtr", log_ndtr)
_row("lgamma", lgamma)
_row("digamma", digamma, WRONG)
_row("polygamma", polygamma, WRONG)
_row("gammainc", gammainc, WRONG)
_row("gammaincc", gammaincc, WRONG)
_row("zeta", zeta, WRONG)
_row("entr", entr)
_row("i0", i0)
_row("i0e", i0e)
_row("i1", i1)
_row("i1e", i1e)
_row("modified_bessel_k0", _positive_only(_k0, math.inf))
_row("scaled_modified_bessel_k0", _positive_only(_k0e, math.inf))
_row("modified_bessel_k1", _positive_only(_k1, math.inf))
_row("scaled_modified_bessel_k1", _positive_only(_k1e, math.inf))
_row("bessel_j0", ops.BesselJ0())
_row("bessel_j1", ops.BesselJ1())
_row("bessel_y0", _positive_only(ops.BesselY0(), -math.inf))
_row("bessel_y1", _positive_only(ops.BesselY1(), -math.inf))
_row("airy_ai", scipy_airy, NO_KERNEL)

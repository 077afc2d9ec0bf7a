"""Special functions: error, gamma, Bessel functions, orthogonal polynomials. ``torch.special`` re-exports them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...backend.errors import not_for
from ...backend.table import kernel
from ...core.dtype import get_default_dtype
from ...core.one_device import OneDevice
from ...core.tensor_base import TensorBase
from ...tape.ways import values_if_any
from .._autocast import FLOAT32_ON_DEVICES
from .._dispatch import (
    binary,
    deliver,
    expect_a_tensor,
    expect_tensors,
    finish_recorded,
    result_dtype,
    unary,
    without_grad,
)
from .._in_place import in_place
from .._memory_order import row_major
from .._named import node_called
from .._operation import operation
from ..memory.copying import to_dtype
from ..memory.creation import ones_like, scalar_tensor
from ..shape.views import detach
from .compare import eq, gt, isinf, lt, nan_to_num, where
from .elementwise import add, div, mul, sub, with_args
from .math import sin, trunc

_erf = kernel("erf")
_erfc = kernel("erfc")
_erfinv = kernel("erfinv")
_erfcx = kernel("erfcx")
_ndtr = kernel("ndtr")
_ndtri = kernel("ndtri")
_log_ndtr = kernel("log_ndtr")
_lgamma = kernel("lgamma")
_digamma = kernel("digamma")
_entr = kernel("entr")
_i0 = kernel("i0")
_i0e = kernel("i0e")
_i1 = kernel("i1")
_i1e = kernel("i1e")
_polygamma, _gammainc, _gammaincc, _zeta, _xlog1py = (
    kernel(op) for op in ("polygamma", "gammainc", "gammaincc", "zeta", "xlog1py")
)


def _refuse_half(name: str, *operands: Any) -> None:
    kind = result_dtype(operands)
    if kind.itemsize == 2 and kind.is_floating_point:
        raise not_for(f"{name}_cpu", kind.name)


@operation(keeps_zero=True)
def erf(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the error function of each element."""
    return unary(_erf, input, out, to_float=True)


def erfc(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``1 - erf(x)``."""
    return unary(_erfc, input, out, to_float=True)


@operation(autocast=FLOAT32_ON_DEVICES, keeps_zero=True)
def erfinv(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the inverse error function of each element."""
    return unary(_erfinv, input, out, to_float=True)


def erfcx(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``exp(x^2) * erfc(x)``."""
    _refuse_half("erfcx", input)
    return unary(_erfcx, input, out, to_float=True)


def ndtr(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the standard normal CDF."""
    return finish_recorded(unary(_ndtr, input, to_float=True), out)


def ndtri(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the inverse of the standard normal CDF."""
    _refuse_half("ndtri", input)
    return unary(_ndtri, input, out, to_float=True)


def log_ndtr(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the logarithm of the standard normal CDF."""
    _refuse_half("log_ndtr", input)
    return unary(_log_ndtr, input, out, to_float=True)


def lgamma(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the logarithm of the absolute value of the gamma function."""
    return unary(_lgamma, input, out, to_float=True)


def digamma(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the logarithmic derivative of the gamma function."""
    return unary(_digamma, input, out, to_float=True)


def entr(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``-x * log(x)``, 0 at 0 and -inf for negative x."""
    return unary(_entr, input, out, to_float=True)


def i0(input: TensorBase, *, out: TensorBase | None = None) -> Any:
    """Return the modified Bessel function of the first kind, order 0."""
    return unary(_i0, input, out, to_float=True)


def i0e(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``exp(-|x|) * i0(x)``."""
    return unary(_i0e, input, out, to_float=True)


def i1(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the modified Bessel function of the first kind, order 1."""
    return unary(_i1, input, out, to_float=True)


def i1e(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``exp(-|x|) * i1(x)``."""
    return unary(_i1e, input, out, to_float=True)


def _floating(input: TensorBase) -> TensorBase:
    return to_dtype(input, get_default_dtype()) if input._ms_dtype.is_integral else input


def polygamma(n: int, input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the ``n``-th derivative of the digamma function."""
    if isinstance(n, TensorBase):
        raise TypeError("polygamma(): argument 'n' (position 1) must be int, not Tensor")
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return with_args(_polygamma, _floating(input), int(n), out=out)


def polygamma_method(self: TensorBase, n: int) -> TensorBase:
    """Return the ``n``-th derivative of the digamma function."""
    return polygamma(n, self)


def polygamma_(self: Any, n: int) -> TensorBase:
    """In-place version of ``polygamma``."""
    return in_place(self, lambda tensor: polygamma(n, tensor))


@node_called("MvlgammaBackward0", "input")
def mvlgamma(input: TensorBase, p: int, *, out: TensorBase | None = None) -> TensorBase:
    """Return the logarithm of the multivariate gamma function of dimension ``p``."""
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    values = _floating(input)
    total = None
    for i in range(p):
        term = lgamma(add(values, -0.5 * i if i else 0.0))  # adding 0.0 makes a negative zero positive
        total = term if total is None else add(total, term)
    result = row_major(add(total, p * (p - 1) / 4 * math.log(math.pi)))
    return result if out is None else deliver(result, out)


@operation(one_device=OneDevice("igamma"))
def gammainc(input: TensorBase, other: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the regularized lower incomplete gamma function. Differs from torch: the gradient of ``input`` is zero."""
    return binary(_gammainc, input, other, out, to_float=True)


@operation(one_device=OneDevice("igammac"))
def gammaincc(input: TensorBase, other: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the regularized upper incomplete gamma function. Differs from torch: the gradient of ``input`` is zero."""
    return binary(_gammaincc, input, other, out, to_float=True)


def zeta(input: TensorBase, other: TensorBase | int, *, out: TensorBase | None = None) -> TensorBase:
    """Return the Hurwitz zeta function. Differs from torch: the gradient of ``input`` is zero."""
    expect_a_tensor("zeta", input, other)
    _refuse_half("zeta", input, other)
    return binary(_zeta, input, other, out, to_float=True)


def xlog1py(input: TensorBase | float, other: TensorBase | float, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``input * log1p(other)``, 0 where ``input`` is 0."""
    expect_a_tensor("xlog1py", input, other)
    return binary(_xlog1py, input, other, out, to_float=True)


def spherical_bessel_j0(x: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the spherical Bessel function of the first kind, order 0: ``sin(x) / x``."""
    _refuse_half("spherical_bessel_j0", x)
    x = _floating(x)
    zero = eq(x, 0)
    result = div(sin(x), where(zero, 1, x))
    small = lt(mul(x, x), 0.25)
    result = where(small, _series(mul(x, x)), result)
    result = where(isinf(x), 0, result)
    return result if out is None else deliver(result, out)


def _series(square: TensorBase) -> TensorBase:
    """Return ``sin(x) / x`` near 0, by a series in x squared."""
    total: Any = 1.0
    for divisor in (156.0, 110.0, 72.0, 42.0, 20.0, 6.0):
        total = sub(1.0, mul(div(square, divisor), total))
    return total


def _kernel_function(name: str, words: str, op: str | None = None) -> Callable[..., Any]:
    row = kernel(op or name)

    def function(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
        _refuse_half(name, input)
        with without_grad():  # it has no gradient, and as in torch ``out`` may require grad
            return unary(row, input, out, to_float=True)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = words
    return function


bessel_j0 = _kernel_function("bessel_j0", "Return the Bessel function of the first kind, order 0.")
bessel_j1 = _kernel_function("bessel_j1", "Return the Bessel function of the first kind, order 1.")
bessel_y0 = _kernel_function("bessel_y0", "Return the Bessel function of the second kind, order 0.")
bessel_y1 = _kernel_function("bessel_y1", "Return the Bessel function of the second kind, order 1.")
airy_ai = _kernel_function("airy_ai", "Return the Airy function Ai.")
modified_bessel_i0 = _kernel_function("modified_bessel_i0", "Return the modified Bessel function of the first kind, order 0.", "i0")
modified_bessel_i1 = _kernel_function("modified_bessel_i1", "Return the modified Bessel function of the first kind, order 1.", "i1")
modified_bessel_k0 = _kernel_function("modified_bessel_k0", "Return the modified Bessel function of the second kind, order 0.")
modified_bessel_k1 = _kernel_function("modified_bessel_k1", "Return the modified Bessel function of the second kind, order 1.")
scaled_modified_bessel_k0 = _kernel_function("scaled_modified_bessel_k0", "Return ``exp(x) * modified_bessel_k0(x)``.")
scaled_modified_bessel_k1 = _kernel_function("scaled_modified_bessel_k1", "Return ``exp(x) * modified_bessel_k1(x)``.")


def _polynomial(name: str, words: str, first: Callable[[Any], Any], step: Callable[[int, Any, Any, Any], Any]) -> Callable[..., Any]:
    """Return a function for an orthogonal polynomial of degree ``n``: 1 for degree 0, ``first(x)`` for degree 1, then a recurrence."""

    def function(x: TensorBase | float, n: TensorBase | float, *, out: TensorBase | None = None) -> TensorBase:
        expect_a_tensor(name, x, n)
        _refuse_half(name, x, n)
        kind = result_dtype((x, n))
        if kind.is_integral:
            kind = get_default_dtype()
        x = to_dtype(detach(x), kind) if isinstance(x, TensorBase) else scalar_tensor(x, dtype=kind)
        degree = to_dtype(detach(n), kind) if isinstance(n, TensorBase) else scalar_tensor(n, dtype=kind)
        degree = nan_to_num(trunc(degree), -1.0, -1.0, -1.0)  # NaN and infinity are not degrees
        top = values_if_any(degree)
        before, current = ones_like(x), first(x)
        result = where(lt(degree, 0), 0.0, where(lt(degree, 1), before, current))
        for k in range(1, int(top.max()) if top is not None and top.size else 0):
            before, current = current, step(k, x, current, before)
            result = where(gt(degree, k), current, result)
        if out is None:
            return result
        with without_grad():
            return deliver(result, out)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = words
    return function


def _chebyshev(k: int, x: TensorBase, current: TensorBase, before: TensorBase) -> TensorBase:
    return sub(mul(mul(x, 2), current), before)


def _shifted(k: int, x: TensorBase, current: TensorBase, before: TensorBase) -> TensorBase:
    return sub(mul(mul(sub(mul(x, 2), 1), 2), current), before)


def _hermite_h(k: int, x: TensorBase, current: TensorBase, before: TensorBase) -> TensorBase:
    return sub(mul(mul(x, 2), current), mul(before, 2 * k))


def _hermite_he(k: int, x: TensorBase, current: TensorBase, before: TensorBase) -> TensorBase:
    return sub(mul(x, current), mul(before, k))


def _laguerre(k: int, x: TensorBase, current: TensorBase, before: TensorBase) -> TensorBase:
    return div(sub(mul(sub(2 * k + 1, x), current), mul(before, k)), k + 1)


def _legendre(k: int, x: TensorBase, current: TensorBase, before: TensorBase) -> TensorBase:
    return div(sub(mul(mul(x, 2 * k + 1), current), mul(before, k)), k + 1)


def _twice(x: TensorBase) -> TensorBase:
    return mul(x, 2)


def _same(x: TensorBase) -> TensorBase:
    return x


def _affine(factor: float, term: float) -> Callable[[Any], Any]:
    return lambda x: add(mul(x, factor), term)


chebyshev_polynomial_t = _polynomial(
    "chebyshev_polynomial_t", "Return the Chebyshev polynomial of the first kind, degree ``n``.", _same, _chebyshev
)
chebyshev_polynomial_u = _polynomial(
    "chebyshev_polynomial_u", "Return the Chebyshev polynomial of the second kind, degree ``n``.", _twice, _chebyshev
)
chebyshev_polynomial_v = _polynomial(
    "chebyshev_polynomial_v", "Return the Chebyshev polynomial of the third kind, degree ``n``.", _affine(2, -1), _chebyshev
)
chebyshev_polynomial_w = _polynomial(
    "chebyshev_polynomial_w", "Return the Chebyshev polynomial of the fourth kind, degree ``n``.", _affine(2, 1), _chebyshev
)
shifted_chebyshev_polynomial_t = _polynomial(
    "shifted_chebyshev_polynomial_t",
    "Return the Chebyshev polynomial of the first kind, shifted, degree ``n``.",
    _affine(2, -1),
    _shifted,
)
shifted_chebyshev_polynomial_u = _polynomial(
    "shifted_chebyshev_polynomial_u",
    "Return the Chebyshev polynomial of the second kind, shifted, degree ``n``.",
    _affine(4, -2),
    _shifted,
)
shifted_chebyshev_polynomial_v = _polynomial(
    "shifted_chebyshev_polynomial_v",
    "Return the Chebyshev polynomial of the third kind, shifted, degree ``n``.",
    _affine(4, -3),
    _shifted,
)
shifted_chebyshev_polynomial_w = _polynomial(
    "shifted_chebyshev_polynomial_w",
    "Return the Chebyshev polynomial of the fourth kind, shifted, degree ``n``.",
    _affine(4, -1),
    _shifted,
)
hermite_polynomial_h = _polynomial(
    "hermite_polynomial_h", "Return the Hermite polynomial H of degree ``n``.", _twice, _hermite_h
)
hermite_polynomial_he = _polynomial(
    "hermite_polynomial_he", "Return the Hermite polynomial He of degree ``n``.", _same, _hermite_he
)
laguerre_polynomial_l = _polynomial(
    "laguerre_polynomial_l", "Return the Laguerre polynomial of degree ``n``.", _affine(-1, 1), _laguerre
)
legendre_polynomial_p = _polynomial("legendre_polynomial_p", "Return the Legendre polynomial of degree ``n``.", _same, _legendre)


@operation(one_device=OneDevice())
def igamma(input: TensorBase, other: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the regularized lower incomplete gamma function."""
    expect_tensors("igamma", input, other)
    return gammainc(input, other, out=out)


@operation(one_device=OneDevice())
def igammac(input: TensorBase, other: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the regularized upper incomplete gamma function."""
    expect_tensors("igammac", input, other)
    return gammaincc(input, other, out=out)


NAMED_METHODS = {"polygamma": polygamma_method}

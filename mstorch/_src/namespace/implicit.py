"""Reparameterized gradients of Gamma and Dirichlet samples with respect to the concentration, at a fixed quantile.

The derivative is ``-(dF/da) / p`` for a distribution function F with density p. The approximations (a Taylor series for small samples, a
saddle-point expansion for large concentrations, rational functions in between) are those of Jankowiak and Obermeyer, "Pathwise Derivatives
Beyond the Reparameterization Trick" (2018), with torch's coefficients, so that gradients agree with torch's including the approximation
error.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._tensor import Tensor
from ...autograd.function import Function, FunctionCtx
from ...autograd.grad_mode import no_grad
from ..backend.arrays import Array
from ..core.dtype import float64
from ..core.generator import Generator
from ..core.overriding import drawing, for_maps
from ..ops.elementwise.compare import where
from ..ops.random.sampling import _sample_dirichlet as _draw_dirichlet
from ..ops.random.sampling import _standard_gamma as _draw_gamma

# Rows: powers of log(x/a); columns: powers of log(a), four of the numerator, four of the denominator.
_GAMMA_FIT = np.array([
    [0.16009398, -0.094634809, 0.025146376, -0.0030648343, 1, 0.32668115, 0.10406089, 0.0014179084],
    [0.53487893, 0.1298071, 0.065735949, -0.0015649758, 0.16639465, 0.020070113, -0.0035938915, -0.00058392623],
    [0.040121004, -0.0065914022, -0.0026286047, -0.0013441777, 0.017050642, -0.0021309326, 0.00085092367, -1.5247877e-07],
])  # fmt: skip
# Powers of log(x), of log(a/x) and of log(total x/a), for numerator and denominator.
_BETA_FIT = np.array([
    [[[1.003668233, -0.01061107488, -0.0657888334, 0.01201642863],
      [0.6336835991, -0.3557432599, 0.05486251648, -0.001465281033],
      [-0.03276231906, 0.004474107445, 0.002429354597, -0.0001557569013]],
     [[0.221950385, -0.3187676331, 0.01799915743, 0.01074823814],
      [-0.2951249643, 0.06219954479, 0.01535556598, 0.001550077057],
      [0.02155310298, 0.004170831599, 0.001292462449, 6.976601077e-05]],
     [[-0.05980841433, 0.008441916499, 0.01085618172, 0.002319392565],
      [0.02911413504, 0.01400243777, -0.002721828457, 0.000751041181],
      [0.005900514878, -0.001936558688, -9.495446725e-06, 5.385558597e-05]]],
    [[[1, -0.02924021934, -0.04438342661, 0.007285809825],
      [0.6357567472, -0.3473456711, 0.05454656494, -0.002407477521],
      [-0.03301322327, 0.004845219414, 0.00231480583, -0.0002307248149]],
     [[0.5925320577, -0.1757678135, 0.01505928619, 0.000564515273],
      [0.1014815858, -0.06589186703, 0.01272886114, -0.0007316646956],
      [-0.007258481865, 0.001096195486, 0.0003934994223, -4.12701925e-05]],
     [[0.06469649321, -0.0236701437, 0.002902096474, -5.896963079e-05],
      [0.001925008108, -0.002869809258, 0.0008000589141, -6.063713228e-05],
      [-0.0003477407336, 6.959756487e-05, 1.097287507e-05, -1.650964693e-06]]],
])  # fmt: skip


def _horner(variable: Tensor, coefficients: Sequence[Any]) -> Tensor:
    """Evaluate the polynomial with the given coefficients, lowest power first."""
    total = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = coefficient + variable * total
    return total


def _gamma_small(a: Any, x: Any) -> Tensor:
    """Return the gradient from the power series of the incomplete gamma function and of its derivative with respect to ``a``."""
    term, value, slope = 1.0, 0.0, 0.0
    for n in range(6):
        if n:
            term = term * (-x / n)
        value = value + term / (a + n)
        slope = slope + term / (a + n) ** 2
    power = x**a
    moved = (x.log() - a.digamma()) * (power * value) - power * slope
    return (-moved / (x ** (a - 1) * (-x).exp())).nan_to_num(nan=0.0, posinf=math.inf, neginf=-math.inf)


def _gamma_large(a: Tensor, x: Tensor) -> Tensor:
    """Return the gradient from the saddle-point expansion or, near the mean where this is 0/0, its limit."""
    head = 1 + 24 * a * (1 + 12 * a)
    tail = 1440 * a * a + 6 * x * (53 - 120 * x) - 65 * x * x / a + a * (107 + 3600 * x)
    near = head * tail / (1244160 * a**4)
    root = (8 * a).sqrt()
    bulge = (x - a - a * (x / a).log()) ** -1.5
    middle = root / (a - x) + where(x < a, -bulge, bulge)
    first = (x / a).log() * middle - (2 / a).sqrt() * (a + x) / (a - x) ** 2
    stirling = 1 + 1 / (12 * a) * (1 + 1 / (24 * a))
    return where((0.9 * a <= x) & (x <= 1.1 * a), near, -stirling * (x * first) / root)


def _gamma_fitted(a: Tensor, x: Tensor) -> Tensor:
    u, v = (x / a).log(), a.log()
    columns = [_horner(u, list(column)) for column in _GAMMA_FIT.T]
    return (_horner(v, columns[:4]) / _horner(v, columns[4:])).exp()


@for_maps
def _standard_gamma_grad(self: Tensor, output: Tensor) -> Tensor:
    """Return the derivative of gamma samples ``output`` with respect to their concentrations ``self``; same shapes."""
    with no_grad():
        a, x = self.to(float64), output.to(float64)
        small, large = x < float(np.float32(0.8)), a > 8
        found = where(small, _gamma_small(a, x), where(large, _gamma_large(a, x), _gamma_fitted(a, x)))
        return found.to(output.dtype)


def _beta_near_zero(x: Any, a: Tensor, b: Tensor) -> Tensor:
    """Return the derivative in the first concentration, from the power series at x = 0."""
    factor = a.digamma() - (a + b).digamma() - x.log()
    term = 1.0
    series = 1 / a * (factor + 1 / a)
    for n in range(1, 11):
        term = term * ((n - b) * x / n)
        series = series + term / (a + n) * (factor + 1 / (a + n))
    return (x * (1 - x) ** -b * series).nan_to_num(nan=0.0, posinf=math.inf, neginf=-math.inf)


def _beta_near_one(x: Any, a: Tensor, b: Any) -> Tensor:
    """Return the derivative in the second concentration, from the power series at x = 0."""
    factor = (a + b).digamma() - b.digamma()
    term, falling, slope = 1.0, 1.0, 0.0
    series = factor / a
    for n in range(1, 9):
        term = term * (-x / n)
        slope = slope * (b - n) + falling
        falling = falling * (b - n)
        series = series + term / (a + n) * (slope + factor * falling)
    return (-((1 - x) ** (1 - b)) * series).nan_to_num(nan=0.0, posinf=math.inf, neginf=-math.inf)


def _beta_large(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Return the derivative from the saddle-point expansion or, near the mean where this is 0/0, its limit."""
    total = a + b
    mean = a / total
    spread = (a * b / (total + 1)).sqrt() / total
    poly = _horner(a, [
        47 * x * b**4,
        (43 + 20 * (16 + 27 * b) * x) * b**3,
        3 * (59 + 180 * b - 90 * x) * b**2,
        (453 + 1620 * b * (1 - x) - 455 * x) * b,
        8 * (1 - x) * (135 * b - 11),
    ])  # fmt: skip
    near = (1 + 12 * a) * (1 + 12 * b) / total**2 / (1 - x) * poly / (12960 * a**3 * b**2 * (1 + 12 * total))

    def stirling(value: Tensor) -> Tensor:
        return 1 + 1 / (12 * value) + 1 / (288 * value * value)

    off = a * (x - 1) + b * x
    first = (2 * a * a * (x - 1) + a * b * (x - 1) - x * b * b) / ((2 * a / b).sqrt() * total**1.5 * off * off)
    bulge = (b * (b / (total * (1 - x))).log() + a * (a / (total * x)).log()) ** -1.5
    second = (8 * a * b / total).sqrt() / off + where(x < mean, bulge, -bulge)
    terms = first + 0.5 * (a / (total * x)).log() * second
    far = stirling(a) * stirling(b) / stirling(total) * (-x / (2 * a * b / total).sqrt()) * terms
    return where((mean - 0.1 * spread <= x) & (x <= mean + 0.1 * spread), near, far)


def _beta_fitted(x: Tensor, a: Tensor, total: Tensor) -> Tensor:
    u = x.log()
    v = a.log() - u
    w = total.log() - v

    def part(fit: Array) -> Any:
        return sum(u**i * v**j * _horner(w, list(fit[i][j])) for i in range(3) for j in range(3))

    return part(_BETA_FIT[0]) / part(_BETA_FIT[1]) * (x * (total.digamma() - a.digamma()) / (total - a))


@for_maps
def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """Return the derivative of Dirichlet samples ``x`` with respect to their concentrations, divided by 1 - x; same shapes."""
    with no_grad():
        wide = [t.to(float64) for t in (x, alpha, total)]
        beta = total - alpha
        edge = total * x * (1 - x)
        # torch sums the two series in the samples' own precision, and the others in double precision.
        zero = _beta_near_zero(x, alpha, beta).to(float64)
        one = -_beta_near_one(1 - x, beta, alpha).to(float64)
        large = _beta_large(wide[0], wide[1], wide[2] - wide[1])
        inner = where((alpha > 6) & (beta > 6), large, _beta_fitted(*wide))
        found = where((x <= 0.5) & (edge < 2.5), zero, where((x >= 0.5) & (edge < 0.75), one, inner))
        return found.to(x.dtype)


class _StandardGamma(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, concentration: Tensor, generator: Generator | None) -> Tensor:
        sample = _draw_gamma(concentration, generator)
        ctx.save_for_backward(concentration, sample)
        return sample

    @staticmethod
    def backward(ctx: FunctionCtx, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        concentration, sample = ctx.saved_tensors
        slope = _standard_gamma_grad(concentration.detach(), sample.detach())
        return grad_outputs[0] * slope.to(concentration.dtype), None


class _SampleDirichlet(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, concentration: Tensor, generator: Generator | None) -> Tensor:
        return _draw_dirichlet(concentration, generator)

    @staticmethod
    def backward(ctx: FunctionCtx, *grad_outputs: Any) -> Any:
        raise RuntimeError("derivative for aten::_sample_dirichlet is not implemented")


@for_maps
@drawing
def _standard_gamma(self: Tensor, generator: Generator | None = None) -> Tensor:
    """Draw gamma samples with the concentrations ``self`` and rate 1, differentiably."""
    return _StandardGamma.apply(self, generator)


@for_maps
@drawing
def _sample_dirichlet(self: Tensor, generator: Generator | None = None) -> Tensor:
    """Draw Dirichlet samples with concentrations along the last dimension; no gradient, as in torch (``Dirichlet`` has one)."""
    return _SampleDirichlet.apply(self, generator)

"""The matrix exponential, by matrix products."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...backend.table import kernel
from ...core.modes import modes
from ...core.tensor_base import TensorBase
from .._dispatch import call, values_of, without_grad
from .._forms import Forms
from .._operation import operation
from ..elementwise.compare import where
from ..memory.creation import eye, zeros_like
from ..shape import views
from ..shape.join import cat
from .linalg_factor import attach, check_floating, check_square

PUBLIC_IN = "linalg"

# Taylor polynomials of degree 8, 12 and 18 in few products, and the 1-norm up to which each degree is exact to rounding
# (P. Bader, S. Blanes, F. Casas: "Computing the matrix exponential with an optimized Taylor polynomial approximation",
# Mathematics 7 (2019) 1174, https://doi.org/10.3390/math7121174).
_DEGREES = (1, 2, 4, 8, 12, 18)
_LIMITS = {
    4: (1.192092800768788e-07, 5.978858893805233e-04, 5.116619363445086e-02, 5.800524627688768e-01, 1.461661507209034,
        3.010066362817634),
    8: (2.220446049250313e-16, 2.580956802971767e-08, 3.397168839976962e-04, 4.991228871115323e-02, 2.996158913811580e-01,
        1.090863719290036),
}  # fmt: skip
_T12 = (
    (9.0198e-16, 0.46932117595418237389, -0.20099424927047284052, -0.04623946134063071740),
    (5.31597895759871264183, 1.19926790417132231573, 0.01179296240992997031, 0.01108844528519167989),
    (0.18188869982170434744, 0.05502798439925399070, 0.09351590770535414968, 0.00610700528898058230),
    (-2.0861320e-13, -0.13181061013830184015, -0.02027855540589259079, -0.00675951846863086359),
)
_T18 = (
    (0, -1.00365581030144618291e-01, -8.02924648241156932449e-03, -8.92138498045729985177e-04, 0),
    (0, 3.97849749499645077844e-01, 1.36783778460411720168e00, 4.98289622525382669416e-01, -6.37898194594723280150e-04),
    (-1.09676396052962061844e01, 1.68015813878906206114e00, 5.71779846478865511061e-02, -6.98210122488052056106e-03,
     3.34975017086070470649e-05),
    (-9.04316832390810593223e-02, -6.76404519071381882256e-02, 6.75961301770459654925e-02, 2.95552570429315521194e-02,
     -1.39180257516060693404e-05),
    (0, 0, -9.23364619367118555360e-02, -1.69364939002081722752e-02, -1.40086798182036094347e-05),
)  # fmt: skip
_small = kernel("small_matmul")
_SMALL = 16
_MOST_SQUARINGS = 40  # in a capture, where norms are not known


def _product(first: Any, second: TensorBase) -> Any:
    return call(_small, (first, second)) if first._ms_shape[-1] <= _SMALL else first @ second


def _mixed(weights: tuple[float, ...], powers: tuple[TensorBase, ...]) -> Any:
    total = None
    for weight, power in zip(weights, powers):
        if weight:
            total = power * weight if total is None else total + power * weight
    return total


def _taylor(A: Any, one: TensorBase, degree: int) -> TensorBase:
    """Return the Taylor polynomial of the given degree."""
    if degree == 1:
        return one + A
    square = _product(A, A)
    if degree == 2:
        return one + A + square * 0.5
    if degree == 4:
        return one + A + _product(square, one * 0.5 + A * (1 / 6) + square * (1 / 24))
    if degree == 8:
        root = math.sqrt(177)
        third = 2 / 3
        fourth = _product(square, A * (third * (1 + root) / 88) + square * (third * (1 + root) / 352))
        inner = _mixed(
            ((29 * root - 271) / (315 * third), (11 * root - 11) / (1260 * third), (11 * root - 99) / (5040 * third),
             (89 - root) / (5040 * third)),
            (one, A, square, fourth),
        )  # fmt: skip
        return one + A + square * ((857 - 58 * root) / 630) + _product(square * third + fourth, inner)
    cube = _product(A, square)
    if degree == 12:
        first, second, third_, fourth = (_mixed(row, (one, A, square, cube)) for row in _T12)
        sixth = third_ + _product(fourth, fourth)
        return first + _product(second + sixth, sixth)
    powers = (one, A, square, cube, _product(cube, cube))
    a, b, c, d, e = (_mixed(row, powers) for row in _T18)
    ninth = _product(a, e) + d
    return b + _product(c + ninth, ninth)


def _by_norm(A: TensorBase, one: TensorBase, norms: TensorBase, limits: tuple[float, ...], wanted: tuple[int, ...]) -> Any:
    """Return the matrix exponentials by Taylor polynomials; each matrix's norm decides on the degree."""
    found = None
    for degree, limit in zip(reversed(_DEGREES), reversed(limits)):
        if degree in wanted:
            value = _taylor(A, one, degree)
            found = value if found is None else where(norms <= limit, value, found)
    return found


def _values(A: TensorBase) -> TensorBase:
    """Return the matrix exponential of float or complex matrices, without a gradient."""
    shape = A._ms_shape
    if 0 in shape:
        return A.clone()
    limits = _LIMITS[8 if A._ms_dtype.name in ("float64", "complex128") else 4]
    one = eye(shape[-1], dtype=A._ms_dtype, device=A.device)
    norms = A.abs().sum(-2).amax(-1)
    norms = views.unsqueeze(views.unsqueeze(norms, -1), -1)
    values = values_of(norms)
    if values is not None:
        sizes = values.reshape(-1)
        degrees = {_DEGREES[min(int(np.searchsorted(limits, size)), 5)] if np.isfinite(size) else 18 for size in sizes}
        largest = float(sizes.max())
        most = max(0, math.ceil(math.log2(largest / limits[-1]))) if math.isfinite(largest) and largest > 0 else 0
    else:
        degrees, most = set(_DEGREES), _MOST_SQUARINGS
    if not most:
        return _by_norm(A, one, norms, limits, tuple(degrees))
    squarings = (norms / limits[-1]).log2().ceil().clamp(0, most)
    found = _by_norm(A / (squarings * 0 + 2).pow(squarings), one, norms, limits, tuple(degrees))
    for i in range(most):
        found = where(squarings > i, _product(found, found), found)
    return found


def _exp_backward(gradients: Sequence[TensorBase], outputs: Sequence[TensorBase], inputs: Sequence[TensorBase]) -> tuple[TensorBase]:
    (gradient,), (A,) = gradients, inputs
    if gradient is None:
        return (None,)
    size = A._ms_shape[-1]
    adjoint = A.mH
    upper = cat((adjoint, gradient), -1)
    lower = cat((zeros_like(gradient), adjoint), -1)
    return (matrix_exp(cat((upper, lower), -2))[..., :size, size:],)


@operation(forms=Forms({"input": "A"}))
def matrix_exp(A: TensorBase) -> TensorBase:
    """Return the matrix exponential of square matrices."""
    check_floating(A, "linalg.matrix_exp", low=True)
    check_square(A, "linalg.matrix_exp")
    forward, modes.forward = modes.forward, False  # the exponential has a derivative of its own
    try:
        with without_grad():
            low = A._ms_dtype.itemsize < 4
            found = _values(A.float() if low else A)
            found = found.to(A._ms_dtype) if low else found
    finally:
        modes.forward = forward
    return attach("LinalgMatrixExpBackward0", _exp_backward, (A,), (found,))[0]



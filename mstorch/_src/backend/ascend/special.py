"""Special functions on Ascend: error functions by aclnn, gamma functions on the device's AI CPU."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..kernels._nodes import constant
from ..raw import Raw
from ..table import FLOATS, VIA_HALF
from ._primitives import ORDERED, absent, enter, run


def _ndtr(x: Raw) -> Raw:
    return run("Mul", run("Erfc", run("Mul", x, constant(-math.sqrt(0.5), x))), constant(0.5, x))


def _entr(x: Raw) -> Raw:
    zero = constant(0, x)
    found = run("Neg", run("Mul", x, run("Log", x)))
    found = run("Select", run("Equal", x, zero), zero, found)
    found = run("Select", run("Less", x, zero), constant(-math.inf, x), found)
    return run("Select", run("NotEqual", x, x), x, found)


def _all_of(*conditions: Raw) -> Raw:
    found = conditions[0]
    for condition in conditions[1:]:
        found = run("LogicalAnd", found, condition)
    return found


def _of_some(name: str) -> Callable[..., Any]:
    """Return a function by the primitive's name; MindSpore refuses empty tensors in some of these."""
    return lambda x: run(name, x) if x.size else run("Clone", x)


def _incomplete(name: str, at_zero: float) -> Callable[..., Any]:
    """Return an incomplete gamma function that gives the limits at zero and infinity, where the device's kernel gives NaN."""

    def row(a: Raw, x: Raw) -> Raw:
        zero, infinite = constant(0, x), constant(math.inf, x)
        nothing, all_of_it = run("Equal", x, zero), run("Equal", x, infinite)
        none, every = run("Equal", a, zero), run("Equal", a, infinite)
        above, inside = run("LogicalNot", run("LessEqual", a, zero)), run("LogicalNot", run("Less", x, zero))
        found = run(name, a, x)
        low = run("LogicalOr", _all_of(nothing, above), _all_of(every, inside, run("LogicalNot", all_of_it)))
        finite = run("LogicalNot", run("LogicalOr", every, run("Less", a, zero)))
        high = run("LogicalOr", _all_of(none, run("Greater", x, zero)), _all_of(all_of_it, finite))
        found = run("Select", low, constant(at_zero, x), found)
        found = run("Select", high, constant(1 - at_zero, x), found)
        outside = run("LogicalOr", run("LogicalOr", run("Less", a, zero), run("Less", x, zero)), _all_of(none, nothing))
        return run("Select", outside, constant(math.nan, x), found)

    return row


enter("erf", "Erf")
enter("erfc", "Erfc")
enter("erfinv", "Erfinv")
enter("entr", _entr, ORDERED)
enter("ndtr", _ndtr, FLOATS, VIA_HALF)  # each of its steps would round
_AICPU: dict[str, Any] = {
    "lgamma": "Lgamma", "digamma": "Digamma", "gammainc": _incomplete("Igamma", 0.0), "gammaincc": _incomplete("Igammac", 1.0),
    "i0": "BesselI0",
}  # fmt: skip
for _op, _name in _AICPU.items():
    enter(_op, _of_some(_name) if isinstance(_name, str) else _name, FLOATS)
absent(
    "no kernel of the device computes this function", "erfcx", "ndtri", "log_ndtr", "polygamma", "zeta", "i0e", "i1", "i1e",
    "modified_bessel_k0", "scaled_modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k1", "bessel_j0", "bessel_j1",
    "bessel_y0", "bessel_y1", "airy_ai",
)  # fmt: skip

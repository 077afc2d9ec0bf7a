"""Special functions on Ascend: error functions by aclnn, the gamma functions on the device's AI CPU."""
from __future__ import annotations

import math

from ..kernels._nodes import constant
from ..raw import Raw
from ..table import FLOATS
from ._primitives import absent, enter, enter_all, run


def _ndtr(x: Raw) -> Raw:
    return run("Mul", run("Erfc", run("Mul", x, constant(-math.sqrt(0.5), x))), constant(0.5, x))


def _entr(x: Raw) -> Raw:
    zero = constant(0, x)
    found = run("Neg", run("Mul", x, run("Log", x)))
    found = run("Select", run("Equal", x, zero), zero, found)
    found = run("Select", run("Less", x, zero), constant(-math.inf, x), found)
    return run("Select", run("NotEqual", x, x), x, found)


enter_all({"erf": "Erf", "erfc": "Erfc", "erfinv": "Erfinv", "ndtr": _ndtr, "entr": _entr})
for _op, _name in {"lgamma": "Lgamma", "digamma": "Digamma", "gammainc": "Igamma", "gammaincc": "Igammac", "i0": "BesselI0"}.items():
    enter(_op, _name, FLOATS)
absent(
    "no kernel of the device computes this function", "erfcx", "ndtri", "log_ndtr", "polygamma", "zeta", "i0e", "i1", "i1e",
    "modified_bessel_k0", "scaled_modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k1", "bessel_j0", "bessel_j1",
    "bessel_y0", "bessel_y1", "airy_ai",
)  # fmt: skip

"""Comparison and logical kernels, and tests for NaN and infinity."""

from __future__ import annotations

from mindspore import ops

from ..host.elementwise import numpy_signbit as host_signbit
from ..raw import Raw, from_numpy
from ..table import COMPLEX, FLOATS, INTS, define
from ._nodes import is_complex, prim_and, prim_equal, prim_not, prim_or

REAL = FLOATS + ("float16", "bool") + INTS
VIA = {"bfloat16": "float32"}

_isinf = ops.IsInf()
_isfinite = ops.IsFinite()
_isnan = ops.IsNan()
_real = ops.Real()
_imag = ops.Imag()

for _op, _primitive in (("eq", prim_equal), ("ne", ops.NotEqual())):
    define(_op, cpu=_primitive, dtypes=REAL + COMPLEX + ("uint16",), via={**VIA, "uint32": "int64"})
for _op, _primitive in (("lt", ops.Less()), ("le", ops.LessEqual()), ("gt", ops.Greater()), ("ge", ops.GreaterEqual())):
    define(_op, cpu=_primitive, dtypes=REAL, via=VIA)
for _op, _primitive in (("logical_and", prim_and), ("logical_or", prim_or), ("logical_xor", ops.LogicalXor())):
    define(_op, cpu=_primitive, dtypes=REAL + COMPLEX, via=VIA)
define("logical_not", cpu=prim_not, dtypes=REAL + COMPLEX, via=VIA)


def ops_isnan(raw: Raw) -> Raw:
    return prim_or(_isnan(_real(raw)), _isnan(_imag(raw))) if is_complex(raw) and raw.size else _isnan(raw)


def ops_isinf(raw: Raw) -> Raw:
    if is_complex(raw) and raw.size:
        return prim_or(_isinf(_real(raw)), _isinf(_imag(raw)))
    return _isinf(raw)


def ops_isfinite(raw: Raw) -> Raw:
    if is_complex(raw) and raw.size:
        return prim_and(_isfinite(_real(raw)), _isfinite(_imag(raw)))
    return _isfinite(raw)


def numpy_signbit(raw: Raw) -> Raw:
    """Return whether the sign bit is set, also for -0.0 and NaN."""
    return from_numpy(host_signbit(raw.asnumpy()))


define("isnan", cpu=ops_isnan, dtypes=FLOATS + ("float16",) + COMPLEX, via=VIA)
define("isinf", cpu=ops_isinf, dtypes=FLOATS + ("float16",) + COMPLEX, via=VIA)
define("isfinite", cpu=ops_isfinite, dtypes=FLOATS + ("float16",) + COMPLEX, via=VIA)
define(
    "signbit",
    cpu=numpy_signbit,
    dtypes=REAL,
    via=VIA,
    numpy_reason="MindSpore has no view of a float's bits, and no comparison tells -0.0 from 0.0",
)

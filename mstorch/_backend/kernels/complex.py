"""Kernels between complex tensors and pairs of real ones."""
from __future__ import annotations

from typing import Any

from mindspore import ops

from ..raw import NP_DTYPE, Raw, from_numpy
from ..table import ALL, COMPLEX, FLOATS, define

_real = ops.Real()
_imag = ops.Imag()
_complex = ops.Complex()
_stack = ops.Stack(-1)
_unstack = ops.Unstack(-1)
_reshape = ops.Reshape()


def composed_as_pairs(raw: Raw) -> Raw:
    """(…) complex as (…, 2) real."""
    if raw.size == 0:
        return from_numpy(raw.asnumpy().view(raw.asnumpy().real.dtype).reshape(*raw.shape, 2))
    return _stack([_real(raw), _imag(raw)])


def composed_from_pairs(raw: Raw) -> Raw:
    """(…, 2) real as (…) complex."""
    if raw.size == 0:
        kind = "complex64" if raw.asnumpy().dtype == NP_DTYPE["float32"] else "complex128"
        return from_numpy(raw.asnumpy().view(NP_DTYPE[kind]).reshape(raw.shape[:-1]))
    real, imag = _unstack(raw)
    return _complex(real, imag)


def numpy_reinterpret(raw: Raw, name: str) -> Any:
    """The bytes of a flat tensor as elements of another dtype."""
    return from_numpy(raw.asnumpy().view(NP_DTYPE[name]).copy())


define("real_pairs", cpu=composed_as_pairs, dtypes=COMPLEX)
define("complex_of_pairs", cpu=composed_from_pairs, dtypes=FLOATS)
define("reinterpret", cpu=numpy_reinterpret, dtypes=ALL, numpy_reason="MindSpore has no bitcast kernel on CPU")

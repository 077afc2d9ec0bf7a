"""Gradients of Fourier transforms: the inverse transform with the same scale."""
from __future__ import annotations

from typing import Any

from ...backend.arrays import Array
from ...backend.raw import NP_DTYPE
from .. import vocabulary as v
from ..apply import Applied, rule
from ..movement import part_of_complex
from ..operands import Operand
from ..primitives import Primitive

_ADJOINT = {"backward": "forward", "ortho": "ortho", "forward": "backward", None: "forward"}
_fft = Primitive("fft")


@rule("fft", label="FftC2CBackward0")
def fft(node: Applied, g: Array) -> Operand:
    dims, inverse, norm = node.args
    return _fft(g, dims, not inverse, _ADJOINT[norm])


@rule("complex")
def complex(node: Applied, g: Array) -> Any:
    wide, real = NP_DTYPE[v.dtype_name(g)], node.kind.np

    def of_real(array: Array) -> Array:
        return array.real.astype(real)

    def of_imaginary(array: Array) -> Array:
        return array.imag.astype(real)

    def as_imaginary(array: Any) -> Any:
        return array.astype(wide) * wide.type(1j)

    first, second = node.edges
    one = None if first is None else v.mapped(g, of_real, lambda array: array.astype(wide), "RealBackward0", *part_of_complex(0))
    other = None if second is None else v.mapped(g, of_imaginary, as_imaginary, "ImagBackward0", *part_of_complex(1))
    return tuple(None if part is None else v.fit(part, shape) for part, shape in zip((one, other), node.shapes))


@rule("polar", keep=("result",))
def polar(node: Applied, g: Array) -> Any:
    """Return the gradients of ``polar``: for the absolute value, the real part of ``conj(g) * sgn(result)``; for the angle, that of
    ``conj(g) * result * 1j``."""
    wide, real = NP_DTYPE[v.dtype_name(g)], node.kind.np
    result, turned = node.kept(g), v.conj(g)

    def real_part(value: Array, shape: tuple[int, ...]) -> Array:
        part = v.mapped(
            value, lambda array: array.real.astype(real), lambda array: array.astype(wide), "RealBackward0", *part_of_complex(0)
        )
        return v.fit(part, shape)

    first, second = node.edges
    return (
        None if first is None else real_part(v.mul(turned, v.sgn(result)), node.shapes[0]),
        None if second is None else real_part(v.times(v.mul(turned, result), 1j), node.shapes[1]),
    )

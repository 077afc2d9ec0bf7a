"""Convolutions in one to three dimensions and their two gradients, in the layouts that the kernels prefer.

Arrays keep their layout (row-major or channels last). Arguments that a kernel needs in another layout are reordered into scratch memory;
each thread keeps one such buffer per argument.
"""
from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from .library import ENGINE, Refused, sizes
from .primitive import (
    BFLOAT16,
    BIAS,
    BY_RESULT,
    BY_SOURCE,
    BY_WEIGHTS,
    FLOAT32,
    RESULT,
    SOURCE,
    TRAINING,
    WEIGHTS,
    Descriptor,
    Layout,
    Primitive,
    address,
    copier,
    none,
    prepared,
    rows,
)

_DIRECT = 1
FORWARD, INPUT, WEIGHT = "forward", "input", "weight"
# For each kind the arguments in order, the result last: name, oneDNN's argument number, index among input, weights and output.
_ARGUMENTS = {
    FORWARD: (("source", SOURCE, 0), ("weights", WEIGHTS, 1), ("result", RESULT, 2)),
    INPUT: (("by_result", BY_RESULT, 2), ("weights", WEIGHTS, 1), ("by_source", BY_SOURCE, 0)),
    WEIGHT: (("source", SOURCE, 0), ("by_result", BY_RESULT, 2), ("by_weights", BY_WEIGHTS, 1)),
}
Sizes = tuple[int, ...]


class _Scratch(threading.local):
    def __init__(self) -> None:
        self.parts: dict[str, Array] = {}

    def address(self, name: str, size: int) -> int:
        """Return scratch memory of ``size`` bytes, valid until the next call."""
        part = self.parts.get(name)
        if part is None or part.nbytes < size:
            part = self.parts[name] = np.empty(-(-size // 4), np.float32)
        return address(part)


_scratch = _Scratch()
_KINDS = {"f": FLOAT32, "H": BFLOAT16}


def _descriptor(
    kind: str, shapes: Sequence[Sizes], elements: Sequence[int], biased: bool, geometry: tuple[Sizes, Sizes, Sizes]
) -> Descriptor:  # fmt: skip
    found = _descriptor_of(kind, shapes, elements, biased, geometry, False)
    if kind == WEIGHT and len(shapes[1]) > len(shapes[0]) and "gemm" in found.kernel():
        # For large depthwise kernels the library has none of blocks of channels, and one of channels last that takes a sixth of the time.
        try:
            other = _descriptor_of(kind, shapes, elements, biased, geometry, True)
        except Refused:
            return found
        return found if "gemm" in other.kernel() or "ref" in other.kernel() else other
    return found


def _channels_last(shape: Sizes) -> Sizes:
    """Return the strides of (N, C, …) in the order N, …, C."""
    steps = [1] * len(shape)
    steps[-1] = shape[1]
    for place in range(len(shape) - 2, 1, -1):
        steps[place] = steps[place + 1] * shape[place + 1]
    steps[0] = math.prod(shape[1:])
    return tuple(steps)


def _descriptor_of(
    kind: str, shapes: Sequence[Sizes], elements: Sequence[int], biased: bool, geometry: tuple[Sizes, Sizes, Sizes], last: bool
) -> Descriptor:  # fmt: skip
    """Return the descriptor of the library's choice of layouts, or with ``last`` of images with their channels last."""
    source, weights, result = (
        Layout(shape, _channels_last(shape) if last and number != 1 else None, kind=element)
        for number, (shape, element) in enumerate(zip(shapes, elements))
    )
    bias = rows((shapes[2][1],)) if biased else none()
    stride, padding, dilation = geometry
    around = sizes(stride), sizes([n - 1 for n in dilation]), sizes(padding), sizes(padding)
    plain = weights if kind != WEIGHT else Layout(shapes[1], kind=elements[0])
    forward = Descriptor("convolution_forward", ENGINE, TRAINING, _DIRECT, source, plain, bias, result, *around, None)
    if kind == FORWARD:
        return forward
    if kind == INPUT:
        return Descriptor("convolution_backward_data", ENGINE, _DIRECT, source, weights, result, *around, forward, None)
    return Descriptor("convolution_backward_weights", ENGINE, _DIRECT, source, weights, none(), result, *around, forward, None)


class _Convolution:
    """A convolution kernel, with the reorders of arguments that need another layout."""

    __slots__ = ("primitive", "steps")

    def __init__(
        self, kind: str, shapes: Sequence[Sizes], steps: Sequence[Sizes], elements: Sequence[int], biased: bool, geometry: Any
    ) -> None:  # fmt: skip
        descriptor = _descriptor(kind, shapes, elements, biased, geometry)
        self.steps: list[tuple[str, int, Primitive | None]] = []
        places = []
        for name, place, number in _ARGUMENTS[kind]:
            own, lies = descriptor.layout(name), Layout(shapes[number], steps[number], kind=elements[number])
            places.append((place, own))
            last = number == _ARGUMENTS[kind][-1][2]
            copy = None
            if not descriptor.takes(name, lies):
                copy = copier(own, lies) if last else copier(lies, own)
            self.steps.append((name, descriptor.bytes(name), copy))
        if biased:
            places.append((BIAS, rows((shapes[2][1],))))
        self.primitive = Primitive(descriptor, places)

    def __call__(self, arrays: Sequence[Array], bias: Array | None) -> None:
        """Compute from all arrays but the last into the last."""
        at = [address(array) for array in arrays]
        taken = list(at)
        for number, (name, size, copy) in enumerate(self.steps):
            if copy is not None:
                taken[number] = _scratch.address(name, size)
                if number < 2:
                    copy(at[number], taken[number])
        if bias is not None:
            self.primitive(*taken, bias)
        else:
            self.primitive(*taken)
        last = self.steps[-1][2]
        if last is not None:
            last(taken[-1], at[-1])


def _convolution(
    kind: str, shapes: Sequence[Sizes], strides: Sequence[Sizes], dtypes: Sequence[str], biased: bool, geometry: tuple[Sizes, ...]
) -> _Convolution | bool:  # fmt: skip
    """Return the kernel for arrays of these shapes, strides in bytes and NumPy's characters of dtypes; False if there is none."""
    steps = [tuple(step // np.dtype(char).itemsize for step in own) for own, char in zip(strides, dtypes)]
    try:
        return _Convolution(kind, shapes, steps, [_KINDS[char] for char in dtypes], biased, geometry)
    except Refused:
        return False


def _in_groups(weights: Array, groups: int) -> Array:
    """View (out, in / groups, ...) as (groups, out / groups, in / groups, ...)."""
    step, shape = weights.strides[0], weights.shape
    own = shape[0] // groups
    return np.lib.stride_tricks.as_strided(weights, (groups, own, *shape[1:]), (step * own, *weights.strides))


def convolve(
    kind: str, arrays: tuple[Array, Array, Array], bias: Array | None, geometry: tuple[Sizes, Sizes, Sizes], groups: int,
) -> bool:  # fmt: skip
    """Compute a convolution or one of its gradients from two of (input, weights, output) into the third; return False if there is no
    kernel.

    ``geometry`` is the stride, the symmetric padding and the dilation. The arrays are float32, or bfloat16 bits, for which the gradient of
    the weights is float32. The bias is always float32."""
    source, weights, result = arrays
    if groups != 1:
        weights = _in_groups(weights, groups)
    whole = (source, weights, result)
    shapes, strides = (source.shape, weights.shape, result.shape), (source.strides, weights.strides, result.strides)
    dtypes = source.dtype.char, weights.dtype.char, result.dtype.char
    kernel = prepared(_convolution, kind, shapes, strides, dtypes, bias is not None, geometry)
    if not kernel:
        return False
    kernel([whole[number] for _, _, number in _ARGUMENTS[kind]], bias)
    return True

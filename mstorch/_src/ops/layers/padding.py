"""Padding of the last dimensions."""
from __future__ import annotations

from collections.abc import Sequence

from ...backend.table import kernel
from ...core.strides import preserved_strides
from ...core.tensor_base import TensorBase, strides_of
from ...tape.saved_values import watch
from .._autocast import FLOAT32_ON_CPU
from .._dispatch import call, refuse_dtype, with_format
from .._numbers import fitting, refuse_tracked
from .._operation import operation

_pad = kernel("pad")
_pad_like = kernel("pad_like")


def constant_pad_nd(input: TensorBase, pad: Sequence[int], value: float = 0) -> TensorBase:
    """Pad the last dimensions with a constant."""
    shape, pads = input._ms_shape, tuple(int(p) for p in pad)
    if len(pads) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pads)}")
    if len(pads) // 2 > len(shape):
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{len(pads)} while the input has {len(shape)} dimensions."
        )
    for i in range(len(pads) // 2):
        axis = len(shape) - 1 - i
        if shape[axis] + pads[2 * i] + pads[2 * i + 1] < 0:
            raise RuntimeError(
                f"The input size {shape[axis]}, plus negative padding {pads[2 * i]} and {pads[2 * i + 1]} resulted in a negative "
                f"output size, which is invalid. Check dimension {axis} of your input."
            )
    filler = fitting(value, input._ms_dtype)
    if all(width <= 0 for width in pads):  # the copy of a part keeps the memory order
        lengths = tuple(
            length + sum(pads[2 * i : 2 * i + 2]) for length, i in zip(shape, range(len(shape) - 1, -1, -1))
        )
        return call(_pad, (input,), pads, filler, strides=preserved_strides(lengths, strides_of(input)))
    return with_format(call(_pad, (input,), pads, filler), input)


def pad(input: TensorBase, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> TensorBase:
    """Pad the last dimensions, given as (before, after) from the last dimension on.

    ``mode`` is ``constant`` (with ``value``), ``reflect``, ``replicate`` or ``circular``.
    """
    refuse_tracked(value)
    shape, pads = input._ms_shape, tuple([int(p) for p in pad])
    if len(pads) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if mode == "constant":
        if isinstance(value, complex):
            raise TypeError("pad(): argument 'value' (position 4) must be float, not complex")
        nothing = 0 if input._ms_dtype.ms is not None else 0.0
        return constant_pad_nd(input, pads, nothing if value is None else float(value))  # torch converts it to a float
    spatial = len(pads) // 2
    if spatial > len(shape):
        raise RuntimeError("Padding length too large")
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    _check_copied_pads(shape, pads, mode)
    # Under autocast these two compute in float32; torch does not cast the others.
    padded = {("reflect", True): reflection_pad, ("replicate", True): replication_pad, ("replicate", False): replication_pad}
    chosen = padded.get((mode, spatial < 3))
    if chosen is not None:
        return chosen(input, pads)
    if mode == "reflect":
        _refuse_bool("reflection", input, pads)
    result = call(_pad_like, (input,), pads, mode)
    if mode == "circular":
        return result  # torch composes it of parts, and saves nothing
    return with_format(watch(result, input), input) if mode == "reflect" else watch(result, input)


def _check_copied_pads(shape: tuple[int, ...], pads: tuple[int, ...], mode: str) -> None:
    """Raise unless the tensor has elements enough to fill the pads with."""
    spatial = len(pads) // 2
    if len(pads) not in (2, 4, 6) or len(shape) not in (spatial + 1, spatial + 2):
        raise NotImplementedError(
            f"Padding size {len(pads)} is not supported for {len(shape)}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    if mode != "circular" and 0 in shape[len(shape) - spatial - 1 :]:
        raise RuntimeError(
            f"Expected {spatial + 1}D or {spatial + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions "
            f"for input, but got: {list(shape)}"
        )
    for i in range(spatial):
        axis = len(shape) - 1 - i
        before, after = pads[2 * i], pads[2 * i + 1]
        size = shape[axis]
        if mode == "reflect" and (before >= size or after >= size):
            raise RuntimeError(
                f"Argument #4: Padding size should be less than the corresponding input dimension, but got: padding ({before}, "
                f"{after}) at dimension {axis} of input {list(shape)}"
            )
        if mode == "circular" and (before > size or after > size):
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if size + before + after < (0 if mode == "circular" else 1):
            raise RuntimeError("Negative padding value is resulting in an empty dimension")


def _refuse_bool(name: str, input: TensorBase, pads: tuple[int, ...]) -> None:
    """Raise torch's error for bool input, which torch pads in the modes constant and circular only."""
    refuse_dtype(f"{name}_pad{len(pads) // 2}d", input._ms_dtype)


@operation(autocast=FLOAT32_ON_CPU)
def reflection_pad(input: TensorBase, pads: tuple[int, ...]) -> TensorBase:
    """Pad by reflection in the last one or two dimensions; ``pad`` has checked the arguments."""
    _refuse_bool("reflection", input, pads)
    found = call(_pad_like, (input,), pads, "reflect", label=f"ReflectionPad{len(pads) // 2}DBackward0")
    return with_format(watch(found, input), input)


@operation(autocast=FLOAT32_ON_CPU)
def replication_pad(input: TensorBase, pads: tuple[int, ...]) -> TensorBase:
    """Pad by repeating the edges; ``pad`` has checked the arguments."""
    _refuse_bool("replication", input, pads)
    found = call(_pad_like, (input,), pads, "replicate", label=f"ReplicationPad{len(pads) // 2}DBackward0")
    return with_format(watch(found, input), input)

"""Interpolation, one spatial axis after another: by indices (nearest) or by a weight matrix."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...backend.arrays import Array
from ...backend.cast import numpy_cast
from ...backend.constants import kept
from ...backend.errors import not_for
from ...backend.host.resample import Passes
from ...backend.table import kernel
from ...core.call_forms import has_kind, kind_of
from ...core.dtype import by_name, dtype, float32, float64, uint8
from ...core.size import is_symbol
from ...core.tensor_base import TensorBase
from ...core.warned import warn
from ...tape.ways import fused
from .._autocast import FLOAT32_ON_DEVICES
from .._dispatch import INTS, call, with_format
from .._named import node_called
from .._numbers import refuse_tracked
from .._operation import operation
from ..memory.copying import clone
from .pool import adaptive_avg_pool

PUBLIC_IN = "nn.functional"

_along = kernel("along")
_pick = kernel("pick_along")
_upsample = kernel("upsample")


def _scale(size: int, out: int, factor: float | None, corners: bool, kind: type) -> float:
    """Return the distance between output elements in input units, in torch's precision."""
    if corners:
        return kind((size - 1) / (out - 1)) if out > 1 else kind(0)
    if factor is not None and factor > 0:
        return kind(1.0 / factor)
    return kind(kind(size) / kind(out)) if out else kind(0)


@kept
def _nearest(size: int, out: int, factor: float | None, exact: bool, image: bool) -> Array:
    """Return the source indices of nearest interpolation. For images, torch ignores the factor if the size is kept or doubled."""
    if image and not exact and out in (size, 2 * size):
        return np.arange(out) // (out // size)
    scale = _scale(size, out, factor, False, np.float32)
    places = np.arange(out, dtype=np.float32)
    found = np.floor((places + np.float32(0.5)) * scale if exact else places * scale)
    return np.minimum(found.astype(np.int64), size - 1)


def _cubic(t: Array, a: float) -> list[Array]:
    """Return the weights of four neighbours at distances 1 + t, t, 1 - t, 2 - t."""

    def near(x: Array) -> Array:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Array) -> Array:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


Weights = tuple[Array, Array]


def _weights(size: int, out: int, sources: Array, targets: Array, weights: Array) -> Weights:
    """Return a matrix (size, out), and the (source, target, weight) terms that it sums, including zero weights."""
    matrix = np.zeros((size, out), weights.dtype)
    np.add.at(matrix, (sources, targets), weights)
    return matrix, np.stack((sources, targets, weights))


@kept
def _matrix(size: int, out: int, factor: float | None, corners: bool, cubic: bool, double: bool, rounded: str = "") -> Weights:
    """Return the matrix of linear or cubic interpolation, with weights ``rounded`` to a dtype of that name."""

    def weight_of(exact: Array) -> Array:
        return numpy_cast(numpy_cast(exact, by_name(rounded).np), np.dtype(kind)) if rounded else exact

    kind: Any = np.float64 if double else np.float32
    scale = _scale(size, out, factor, corners, kind)
    places = np.arange(out, dtype=kind)
    source = places * scale if corners else (places + kind(0.5)) * scale - kind(0.5)
    if not cubic:
        source = np.maximum(source, 0)
    low = np.floor(source)
    t = (source - low).astype(kind)
    low = low.astype(np.int64)
    columns = np.arange(out)
    if cubic:
        near = [(low - 1 + k).clip(0, size - 1) for k in range(4)]
        factors = [weight_of(weight) for weight in _cubic(t, -0.75)]
    elif size == out:  # for any factor
        near, factors = [columns, columns], [np.ones(out, kind), np.zeros(out, kind)]
    else:
        low = np.minimum(low, size - 1)
        t = weight_of(t)
        near, factors = [low, np.minimum(low + 1, size - 1)], [weight_of(1 - t), t]
    return _weights(size, out, np.concatenate(near), np.tile(columns, len(near)), np.concatenate(factors))


def _triangle(x: Array) -> Array:
    return np.maximum(1 - np.abs(x), 0)


def _cubic_filter(x: Array) -> Array:
    x, a = np.abs(x), -0.5
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * a
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def _lanczos_filter(x: Array) -> Array:
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


_FILTERS = {"bilinear": (_triangle, 2), "bicubic": (_cubic_filter, 4), "lanczos": (_lanczos_filter, 6)}


@kept
def _smooth_matrix(size: int, out: int, factor: float | None, corners: bool, mode: str) -> Weights:
    """Return the matrix of an antialiasing filter, which widens with the scale."""
    function, width = _FILTERS[mode]
    scale = float(_scale(size, out, factor, corners, np.float64))
    support = width / 2 * scale if scale >= 1 else width * 0.5
    inverse = 1 / scale if scale >= 1 else 1.0
    sources, found = [], []
    for o in range(out):
        centre = scale * (o + 0.5)
        first = max(int(centre - support + 0.5), 0)
        last = min(int(centre + support + 0.5), size)
        weights = function((np.arange(first, last) - centre + 0.5) * inverse)
        total = weights.sum()
        sources.append(np.arange(first, last))
        found.append(weights / total if total else weights)
    targets = np.repeat(np.arange(out), [len(part) for part in found])
    return _weights(size, out, np.concatenate(sources), targets, np.concatenate(found))


_LINEAR = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2, "lanczos": 2}


def _check_kind(input: TensorBase, mode: str, rank: int, antialias: bool) -> None:
    """Raise torch's errors for integers other than uint8, and for complex numbers."""
    kind, nearest = input._ms_dtype, mode.startswith("nearest")
    if kind.is_floating_point and not (antialias and kind.itemsize == 2):
        return
    if kind is uint8 and (nearest or (rank == 2 and mode in _BYTES)):
        return
    flat = {"nearest": "nearest", "nearest-exact": "nearest", "trilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    kernel_ = f"compute_indices_weights_{flat}"
    if antialias:
        kernel_ = "compute_index_ranges_weights"
    elif rank == 2 and mode != "bicubic":
        kernel_ = f"upsample_{flat}2d_channels_last"
    raise not_for(kernel_, kind.name)


def resize(
    input: TensorBase, out: tuple[int, ...], factors: tuple[Any, ...], mode: str, corners: bool, antialias: bool
) -> TensorBase:
    """Resize (N, C, *sizes) to (N, C, *out)."""
    sizes = input._ms_shape[2:]
    if any(o <= 0 for o in out) or any(n <= 0 for n in sizes):
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input ({_names(sizes)}) and output ({_names(out)})"
        )
    if antialias and sizes == out:
        return clone(input)
    _check_kind(input, mode, len(sizes), antialias)
    if input._ms_dtype is uint8 and mode in _BYTES:
        return _resize_bytes(input, out, factors, mode, corners, antialias)
    kind = input._ms_dtype
    axes = _axes(sizes, out, factors, mode, corners, antialias, kind)
    if not antialias and _has_kernel(input, mode) and (mode != "nearest" or _by_sizes(axes, sizes, out)):
        return call(_upsample, (input,), mode, out, factors if factors[0] is not None else None, corners, Passes(axes))
    if mode in _NEAREST:
        for axis, (positions,) in axes:
            input = call(_pick, (input,), positions, axis)
        return input
    half = kind.itemsize == 2
    if half:  # half precision is rounded once, after all axes
        input = input.float()
    for axis, (matrix, taps) in axes:
        input = call(_along, (input,), matrix, taps, axis)
    return input.to(kind) if half else input


_KERNELS = ("nearest", "linear", "bilinear", "bicubic", "trilinear")


def _has_kernel(input: TensorBase, mode: str) -> bool:
    """Return whether the device of ``input`` has a single kernel for interpolation in this mode."""
    return mode in _KERNELS and fused("upsample", input._ms_dtype, input)


def _by_sizes(axes: list[tuple[int, tuple[Any, ...]]], sizes: tuple[int, ...], out: tuple[int, ...]) -> bool:
    """Return whether nearest interpolation takes the elements that the quotient of the sizes names. A device's kernel divides the sizes,
    torch by the factor: for a factor of 1.7 seven elements become eleven, of which torch repeats others.
    """
    by_sizes = _axes(sizes, out, (None,) * len(out), "nearest", False, False, float32)
    return all(np.array_equal(positions, others) for (_, (positions,)), (_, (others,)) in zip(axes, by_sizes))


_NEAREST = ("nearest", "nearest-exact")


def _axes(
    sizes: tuple[int, ...], out: tuple[int, ...], factors: tuple[float | None, ...], mode: str, corners: bool, antialias: bool, kind: dtype
) -> list[tuple[int, tuple[Any, ...]]]:
    """Return the axes in the order in which the host interpolates them, each with source indices, or with a weight matrix and its terms."""
    lengths = [*enumerate(zip(sizes, out, factors), 2)]
    if mode in _NEAREST:
        return [(axis, (_nearest(n, o, f, mode != "nearest", len(sizes) == 2),)) for axis, (n, o, f) in lengths]
    lengths.reverse()  # the last axis first, as its rows are contiguous
    if antialias:
        return [(axis, _smooth_matrix(n, o, f, corners, mode)) for axis, (n, o, f) in lengths if n != o]
    rounded = kind.name if kind.itemsize == 2 and mode != "bilinear" else ""
    return [(axis, _matrix(n, o, f, corners, mode == "bicubic", kind.name == "float64", rounded)) for axis, (n, o, f) in lengths]


_BYTES = ("bilinear", "bicubic", "lanczos")


def _resize_bytes(
    input: TensorBase, out: tuple[int, ...], factors: tuple[Any, ...], mode: str, corners: bool, antialias: bool
) -> TensorBase:
    """Resize uint8 images: each pass rounds to uint8, with 16-bit integer weights, as torch and Pillow do."""
    sizes = input._ms_shape[2:]
    for i in reversed(range(len(sizes))):
        n, o, f = sizes[i], out[i], factors[i]
        if n == o:
            continue
        matrix = (_smooth_matrix(n, o, f, corners, mode) if antialias else _matrix(n, o, f, corners, mode == "bicubic", True))[0]
        largest, bits = matrix.max(), 0
        while bits < 22 and int(0.5 + largest * (1 << (bits + 1))) < 1 << 15:
            bits += 1
        whole = np.trunc(matrix * (1 << bits) + np.where(matrix < 0, -0.5, 0.5))
        total = call(_along, (input.to(float64),), whole, None, i + 2)
        input = ((total + (1 << (bits - 1))) / (1 << bits)).floor().clamp(0, 255).to(uint8)
    return input


def _names(sizes: tuple[int, ...]) -> str:
    return ", ".join(f"{axis}: {n}" for axis, n in zip("DHW"[3 - len(sizes) :], sizes))


_WORDS = {
    "nearest": "Nearest{}D", "nearest-exact": "NearestExact{}D", "linear": "Linear1D", "bilinear": "Bilinear2D", "bicubic": "Bicubic2D",
    "trilinear": "Trilinear3D",
}  # fmt: skip


def _name(
    input: TensorBase, size: int | tuple[int, ...] | None = None, scale_factor: float | None = None, mode: str = "nearest",
    align_corners: bool | None = None, recompute_scale_factor: bool | None = None, antialias: bool = False,
) -> str:  # fmt: skip
    word = _WORDS.get(mode) if isinstance(mode, str) else None
    return "" if word is None else f"Upsample{word.format(len(input._ms_shape) - 2)}{'Aa' if antialias else ''}Backward0"


@operation(autocast=FLOAT32_ON_DEVICES)
@node_called(_name)
def interpolate(
    input: TensorBase, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None, mode: str = "nearest",
    align_corners: bool | None = None, recompute_scale_factor: bool | None = None, antialias: bool = False,
) -> TensorBase:  # fmt: skip
    """Resize (N, C, *) to a size, or by factors. Modes: nearest, nearest-exact, linear, bilinear, bicubic, trilinear, area."""
    refuse_tracked(scale_factor)
    shape = input._ms_shape
    rank = len(shape) - 2
    if align_corners is not None and mode in ("nearest", "area", "nearest-exact"):
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear | lanczos"
        )
    out, factors = _sizes_and_factors(shape, size, scale_factor, mode, recompute_scale_factor)
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and rank == 2):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    if mode == "area" and rank in (1, 2, 3):
        return with_format(adaptive_avg_pool(rank, input, out), input)
    if not isinstance(mode, str) or mode not in ("nearest", "nearest-exact") and _LINEAR.get(mode) != rank or rank not in (1, 2, 3):
        if isinstance(mode, str) and mode in _LINEAR and rank in (1, 2, 3):
            need = {1: "3D", 2: "4D", 3: "5D"}
            raise NotImplementedError(f"Got {rank + 2}D input, but {mode} mode needs {need[_LINEAR[mode]]} input")
        raise NotImplementedError(
            "Input Error: Only 3D, 4D and 5D input Tensors supported (got "
            f"{rank + 2}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | area | nearest-exact (got {mode})"
        )
    if mode == "lanczos" and align_corners:
        raise ValueError("Lanczos mode does not support align_corners=True")
    if align_corners is not None and not isinstance(align_corners, bool):
        raise TypeError(f"upsample_{mode}{rank}d(): argument 'align_corners' must be bool, not {kind_of(align_corners)}")
    return with_format(resize(input, out, factors, mode, bool(align_corners), antialias), input)


def _sizes_and_factors(
    shape: tuple[int, ...], size: int | Sequence[int] | None, scale_factor: float | Sequence[float] | None, mode: str,
    recompute: bool | None,
) -> tuple[tuple[int, ...], tuple[Any, ...]]:  # fmt: skip
    """Return the result's spatial sizes, and the factors with which positions are computed, None where the sizes give them."""
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    given: Any = size if size is not None else scale_factor
    if given is None:
        raise ValueError("either size or scale_factor should be defined")
    rank = len(shape) - 2
    is_sequence = isinstance(given, (tuple, list))
    values = tuple(given) if is_sequence else (given,) * rank
    if is_sequence and len(values) != rank:
        what, shown, name, form = (
            ("output", f"output size of {size}", "output size", "(o1, o2, ...,oK)")
            if size is not None
            else ("scale_factor", f"scale_factor of shape {scale_factor}", "scale_factor", "(s1, s2, ...,sK)")
        )
        raise ValueError(
            f"Input and {what} must have the same number of spatial dimensions, but got input with spatial dimensions of "
            f"{list(shape[2:])} and {shown}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and {name} in {form} format."
        )
    if size is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        _refuse_sizes(values, is_sequence, mode, rank)
        return tuple(map(int, values)), (None,) * rank
    if mode != "area" and any(isinstance(value, TensorBase) for value in values) and not recompute:
        raise TypeError(f"upsample_{mode}{rank}d() received an invalid combination of arguments - got a Tensor as a scale factor")
    out = tuple([math.floor(float(n * v)) for n, v in zip(shape[2:], values)])
    if any(abs(length) >= 1 << 63 for length in out):
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    return out, (None,) * rank if recompute or mode == "area" else tuple(map(float, values))


def _refuse_sizes(values: tuple[Any, ...], is_sequence: bool, mode: str, rank: int) -> None:
    """Raise torch's TypeError for sizes that are no whole numbers: torch's Python code looks at lists, its parser at single numbers."""
    if INTS.issuperset(map(type, values)) or any(map(is_symbol, values)):
        return
    if is_sequence and not all(map(_is_size, values)):
        wanted = "int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int]"
        raise TypeError(f"expected size to be one of {wanted}, but got size with types {[type(value) for value in values]}")
    if values and not has_kind(values[0], _SIZE):
        raise TypeError(f"upsample_{mode}{rank}d() received an invalid combination of arguments - got a size of {kind_of(values[0])}")


_SIZE = frozenset(("IntLike",))


def _is_size(value: Any) -> bool:
    is_whole_tensor = isinstance(value, TensorBase) and not value._ms_dtype.is_floating_point
    return isinstance(value, (int, np.integer)) or is_whole_tensor


def upsample(
    input: TensorBase, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest", align_corners: bool | None = None
) -> TensorBase:
    """Deprecated name of ``interpolate``."""
    warn(
        "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead."
    )
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(
    input: TensorBase, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
) -> TensorBase:
    """Run ``interpolate`` in nearest mode. Deprecated."""
    warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead."
    )
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(
    input: TensorBase, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
) -> TensorBase:
    """Run ``interpolate`` in bilinear mode with aligned corners. Deprecated."""
    warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead."
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)

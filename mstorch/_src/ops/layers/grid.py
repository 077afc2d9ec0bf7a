"""Sampling at given positions (spatial transformers, https://arxiv.org/abs/1506.02025)."""
from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...backend.arrays import Array
from ...backend.constants import kept
from ...backend.errors import not_for
from ...backend.geometry import rough_sum
from ...backend.halves import narrowed, widened
from ...backend.raw import NP_DTYPE
from ...backend.table import kernel
from ...core.dtype import bfloat16, bool_, finfo, float16, float32, float64, int64
from ...core.modes import modes
from ...core.tensor_base import TensorBase, array_of, is_tracked
from ...core.warned import warn
from ...tape.primitives import Primitive
from ...tape.ways import followed, ways
from ...tape.whole import by_kernel
from ...tape.windows import linear, no_view
from .._autocast import FLOAT32_ON_CPU, FLOAT32_OR_WIDEST, LOWER
from .._dispatch import call, contiguous_copy, without_grad
from .._named import by_rank, call_node, node_called
from .._one_dtype import expect_dtype
from .._operation import operation
from ..elementwise.compare import clamp, eq, ge, le, logical_and, logical_not, logical_or, ne, where
from ..elementwise.elementwise import abs as abs_of
from ..elementwise.elementwise import add, div, mul, neg, remainder, sub
from ..elementwise.math import floor
from ..elementwise.math import round as round_of
from ..indexing.index import gather
from ..linalg.linalg_factor import attach
from ..memory.copying import to_dtype
from ..memory.creation import arange, zeros_like
from ..reduce.reduce import sum as sum_of
from ..shape import views
from ..shape.join import cat, stack

_along, _in_order = kernel("along"), kernel("running_sum")


@operation(autocast=LOWER)
def affine_grid(theta: TensorBase, size: Sequence[int], align_corners: bool | None = None) -> TensorBase:
    """Return the sampling grid of affine maps: (N, 2, 3) → (N, H, W, 2), or (N, 3, 4) → (N, D, H, W, 3)."""
    if align_corners is None:
        warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
            "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.",
        )
        align_corners = False
    if align_corners and min(size[2:], default=2) == 1:
        warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This is not an intended "
            "use case of affine_grid. See the documentation of affine_grid for details."
        )
    if not theta._ms_dtype.is_floating_point:
        raise ValueError(f"Expected theta to have floating point type, but got {theta._ms_dtype}")
    size = tuple(int(n) for n in size)
    rank = len(size) - 2
    shape = theta._ms_shape
    if rank not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size "
            f"torch.Size({list(size)}) with affine transform of shape torch.Size({list(shape)})"
        )
    if len(shape) != 3 or shape[1:] != (rank, rank + 1):
        what = "2x3" if rank == 2 else "3x4"
        raise ValueError(
            f"Expected a batch of {rank}D affine matrices of shape Nx{what} for size torch.Size({list(size)}). Got "
            f"torch.Size({list(shape)})."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got torch.Size({list(size)})")
    return _grid_of(theta, size, _base_points(size[2:], bool(align_corners), theta._ms_dtype.name))


@kept
def _base_points(sizes: tuple[int, ...], corners: bool, name: str) -> Array:
    """Return the points of a grid in [-1, 1], the last axis first, each with a 1 at its end: (axes + 1, points)."""
    kind = NP_DTYPE[name]
    axes = []
    for n in sizes:
        steps = np.linspace(-1, 1, n) if n > 1 else np.zeros(1)
        axes.append((steps if corners else steps * (n - 1) / n).astype(kind))
    return np.stack([*reversed(np.meshgrid(*axes, indexing="ij")), np.ones(sizes, kind)]).reshape(len(sizes) + 1, -1)


def _grid_on_device(theta: TensorBase, size: tuple[int, ...], base: Array) -> TensorBase:
    points = contiguous_copy(views.transpose(call(_along, (theta,), base, None, 2), 1, 2))
    return call_node(views.reshape(points, (size[0], *size[2:], len(size) - 2)), "AffineGridGeneratorBackward0")


@ways(device=_grid_on_device)
def _grid_of(theta: TensorBase, size: tuple[int, ...], base: Array) -> TensorBase:
    """Return the grids (N, *spatial, axes): the points of ``base`` (axes + 1, points) mapped by affine maps (N, axes, axes + 1)."""
    rank, rows, kind = len(size) - 2, np.ascontiguousarray(base.T), base.dtype
    half = kind.itemsize == 2  # products of half precision are summed in single precision
    rows = widened(rows) if half else rows

    def positions(array: Array) -> Array:
        found = np.matmul(rows, (widened(array) if half else array).swapaxes(1, 2)).reshape(size[0], *size[2:], rank)
        return narrowed(found, kind) if half else found

    def gathered(array: Array) -> Array:
        found = np.matmul((widened(array) if half else array).reshape(size[0], -1, rank).swapaxes(1, 2), rows)
        return narrowed(found, kind) if half else found

    return linear(theta, positions, gathered, "AffineGridGeneratorBackward0")


def _pixels(x: TensorBase, n: int, corners: bool) -> TensorBase:
    """Return coordinates in [-1, 1] as pixel coordinates. -1 and 1 are the centres of the first and last pixel with ``corners`` (0 and n -
    1), else their outer edges (-1/2 and n - 1/2)."""
    if corners:
        return mul(div(add(x, 1), 2), n - 1)
    return div(sub(mul(add(x, 1), n), 1), 2)


def _reflected(x: TensorBase, low2: int, high2: int) -> TensorBase:
    """Return coordinates reflected at the borders low2 / 2 and high2 / 2."""
    if low2 == high2:
        return mul(x, 0)
    low, span = low2 / 2, (high2 - low2) / 2
    distance = abs_of(sub(x, low))
    flips = floor(div(distance, span)).detach()
    extra = sub(distance, mul(flips, span))
    odd = ne(remainder(flips, 2), 0)
    return where(odd, sub(span + low, extra), add(extra, low))


def _bounded(x: TensorBase, n: int, padding: str, corners: bool, unknown: int) -> TensorBase:
    if padding == "border":
        return _clipped(x, n, unknown)
    if padding == "reflection":
        return _clipped(_mirrored(x, n, corners), n, unknown)
    return x


def _mirrored(x: TensorBase, n: int, corners: bool) -> TensorBase:
    return _reflected(x, 0, 2 * (n - 1)) if corners else _reflected(x, -1, 2 * n - 1)


def _clipped(x: TensorBase, n: int, unknown: int) -> TensorBase:
    """Return coordinates clipped to [0, n - 1], with NaN replaced by ``unknown``. The gradient of clipped coordinates is multiplied by 0;
    as in torch, an infinite one thus becomes NaN."""
    at = x.detach()
    known = eq(at, at)
    if not is_tracked(x):
        return where(known, clamp(x, 0, n - 1), float(unknown))
    inside = logical_not(logical_or(le(at, 0), ge(at, n - 1)))
    most = finfo(x._ms_dtype).max
    finite = clamp(x, -most, most)
    return where(known, add(clamp(at, 0, n - 1), mul(sub(finite, finite.detach()), to_dtype(inside, x._ms_dtype))), float(unknown))


def _elements_at(flat: TensorBase, places: list[Any], sizes: tuple[int, ...]) -> tuple[Any, Any]:
    """Return the elements at integer coordinates, (N, …) for each axis, as (N, C, …), with 0 outside; and a mask (N, …) of the coordinates
    inside.
    """
    inside: Any = None
    index: Any = None
    for place, n in zip(places, sizes):
        good = logical_and(ge(place, 0), le(place, n - 1))
        position = to_dtype(where(good, place, 0.0), int64)
        inside = good if inside is None else logical_and(inside, good)
        index = position if index is None else add(mul(index, n), position)
    n, c = flat._ms_shape[:2]
    count = math.prod(index._ms_shape[1:])
    rows = views.expand(views.reshape(index, (n, 1, count)), (n, c, count))
    taken = views.reshape(gather(flat, 2, rows), (n, c, *index._ms_shape[1:]))
    return where(views.unsqueeze(inside, 1), taken, 0.0), inside  # multiplying by 0 would keep NaN and infinities


def _cubic_weights(t: TensorBase) -> Any:
    """Return the weights of the four elements around positions ``t`` (N, axes, L) between the middle two, (N, axes, 4, L)."""
    a = -0.75
    x = stack([t, sub(1, t)], 2)
    near = add(mul(mul(sub(mul(x, a + 2), a + 3), x), x), 1)
    x = add(x, 1)
    far = sub(mul(add(mul(sub(mul(x, a), 5 * a), x), 8 * a), x), 4 * a)
    first, last = (views.narrow(far, 2, side, 1) for side in range(2))
    return cat([first, near, last], 2)


@operation(autocast=FLOAT32_OR_WIDEST)
@node_called(by_rank("GridSampler{}DBackward0", 2), "input grid")
def grid_sample(
    input: TensorBase, grid: TensorBase, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> TensorBase:
    """Sample (N, C, H, W) at positions (N, H', W', 2), or (N, C, D, H, W) at (N, D', H', W', 3), in [-1, 1], x first."""
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: "
            f"'{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    if align_corners is None:
        warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
            "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.",
        )
        align_corners = False
    x, g = input._ms_shape, grid._ms_shape
    rank = len(x) - 2
    if x[:1] != g[:1]:
        raise RuntimeError(
            f"grid_sampler(): expected grid and input to have same batch size, but got input with sizes {list(x)} and grid with "
            f"sizes {list(g)}"
        )
    if g[-1] != rank:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {rank} in last dimension, but got grid with sizes {list(g)}"
        )
    if 0 in x[2:]:
        raise RuntimeError(
            f"grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes {list(x)} with dimension "
            f"{x.index(0, 2)} being empty"
        )
    if rank not in (2, 3) or len(g) != len(x):
        expected = f"{rank + 2}D" if rank in (2, 3) else "4D or 5D"
        raise RuntimeError(
            f"grid_sampler(): expected {expected} input and grid with same number of dimensions, but got input with sizes {list(x)} "
            f"and grid with sizes {list(g)}"
        )
    if mode == "bicubic" and rank == 3:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if input._ms_dtype not in (float32, float64, float16, bfloat16):
        own = "grid_sampler_2d_cpu_kernel_impl" if rank == 2 else "grid_sampler3d_cpu"
        raise not_for(own, input._ms_dtype.name)
    expect_dtype(input._ms_dtype, grid)
    how = mode, padding_mode, align_corners
    found = None if mode == "bicubic" or 0 in x or 0 in g else by_kernel(
        _sample, _slopes, (input, grid), how, f"GridSampler{rank}DBackward0", lambda x, g: _sampled(x, g, *how),
        host=rank == 2 and input._ms_dtype.itemsize > 2 and _is_finite(grid),
    )
    return call_node(_composed(input, grid, *how), f"GridSampler{rank}DBackward0") if found is None else found


def _rounded_once(input: TensorBase, grid: TensorBase, *how: Any) -> TensorBase | None:
    if input._ms_dtype.itemsize > 2:
        return None
    return to_dtype(_sampled(to_dtype(input, float32), to_dtype(grid, float32), *how), input._ms_dtype)


@ways(at=0, device=_rounded_once)
def _composed(input: TensorBase, grid: TensorBase, *how: Any) -> TensorBase:
    """Sample by torch's operations; half precision is computed as such on the CPU, and rounded once on devices, as torch's kernels do."""
    return _sampled(input, grid, *how)


@ways(host=lambda grid: math.isfinite(rough_sum(array_of(grid))))
def _is_finite(grid: TensorBase) -> bool:
    """Return whether the host's kernel supports the positions: torch reads the first pixel where one is NaN."""
    return False


def _slopes(wanted: Sequence[bool], g: Any, x: Any, grid: Any, *how: Any) -> Sequence[Any]:
    found: Sequence[Any] = _sample_grad(g, x, grid, *how, tuple(map(int, wanted)))
    return found


_sample, _sample_grad = kernel("grid_sample"), Primitive("grid_sample_grad")


def _sampled(input: TensorBase, grid: TensorBase, mode: str, padding_mode: str, align_corners: bool) -> TensorBase:
    x, g = input._ms_shape, grid._ms_shape
    sizes, rank = x[2:], len(x) - 2
    positions = views.reshape(grid, (g[0], math.prod(g[1:-1]), rank))
    # The grid has x first; the image's dimensions are in reverse order.
    coordinates = [
        _pixels(views.select(positions, 2, rank - 1 - i), n, align_corners) for i, n in enumerate(sizes)
    ]
    flat = views.reshape(input, (x[0], x[1], math.prod(sizes)))
    if mode == "bicubic":
        out = _bicubic(flat, coordinates, sizes, padding_mode, align_corners)
    else:
        # As in torch, a NaN position reads the first pixel of an image, and the last of a volume.
        places = coordinates
        coordinates = [
            _bounded(c, n, padding_mode, align_corners, 0 if rank == 2 else n - 1) for c, n in zip(coordinates, sizes)
        ]
        if mode == "nearest":
            out = _elements_at(flat, [round_of(c.detach()) for c in coordinates], sizes)[0]
            if is_tracked(grid):
                # The gradient for the grid is zero, not None.
                out = add(out, sum_of(where(zeros_like(grid, dtype=bool_), grid, 0.0)))
        else:
            out = _linear(flat, coordinates, sizes)
        if rank == 3 and padding_mode != "zeros" and is_tracked(out):
            # For NaN positions torch's gradients ignore the values that were read.
            known = None
            for read, n in zip(places, sizes):
                at = read.detach() if padding_mode == "border" else _mirrored(read.detach(), n, align_corners)
                known = eq(at, at) if known is None else logical_and(known, eq(at, at))
            out = where(views.unsqueeze(known, 1), out, out.detach())
    return no_view(views.reshape(out, (x[0], x[1], *g[1:-1])))


def _linear(flat: TensorBase, coordinates: list[Any], sizes: tuple[int, ...]) -> TensorBase:
    lows = [floor(c.detach()) for c in coordinates]
    corners = list(itertools.product((0, 1), repeat=len(sizes)))
    taken, inside = zip(*[_elements_at(flat, [add(low, side) for low, side in zip(lows, corner)], sizes) for corner in corners])
    if len(sizes) != 3:
        inside = (None,) * len(corners)  # only volumes ignore corners outside, even at a NaN position
    if len(sizes) == 3 and followed(coordinates):
        with without_grad():
            found = _interpolated([t.detach() for t in taken], [c.detach() for c in coordinates], lows, corners, inside)
        return attach("GridSampler3DBackward0", _volume_backward, (*taken, *coordinates), (found,), lows, corners, inside)[0]
    return _interpolated(taken, coordinates, lows, corners, inside)


def _corner_weights(coordinates: Sequence[Any], lows: list[Any], corner: tuple[int, ...], inside: TensorBase | None) -> list[Any]:
    """Return each axis's interpolation weight for a corner; 0 if the corner is outside."""
    parts = [sub(c, low) for c, low in zip(coordinates, lows)]
    parts = [part if side else sub(1, part) for part, side in zip(parts, corner)]
    return parts if inside is None else [where(inside, part, 0.0) for part in parts]


def _interpolated(
    taken: Sequence[Any], coordinates: Sequence[Any], lows: list[Any], corners: list[tuple[int, ...]], inside: Sequence[Any]
) -> Any:
    total = None
    for values, corner, here in zip(taken, corners, inside):
        weight = None
        for part in _corner_weights(coordinates, lows, corner, here):
            weight = part if weight is None else mul(weight, part)
        term = mul(values, views.unsqueeze(weight, 1))
        total = term if total is None else add(total, term)
    return total


def _volume_backward(
    gradients: Sequence[TensorBase], outputs: Sequence[TensorBase], inputs: Sequence[TensorBase], lows: list[Any],
    corners: list[tuple[int, ...]], inside: Sequence[Any]
) -> tuple[TensorBase, ...]:
    """Return the gradients of the corner values and of the coordinates.

    The gradients of the coordinates are differences of large terms: they are accumulated in torch's order, channels in the outer loop and
    corners in the inner one, because the order affects the result.
    """
    gradient = gradients[0]
    if gradient is None:
        return (None,) * len(inputs)
    taken, coordinates = inputs[: len(corners)], inputs[len(corners) :]
    for_taken: list[Any] = []
    terms: list[list[Any]] = [[], [], []]
    for values, corner, here in zip(taken, corners, inside):
        x, y, z = (views.unsqueeze(part, 1) for part in reversed(_corner_weights(coordinates, lows, corner, here)))
        for_taken.append(mul(gradient, mul(mul(z, y), x)))
        for axis, (first, second) in enumerate(((x, y), (x, z), (y, z))):
            term = mul(mul(mul(values, first), second), gradient)
            terms[axis].append(term if corner[axis] else neg(term))
    found = []
    for axis_terms in terms:
        batch, channels, count = axis_terms[0]._ms_shape
        rows = views.reshape(stack(axis_terms, 2), (batch, channels * len(corners), count))
        if modes.grad or not channels or not count:
            found.append(sum_of(rows, 1))
        else:
            found.append(views.select(call(_in_order, (rows,), 1), 1, -1))
    return (*for_taken, *found)


def _bicubic(flat: TensorBase, coordinates: list[Any], sizes: tuple[int, ...], padding: str, corners: bool) -> Any:
    """Return the weighted sums of the four by four elements around each position."""
    both = stack(coordinates, 1)
    low = floor(both.detach())
    weights = _cubic_weights(sub(both, low))  # (N, axes, 4, L)
    around = add(views.unsqueeze(low, 2), views.unsqueeze(arange(-1.0, 3.0, dtype=low._ms_dtype, device=low.device), 1))
    y, x = (_bounded(views.select(around, 1, axis), n, padding, corners, 0) for axis, n in enumerate(sizes))
    taken = _elements_at(flat, [views.unsqueeze(y, 2), views.unsqueeze(x, 1)], sizes)[0]
    by_y, by_x = (views.unsqueeze(views.select(weights, 1, axis), 1) for axis in range(2))
    return _added(mul(_added(mul(taken, views.unsqueeze(by_x, 2)), 3), by_y), 2)


def _added(terms: TensorBase, dim: int) -> TensorBase:
    """Return the sum of four terms along a dimension; half precision is rounded after each, as in torch."""
    if terms._ms_dtype.itemsize != 2:
        return sum_of(terms, dim)
    return add(add(add(*(views.select(terms, dim, i) for i in range(2))), views.select(terms, dim, 2)), views.select(terms, dim, 3))


_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


@operation(autocast=FLOAT32_OR_WIDEST)
def grid_sampler(input: TensorBase, grid: TensorBase, interpolation_mode: int, padding_mode: int, align_corners: bool) -> TensorBase:
    """Run ``grid_sample`` with numeric modes: 0 bilinear, 1 nearest, 2 bicubic; 0 zeros, 1 border, 2 reflection."""
    return grid_sample(input, grid, _MODES[interpolation_mode], _PADDINGS[padding_mode], align_corners)


@operation(autocast=FLOAT32_ON_CPU)
def grid_sampler_2d(input: TensorBase, grid: TensorBase, interpolation_mode: int, padding_mode: int, align_corners: bool) -> TensorBase:
    """Run ``grid_sampler`` on images (N, C, H, W)."""
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


@operation(autocast=FLOAT32_ON_CPU)
def grid_sampler_3d(input: TensorBase, grid: TensorBase, interpolation_mode: int, padding_mode: int, align_corners: bool) -> TensorBase:
    """Run ``grid_sampler`` on volumes (N, C, D, H, W)."""
    if len(input._ms_shape) != 5 or len(grid._ms_shape) != 5:
        raise RuntimeError(
            "grid_sampler(): expected 5D input and grid with same number of dimensions, but got input with sizes "
            f"{list(input._ms_shape)} and grid with sizes {list(grid._ms_shape)}"
        )
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def affine_grid_generator(theta: TensorBase, size: Sequence[int], align_corners: bool) -> TensorBase:
    """Return ``affine_grid`` of the arguments; an alias."""
    return affine_grid(theta, size, align_corners)

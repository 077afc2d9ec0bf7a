"""Interpolation on Ascend: one kernel forward and one backward."""
from __future__ import annotations

from typing import Any

from ..raw import Raw
from ..table import HALVES, VIA_HALF
from ._primitives import enter, run

Sizes = tuple[int, ...]
_NAMES = {"linear": "Linear1D", "bilinear": "Bilinear2D", "trilinear": "Trilinear3D", "bicubic": "Bicubic2D"}


def _primitive_and_arguments(mode: str, out: Sizes, factors: Any, corners: bool) -> tuple[str, tuple[Any, ...]]:
    """Return the primitive's name, and its arguments other than tensors and sizes; MindSpore accepts either sizes or factors."""
    given = (None, factors) if factors is not None else (out, None)
    if mode == "nearest":
        return f"UpsampleNearest{len(out)}D", given
    return f"Upsample{_NAMES[mode]}", (*given, corners)


def _upsample(x: Raw, mode: str, out: Sizes, factors: Any, corners: bool, passes: Any) -> Raw:
    """Interpolate. Nearest interpolation in one dimension is computed as an image with one row, because UpsampleNearest1d fails on the
    910B.
    """
    if mode == "nearest" and len(out) == 1:
        image = run("Reshape", x, (*x.shape[:2], 1, x.shape[2]))
        wide = _upsample(image, mode, (1, *out), None if factors is None else (1.0, *factors), corners, passes)
        return run("Reshape", wide, (*x.shape[:2], *out))
    name, given = _primitive_and_arguments(mode, out, factors, corners)
    if mode == "trilinear":
        return run(name, x, *given[:2], at=(corners,))
    return run(name, x, *given)


def _upsample_grad(g: Raw, sizes: Sizes, mode: str, out: Sizes, factors: Any, corners: bool, passes: Any) -> Raw:
    if mode == "nearest" and len(out) == 1:
        image = run("Reshape", g, (*g.shape[:2], 1, g.shape[2]))
        wide = _upsample_grad(image, (1, *sizes), mode, (1, *out), None if factors is None else (1.0, *factors), corners, passes)
        return run("Reshape", wide, (*g.shape[:2], *sizes))
    name, given = _primitive_and_arguments(mode, out, factors, corners)
    whole = (*g.shape[:2], *sizes)
    if mode == "trilinear":
        return run(f"{name}Grad", g, whole, *given[:2], at=(corners,))
    return run(f"{name}Grad", g, whole, *given)


def _grid_sample(x: Raw, grid: Raw, mode: str, padding: str, corners: bool) -> Raw:
    return run(f"GridSampler{len(x.shape) - 2}D", x, grid, at=(mode, padding, corners))


def _grid_sample_grad(g: Raw, x: Raw, grid: Raw, mode: str, padding: str, corners: bool, wanted: Sizes) -> tuple[Raw, Raw]:
    found = run(f"GridSampler{len(x.shape) - 2}DGrad", g, x, grid, at=(mode, padding, corners, wanted))
    return found[0], found[1]


enter("grid_sample", _grid_sample, ("float32",), VIA_HALF)  # MindSpore refuses images of half precision
enter("grid_sample_grad", _grid_sample_grad, ("float32",), VIA_HALF)
enter("upsample", _upsample, ("float32", *HALVES))
enter("upsample_grad", _upsample_grad, ("float32", *HALVES))

"""Dynamic sizes: expresses numbers in a run as functions of the inputs' sizes, inferred from runs with other sizes."""
from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ._errors import OnnxExporterError


class Size:
    """A number that differs between runs: (factor × the product of some dimensions + offset) / divisor, rounded down."""

    __slots__ = ("dims", "factor", "offset", "divisor", "values")

    def __init__(self, dims: tuple[int, ...], factor: int, offset: int, divisor: int, values: tuple[int, ...]) -> None:
        self.dims, self.factor, self.offset, self.divisor, self.values = dims, factor, offset, divisor, values

    def at(self, sizes: Sequence[int]) -> int:
        """Return the number for the given sizes."""
        product = self.factor
        for dim in self.dims:
            product *= sizes[dim]
        return (product + self.offset) // self.divisor


def solved(values: Sequence[int], sizes: Sequence[Sequence[int]]) -> int | Size:
    """Return a constant or a Size that equals ``values[i]`` for the dimensions ``sizes[i]`` of each run i. Run i + 1 differs from run 0 in
    dimension i only. Raise OnnxExporterError if no Size fits."""
    if all(value == values[0] for value in values):
        return values[0]
    base = sizes[0]
    moved = [dim for dim in range(len(base)) if values[dim + 1] != values[0]]
    candidates = [_product(values, base, moved), *([_line(values, sizes, moved[0])] if len(moved) == 1 else [])]
    for found in candidates:
        if found is not None and all(found.at(one) == value for one, value in zip(sizes, values)):
            return found
    raise OnnxExporterError(
        f"mstorch: torch.onnx.export cannot tell how a number depends on sizes that vary: it is {list(values)} for sizes "
        f"{[tuple(one) for one in sizes]}"
    )


def _product(values: Sequence[int], base: Sequence[int], moved: list[int]) -> Size | None:
    product = 1
    for dim in moved:
        product *= base[dim]
    ratio = Fraction(values[0], product)
    return Size(tuple(moved), ratio.numerator, 0, ratio.denominator, tuple(values))


def _line(values: Sequence[int], sizes: Sequence[Sequence[int]], dim: int) -> Size | None:
    slope = Fraction(values[dim + 1] - values[0], sizes[dim + 1][dim] - sizes[0][dim])
    start = values[0] - slope * sizes[0][dim]
    divisor = slope.denominator
    offset = start * divisor
    return Size((dim,), slope.numerator, int(offset), divisor, tuple(values)) if offset.denominator == 1 else None


def merged(trees: Sequence[Any], sizes: Sequence[Sequence[int]]) -> Any:
    """Merge one argument of the same call in all runs: numbers that differ become Sizes."""
    first = trees[0]
    if isinstance(first, (list, tuple)):
        if any(len(tree) != len(first) for tree in trees):
            raise OnnxExporterError("mstorch: torch.onnx.export takes models whose lists of sizes are as long for all sizes that vary")
        return [merged(parts, sizes) for parts in zip(*trees)]
    if isinstance(first, int) and not isinstance(first, bool):
        return solved(trees, sizes)
    if isinstance(first, float) and any(tree != first for tree in trees):
        raise OnnxExporterError(f"mstorch: torch.onnx.export cannot express a floating point number that depends on sizes: {list(trees)}")
    return first

"""Numbers that depend on sizes that vary, inferred from runs with other sizes."""
from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


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


def solved(values: Sequence[int], sizes: Sequence[Sequence[int]]) -> int | Size | None:
    """Return a constant or a Size that equals ``values[i]`` for the dimensions ``sizes[i]`` of each run i; None if no Size does. Run i + 1
    differs from run 0 in dimension i only."""
    if all(value == values[0] for value in values):
        return values[0]
    base = sizes[0]
    moved = [dim for dim in range(len(base)) if values[dim + 1] != values[0]]
    candidates = [_product(values, base, moved), *([_line(values, sizes, moved[0])] if len(moved) == 1 else [])]
    for found in candidates:
        if found is not None and all(found.at(one) == value for one, value in zip(sizes, values)):
            return found
    return None


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

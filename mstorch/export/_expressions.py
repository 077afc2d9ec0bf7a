"""Numbers of a program that depend on sizes: found from runs with other sizes, computed by nodes of a graph, and told in torch's words."""
from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

Point = tuple[int, ...]
"""The sizes that vary, in one run."""


class Expression:
    """A number as a function of sizes: an operation on expressions, numbers, and sizes by their place."""

    __slots__ = ("args", "name")

    def __init__(self, name: str, *args: Any) -> None:
        self.name, self.args = name, args

    def at(self, point: Sequence[int]) -> int:
        """Return the number for the given sizes."""
        if self.name == "size":
            return point[self.args[0]]
        first, *rest = (one.at(point) if isinstance(one, Expression) else one for one in self.args)
        for one in rest:
            first = _OPERATIONS[self.name](first, one)
        return first

    def text(self, names: Sequence[str]) -> str:
        """Return the expression as torch's files have it."""
        if self.name == "size":
            return f"Symbol('{names[self.args[0]]}', positive=True, integer=True)"
        parts = [one.text(names) if isinstance(one, Expression) else f"Integer({one})" for one in self.args]
        return f"{_WORDS[self.name]}({', '.join(parts)})"

    def node(self, size: Callable[[int], Any], call: Callable[[Callable[..., Any], Any, Any], Any]) -> Any:
        """Return the node that computes the number. ``size`` returns the node of a size, ``call`` that of an operation."""
        if self.name == "size":
            return size(self.args[0])
        first, *rest = (one.node(size, call) if isinstance(one, Expression) else one for one in self.args)
        for one in rest:
            first = call(_OPERATIONS[self.name], first, one)
        return first

    @property
    def key(self) -> str:
        """A text that equal expressions share."""
        return f"{self.name}({', '.join(one.key if isinstance(one, Expression) else str(one) for one in self.args)})"


_OPERATIONS: dict[str, Callable[[int, int], int]] = {"add": operator.add, "mul": operator.mul, "floordiv": operator.floordiv}
_WORDS = {"add": "Add", "mul": "Mul", "floordiv": "FloorDiv"}


def line(expression: int | Expression, factor: int, offset: int) -> int | Expression:
    """Return a multiple of an expression, plus a number."""
    if isinstance(expression, int):
        return factor * expression + offset
    product = expression if factor == 1 else Expression("mul", factor, expression)
    return product if not offset else Expression("add", product, offset)


def product(parts: Sequence[int | Expression]) -> int | Expression:
    """Return the product of numbers and expressions."""
    number = math.prod(one for one in parts if isinstance(one, int))
    several = [one for one in parts if isinstance(one, Expression)]
    if not several or not number:
        return number
    whole = several[0] if len(several) == 1 else Expression("mul", *several)
    return line(whole, number, 0)


def expressed(values: Sequence[int], points: Sequence[Point]) -> int | Expression | None:
    """Return a number or an Expression that equals ``values[i]`` at ``points[i]``; None if none is known. ``points[0]`` is the base, of
    which others that differ in one size tell how the number depends on that size; the rest are for comparison."""
    base, first = points[0], values[0]
    if all(value == first for value in values):
        return first
    alone: list[tuple[int, int | Expression]] = []
    for place in range(len(base)):
        given = [
            (point[place], value)
            for point, value in zip(points, values)
            if all(point[other] == base[other] for other in range(len(base)) if other != place)
        ]
        if any(value != first for _, value in given):
            form = _of_one(given, place)
            if form is None:
                return None
            alone.append((place, form))
    if not alone:
        return None
    for candidate in _joined(first, alone):
        if all((candidate if isinstance(candidate, int) else candidate.at(point)) == value for point, value in zip(points, values)):
            return candidate
    return None


def _joined(first: int, alone: list[tuple[int, int | Expression]]) -> list[int | Expression]:
    """Return the sums and products that the dependences on single sizes may be parts of."""
    forms = [form for _, form in alone]
    if len(forms) == 1:
        return forms
    candidates: list[int | Expression] = []
    factors = [_split(form) for form in forms]
    number, rest = math.prod(factor for factor, _ in factors), first ** (len(forms) - 1)
    if rest and number % rest == 0:
        candidates.append(product([number // rest, *(form for _, form in factors)]))
    added = Expression("add", *forms)
    candidates.append(line(added, 1, -(len(forms) - 1) * first))
    return candidates


def _split(form: int | Expression) -> tuple[int, int | Expression]:
    """Return a number and an expression whose product is the form."""
    if isinstance(form, Expression) and form.name == "mul" and isinstance(form.args[0], int) and len(form.args) == 2:
        return form.args[0], form.args[1]
    return 1, form


_DIVISORS = (1, 2, 3, 4, 5, 6, 8, 16, 32, 64)


def _of_one(given: Sequence[tuple[int, int]], place: int) -> int | Expression | None:
    """Return an expression of one size, ``factor × ((a × size + b) // c) + d``, that takes the given values."""
    size = Expression("size", place)
    least = min(value for _, value in given)
    shared = math.gcd(*(value for _, value in given))
    steps = math.gcd(*(value - least for _, value in given))
    for factor, offset in ((shared, 0), (1, 0), (steps, least % steps if steps else 0)):
        if not factor:
            continue
        reduced = [(number, (value - offset) // factor) for number, value in given]
        for divisor in _DIVISORS:
            bounds = _slope(reduced, divisor)
            if bounds is not None:
                slope, start = bounds
                inner = line(size, slope, start)
                if divisor > 1:
                    inner = Expression("floordiv", inner, divisor)
                return line(inner, factor, offset)
    return None


def _slope(given: Sequence[tuple[int, int]], divisor: int) -> tuple[int, int] | None:
    """Return a and b for which ``(a × size + b) // divisor`` takes the given values."""
    (low, low_value), (high, high_value) = min(given), max(given)
    middle = round((high_value - low_value) * divisor / (high - low))
    for slope in sorted(range(middle - divisor, middle + divisor + 1), key=lambda one: abs(one - middle)):
        least = max(divisor * value - slope * number for number, value in given)
        most = min(divisor * value + divisor - 1 - slope * number for number, value in given)
        if slope and least == most:  # (several numbers would do: the runs do not tell which)
            return slope, least
    return None

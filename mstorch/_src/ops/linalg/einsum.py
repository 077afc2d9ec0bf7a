"""einsum: an equation and the shapes of its operands determine a plan of views, sums and products, which is cached for later calls."""
from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...core.tensor_base import TensorBase
from ..shape import views
from .matmul import bmm, mm

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_DOTS = "..."
_NOTHING = "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts list"

Label = str | int
"""A letter, or the number of a dimension that an ellipsis covers, counted from the last."""


def einsum(*args: Any) -> TensorBase:
    """Return the sum of products that an equation of subscripts names: ``einsum("ij,jk->ik", a, b)``."""
    equation, operands = subscripts_and_operands(args)
    values = list(operands)
    shapes = tuple([operand._ms_shape for operand in operands])
    for step in (planned_as_torch if any(1 in shape for shape in shapes) else _plan)(equation, shapes):
        values.append(_done(step, values))
    return values[-1]


def subscripts_and_operands(args: tuple[Any, ...]) -> tuple[str, Sequence[Any]]:
    """Return the equation and the operands of a call in any of einsum's forms; raise torch's error if the call has none of these forms."""
    if len(args) < 2:
        raise ValueError(_NOTHING)
    equation, operands = _from_lists(args) if isinstance(args[0], TensorBase) else (args[0], args[1:])
    if not isinstance(args[0], TensorBase):
        operands = tuple(operands[0]) if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
        if not operands:
            raise ValueError(_NOTHING)
        if not isinstance(equation, str):
            raise TypeError(f"einsum(): argument 'equation' (position 1) must be str, not {type(equation).__name__}")
    for number, operand in enumerate(operands):
        if not isinstance(operand, TensorBase):
            raise TypeError(f"expected Tensor as element {number} in argument 1, but got {type(operand).__name__}")
    return equation, operands


def _from_lists(args: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Return the equation for a call in which each operand is followed by a list of label numbers."""

    def text(items: Sequence[Any]) -> str:
        for item in items:
            if item is not Ellipsis and not 0 <= item < 52:
                raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
        return "".join(_DOTS if item is Ellipsis else _LETTERS[item] for item in items)

    count = len(args) // 2
    equation = ",".join(text(args[2 * i + 1]) for i in range(count))
    if len(args) % 2:
        equation += "->" + text(args[-1])
    return equation, tuple(args[2 * i] for i in range(count))


def _subscripts(text: str, what: str, offset: int) -> list[str]:
    """Return the letters of one term, which begins at ``offset`` in the equation, with "..." as one item."""
    found: list[str] = []
    position = 0
    while position < len(text):
        letter = text[position]
        if letter == " ":
            position += 1
        elif letter == ".":
            if text[position : position + 3] != _DOTS or _DOTS in found:
                end = what == "output"
                if _DOTS in found:
                    words = " but an ellipsis (...) was already found" if end else " for which an ellipsis was already found"
                else:
                    words = " that is not part of any ellipsis" + (" (...)" if end else "")
                raise RuntimeError(f"einsum(): found '.' for {what}{words}")
            found.append(_DOTS)
            position += 3
        elif letter in _LETTERS:
            found.append(letter)
            position += 1
        else:
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {offset + position} in the equation string, subscripts must be in [a-zA-Z]"
            )
    return found


@functools.lru_cache(256)
def _parsed(equation: str, count: int) -> tuple[list[list[str]], list[str] | None]:
    left, arrow, right = equation.partition("->")
    texts = left.split(",")
    if len(texts) > count:
        raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
    if len(texts) < count:
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    terms, offset = [], 0
    for number, text in enumerate(texts):
        terms.append(_subscripts(text, f"operand {number}", offset))
        offset += len(text) + 1
    return terms, _subscripts(right, "output", len(left) + 2) if arrow else None


class Step(NamedTuple):
    """One call of a plan: the function, the values that it is applied to (operands first, then results of steps), and one further argument;
    ``keepdim`` belongs to sums.
    """

    call: str
    values: tuple[int, ...]
    argument: Any = None
    keepdim: bool = False


def _done(step: Step, values: Sequence[Any]) -> TensorBase:
    """Return the result of a step. Each operation is called by its public name, so that handlers below autograd see the call."""
    call, x = step.call, values[step.values[0]]
    if call == "reshape":
        return views.reshape(x, step.argument)
    if call == "permute":
        return views.permute(x, step.argument)
    if call == "view":
        return views.view(x, step.argument)
    if call == "unsqueeze":
        return views.unsqueeze(x, step.argument)
    if call == "bmm":
        return bmm(x, values[step.values[1]])
    if call == "mm":
        y = values[step.values[1]]
        if x._ms_dtype is y._ms_dtype and x._ms_dtype.category:
            return mm(x, y)
        return views.squeeze(bmm(views.unsqueeze(x, 0), views.unsqueeze(y, 0)), 0)  # torch's error about dtypes is that of bmm
    if call == "mul":
        return x * values[step.values[1]]
    if call == "sum":
        return x.sum(step.argument, step.keepdim)
    if call == "diagonal":
        return views.diagonal(x, 0, *step.argument)
    return views.alias(x)


_VIEWS = ("reshape", "permute", "diagonal")


class _Value(NamedTuple):
    """An operand, or the result of a step: its number and the label and size of each dimension."""

    number: int
    labels: tuple[Label, ...]
    sizes: tuple[int, ...]

    def size(self, label: Label) -> int:
        """Return the size along a label, or 1, as for a broadcast dimension, if the value does not have the label."""
        return self.sizes[self.labels.index(label)] if label in self.labels else 1


class _Planner:
    """Collects the steps of a sum of products, from shapes alone; ``places`` orders the labels, those of the result first."""

    def __init__(self, operands: int, places: dict[Label, int]) -> None:
        self.steps: list[Step] = []
        self.count = operands
        self.places = places

    def add(self, call: str, values: tuple[int, ...], argument: int | tuple[int, ...] | None = None) -> int:
        self.steps.append(Step(call, values, argument))
        self.count += 1
        return self.count - 1

    def in_order(self, value: _Value, labels: Sequence[Label]) -> _Value:
        """Permute a value's dimensions to the order of ``labels``, which must be the value's labels."""
        if tuple(labels) == value.labels:
            return value
        order = tuple(value.labels.index(label) for label in labels)
        return _Value(self.add("permute", (value.number,), order), tuple(labels), tuple(value.sizes[place] for place in order))

    def _in_shape(self, value: _Value, shape: tuple[int, ...]) -> int:
        return value.number if value.sizes == shape else self.add("reshape", (value.number,), shape)

    def summed(self, value: _Value, labels: Sequence[Label]) -> _Value:
        """Sum a value over ``labels``; the remaining dimensions get the order of ``places``, the result's labels first."""
        if not labels:
            return value
        value = self.in_order(value, sorted(value.labels, key=self.places.__getitem__))
        number = self.add("sum", (value.number,), tuple(value.labels.index(label) for label in labels))
        left = [place for place, label in enumerate(value.labels) if label not in labels]
        return _Value(number, tuple(value.labels[place] for place in left), tuple(value.sizes[place] for place in left))

    def diagonal(self, value: _Value, label: Label) -> _Value:
        """Take the diagonal of the first two dimensions that have one label; the diagonal becomes the last dimension."""
        first = value.labels.index(label)
        second = value.labels.index(label, first + 1)
        left = [place for place in range(len(value.labels)) if place not in (first, second)]
        return _Value(
            self.add("diagonal", (value.number,), (first, second)),
            (*(value.labels[place] for place in left), label), (*(value.sizes[place] for place in left), value.sizes[first]),
        )  # fmt: skip

    def pair(self, a: _Value, b: _Value, keep: set[Label]) -> _Value:
        """Multiply two values and sum over the labels that are not in ``keep``, by one batched matrix product or an elementwise one."""
        union = sorted({*a.labels, *b.labels}, key=self.places.__getitem__)
        kept = [label for label in union if label in keep]
        summed, first, second = _by_owner(a, b, [label for label in union if label not in keep])
        a, b = self.summed(a, first), self.summed(b, second)
        if not summed:
            return self._multiplied(a, b, kept)
        batch, rows, _ = _by_owner(a, b, kept)
        columns = [label for label in kept if label not in batch and label not in rows]
        if rows and columns and self.places[columns[-1]] < self.places[rows[0]] and not first and not second:
            return self.pair(b, a, keep)
        shape = tuple(math.prod([value.size(label) for label in labels]) for value, labels in (
            (a, batch), (a, rows), (a, summed), (b, columns),
        ))  # fmt: skip
        start = 0 if batch else 1  # without a batch, the matrices are multiplied directly
        left = self._in_shape(self._leading(a, [*batch, *rows, *summed]), shape[start:3])
        right = self._in_shape(self._leading(b, [*batch, *summed, *columns]), (shape[0], shape[2], shape[3])[start:])
        labels = (*batch, *rows, *columns)
        sizes = _joint(a, b, labels)
        product = _Value(self.add("bmm" if batch else "mm", (left, right)), labels, (shape[0], shape[1], shape[3])[start:])
        return product._replace(number=self._in_shape(product, sizes), sizes=sizes)

    def _leading(self, value: _Value, labels: Sequence[Label]) -> _Value:
        """Permute the dimensions of these labels to the front; the other dimensions, of size 1, follow."""
        own = [label for label in labels if label in value.labels]
        return self.in_order(value, [*own, *(label for label in value.labels if label not in own)])

    def _multiplied(self, a: _Value, b: _Value, union: Sequence[Label]) -> _Value:
        numbers = []
        for value in (a, b):
            value = self._leading(value, [label for label in union if label in value.labels])
            number = self._in_shape(value, tuple(value.size(label) for label in union if label in value.labels))
            for place, label in enumerate(union):
                if label not in value.labels:
                    number = self.add("unsqueeze", (number,), place)
            numbers.append(number)
        return _Value(self.add("mul", tuple(numbers)), tuple(union), _joint(a, b, union))


def _by_owner(a: _Value, b: _Value, labels: Sequence[Label]) -> tuple[list[Label], list[Label], list[Label]]:
    """Return the labels along which both values are longer than 1, those along which ``a`` alone is, and those along which ``b`` alone is.
    """
    both: list[Label] = []
    first: list[Label] = []
    second: list[Label] = []
    for label in labels:
        if a.size(label) != 1:
            (both if b.size(label) != 1 else first).append(label)
        elif b.size(label) != 1:
            second.append(label)
    return both, first, second


def _joint(a: _Value, b: _Value, labels: Sequence[Label]) -> tuple[int, ...]:
    """Return the sizes of labels in the product of two values."""
    return tuple(b.size(label) if a.size(label) == 1 else a.size(label) for label in labels)


class Reading(NamedTuple):
    """An equation, parsed for operands of some shapes: the labels of each operand's dimensions, the result's labels, and all labels, the
    result's first.
    """

    labels: list[list[Label]]
    wanted: list[Label]
    order: list[Label]


def read(equation: str, shapes: tuple[tuple[int, ...], ...]) -> Reading:
    """Parse an equation; raise torch's error for operands that do not fit it."""
    terms, named = _parsed(equation, len(shapes))
    covered = _check_ranks(terms, shapes)
    wanted: list[Label] = []
    for subscript in _result(terms, named):
        wanted += range(covered - 1, -1, -1) if subscript == _DOTS else [subscript]
    labels = [_labels(term, len(shape)) for term, shape in zip(terms, shapes)]
    _check_sizes(labels, terms, shapes)
    others = sorted({label for own in labels for label in own}.difference(wanted), key=lambda label: (isinstance(label, str), label))
    return Reading(labels, wanted, [*wanted, *others])


@functools.lru_cache(512)
def _plan(equation: str, shapes: tuple[tuple[int, ...], ...]) -> tuple[Step, ...]:
    """Return the steps of an equation for operands of these shapes; the last one gives the result."""
    labels, wanted, order = read(equation, shapes)
    planner = _Planner(len(shapes), {label: place for place, label in enumerate(order)})
    values = [_operand(planner, number, own, shape) for number, (own, shape) in enumerate(zip(labels, shapes))]
    current = values[0]
    for position in range(1, len(values)):
        later = {label for value in values[position + 1 :] for label in value.labels if value.size(label) != 1}
        current = planner.pair(current, values[position], later.union(wanted))
    current = planner.summed(current, [label for label in current.labels if label not in wanted])
    current = planner.in_order(current, wanted)
    is_view = planner.steps and planner.steps[-1].call in _VIEWS
    if not planner.steps or not is_view and len(values) > 1 and len(order) > len(wanted):  # the result is a view, as in torch
        planner.add("alias", (current.number,))
    return tuple(planner.steps)


class _Spread(NamedTuple):
    """An operand or the result of a step, with one dimension for each label."""

    number: int
    shape: tuple[int, ...]

    def size(self, dims: Sequence[int]) -> int:
        """Return the product of the lengths of dimensions."""
        return math.prod([self.shape[dim] for dim in dims])


class _Spreading:
    """Collects torch's own steps, in which each value has a dimension for each label, of length 1 for labels that it lacks."""

    def __init__(self, shapes: tuple[tuple[int, ...], ...], reading: Reading) -> None:
        self.steps: list[Step] = []
        self.count = len(shapes)
        self.kept, self.rank = len(reading.wanted), len(reading.order)
        self.values = [
            self._spread_out(number, shape, own, reading.order) for number, (shape, own) in enumerate(zip(shapes, reading.labels))
        ]
        self.counts = [sum(value.shape[dim] != 1 for value in self.values) for dim in range(self.rank)]
        """For each dimension the number of operands that have a length other than 1; 0 for dimensions that are summed."""

    def _add(self, call: str, values: tuple[int, ...], argument: int | tuple[int, ...] | None = None, keepdim: bool = False) -> int:
        self.steps.append(Step(call, values, argument, keepdim))
        self.count += 1
        return self.count - 1

    def _permuted(self, value: _Spread, order: Sequence[int]) -> _Spread:
        return _Spread(self._add("permute", (value.number,), tuple(order)), tuple([value.shape[dim] for dim in order]))

    def _spread_out(self, number: int, shape: tuple[int, ...], labels: Sequence[Label], order: Sequence[Label]) -> _Spread:
        value, own = _Spread(number, shape), list(labels)
        for label in dict.fromkeys(labels):
            while own.count(label) > 1:
                first = own.index(label)
                second = own.index(label, first + 1)
                left = [value.shape[dim] for dim in range(len(own)) if dim not in (first, second)]
                value = _Spread(self._add("diagonal", (value.number,), (first, second)), (*left, value.shape[first]))
                del own[second]
                rank = len(own)
                value = self._permuted(value, [*range(first), rank - 1, *range(first, rank - 1)])
        missing = [label for label in order if label not in own]
        for _ in missing:
            value = _Spread(self._add("unsqueeze", (value.number,), len(value.shape)), (*value.shape, 1))
        own += missing
        return self._permuted(value, [own.index(label) for label in order])

    def contracted(self, a: _Spread, b: _Spread) -> _Spread:
        """Return the product of two values, summed over those dimensions that neither later operands nor the result have."""
        alone: tuple[list[int], list[int]] = [], []
        summed = []
        for dim in range(self.kept, self.rank):
            if a.shape[dim] != 1 and b.shape[dim] != 1:
                self.counts[dim] -= 1
                if self.counts[dim] == 1:
                    summed.append(dim)
                    self.counts[dim] = 0
            elif self.counts[dim] == 1 and (a.shape[dim] != 1 or b.shape[dim] != 1):
                alone[a.shape[dim] == 1].append(dim)
                self.counts[dim] = 0
        a, b = (self._summed(value, dims) if dims else value for value, dims in zip((a, b), alone))
        if not summed:
            shape = tuple([y if x == 1 else x for x, y in zip(a.shape, b.shape)])
            return _Spread(self._add("mul", (a.number, b.number)), shape)
        return self._product(a, b, summed, swap=not alone[0] and not alone[1])

    def _summed(self, value: _Spread, dims: Sequence[int]) -> _Spread:
        shape = tuple([1 if dim in dims else size for dim, size in enumerate(value.shape)])
        return _Spread(self._add("sum", (value.number,), tuple(dims), keepdim=True), shape)

    def _product(self, a: _Spread, b: _Spread, summed: list[int], swap: bool) -> _Spread:
        """Return the product of two values summed over the dimensions ``summed``, which keep length 1, as one batched matrix product.

        With ``swap``, it is computed as ``b @ a`` if the dimensions that only ``b`` has come before those that only ``a`` has."""
        rest = [dim for dim in range(self.rank) if dim not in summed]
        shared = [dim for dim in rest if a.shape[dim] != 1 and b.shape[dim] != 1]
        ours = [dim for dim in rest if a.shape[dim] != 1 and b.shape[dim] == 1]
        theirs = [dim for dim in rest if a.shape[dim] == 1]
        if swap and ours and theirs and theirs[-1] < ours[0]:
            a, b, ours, theirs = b, a, theirs, ours
        batch, rows, inner, columns = a.size(shared), a.size(ours), a.size(summed), b.size(theirs)
        one = self._add("reshape", (self._permuted(a, [*shared, *ours, *summed, *theirs]).number,), (batch, rows, inner))
        two = self._add("reshape", (self._permuted(b, [*shared, *summed, *theirs, *ours]).number,), (batch, inner, columns))
        order = [*shared, *ours, *summed, *theirs]
        shape = (*[a.shape[dim] for dim in [*shared, *ours]], *[1] * len(summed), *[b.shape[dim] for dim in theirs])
        found = _Spread(self._add("view", (self._add("bmm", (one, two)),), shape), shape)
        return self._permuted(found, [order.index(dim) for dim in range(self.rank)])

    def finish(self, value: _Spread) -> None:
        """Remove the dimensions that the result does not have."""
        if self.kept < self.rank and len(self.values) > 1:
            self._add("view", (value.number,), value.shape[: self.kept])
        elif self.kept < self.rank:
            self._add("sum", (value.number,), tuple(range(self.kept, self.rank)))


@functools.lru_cache(512)
def planned_as_torch(equation: str, shapes: tuple[tuple[int, ...], ...]) -> tuple[Step, ...]:
    """Return torch's own steps. ``_plan`` has fewer, but not torch's strides if a dimension has length 1."""
    planner = _Spreading(shapes, read(equation, shapes))
    found = planner.values[0]
    for value in planner.values[1:]:
        found = planner.contracted(found, value)
    planner.finish(found)
    return tuple(planner.steps)


def _operand(planner: _Planner, number: int, labels: Sequence[Label], shape: tuple[int, ...]) -> _Value:
    value = _Value(number, tuple(labels), shape)
    for label in dict.fromkeys(labels):
        while value.labels.count(label) > 1:
            value = planner.diagonal(value, label)
    return value


def _labels(term: Sequence[str], rank: int) -> list[Label]:
    """Return the label of each dimension of an operand."""
    found: list[Label] = []
    for subscript in term:
        found += range(rank - len(term), -1, -1) if subscript == _DOTS else [subscript]
    return found


def _check_ranks(terms: Sequence[Sequence[str]], shapes: Sequence[tuple[int, ...]]) -> int:
    """Return the largest number of dimensions that an operand's ellipsis covers. Raise torch's error for an operand whose number of
    dimensions does not match its subscripts."""
    covered = 0
    for number, (term, shape) in enumerate(zip(terms, shapes)):
        rank, named = len(shape), len([subscript for subscript in term if subscript != _DOTS])
        if _DOTS not in term and named != rank or named > rank:
            extra = "" if _DOTS in term else " and no ellipsis was given"
            compare = "is more than" if _DOTS in term else "does not match"
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({named}) {compare} the number of dimensions ({rank}) for "
                f"operand {number}{extra}"
            )
        covered = max(covered, rank - named if _DOTS in term else 0)
    return covered


def _result(terms: Sequence[Sequence[str]], result: Sequence[str] | None) -> Sequence[str]:
    """Return the subscripts of the result, by default those that occur once, in the order of the alphabet."""
    seen = [subscript for term in terms for subscript in term if subscript != _DOTS]
    if result is None:
        result = ([_DOTS] if any(_DOTS in term for term in terms) else []) + sorted(s for s in set(seen) if seen.count(s) == 1)
    for subscript in result:
        if subscript != _DOTS and result.count(subscript) > 1:
            raise RuntimeError(f"einsum(): output subscript {subscript} appears more than once in the output")
        if subscript != _DOTS and subscript not in seen:
            raise RuntimeError(f"einsum(): output subscript {subscript} does not appear in the equation for any input operand")
    return result


def _check_sizes(labels: Sequence[Sequence[Label]], terms: Sequence[Sequence[str]], shapes: Sequence[tuple[int, ...]]) -> None:
    """Raise torch's error for sizes of one label that differ in an operand, or that do not broadcast."""
    sizes: dict[Label, int] = {}
    for number, (own, term, shape) in enumerate(zip(labels, terms, shapes)):
        for place, (label, length) in enumerate(zip(own, shape)):
            if label in own[:place] and (other := shape[own.index(label)]) != length:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {number} but the sizes don't match, {length} != {other}"
                )
        for label, length in zip(own, shape):
            seen = sizes.get(label, 1)
            if length != 1 and seen not in (1, length):
                if isinstance(label, int):
                    raise RuntimeError(
                        f"einsum(): dimension {len(shape) - len(term) - label} covered by ellipsis in operand {number}has size {length} "
                        f"which does not broadcast with previously seen ellipsis with size {seen} for the respective dimension"
                    )
                raise RuntimeError(
                    f"einsum(): subscript {label} has size {length} for operand {number} which does not broadcast with "
                    f"previously seen size {seen}"
                )
            sizes[label] = length if seen == 1 else seen

"""Products over named or counted dimensions: einsum, tensordot, outer and inner products, powers of matrices."""
from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ..._backend.errors import not_for
from ..._core.formats import contiguous_format, memory_format
from ..._core.one_device import OneDevice
from ..._core.tensor_base import TensorBase
from .._autocast import FLOAT32_ON_CPU, LOWER_ON_DEVICES, WIDEST_ON_DEVICES
from .._deprecated import warn_of
from .._dispatch import finish, finish_recorded, finish_safely, shape_of, wrap_dim
from .._named import node_called
from .._operation import operation
from .._overlaps import refuse_partly
from ..memory.creation import eye
from ..shape import views
from .linalg_factor import attach, inv
from .matmul import dot, matmul

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_DOTS = "..."
_NOTHING = "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts list"


def einsum(*args: Any) -> TensorBase:
    """Return the sum of products that an equation of subscripts names: ``einsum("ij,jk->ik", a, b)``."""
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
    terms, result = _parsed(equation, len(operands))
    return _contracted(terms, result, operands)


def _from_lists(args: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Return the equation for operands that are each followed by a list of numbers."""

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


def _contracted(terms: list[list[str]], result: list[str] | None, operands: Sequence[Any]) -> TensorBase:
    dots = 0
    for number, (term, operand) in enumerate(zip(terms, operands)):
        rank, named = len(shape_of(operand)), len([s for s in term if s != _DOTS])
        if _DOTS not in term and named != rank or named > rank:
            extra = "" if _DOTS in term else " and no ellipsis was given"
            compare = "is more than" if _DOTS in term else "does not match"
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({named}) {compare} the number of dimensions ({rank}) for "
                f"operand {number}{extra}"
            )
        dots = max(dots, rank - named if _DOTS in term else 0)
    seen = [s for term in terms for s in term if s != _DOTS]
    if result is None:
        result = ([_DOTS] if any(_DOTS in term for term in terms) else []) + sorted(s for s in set(seen) if seen.count(s) == 1)
    for subscript in result:
        if subscript != _DOTS and result.count(subscript) > 1:
            raise RuntimeError(f"einsum(): output subscript {subscript} appears more than once in the output")
        if subscript != _DOTS and subscript not in seen:
            raise RuntimeError(
                f"einsum(): output subscript {subscript} does not appear in the equation for any input operand"
            )
    # Dimensions that an ellipsis stands for get labels of their own, counted from the last.
    labels: list[list[Any]] = []
    sizes: dict[Any, int] = {}
    prepared = []
    for number, (term, operand) in enumerate(zip(terms, operands)):
        rank = len(shape_of(operand))
        wide = rank - (len(term) - 1) if _DOTS in term else 0
        own: list[Any] = []
        for subscript in term:
            own += range(wide - 1, -1, -1) if subscript == _DOTS else [subscript]
        operand, own = _diagonals(operand, own, number)
        for label, length in zip(own, shape_of(operand)):
            if length != 1 and sizes.get(label, 1) not in (1, length):
                if isinstance(label, int):
                    raise RuntimeError(
                        f"einsum(): dimension {wide - 1 - label} covered by ellipsis in operand {number}has size {length} which does "
                        f"not broadcast with previously seen ellipsis with size {sizes[label]} for the respective dimension"
                    )
                raise RuntimeError(
                    f"einsum(): subscript {label} has size {length} for operand {number} which does not broadcast with "
                    f"previously seen size {sizes[label]}"
                )
            sizes[label] = length if sizes.get(label, 1) == 1 else sizes[label]
        labels.append(own)
        prepared.append(operand)
    wanted: list[Any] = []
    for subscript in result:
        wanted += range(dots - 1, -1, -1) if subscript == _DOTS else [subscript]
    places = {label: place for place, label in enumerate(dict.fromkeys([*wanted, *(label for own in labels for label in own)]))}
    current, names = prepared[0], labels[0]
    for position in range(1, len(prepared)):
        later = {label for own in labels[position + 1 :] for label in own}
        keep = later.union(wanted)
        current, names = _pair(current, names, prepared[position], labels[position], keep, sizes, places)
    gone = tuple(i for i, label in enumerate(names) if label not in wanted)
    if gone:
        current = current.sum(gone)
        names = [label for label in names if label in wanted]
    made = views.permute(current, tuple(names.index(label) for label in wanted)) if names != wanted else current
    return made if any(made is not operand for operand in operands[:1]) else views.alias(made)


def _diagonals(operand: TensorBase, labels: list[Any], number: int) -> tuple[Any, list[Any]]:
    """Return the operand with the diagonal of each repeated subscript."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            a, b = shape_of(operand)[first], shape_of(operand)[second]
            if a != b:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {number} but the sizes don't match, {b} != {a}"
                )
            operand = views.diagonal(operand, 0, first, second)
            labels = [other for i, other in enumerate(labels) if i not in (first, second)] + [label]
    return operand, labels


def _pair(
    a: Any, first: list[Any], b: Any, second: list[Any], keep: set[Any], sizes: dict[Any, int], places: dict[Any, int]
) -> tuple[Any, list[Any]]:
    """Return the product of two operands, summed over all labels that are not needed further: one batched matrix product.

    Its dimensions stand in the order of ``places``, as far as a product of matrices allows.
    """
    for operand, own, other, is_first in ((a, first, second, True), (b, second, first, False)):
        alone = tuple(i for i, label in enumerate(own) if label not in keep and label not in other)
        if alone:
            reduced = operand.sum(alone)
            left = [label for label in own if label in keep or label in other]
            if is_first:
                a, first = reduced, left
            else:
                b, second = reduced, left
    # What one operand has a single element of is summed in the other before the two are multiplied.
    for label in [label for label in first if label in second and label not in keep]:
        here, there = first.index(label), second.index(label)
        if 1 in (a._shape[here], b._shape[there]):
            a, first = _without(a, here), [own for own in first if own != label]
            b, second = _without(b, there), [own for own in second if own != label]
    if all(label in keep for label in first if label in second):
        order = sorted({*first, *second}, key=places.__getitem__)
        return _lined_up(a, first, order) * _lined_up(b, second, order), order
    mine, theirs = (
        sorted((label for label in own if label not in other), key=places.__getitem__) for own, other in ((first, second), (second, first))
    )
    if mine and theirs and places[theirs[0]] < places[mine[0]]:
        a, first, mine, b, second, theirs = b, second, theirs, a, first, mine
    shared = sorted((label for label in first if label in second), key=places.__getitem__)
    batch = [label for label in shared if label in keep]
    summed = [label for label in shared if label not in keep]

    def arranged(operand: TensorBase, own: list[Any], order: list[Any]) -> Any:
        moved = views.permute(operand, tuple(own.index(label) for label in order)) if order != own else operand
        full = tuple(sizes[label] if label in batch else n for label, n in zip(order, shape_of(moved)))
        return views.expand(moved, full) if full != shape_of(moved) else moved

    left = arranged(a, first, batch + mine + summed)
    right = arranged(b, second, batch + summed + theirs)
    lead, rows = shape_of(left)[: len(batch)], shape_of(left)[len(batch) : len(batch) + len(mine)]
    inner = shape_of(left)[len(batch) + len(mine) :]
    columns = shape_of(right)[len(batch) + len(inner) :]
    n = views.numel_of
    head = (n(lead),) if batch else ()
    product = matmul(_in_shape(left, (*head, n(rows), n(inner))), _in_shape(right, (*head, n(inner), n(columns))))
    return views.reshape(product, (*lead, *rows, *columns)), batch + mine + theirs


def _without(operand: TensorBase, dim: int) -> TensorBase:
    """Return the operand summed along a dimension."""
    return views.squeeze(operand, dim) if operand._shape[dim] == 1 else operand.sum(dim)


def _lined_up(operand: TensorBase, own: list[Any], order: list[Any]) -> Any:
    """Return the operand with its dimensions in the order of labels, of length 1 for labels that it lacks."""
    there = [label for label in order if label in own]
    moved = views.permute(operand, tuple(own.index(label) for label in there)) if there != own else operand
    for place, label in enumerate(order):
        if label not in own:
            moved = views.unsqueeze(moved, place)
    return moved


def _in_shape(tensor: Any, shape: tuple[int, ...]) -> TensorBase:
    return tensor if tensor._shape == shape else views.reshape(tensor, shape)


@operation(autocast=WIDEST_ON_DEVICES)
def tensordot(a: Any, b: Any, dims: Any = 2, out: TensorBase | None = None) -> Any:
    """Return the sum of products over the last ``dims`` dimensions of ``a`` and the first of ``b``, or over two lists of them."""
    if isinstance(dims, TensorBase):
        dims = dims.tolist()
    if isinstance(dims, (tuple, list)):
        over_a, over_b = (list(d) if isinstance(d, (tuple, list)) else [d] for d in dims)
    elif not isinstance(dims, int):
        wanted = "int or tuple[list[int], list[int]] or list[list[int]] containing two lists"
        raise RuntimeError(f"tensordot expects dims to be {wanted}, but got dims={dims}")
    else:
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(len(shape_of(a)), len(shape_of(b))):
            raise RuntimeError(
                f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}"
            )
        over_a, over_b = list(range(-dims, 0)), list(range(dims))
    sa, sb = shape_of(a), shape_of(b)
    if len(over_a) != len(over_b):
        raise RuntimeError("both dimension lists should have same length")
    if a._dtype is not b._dtype:
        raise RuntimeError("both inputs should have same dtype")
    for x, y in zip(over_a, over_b):
        if sb[y] == 1 and sa[x] != 1:
            a = a.sum(x, keepdim=True, dtype=a._dtype)
        elif sa[x] == 1 and sb[y] != 1:
            b = b.sum(y, keepdim=True, dtype=b._dtype)
        elif sa[x] != sb[y]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {sa[x]} in dim {x} and second has size {sb[y]} in dim {y}"
            )
    sa, sb = shape_of(a), shape_of(b)
    over_a, over_b = [wrap_dim(d, len(sa)) for d in over_a], [wrap_dim(d, len(sb)) for d in over_b]
    rest_a = [d for d in range(len(sa)) if d not in over_a]
    rest_b = [d for d in range(len(sb)) if d not in over_b]
    inner = views.numel_of([sa[d] for d in over_a])
    rows, columns = [sa[d] for d in rest_a], [sb[d] for d in rest_b]
    left = views.reshape(views.permute(a, rest_a + over_a), (views.numel_of(rows), inner))
    right = views.reshape(views.permute(b, over_b + rest_b), (inner, views.numel_of(columns)))
    found = views.reshape(matmul(left, right), (*rows, *columns))
    words = "tensordot: Expected the output tensor to have dtype {kind}, but got an output tensor with dtype {out}"
    return found if out is None else finish_recorded(found, out, words)  # a view of the product, as in torch


def outer(input: TensorBase, vec2: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the products of every element of a vector with every one of another."""
    for name, vector in (("self", input), ("vec2", vec2)):
        if len(shape_of(vector)) != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {len(shape_of(vector))}-D")
    column = views.unsqueeze(input, 1)
    return finish(column * vec2, out, column, vec2)


ger = outer


@operation(one_device=OneDevice())
def inner(input: Any, other: Any, *, out: TensorBase | None = None) -> TensorBase:
    """Return the sums of products over the last dimension of both."""
    a, b = shape_of(input), shape_of(other)
    if not a or not b:
        return finish(input * other, out)
    if a[-1] != b[-1]:
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(a)} and {list(b)}"
        )
    return tensordot(input, other, ([-1], [-1]), out=out)


@operation(autocast=WIDEST_ON_DEVICES)
@node_called("VdotBackward0")
def vdot(input: TensorBase, other: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the inner product of two vectors, the first conjugated."""
    return dot(input.conj_physical() if input._dtype.is_complex else input, other, out=out)


def kron(input: Any, other: Any, *, out: TensorBase | None = None) -> TensorBase:
    """Return the Kronecker product: each element of the first times the whole second."""
    refuse_partly(out, input, other, twice=False)
    a, b = shape_of(input), shape_of(other)
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    wide = [length for n in a for length in (n, 1)]
    deep = [length for n in b for length in (1, n)]
    product = views.unsafe_view(input, tuple(wide), fresh=False) * views.unsafe_view(other, tuple(deep), fresh=False)
    # As in torch, which takes the product's memory as it lies, and refuses one that lies in another order.
    return finish(views.unsafe_view(product, tuple(x * y for x, y in zip(a, b)), fresh=False), out)


@operation(autocast=FLOAT32_ON_CPU)
@node_called("TraceBackward0")
def trace(input: TensorBase) -> TensorBase:
    """Return the sum of the diagonal of a matrix."""
    if input._dtype.category == 0:
        raise not_for("trace", "bool")
    if len(shape_of(input)) != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {len(shape_of(input))}")
    return views.diagonal(input).sum()


def matrix_power(input: TensorBase, n: int, *, out: TensorBase | None = None) -> TensorBase:
    """Return square matrices multiplied with themselves ``n`` times."""
    shape = shape_of(input)
    if len(shape) < 2:
        raise RuntimeError("linalg.matrix_power: The input tensor A must have at least 2 dimensions.")
    if shape[-1] != shape[-2]:
        raise RuntimeError(
            f"linalg.matrix_power: A must be batches of square matrices, but they are {shape[-2]} by {shape[-1]} matrices"
        )
    if n == 0:
        identity = views.expand(eye(shape[-1], dtype=input._dtype, device=input.device), shape).clone(memory_format=_contiguous())
        return finish(attach("CopyBackwards", _no_gradient, (input,), (identity,))[0] if out is None else identity, out)
    copied = n == 1 or n >= 4 and n & (n - 1) == 0  # by torch, into the last square
    n, input = abs(n), inv(input) if n < 0 else input
    made, square = None, input
    while n:
        if n & 1:
            made = square if made is None else matmul(made, square)
        n >>= 1
        if n:
            square = matmul(square, square)
    return finish_safely(made.clone() if made is input else made, out, "matrix_power", recorded=copied)


def _no_gradient(gradients: Sequence[TensorBase], outputs: Sequence[TensorBase], inputs: Sequence[TensorBase]) -> tuple[Any]:
    return (None,)


def _contiguous() -> memory_format:
    return contiguous_format


@operation(autocast=LOWER_ON_DEVICES)
def chain_matmul(*matrices: Any, out: Any = None) -> Any:
    """Return the product of several matrices, in the order that costs least."""
    warn_of("chain_matmul")
    if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)):
        matrices = tuple(matrices[0])
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for matrix in matrices:
        if len(shape_of(matrix)) != 2:
            raise RuntimeError(f"Tensor dimension is {len(shape_of(matrix))}, expected 2 instead.")
    if len(matrices) == 1:
        return finish(matrices[0].clone(), out)
    lengths = [shape_of(matrices[0])[0]] + [shape_of(matrix)[1] for matrix in matrices]
    return finish(_cheapest(matrices, lengths), out)


def _cheapest(matrices: Sequence[Any], lengths: list[int]) -> TensorBase:
    count = len(matrices)
    cost = [[0.0] * count for _ in range(count)]
    cut = [[0] * count for _ in range(count)]
    for width in range(1, count):
        for i in range(count - width):
            j = i + width
            options = [
                (cost[i][k] + cost[k + 1][j] + lengths[i] * lengths[k + 1] * lengths[j + 1], k) for k in range(i, j)
            ]
            cost[i][j], cut[i][j] = min(options)

    def product(i: int, j: int) -> Any:
        if i == j:
            return matrices[i]
        k = cut[i][j]
        return matmul(product(i, k), product(k + 1, j))

    return product(0, count - 1)

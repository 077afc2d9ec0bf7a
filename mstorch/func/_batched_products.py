"""Batching rules of matmuls, linear layers, einsum and convolutions."""
from __future__ import annotations

import math
from typing import Any

from .._tensor import Tensor
from ._batched import Op, batched, front, is_of, within
from ._batched_loop import by_slices, expanded
from ._batched_rules import bound, ruled


def _with_leading_batch(op: Op, tensor: Any, rank: int, vector: int) -> Tensor:
    """Return the values of a matrix with the batch dimension first and padded with 1s to ``rank`` dimensions per slice; a vector becomes a
    row (``vector`` -2) or a column (-1)."""
    mapped = is_of(tensor, op.map)
    value = front(tensor) if mapped else tensor
    if len(tensor._ms_shape) == 1:
        value = value.unsqueeze(vector)
    if not mapped:
        return value
    own = len(value._ms_shape) - 1
    return value.reshape(op.map.size, *(1,) * (rank - own), *value._ms_shape[1:]) if own < rank else value


def product(op: Op, a: Any, b: Any) -> Tensor:
    """Return the matrix product of tensors, at least one of which is batched."""
    first, second = len(a._ms_shape), len(b._ms_shape)
    if first == 0 or second == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {first}D and {second}D")
    if not is_of(b, op.map) and (second == 2 or second == 1):
        return batched(front(a).matmul(b), 0, op.map)
    if not is_of(a, op.map) and second == 1 and first <= 2:
        return batched(front(b).matmul(a.t() if first == 2 else a), 0, op.map)
    rank = max(first, second, 2)
    value = _with_leading_batch(op, a, rank, -2).matmul(_with_leading_batch(op, b, rank, -1))
    if first == 1:
        value = value.squeeze(-2)
    if second == 1:
        value = value.squeeze(-1)
    return batched(value, 0, op.map)


_RANKS = {"mm": (2, 2), "mv": (2, 1), "dot": (1, 1), "bmm": (3, 3), "inner": (1, 1)}


@ruled("matmul __matmul__ __rmatmul__ linalg.matmul")
@ruled(" ".join(_RANKS))
def matmul(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Return products of matrices or vectors."""
    given = bound(op, args, kwargs)
    if given.get("out") is not None or len(given) != 2:
        return by_slices(op, args, kwargs)
    a, b = given.values()
    ranks = _RANKS.get(op.name)
    same = a._ms_dtype is b._ms_dtype
    if op.name == "__rmatmul__":
        a, b = b, a
    if not same or ranks is not None and ranks != (len(a._ms_shape), len(b._ms_shape)):
        if op.name == "mm" and same:
            raise RuntimeError(
                f"Shape mismatch: Got incorrect dims for mm(a, b). a has dim {len(a._ms_shape)}and b has dim "
                f"{len(b._ms_shape)}but expected them "
                "to have dim 2 and dim 2"
            )
        return by_slices(op, args, kwargs)
    if op.name == "bmm" and a._ms_shape[0] != b._ms_shape[0]:
        return by_slices(op, args, kwargs)
    return product(op, a, b)


def _sum_of(input: Any, found: Any, beta: Any, alpha: Any) -> Any:
    found = found if alpha == 1 else found * alpha
    return found if beta == 0 else found + (input if beta == 1 else input * beta)


_RANKS_OF_SUMS = {"addmm": (2, 2), "addmv": (2, 1), "baddbmm": (3, 3), "addbmm": (3, 3), "addr": (1, 1)}


@ruled(" ".join(_RANKS_OF_SUMS), in_place=True)
def added_product(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return a matrix product added to a tensor."""
    given = bound(op, args, kwargs)
    base = op.name.rstrip("_")
    if given.get("out") is not None or len(args) != 3 or base != op.name and not is_of(args[0], op.map):
        return by_slices(op, args, kwargs)
    input, a, b = args
    ranks = _RANKS_OF_SUMS[base]
    if ranks != (len(a._ms_shape), len(b._ms_shape)) or not a._ms_dtype is b._ms_dtype is input._ms_dtype or a._ms_dtype.is_integral:
        return by_slices(op, args, kwargs)
    with within(op.map):
        found = a.unsqueeze(-1) * b.unsqueeze(-2) if base == "addr" else a.matmul(b)
        found = found.sum(0) if base == "addbmm" else found
        found = _sum_of(input, found, given.get("beta", 1), given.get("alpha", 1))
        if not is_of(found, op.map):
            return found
        return input.copy_(found) if base != op.name else found


@ruled("outer ger linalg.outer")
def outer(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Return the outer product of two vectors."""
    if kwargs or len(args) != 2 or any(len(item._ms_shape) != 1 for item in args):
        return by_slices(op, args, kwargs)
    with within(op.map):
        return args[0].unsqueeze(1) * args[1].unsqueeze(0)


@ruled("linear nn.functional.linear")
def linear(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return ``input @ weight.T + bias``."""
    given = bound(op, args, kwargs)
    input, weight, bias = given["input"], given["weight"], given.get("bias")
    if is_of(input, op.map) and not is_of(weight, op.map) and len(input._ms_shape):
        alone = bias is not None and is_of(bias, op.map)
        value = batched(op(front(input), weight, None if alone else bias), 0, op.map)
        if not alone:
            return value
        with within(op.map):
            return value + bias
    if len(weight._ms_shape) != 2 or not len(input._ms_shape):
        return by_slices(op, args, kwargs)
    with within(op.map):
        found = input.matmul(weight.t())
        return found if bias is None else found + bias


@ruled("einsum")
def einsum(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Run einsum with an additional letter for the batch dimension."""
    equation, *operands = args
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = list(operands[0])
    if not isinstance(equation, str) or kwargs:
        return by_slices(op, args, kwargs)
    equation = equation.replace(" ", "")
    terms, arrow, result = equation.partition("->")
    letter = next((c for c in "zyxwvutsrqponmlkjihgfedcbaZYXWVUTSRQPONMLKJIHGFEDCBA" if c not in equation), None)
    parts = terms.split(",")
    if letter is None or len(parts) != len(operands):
        return by_slices(op, args, kwargs)
    if not arrow:
        letters = terms.replace("...", "").replace(",", "")
        result = ("..." if "..." in terms else "") + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    values = []
    for place, operand in enumerate(operands):
        mapped = is_of(operand, op.map)
        values.append(front(operand) if mapped else operand)
        parts[place] = letter + parts[place] if mapped else parts[place]
    return batched(op(f"{','.join(parts)}->{letter}{result}", *values), 0, op.map)


# Convolutions: the mapped dimension goes to the batch, or to the groups


@ruled(" ".join(f"conv{form}{rank}d" for form in ("", "_transpose") for rank in (1, 2, 3)))
def conv(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Run a convolution with batched or unbatched input and weight."""
    given = bound(op, args, kwargs)
    input, weight, bias = given.pop("input"), given.pop("weight"), given.pop("bias", None)
    map, spatial = op.map, int(op.name[-2])
    single = len(input._ms_shape) == spatial + 1
    if not single and len(input._ms_shape) != spatial + 2:
        return by_slices(op, args, kwargs)
    alone = bias is not None and (is_of(bias, map) or is_of(weight, map))
    if is_of(input, map) and not is_of(weight, map):
        value = front(input)
        lead = value._ms_shape[:1] if single else value._ms_shape[:2]
        found = op(value if single else value.reshape(math.prod(lead), *value._ms_shape[2:]), weight, None if alone else bias, **given)
        found = batched(found if single else found.reshape((*lead, *found._ms_shape[1:])), 0, map)
    elif is_of(weight, map):
        found = _by_groups(op, input, weight, given, single)
    else:
        found = op(input, weight, **given)
    if not alone:
        return found
    with within(op.map):
        return found + bias.reshape(-1, *(1,) * spatial)


def _by_groups(op: Op, input: Tensor, weight: Any, given: dict[str, Any], single: bool) -> Tensor:
    """Run one convolution in which each slice's weights are a group of channels."""
    map, groups = op.map, given.pop("groups", 1)
    kernels = front(weight)
    value = expanded(input, map)
    value = value.unsqueeze(1) if single else value
    size, count, channels, *rest = value._ms_shape
    value = value.movedim(0, 1).reshape(count, size * channels, *rest)
    found = op(value, kernels.reshape(size * kernels._ms_shape[1], *kernels._ms_shape[2:]), None, groups=size * groups, **given)
    found = found.reshape(count, size, -1, *found._ms_shape[2:])
    return batched(found[0] if single else found, 0 if single else 1, map)


@ruled("nn.functional.scaled_dot_product_attention scaled_dot_product_attention")
def attention(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run attention, with the batch dimension as a leading dimension."""
    given = bound(op, args, kwargs)
    query, key, value, mask = given.pop("input"), given.pop("key"), given.pop("value"), given.pop("attn_mask", None)
    ranks = {len(item._ms_shape) for item in (query, key, value)}
    if given.get("dropout_p") or given.get("enable_gqa") or len(ranks) != 1 or min(ranks) < 2:
        return by_slices(op, args, kwargs)
    if mask is not None and is_of(mask, op.map):
        mask = front(mask)
        mask = mask.reshape(op.map.size, *(1,) * (min(ranks) - len(mask._ms_shape) + 1), *mask._ms_shape[1:])
    q, k, v = (expanded(item, op.map) for item in (query, key, value))
    return batched(op(q, k, v, mask, **given), 0, op.map)

"""Batching rules composed of other functions, run inside the vmap."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._src.core.tensor_base import TensorBase
from .._tensor import Tensor
from ._batched import Op, as_batched, batched, front, is_of, outside, public, within
from ._batched_loop import by_slices, expanded
from ._batched_rules import Arguments, along, bound, in_line, leading, of_matrices, ruled, rules, shifted

Given = Arguments


def composed(names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that registers ``function(op, given)``, run inside the vmap, as a batching rule; if it returns NotImplemented, the
    slices are computed in a loop.
    """

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        def rule(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            given = bound(op, args, kwargs)
            if given.get("out") is None:
                with within(op.map):
                    found = function(op, given)
                if found is not NotImplemented:
                    return found
            return by_slices(op, args, kwargs)

        rules(names, rule)
        return function

    return enter


def _only(given: Given, *names: str) -> bool:
    """Return whether all given arguments are among these names."""
    return all(name in names for name in given)


@composed("vdot")
def _vdot(op: Op, given: Given) -> Any:
    a, b = given["input"], given["other"]
    return (a.conj_physical() * b).sum() if len(a._ms_shape) == len(b._ms_shape) == 1 and a._ms_dtype is b._ms_dtype else NotImplemented


@composed("diag")
def _diag(op: Op, given: Given) -> Any:
    x, offset = given["input"], given.get("diagonal", 0)
    return x.diag_embed(offset) if len(x._ms_shape) == 1 else x.diagonal(offset).clone() if len(x._ms_shape) == 2 else NotImplemented


@composed("functional.atleast_1d functional.atleast_2d functional.atleast_3d")
def _atleast(op: Op, given: Given) -> Any:
    if len(given.get("*", ())) != 1 or not isinstance(given["*"][0], TensorBase):
        return NotImplemented
    x = given["*"][0]
    rank, wanted = len(x._ms_shape), int(op.name[-2])
    if rank >= wanted:
        return x
    if rank == 0:
        return x.reshape((1,) * wanted)
    return x.unsqueeze(0) if wanted == 2 else x.unsqueeze(0).unsqueeze(-1) if rank == 1 else x.unsqueeze(-1)


@composed("functional.broadcast_tensors broadcast_tensors")
def _broadcast_tensors(op: Op, given: Given) -> Any:
    tensors = given.get("*", ())
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tensors[0]
    shape = public("broadcast_shapes")(*(tensor._ms_shape for tensor in tensors))
    return tuple(tensor.expand(shape) for tensor in tensors)


@composed("ravel")
def _ravel(op: Op, given: Given) -> Any:
    return given["input"].reshape(-1)


@composed("functional.meshgrid meshgrid")
def _meshgrid(op: Op, given: Given) -> Any:
    tensors, indexing = given.get("*", ()), given.get("indexing")
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tensors[0]
    if indexing not in ("ij", "xy") or any(len(tensor._ms_shape) > 1 for tensor in tensors):
        return NotImplemented
    tensors = [tensor.reshape(-1) for tensor in tensors]
    shape = [tensor._ms_shape[0] for tensor in tensors]
    if indexing == "xy" and len(shape) > 1:
        shape[:2] = shape[1::-1]
        order = [1, 0, *range(2, len(shape))]
    else:
        order = list(range(len(shape)))
    ones = (1,) * len(shape)
    return tuple(tensor.reshape(*ones[:place], -1, *ones[place + 1 :]).expand(shape) for tensor, place in zip(tensors, order))


@composed("dist")
def _dist(op: Op, given: Given) -> Any:
    a, b = given["input"], given["other"]
    return (a - b).norm(given.get("p", 2)) if a._ms_dtype is b._ms_dtype and a._ms_dtype.is_floating_point else NotImplemented


@composed("functional.tensordot tensordot")
def _tensordot(op: Op, given: Given) -> Tensor:
    a, b, dims = given["input"], given["b"], given.get("dims", 2)
    if isinstance(dims, int):
        dims = (tuple(range(len(a._ms_shape) - dims, len(a._ms_shape))), tuple(range(dims)))
    if not isinstance(dims, (tuple, list)) or len(dims) != 2 or not all(isinstance(part, (tuple, list)) for part in dims):
        return NotImplemented
    first, second = ([dim % len(tensor._ms_shape) for dim in part] for tensor, part in zip((a, b), dims))
    letters = "abcdefghijklmnopqrstuvwxy"
    left = list(letters[: len(a._ms_shape)])
    right = list(letters[len(a._ms_shape) : len(a._ms_shape) + len(b._ms_shape)])
    if len(first) != len(second) or len(left) + len(right) < len(a._ms_shape) + len(b._ms_shape):
        return NotImplemented
    for i, j in zip(first, second):
        if a._ms_shape[i] != b._ms_shape[j]:
            return NotImplemented
        right[j] = left[i]
    out = [c for i, c in enumerate(left) if i not in first] + [c for j, c in enumerate(right) if j not in second]
    return public("einsum")(f"{''.join(left)},{''.join(right)}->{''.join(out)}", a, b)


@composed("nn.functional.bilinear bilinear")
def _bilinear(op: Op, given: Given) -> Any:
    x1, x2 = given["input"], given["input2"] if "input2" in given else given.get("input1")
    weight, bias = given["weight"], given.get("bias")
    if x2 is None or len(x1._ms_shape) != len(x2._ms_shape) or not len(x1._ms_shape) or len(weight._ms_shape) != 3:
        return NotImplemented
    found = public("einsum")("...i,oij,...j->...o", x1, weight, x2)
    return found if bias is None else found + bias


@composed("linalg.solve")
def _solve(op: Op, given: Given) -> Any:
    a, b = given["input"], given["B"] if "B" in given else given.get("other")
    if b is None or not given.get("left", True) or len(a._ms_shape) < 2 or not _only(given, "input", "B", "other", "left"):
        return NotImplemented
    if len(b._ms_shape) == 1 or len(b._ms_shape) == len(a._ms_shape) - 1 and b._ms_shape == a._ms_shape[:-1]:
        return op(a, b.unsqueeze(-1)).squeeze(-1)
    if len(b._ms_shape) < 2:
        return NotImplemented
    with outside(op.map.depth):
        return of_matrices(op, (a, b), {})


@ruled("linalg.matrix_norm")
def matrix_norm(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return matrix norms over two dimensions."""
    return along("dim")(op, args, kwargs)


@ruled("linalg.norm")
def linalg_norm(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return vector or matrix norms."""
    given = bound(op, args, kwargs)
    tensor, order, dim = given.pop("input"), given.pop("ord", None), given.pop("dim", None)
    rank = len(tensor._ms_shape)
    if given.get("out") is not None or rank == 0:
        return by_slices(op, args, kwargs)
    value = front(tensor)
    if dim is None and order is None:
        if given.pop("keepdim", False):
            return by_slices(op, args, kwargs)
        return batched(op(value.flatten(1), dim=1, **given), 0, op.map)
    if dim is None and rank > 2:
        return by_slices(op, args, kwargs)
    dims = tuple(range(1, rank + 1)) if dim is None else shifted(op, dim, rank)
    return batched(op(value, order, dims[0] if isinstance(dims, tuple) and len(dims) == 1 else dims, **given), 0, op.map)


@ruled("trapezoid trapz cumulative_trapezoid")
def trapezoid(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Integrate along a dimension with equal spacing."""
    if len(args) > 1 or "x" in kwargs or not args[0]._ms_shape:
        return by_slices(op, args, kwargs)
    return batched(op(front(args[0]), **{**kwargs, "dim": shifted(op, kwargs.get("dim", -1), len(args[0]._ms_shape))}), 0, op.map)


@ruled("quantile nanquantile")
def quantile(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Return quantiles for one or several fractions, which are not batched."""
    given = bound(op, args, kwargs)
    tensor, q, dim = given.pop("input"), given.pop("q"), given.pop("dim", None)
    keep = given.get("keepdim", False)
    rank = len(tensor._ms_shape)
    if not is_of(tensor, op.map) or is_of(q, op.map) or given.get("out") is not None or not rank or dim is None and keep:
        return by_slices(op, args, kwargs)
    value = front(tensor)
    found = op(value.flatten(1), q, 1, **given) if dim is None else op(value, q, shifted(op, dim, rank), **given)
    return batched(found, 1 if isinstance(q, TensorBase) and q._ms_shape else 0, op.map)


@ruled("fft.fftn fft.ifftn fft.rfftn fft.irfftn fft.fftshift fft.ifftshift")
def of_all_dims(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Run a transform over all dimensions, or over the dimensions in ``dim``."""
    given = bound(op, args, kwargs)
    tensor = given.pop("input")
    rank = len(tensor._ms_shape)
    if given.get("out") is not None or not rank:
        return by_slices(op, args, kwargs)
    dim, sizes = given.pop("dim", None), given.get("s")
    if dim is None:
        count = rank if sizes is None else len(sizes)
        dim = tuple(range(rank - count, rank))
    return batched(op(front(tensor), dim=shifted(op, dim, rank), **given), 0, op.map)


@ruled("cosine_similarity nn.functional.cosine_similarity")
def cosine_similarity(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the cosine similarity along a dimension."""
    given = bound(op, args, kwargs)
    a, b = given.pop("input"), given.pop("x2")
    rank = max(len(a._ms_shape), len(b._ms_shape))
    if not rank:
        return by_slices(op, args, kwargs)
    values = in_line(op, [a, b])
    return batched(op(*values, **{**given, "dim": shifted(op, given.get("dim", 1), rank)}), 0, op.map)


rules("pairwise_distance nn.functional.pairwise_distance", leading)


# Losses of rows, (N, D) or (D), and their mean over N


_ROW_LOSSES = "cosine_embedding_loss triplet_margin_loss multilabel_soft_margin_loss multi_margin_loss multilabel_margin_loss"


@ruled(_ROW_LOSSES)
def row_loss(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute a loss per row, then its reduction."""
    given = bound(op, args, kwargs)
    reduction = given.pop("reduction", "mean")
    named = [name for name, value in given.items() if isinstance(value, TensorBase)]
    rank = len(given["input"]._ms_shape)
    own = {"target": rank - 1} if op.name in ("cosine_embedding_loss", "multi_margin_loss") else {}
    odd = given.get("size_average") is not None or given.get("reduce") is not None or given.get("weight") is not None
    if odd or rank not in (1, 2) or any(len(given[name]._ms_shape) != own.get(name, rank) for name in named):
        return by_slices(op, args, kwargs)
    for name in named:
        value = expanded(given[name], op.map)
        given[name] = value if rank == 1 else value.flatten(0, 1)
    found = op(given.pop("input"), reduction="none", **given)
    found = batched(found if rank == 1 else found.reshape(op.map.size, -1), 0, op.map)
    with within(op.map):
        return found if reduction == "none" else found.mean() if reduction == "mean" else found.sum()


# Attention of several heads


_ODD = ("bias_k", "bias_v", "static_k", "static_v", "q_proj_weight", "k_proj_weight", "v_proj_weight")


@composed("nn.functional.multi_head_attention_forward")
def _multi_head_attention(op: Op, given: Given) -> tuple[Tensor | None, ...]:
    query, key, value, mask = given["input"], given["key"], given["value"], given.get("attn_mask")
    ranks = {len(item._ms_shape) for item in (query, key, value)}
    if not _is_usual(op, given) or ranks not in ({2}, {3}) or mask is not None and len(mask._ms_shape) != 2:
        return NotImplemented
    single = ranks == {2}
    if single:
        query, key, value = (item.unsqueeze(1) for item in (query, key, value))
    length, batch, width = query._ms_shape
    heads, weight, bias = given["num_heads"], given["in_proj_weight"], given["in_proj_bias"]
    if width != given["embed_dim_to_check"] or width % heads or key._ms_shape != value._ms_shape:
        return NotImplemented
    projected = []
    for place, item in enumerate((query, key, value)):
        rows = slice(place * width, (place + 1) * width)
        part = _affine(item, weight[rows], None if bias is None else bias[rows])
        projected.append(part.reshape(item._ms_shape[0], batch, heads, width // heads).permute(1, 2, 0, 3))
    q, k, v = projected
    scores = (q * math.sqrt(heads / width)).matmul(k.mT)
    if mask is not None:
        scores = scores.masked_fill(mask, -math.inf) if mask._ms_dtype.category == 0 else scores + mask.to(scores._ms_dtype)
    weights = scores.softmax(-1)
    mixed = weights.matmul(v).permute(2, 0, 1, 3).reshape(length, batch, width)
    out = _affine(mixed, given["out_proj_weight"], given["out_proj_bias"])
    shown = None
    if given.get("need_weights", True):
        shown = weights.mean(1) if given.get("average_attn_weights", True) else weights
        shown = shown.squeeze(0) if single else shown
    return out.squeeze(1) if single else out, shown


def _is_usual(op: Op, given: Given) -> bool:
    """Return whether a call draws nothing, has none of the rare arguments, and masks all slices alike, no key by padding."""
    if given["dropout_p"] and given.get("training", True) or given["add_zero_attn"] or given.get("use_separate_proj_weight"):
        return False
    if any(given.get(name) is not None for name in (*_ODD, "key_padding_mask")):
        return False
    return given.get("attn_mask") is None or not is_of(given["attn_mask"], op.map)


def _affine(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    product = input.matmul(weight.t())
    return product if bias is None else product + bias


@ruled("linalg.polar linalg.matrix_sqrth")
def matrices(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a function of batches of matrices."""
    if kwargs or len(args[0]._ms_shape) < 2:
        return by_slices(op, args, kwargs)
    return as_batched(op(front(args[0])), 0, op.map)

"""Embeddings and one-hot vectors."""
from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...backend.arrays import Array, within
from ...backend.table import kernel
from ...core.dtype import float64, int32, int64
from ...core.one_device import OneDevice, table_elsewhere
from ...core.sparse_parts import MAKERS
from ...core.storage import home
from ...core.tensor_base import TensorBase, array_of, tensor_of
from ...tape.composite import record
from ...tape.moving import beside
from ...tape.node import is_leaf, node_of
from ...tape.ways import followed, in_arrays, ways
from ...tape.windows import linear
from .._dispatch import call, readable, type_word, without_grad
from .._operation import operation
from ..elementwise.compare import clamp, eq, gt, isnan, ne, where
from ..elementwise.elementwise import add, div, mul, reciprocal
from ..indexing.assignment import setitem
from ..indexing.index import gather, index_select
from ..indexing.scatter import index_add
from ..memory.creation import arange, zeros
from ..memory.from_data import made
from ..reduce.reduce import any as any_of
from ..reduce.reduce import argmax
from ..reduce.reduce import sum as sum_of
from ..reduce.vector_norm import vector_norm
from ..shape import views

_embedding = kernel("embedding")


def _check_type(input: TensorBase, name: str) -> None:
    if input._ms_dtype not in (int64, int32):
        raise RuntimeError(
            f"Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{type_word(input._ms_dtype)}Tensor instead (while checking arguments for {name})"
        )


def _check_indices(input: TensorBase, rows: int, name: str) -> None:
    _check_type(input, name)
    values = readable(input)
    if values is not None and not within(values, 0, rows - 1):
        raise IndexError("index out of range in self")


def _lookup_sparse(weight: TensorBase, input: TensorBase, padding: int, by_frequency: bool) -> TensorBase:
    if by_frequency:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
    found = call(_embedding, (weight.detach(),), input, padding, by_frequency)

    def forward(tangents: Sequence[TensorBase], outputs: tuple[TensorBase, ...], inputs: tuple[TensorBase, ...]) -> tuple[TensorBase, ...]:
        return (call(_embedding, tangents, input, padding, by_frequency),)

    return record("EmbeddingBackward0", functools.partial(_rows_gradient, padding), (weight,), (found,), input, forward=forward)[0]


def _rows_gradient(
    padding: int, gradients: Sequence[TensorBase], outputs: Sequence[TensorBase], inputs: Sequence[TensorBase], indices: TensorBase
) -> tuple[TensorBase]:
    """Return the gradient of an embedding table as a sparse tensor."""
    (gradient,), (weight,) = gradients, inputs
    if gradient is None:
        return (None,)
    rows = views.reshape(indices, (-1,))
    if not weight.numel():
        rows = rows[:0]  # the gradient of an empty table has no rows
    values = views.reshape(gradient, (indices.numel(), weight._ms_shape[1]))[: len(rows)]
    if padding >= 0:
        kept = ne(rows, padding)
        rows, values = rows[kept], values[kept]
    return (MAKERS["coo"](views.unsqueeze(rows, 0), values, weight._ms_shape),)


def _lookup(weight: TensorBase, input: TensorBase, padding: int, by_frequency: bool, sparse: bool = False) -> TensorBase:
    # A Function of the user's gets the sparse gradient, too; the rules of operations have no sparse gradients.
    if sparse and followed((weight,)) and (is_leaf(weight) or getattr(node_of(weight), "in_the_open", False)):
        return _lookup_sparse(weight, input, padding, by_frequency)
    found = call(_embedding, (weight,), input, padding, by_frequency)
    return found if padding < 0 else _beside_padding(found, input, padding)


def _padding_apart(found: Any, input: Any, padding: int) -> Any:
    """In a capture, return the embedded rows ``found`` with the rows of the padding index detached. Outside a capture return None."""
    return None if home(found).has_elements else where(views.unsqueeze(ne(input, padding), -1), found, views.detach(found))


@ways(captured=_padding_apart)
def _beside_padding(found: TensorBase, input: TensorBase, padding: int) -> TensorBase:
    return found


@operation(one_device=OneDevice(words=table_elsewhere))
def embedding(
    weight: TensorBase, indices: TensorBase, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> TensorBase:
    """Return the rows of ``weight`` (rows, D) at ``indices`` (*), as (*, D). With ``sparse``, a leaf's gradient is a COO tensor."""
    if len(weight._ms_shape) != 2:
        raise RuntimeError("'weight' must be 2-D")
    _check_indices(indices, weight._ms_shape[0], "embedding")
    return _lookup(weight, indices, padding_idx, scale_grad_by_freq, sparse)


def _refuse_rows(used: Array, weight: TensorBase) -> None:
    count = weight._ms_shape[0]
    for index in used[(used < -count) | (used >= count)][:1]:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(weight._ms_shape)} at dimension 0")


def _renorm_on_device(weight: TensorBase, indices: TensorBase, max_norm: float, norm_type: float) -> bool:
    """Scale the rows at all positions, also at equal ones, which get equal values: nothing is read."""
    with without_grad():
        table, rows = views.detach(weight), views.reshape(indices, (-1,))
        values = readable(rows)
        if values is not None:
            _refuse_rows(values, weight)
        found = index_select(table, 0, rows)
        norms = vector_norm(found, norm_type, 1, True)
        scale = where(gt(norms, max_norm), mul(reciprocal(add(norms, 1e-7)), max_norm), 1.0)
        setitem(table, rows, mul(found, scale))
    return True


@ways(device=_renorm_on_device)
def renorm_rows_(weight: TensorBase, indices: TensorBase, max_norm: float, norm_type: float) -> None:
    """Scale the used rows in place so that their norm is at most ``max_norm``."""
    used = np.unique(array_of(indices))
    _refuse_rows(used, weight)
    rows = array_of(weight)[used]
    norms = np.linalg.norm(rows.astype(np.float64), norm_type, axis=1).astype(rows.dtype).astype(np.float64)
    scale = np.where(norms > max_norm, max_norm / (norms + 1e-7), 1.0)
    rows = rows * scale[:, None].astype(rows.dtype)
    with without_grad():  # without a gradient or tangent: derivatives use the scaled rows
        setitem(views.detach(weight), tensor_of(used), beside(made(rows), weight))


def one_hot(tensor: TensorBase, num_classes: int = -1) -> TensorBase:
    """Return an int64 one-hot tensor: (*) → (*, num_classes)."""
    if tensor._ms_dtype is not int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    classes = readable(tensor) if num_classes > 0 else array_of(tensor)
    if classes is None:
        return _of_classes(tensor, num_classes)
    if classes.size == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return zeros((*classes.shape, num_classes), dtype=int64, device=tensor.device)
    if classes.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(classes.max()) + 1
    elif num_classes < 1:
        raise RuntimeError("num_classes should be positive")
    elif classes.max() >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    if not in_arrays(tensor):
        return _of_classes(tensor, num_classes)
    hot = np.zeros((classes.size, num_classes), np.int64)
    hot[np.arange(classes.size), classes.reshape(-1)] = 1
    found = made(hot.reshape(*classes.shape, num_classes))
    found._ms_counter.version += 2  # torch fills it with zeros, then with ones: two writes
    return found


def _of_classes(tensor: TensorBase, num_classes: int) -> TensorBase:
    return eq(views.unsqueeze(tensor, -1), arange(num_classes, device=tensor.device)).to(int64)


def bag_starts(
    offsets: Any, count: int, weight: TensorBase, mode: str, include_last_offset: bool, padding_idx: int | None
) -> Array:
    """Return the start of each bag among ``count`` indices, and the end of the last. Raise RuntimeError for invalid offsets."""
    if len(offsets._ms_shape) != 1:
        raise RuntimeError(f"offsets has to be a 1D Tensor, but got Tensor of dimension {len(offsets._ms_shape)}")
    _check_type(offsets, "embedding_bag")
    starts = array_of(offsets).astype(np.int64)
    if include_last_offset and not starts.size:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    if starts.size and starts[0] != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got "
            f"{starts[0]}"
        )
    if starts.size and starts[-1] > count:
        raise RuntimeError(f"offsets[-1] can not be greater than input's length {count} but got offsets[-1] of {starts[-1]}")
    if not include_last_offset:
        return np.append(starts, count)
    if mode == "sum" and padding_idx is None and weight._ms_dtype is not float64:
        return starts
    return np.append(starts[:-1], count)  # only torch's fast sum kernel uses the last offset


def _check_bag(weight: TensorBase, indices: TensorBase, mode: str, per_sample_weights: TensorBase | None) -> None:
    if len(indices._ms_shape) not in (1, 2):
        raise RuntimeError(f"input has to be a 1D or 2D Tensor, but got Tensor of dimension {len(indices._ms_shape)}")
    if len(weight._ms_shape) != 2:
        raise RuntimeError(f"weight has to be a 2D Tensor, but got Tensor of dimension {len(weight._ms_shape)}")
    _check_type(indices, "embedding_bag")
    if per_sample_weights is not None and per_sample_weights._ms_dtype is not weight._ms_dtype:
        types = " does not equal ".join(f"torch.{type_word(t._ms_dtype)}Tensor" for t in (weight, per_sample_weights))
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 'per_sample_weights'; but type "
            f"{types} (while checking arguments for embedding_bag)"
        )


def _check_range(weight: TensorBase, indices: TensorBase, mode: str, padding_idx: int | None) -> None:
    used, rows = array_of(indices).reshape(-1), weight._ms_shape[0]
    outside = np.flatnonzero((used < 0) | (used >= rows))
    if outside.size:
        first = used[outside[0]]
        if mode == "max" or padding_idx is not None:
            raise RuntimeError(f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {first}")
        raise RuntimeError(f"Index {outside[0]} of input takes value {first} which is not in the valid range [0, {rows})")


def _bags_on_device(
    weight: TensorBase, indices: TensorBase, starts: Array, mode: str, by_frequency: bool, per_sample_weights: TensorBase | None,
    padding_idx: int | None, sparse: bool = False,
) -> TensorBase | None:  # fmt: skip
    """Return ``bag`` of bags of one length without reading the indices; None for other bags."""
    lengths = np.diff(starts)
    if by_frequency or sparse or not lengths.size or not lengths[0] or (lengths != lengths[0]).any() or starts[-1] != indices.numel():
        return None
    _check_bag(weight, indices, mode, per_sample_weights)
    shape = len(lengths), int(lengths[0])
    indices = views.reshape(indices, shape)
    rows = _lookup(weight, indices, -1, False)
    kept = None if padding_idx is None else views.unsqueeze(ne(indices, padding_idx), -1)
    if mode == "max":
        found = _largest(rows, kept)
        return found if kept is None else where(any_of(kept, 1), found, 0.0)
    if per_sample_weights is not None:
        rows = mul(rows, views.unsqueeze(views.reshape(per_sample_weights, shape), -1))
    total = sum_of(rows if kept is None else where(kept, rows, 0.0), 1)
    if mode == "sum":
        return total
    return div(total, shape[1] if kept is None else clamp(sum_of(kept, 1), 1))


@ways(native=_bags_on_device)
def bag(
    weight: TensorBase, indices: TensorBase, starts: Array, mode: str, by_frequency: bool, per_sample_weights: TensorBase | None,
    padding_idx: int | None, sparse: bool = False,
) -> TensorBase:  # fmt: skip
    """Return the sum, mean or maximum of the rows in each bag; bag ``i`` has the indices ``starts[i]`` to ``starts[i + 1]``."""
    _check_bag(weight, indices, mode, per_sample_weights)
    _check_range(weight, indices, mode, padding_idx)
    rows = array_of(indices).astype(np.int64)
    count, width = len(starts) - 1, weight._ms_shape[1]
    bags = np.repeat(np.arange(count), np.diff(starts))
    used = rows[: len(bags)]
    kept = np.ones(used.shape, bool) if padding_idx is None else used != padding_idx
    padding = -1 if padding_idx is None else padding_idx
    shares = _shares(used)[kept] if by_frequency and not sparse else None
    if mode != "max" and not kept.all():  # a product with 0 would be NaN if a padding row contains NaN
        used, bags, places = used[kept], bags[kept], np.flatnonzero(kept)
        if per_sample_weights is not None:
            per_sample_weights = index_select(per_sample_weights, 0, beside(made(places), per_sample_weights))
    taken = _lookup(weight, made(np.ascontiguousarray(used)), padding, by_frequency and sparse, sparse)
    if mode == "max":
        return _maxima(taken, bags, kept, count, width)
    if shares is not None:
        taken = linear(taken, np.array, lambda gradient: gradient * shares[:, None].astype(gradient.dtype), "EmbeddingBagBackward0")
    if per_sample_weights is not None:
        taken = mul(taken, views.unsqueeze(per_sample_weights[: len(bags)], 1))
    total = _sums(taken, bags, count, width)
    if mode == "sum":
        return total
    counts = np.maximum(np.bincount(bags, minlength=count), 1).astype(weight._ms_dtype.np)
    return div(total, beside(made(counts.reshape(-1, 1)), total))


def _shares(used: Array) -> Array:
    """Return the factors by which torch scales the gradient of each index, 1 / a count. As in torch, it is not the count of the index
    itself: for an index that is number r of the sorted unique indices, it is the count of the index at position r of all sorted indices."""
    ranks = np.unique(used, return_inverse=True)[1].reshape(-1)
    ranked = np.sort(ranks)
    return np.asarray(1.0 / np.bincount(ranks)[ranked[ranks]])


def _sums(taken: TensorBase, bags: Array, count: int, width: int) -> TensorBase:
    empty = zeros((count, width), dtype=taken._ms_dtype, device=taken.device)
    if not count or not width:
        return mul(empty, sum_of(taken))  # index_add would not track an empty result
    return index_add(empty, 0, beside(made(bags.astype(np.int64)), taken), taken)


def _largest(rows: TensorBase, usable: TensorBase | None) -> TensorBase:
    """Return the largest of the rows in each bag: (bags, rows, width) → (bags, width). Rows that are not ``usable`` (bags, rows, 1) are
    passed over. As in torch, a row is selected if it is greater than all rows before it: NaN is not greater, and nothing is greater than
    NaN.
    """
    values = rows.detach() if usable is None else where(usable, rows.detach(), float("-inf"))
    first = views.reshape(eq(arange(rows._ms_shape[1], device=rows.device), 0), (1, -1, 1))
    values = where(isnan(values), where(first, float("inf"), float("-inf")), values)
    return views.squeeze(gather(rows, 1, argmax(values, 1, True)), 1)


def _maxima(taken: TensorBase, bags: Array, kept: Array, count: int, width: int) -> TensorBase:
    counts = np.bincount(bags[kept], minlength=count)
    longest = int(counts.max(initial=0))
    if longest == 0:
        return _sums(taken[:0], bags[:0], count, width)
    positions = np.flatnonzero(kept)
    places = np.arange(positions.size) - np.repeat(counts.cumsum() - counts, counts)
    table = np.zeros((count, longest), np.int64)
    filled = np.zeros((count, longest), bool)
    table[bags[positions], places], filled[bags[positions], places] = positions, True
    rows = views.reshape(index_select(taken, 0, beside(made(table.reshape(-1)), taken)), (count, longest, width))
    best = _largest(rows, beside(made(filled[:, :, None]), rows))
    return where(beside(made((counts > 0)[:, None]), best), best, 0.0)

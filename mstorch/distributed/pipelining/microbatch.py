"""Splitting a model's arguments into microbatches, and merging the results."""
from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import mstorch as torch

from ...nn.attention.flex_attention import BlockMask
from ...utils._pytree import tree_flatten, tree_map, tree_unflatten
from ..tensor import DTensor

DEFAULT_CHUNK_DIM = 0


class _CustomReducer:
    """Merges results that are not concatenated: reduced by ``reduce_fn``, starting with ``init_value``."""

    def __init__(self, init_value: torch.Tensor, reduce_fn: Callable[[Any, Any], Any]) -> None:
        self.init_value = init_value
        self.reduce_fn = reduce_fn


class _LossReducer(_CustomReducer):
    """Reducer of losses over microbatches."""


sum_reducer = _LossReducer(torch.tensor(0.0, device="cpu"), operator.add)


class TensorChunkSpec:
    """Specifies that a tensor is split along a dimension."""

    split_dim: int

    def __init__(self, split_dim: int) -> None:
        self.split_dim = split_dim

    def __repr__(self) -> str:
        return f"torch.distributed.pipelining.microbatch.TensorChunkSpec({self.split_dim})"

    def __str__(self) -> str:
        return f"TensorChunkSpec({self.split_dim})"

    @staticmethod
    def from_tuple(chunk_dims: Sequence[int]) -> tuple[TensorChunkSpec, ...]:
        """Return a TensorChunkSpec for each dimension in a tuple."""
        return tree_map(TensorChunkSpec, chunk_dims)

    @staticmethod
    def from_dict(chunk_dims: dict[str, int]) -> dict[str, TensorChunkSpec]:
        """Return a TensorChunkSpec for each dimension in a dict."""
        return tree_map(TensorChunkSpec, chunk_dims)


class _Replicate:
    """Specifies that every microbatch gets the whole value."""


def _is_replicated(spec: Any) -> bool:
    return spec is _Replicate or isinstance(spec, _Replicate)


def _split_tensor(tensor: torch.Tensor | DTensor, spec: TensorChunkSpec, num_chunks: int) -> Sequence[Any]:
    """Return the chunks of a tensor as views; if the tensor is a leaf, the chunks retain their gradients."""
    if tensor.size(spec.split_dim) < num_chunks:
        raise AssertionError(f"Tensor size {tensor.size(spec.split_dim)} is smaller than num_chunks")
    if isinstance(tensor, DTensor):
        raise NotImplementedError("mstorch: torch.distributed.pipelining cuts no DTensor")
    chunks: Sequence[Any] = torch.tensor_split(tensor, num_chunks, spec.split_dim)
    if tensor.requires_grad and tensor.is_leaf:
        for chunk in chunks:
            chunk.retain_grad()
    return chunks


def _parts_of(value: torch.Tensor | float | BlockMask, spec: Any, most: int) -> int:
    """Return into how many chunks a value can be split."""
    if _is_replicated(spec):
        return most
    if isinstance(value, BlockMask):
        raise NotImplementedError("mstorch: torch.distributed.pipelining cuts no BlockMask")
    if not isinstance(value, torch.Tensor):
        raise ValueError(f"Unsupported chunk spec: {spec} and value: {value} combination.")
    if not isinstance(spec, TensorChunkSpec):
        raise AssertionError(f"Expected TensorChunkSpec, got {type(spec)}")
    return int(value.size(spec.split_dim))


def _is_mask(value: Any) -> bool:
    return isinstance(value, BlockMask)


def _chunk_arguments(values: dict[Any, Any], specs: dict[Any, Any], chunks: int) -> list[dict[Any, Any]]:
    """Return a dict of arguments for each microbatch."""
    if not values:
        return [{} for _ in range(chunks)]
    if len(values) != len(specs):
        raise AssertionError(f"args_dict.keys() = {list(values.keys())} args_chunk_spec.keys() = {list(specs.keys())}")
    flat, form = tree_flatten(values, is_leaf=_is_mask)
    flat_specs, _ = tree_flatten(specs, is_leaf=_is_mask)
    pairs = list(zip(flat, flat_specs, strict=True))
    number = min([chunks, *(_parts_of(value, spec, chunks) for value, spec in pairs)])
    columns = [[value] * number if _is_replicated(spec) else _split_tensor(value, spec, number) for value, spec in pairs]
    return [tree_unflatten(list(row), form) for row in zip(*columns, strict=True)]


def split_args_kwargs_into_chunks(
    args: tuple[Any, ...], kwargs: dict[str, Any] | None, chunks: int,
    args_chunk_spec: tuple[TensorChunkSpec, ...] | None = None,
    kwargs_chunk_spec: dict[str, TensorChunkSpec] | None = None
) -> tuple[list[tuple[Any, ...]], list[dict[str, Any]]]:
    """Split arguments into at most ``chunks`` microbatches: tensors along dimension 0 by default; other values are replicated."""
    kwargs = {} if kwargs is None else kwargs

    def usual(value: torch.Tensor | float | BlockMask) -> TensorChunkSpec | _Replicate:
        return TensorChunkSpec(DEFAULT_CHUNK_DIM) if isinstance(value, (torch.Tensor, BlockMask)) else _Replicate()

    if args_chunk_spec is None:
        args_chunk_spec = tree_map(usual, args, is_leaf=_is_mask)
    if kwargs_chunk_spec is None:
        kwargs_chunk_spec = tree_map(usual, kwargs, is_leaf=_is_mask)
    numbered, numbered_specs = dict(enumerate(args)), dict(enumerate(args_chunk_spec))
    positional = _chunk_arguments(numbered, numbered_specs, chunks)
    named = _chunk_arguments(kwargs, kwargs_chunk_spec, len(positional))
    if len(named) < len(positional):
        positional = _chunk_arguments(numbered, numbered_specs, len(named))
    if len(positional) != len(named):
        raise RuntimeError(f"args and kwargs are split into different number of chunks: {len(positional)}, {len(named)}")
    return [tuple(one[number] for number in range(len(one))) for one in positional], named


def _merged(spec: TensorChunkSpec | _LossReducer | None, values: list[Any]) -> torch.Tensor | int:
    if isinstance(spec, TensorChunkSpec):
        if any(isinstance(value, DTensor) for value in values):
            raise NotImplementedError("mstorch: torch.distributed.pipelining puts no DTensors together")
        return torch.cat(values, dim=spec.split_dim)
    if isinstance(spec, _CustomReducer):
        reduced = spec.init_value
        for value in values:
            reduced = spec.reduce_fn(reduced, value)
        return reduced
    for value in values[1:]:
        if not value == values[0]:
            raise AssertionError(f"Expected {values[0]}, got {value}")
    return values[0]


def merge_chunks(chunks: list[Any], chunk_spec: Any) -> Any:
    """Merge the results of microbatches: tensors are concatenated, along dimension 0 by default."""
    if chunk_spec is None:
        first, form = tree_flatten(chunks[0])
        specs: list[Any] = [TensorChunkSpec(DEFAULT_CHUNK_DIM)] * len(first)
    else:
        specs, form = tree_flatten(chunk_spec)
    rows = []
    for chunk in chunks:
        row, _ = tree_flatten(chunk)
        if len(row) != len(specs):
            raise ValueError(f"Chunk {chunk} did not match chunk spec {chunk_spec}")
        rows.append(row)
    return tree_unflatten([_merged(spec, [row[place] for row in rows]) for place, spec in enumerate(specs)], form)


__all__ = ["TensorChunkSpec", "merge_chunks", "split_args_kwargs_into_chunks"]

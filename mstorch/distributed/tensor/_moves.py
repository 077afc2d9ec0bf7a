"""Redistribution of tensors between placements, with gradients."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mstorch as torch
from mstorch.autograd import Function

from ...autograd.function import FunctionCtx
from .. import _collectives as plain
from .._group import ProcessGroup
from .._types import ReduceOp
from ..device_mesh import DeviceMesh
from .placement_types import Partial, Placement, Replicate, Shard


def bounds(length: int, parts: int, place: int) -> tuple[int, int]:
    """Return the first position of a rank's shard along a dimension, and the position after its last, if the dimension is split as by
    ``chunk``."""
    each = -(-length // parts)
    return min(place * each, length), min((place + 1) * each, length)


def cut(tensor: torch.Tensor, dim: int, group: ProcessGroup) -> Any:
    """Return this rank's shard of a tensor along ``dim``."""
    first, last = bounds(tensor.shape[dim], group.size(), group.rank())
    return tensor.narrow(dim, first, last - first)


def joined(part: torch.Tensor, dim: int, length: int, group: ProcessGroup) -> Any:
    """All-gather shards along ``dim`` into the full tensor; shards are padded to equal size for the transfer."""
    size = group.size()
    each = -(-length // size)
    rows = part.transpose(0, dim).contiguous()
    if rows.shape[0] != each:
        rows = torch.cat([rows, rows.new_zeros((each - rows.shape[0], *rows.shape[1:]))])
    whole = rows.new_empty((each * size, *rows.shape[1:]))
    plain.all_gather_single(whole, rows, group)
    return whole[:length].transpose(0, dim).contiguous()


def summed_part(tensor: torch.Tensor, dim: int, group: ProcessGroup, op: ReduceOp = ReduceOp.SUM) -> torch.Tensor:
    """Reduce-scatter: return this rank's shard of the sum over the ranks."""
    size, length = group.size(), tensor.shape[dim]
    each = -(-length // size)
    rows = tensor.transpose(0, dim).contiguous()
    if rows.shape[0] != each * size:
        rows = torch.cat([rows, rows.new_zeros((each * size - rows.shape[0], *rows.shape[1:]))])
    part = rows.new_empty((each, *rows.shape[1:]))
    plain.reduce_scatter_single(part, rows, op, group)
    first, last = bounds(length, size, group.rank())
    return part[: last - first].transpose(0, dim).contiguous()


def total(tensor: torch.Tensor, group: ProcessGroup, op: ReduceOp = ReduceOp.SUM) -> Any:
    """Return the sum over the ranks."""
    made = tensor.clone(memory_format=torch.contiguous_format)
    plain.all_reduce(made, op, group)
    return made


class _Gather(Function):
    """Shard to full tensor; backward takes this rank's shard of the gradient, which is equal on all ranks."""

    @staticmethod
    def forward(ctx: FunctionCtx, part: torch.Tensor, dim: int, length: int, group: ProcessGroup) -> torch.Tensor:
        ctx.dim, ctx.group = dim, group
        return joined(part, dim, length, group)

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return cut(gradient, ctx.dim, ctx.group).contiguous(), None, None, None


class _Cut(Function):
    """Full tensor to shard; backward all-gathers the gradient."""

    @staticmethod
    def forward(ctx: FunctionCtx, whole: torch.Tensor, dim: int, group: ProcessGroup) -> torch.Tensor:
        ctx.dim, ctx.length, ctx.group = dim, whole.shape[dim], group
        return cut(whole, dim, group).contiguous().clone()

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return joined(gradient, ctx.dim, ctx.length, ctx.group), None, None


class _Sum(Function):
    """Partial to replicated sum; the gradient is equal on all ranks."""

    @staticmethod
    def forward(ctx: FunctionCtx, part: torch.Tensor, op: ReduceOp, group: ProcessGroup) -> torch.Tensor:
        ctx.scale = 1.0 / group.size() if op is ReduceOp.AVG else 1.0
        return total(part, group, op)

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return (gradient if ctx.scale == 1.0 else gradient * ctx.scale), None, None


class _SumPart(Function):
    """Partial to this rank's shard of the sum."""

    @staticmethod
    def forward(ctx: FunctionCtx, part: torch.Tensor, dim: int, op: ReduceOp, group: ProcessGroup) -> torch.Tensor:
        ctx.dim, ctx.length, ctx.group = dim, part.shape[dim], group
        ctx.scale = 1.0 / group.size() if op is ReduceOp.AVG else 1.0
        return summed_part(part, dim, group, op)

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Any) -> Any:
        whole = joined(gradient, ctx.dim, ctx.length, ctx.group)
        return (whole if ctx.scale == 1.0 else whole * ctx.scale), None, None, None


class Fan(Function):
    """Identity of a replicated tensor that is used with different shards; backward sums the gradient over the ranks."""

    @staticmethod
    def forward(ctx: FunctionCtx, tensor: torch.Tensor, group: ProcessGroup) -> torch.Tensor:
        ctx.group = group
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return total(gradient, ctx.group), None


class _Share(Function):
    """Redistribution from replicated to partial: rank 0 keeps the tensor, the other ranks have zeros."""

    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Any, group: ProcessGroup) -> Any:
        return tensor.clone() if group.rank() == 0 else torch.zeros_like(tensor)

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Any) -> Any:
        return gradient, None


_OPS = {"sum": ReduceOp.SUM, "avg": ReduceOp.AVG, "max": ReduceOp.MAX, "min": ReduceOp.MIN, "product": ReduceOp.PRODUCT}


def move(local: torch.Tensor, shape: Sequence[int], mesh: DeviceMesh, before: Sequence[Placement], after: Sequence[Placement]) -> Any:
    """Return the local shard redistributed from ``before`` to ``after``. Raise NotImplementedError if a dimension is sharded twice."""
    changed = [dim for dim in range(mesh.ndim) if before[dim] != after[dim]]
    for placements in (before, after):
        cuts = [one.dim for one in placements if isinstance(one, Shard)]
        if len(set(cuts)) != len(cuts):
            raise NotImplementedError("mstorch: a DTensor cannot be cut twice along one dimension")
    for dim in reversed(changed):
        now, then, group = before[dim], after[dim], mesh.get_group(dim)
        if isinstance(now, Partial):
            if isinstance(then, Shard) and now.reduce_op in ("sum", "avg"):
                local = _SumPart.apply(local, then.dim, _OPS[now.reduce_op], group)
                continue
            local = _Sum.apply(local, _OPS[now.reduce_op], group)
        elif isinstance(now, Shard):
            local = _Gather.apply(local, now.dim, shape[now.dim], group)
        if isinstance(then, Shard):
            local = _Cut.apply(local, then.dim, group)
        elif isinstance(then, Partial):
            local = _Share.apply(local, group)
    return local


def part_shape(shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]) -> tuple[int, ...]:
    """Return the shape of the local shard."""
    found = list(shape)
    for dim, placement in enumerate(placements):
        if isinstance(placement, Shard):
            group = mesh.get_group(dim)
            first, last = bounds(found[placement.dim], group.size(), group.rank())
            found[placement.dim] = last - first
    return tuple(found)


def whole_shape(local: torch.Tensor, mesh: DeviceMesh, placements: Sequence[Placement]) -> tuple[int, ...]:
    """Return the shape of the full tensor, from equal shards."""
    found = list(local.shape)
    for dim, placement in enumerate(placements):
        if isinstance(placement, Shard):
            found[placement.dim] *= mesh.size(dim)
    return tuple(found)


__all__ = ["Partial", "Replicate", "Shard", "move"]

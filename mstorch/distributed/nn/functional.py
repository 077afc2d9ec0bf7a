"""torch.distributed.nn.functional: collectives that autograd differentiates.

All ranks have to run backward, which communicates too.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mstorch as torch
from mstorch.autograd import Function

from ...autograd.function import FunctionCtx
from .. import _collectives as plain
from .._group import ProcessGroup
from .._types import ReduceOp
from .._world import chosen, get_rank, get_world_size


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, src: int, group: ProcessGroup, tensor: torch.Tensor) -> torch.Tensor:
        ctx.src, ctx.group = src, group
        made = tensor.clone()
        plain.broadcast(made, src, group)
        return made

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        total = _Reduce.apply(ctx.src, ReduceOp.SUM, ctx.group, gradient)
        return None, None, total if get_rank() == ctx.src else torch.zeros_like(total)


class _Reduce(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, dst: int, op: ReduceOp, group: ProcessGroup, tensor: torch.Tensor) -> torch.Tensor:
        ctx.dst, ctx.group = dst, group
        made = tensor.clone()
        plain.reduce(made, dst, op, group)
        return made

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return None, None, None, _Broadcast.apply(ctx.dst, ctx.group, gradient.contiguous())


class _Gather(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, dst: int, group: ProcessGroup, tensor: torch.Tensor) -> Any:
        ctx.dst, ctx.group = dst, group
        made = [torch.zeros_like(tensor) for _ in range(get_world_size(group))]
        plain.gather(tensor.contiguous(), made if get_rank() == dst else None, dst, group)
        return tuple(made)

    @staticmethod
    def backward(ctx: FunctionCtx, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return None, None, _Scatter.apply(ctx.dst, ctx.group, *gradients)


class _Scatter(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, src: int, group: ProcessGroup, *tensors: Any) -> torch.Tensor:
        ctx.src, ctx.group = src, group
        made = torch.zeros_like(tensors[0])
        plain.scatter(made, [one.contiguous() for one in tensors] if get_rank() == src else None, src, group)
        return made

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return None, None, *_Gather.apply(ctx.src, ctx.group, gradient)


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, op: ReduceOp, group: ProcessGroup, tensor: torch.Tensor) -> torch.Tensor:
        ctx.op, ctx.group = op, group
        made = tensor.clone(memory_format=torch.contiguous_format)
        plain.all_reduce(made, op, group)
        return made

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return None, None, _AllReduce.apply(ctx.op, ctx.group, gradient)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, op: ReduceOp, group: ProcessGroup, shape: Sequence[int], *tensors: Any) -> torch.Tensor:
        ctx.group = group
        made = tensors[0].new_empty(shape)
        plain.reduce_scatter(made, [one.contiguous() for one in tensors], op, group)
        return made

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return None, None, None, *_AllGather.apply(ctx.group, gradient)


class _AllGather(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, group: ProcessGroup, tensor: torch.Tensor) -> Any:
        ctx.group = group
        given = tensor.contiguous()
        made = [torch.empty_like(given) for _ in range(get_world_size(group))]
        plain.all_gather(made, given, group)
        return tuple(made)

    @staticmethod
    def backward(ctx: FunctionCtx, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return None, _ReduceScatter.apply(ReduceOp.SUM, ctx.group, gradients[0].shape, *gradients)


class _AllToAll(Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx, group: ProcessGroup, shapes: Sequence[tuple[int, ...]], *tensors: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        ctx.group, ctx.shapes = group, [one.shape for one in tensors]
        made = [tensors[0].new_empty(shape) for shape in shapes]
        plain.all_to_all(made, [one.contiguous() for one in tensors], group)
        return tuple(made)

    @staticmethod
    def backward(ctx: FunctionCtx, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return None, None, *_AllToAll.apply(ctx.group, ctx.shapes, *gradients)


class _AllToAllSingle(Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx, group: ProcessGroup, shape: Sequence[int], output_sizes: Any, input_sizes: Any, tensor: torch.Tensor
    ) -> torch.Tensor:
        ctx.group, ctx.shape, ctx.sizes = group, tensor.shape, (output_sizes, input_sizes)
        made = tensor.new_empty(shape)
        plain.all_to_all_single(made, tensor.contiguous(), output_sizes, input_sizes, group)
        return made

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        output_sizes, input_sizes = ctx.sizes
        return None, None, None, None, _AllToAllSingle.apply(ctx.group, ctx.shape, input_sizes, output_sizes, gradient)


def broadcast(tensor: torch.Tensor, src: int, group: ProcessGroup | None = None) -> Any:
    """Return the tensor of rank ``src``. Raise ValueError if there is no process group."""
    return _Broadcast.apply(src, chosen(group), tensor)


def gather(tensor: torch.Tensor, dst: int = 0, group: ProcessGroup | None = None) -> Any:
    """Return the ranks' tensors on rank ``dst``, zeros on others. Raise ValueError if there is no process group."""
    return _Gather.apply(dst, chosen(group), tensor)


def scatter(tensors: Sequence[torch.Tensor], src: int = 0, group: ProcessGroup | None = None) -> torch.Tensor:
    """Return this rank's entry of rank ``src``'s list. Raise ValueError if there is no process group."""
    return _Scatter.apply(src, chosen(group), *tensors)


def reduce(tensor: torch.Tensor, dst: int, op: ReduceOp = ReduceOp.SUM, group: ProcessGroup | None = None) -> torch.Tensor:
    """Return the tensor reduced over all ranks, on rank ``dst``. Raise ValueError if there is no process group."""
    return _Reduce.apply(dst, op, chosen(group), tensor)


def reduce_scatter(
    output: torch.Tensor, input_list: Sequence[torch.Tensor], op: ReduceOp = ReduceOp.SUM, group: ProcessGroup | None = None
) -> Any:
    """Reduce the ranks' lists elementwise and return this rank's entry, also written to ``output``. Raise ValueError if there is no process
    group.
    """
    made = _ReduceScatter.apply(op, chosen(group), output.shape, *input_list)
    _fill(output, made)
    return made


def all_gather(tensor: torch.Tensor, group: ProcessGroup | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a tuple of the ranks' tensors. Raise ValueError if there is no process group."""
    return _AllGather.apply(chosen(group), tensor)


def all_to_all(
    output_tensor_list: Sequence[torch.Tensor], input_tensor_list: Sequence[torch.Tensor], group: ProcessGroup | None = None
) -> Any:
    """Send ``input_tensor_list[i]`` to rank i; return what each rank sent, also written to ``output_tensor_list``. Raise ValueError if
    there is no process group.
    """
    made = _AllToAll.apply(chosen(group), [one.shape for one in output_tensor_list], *input_tensor_list)
    for output, one in zip(output_tensor_list, made):
        _fill(output, one)
    return made


def all_to_all_single(
    output: torch.Tensor, input: torch.Tensor, output_split_sizes: Any = None, input_split_sizes: Any = None,
    group: ProcessGroup | None = None
) -> Any:
    """Send one chunk to each rank; return the received chunks, also written to ``output``. Raise ValueError if there is no process group.
    """
    made = _AllToAllSingle.apply(chosen(group), output.shape, output_split_sizes, input_split_sizes, input)
    _fill(output, made)
    return made


def all_reduce(tensor: torch.Tensor, op: ReduceOp = ReduceOp.SUM, group: ProcessGroup | None = None) -> Any:
    """Return the tensor reduced over all ranks. Raise ValueError if there is no process group."""
    return _AllReduce.apply(op, chosen(group), tensor)


def _fill(output: torch.Tensor, made: torch.Tensor) -> None:
    with torch.no_grad():
        output.copy_(made.detach())


__all__ = [
    "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce", "reduce_scatter", "scatter",
]  # fmt: skip

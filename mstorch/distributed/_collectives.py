"""Collectives on tensors: operations that all ranks of a group call together."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from mstorch import Tensor, view_as_real

from .._src.core.dtype import complex64, float32, float64
from .._src.core.warned import warn
from ..overrides import handle_torch_function, has_torch_function
from ..utils._pytree import tree_leaves
from ._group import ProcessGroup
from ._settings import (
    AllreduceOptions,
    AllToAllOptions,
    BarrierOptions,
    BroadcastOptions,
    GatherOptions,
    ReduceOptions,
    ReduceScatterOptions,
    ScatterOptions,
    supports_complex,
)
from ._types import Backend, ReduceOp
from ._work import Work
from ._world import chosen, default_group, get_backend, get_group_rank, outside, warn_outside

Function = Callable[..., Any]
_COALESCED = "`torch.distributed.{}` will be deprecated. If you must use it, please revisit our documentation later at " + (
    "https://pytorch.org/docs/main/distributed.html#collective-functions"
)
_SINGLE = "`torch.distributed.{}` is deprecated. Please use `torch.distributed.{}` instead."


def check_tensor(value: object, name: str) -> None:
    """Raise TypeError if ``value`` is not a tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n             but got {type(value)} instead."
        )


def check_tensors(value: object, name: str) -> None:
    """Raise TypeError if ``value`` is not a list of tensors."""
    text = f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n             but got {type(value)}"
    if not isinstance(value, list):
        raise TypeError(f"{text} instead.")
    if not all(isinstance(one, Tensor) for one in value):
        raise TypeError(f"{text} with elements of type {[type(one) for one in value]}.")


def _check_dtypes(*tensors: Tensor) -> None:
    seen = None
    for tensor in tensors:
        kind = tensor.dtype
        if kind.is_complex:
            kind = float32 if kind is complex64 else float64
        if seen is not None and seen is not kind:
            raise ValueError(f"Invalid usage of tensors with different dtypesFound {seen} and  {tensor.dtype}")
        seen = kind


def real(tensor: Tensor) -> Tensor:
    """Return the tensor, or ``view_as_real`` of it if it is complex, detached from the graph."""
    return view_as_real(tensor.detach()) if tensor.is_complex() else tensor


def member_of(group: ProcessGroup, global_rank: int | None, group_rank: int | None) -> int:
    """Return the group rank, given either it or the global rank. Raise ValueError if both or neither are given."""
    if group_rank is not None:
        if global_rank is not None:
            raise ValueError("Can't specify both group_rank and global_rank")
        return group_rank
    if global_rank is None:
        raise ValueError("Must specify global_rank or group_rank")
    return get_group_rank(group, global_rank)


def asks(count: int = 1) -> Callable[[Function], Function]:
    """Return a decorator that lets ``__torch_function__`` of the first ``count`` arguments, or a mode, handle the call; all other arguments
    are passed to it as keywords.
    """
    def enter(function: Function) -> Function:
        signature = inspect.signature(function)
        names = tuple(signature.parameters)[:count]

        @functools.wraps(function)
        def asking(*args: Any, **kwargs: Any) -> Any:
            given = [args[place] if place < len(args) else kwargs.get(name) for place, name in enumerate(names)]
            relevant = tree_leaves(given) if any(isinstance(value, (list, tuple)) for value in given) else given
            if not has_torch_function(relevant):
                return function(*args, **kwargs)
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            named = dict(bound.arguments)
            return handle_torch_function(asking, relevant, *[named.pop(name) for name in names], **named)

        ASKING.append(asking)
        return asking

    return enter


ASKING: list[Function] = []
"""The functions decorated by ``asks``, whose calls ``__torch_function__`` can override."""


def _ended(work: Work, async_op: bool) -> Any:
    if async_op:
        return work
    work.wait()
    return None


def _options(make: Callable[[], Any], async_op: bool, **more: Any) -> Any:
    options = make()
    options.asyncOp = async_op
    for name, value in more.items():
        setattr(options, name, value)
    return options


@asks()
def broadcast(tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None) -> Any:
    """Fill ``tensor`` with that of rank ``src``. Return None, or a Work with ``async_op``. Raise ValueError if there is no process group.
    """
    found = chosen(group)
    source = member_of(found, src, group_src)
    check_tensor(tensor, "tensor")
    if outside(found):
        return warn_outside("broadcast")
    return _ended(found.broadcast([real(tensor)], _options(BroadcastOptions, async_op, rootRank=source)), async_op)


@asks()
def all_reduce(tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Any:
    """Reduce ``tensor`` over all ranks, in place. Return None, or a Work with ``async_op``. Raise ValueError if there is no process group.
    """
    check_tensor(tensor, "tensor")
    if outside(group):
        return warn_outside("all_reduce")
    if tensor.is_complex() and not supports_complex(op):
        raise ValueError(f"all_reduce does not support {op} on complex tensors")
    return _ended(chosen(group).allreduce([real(tensor)], _options(AllreduceOptions, async_op, reduceOp=op)), async_op)


@asks()
def all_reduce_coalesced(
    tensors: Tensor | Sequence[Tensor], op: ReduceOp = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Any:
    """Call ``all_reduce`` on several tensors; return a future with ``async_op``. Deprecated."""
    warn(_COALESCED.format("all_reduce_coalesced"), FutureWarning)
    tensors = [tensors] if isinstance(tensors, Tensor) else tensors
    check_tensors(tensors, "tensor")
    _check_dtypes(*tensors)
    if outside(group):
        return warn_outside("all_reduce_coalesced")
    if any(tensor.is_complex() for tensor in tensors) and not supports_complex(op):
        raise ValueError(f"all_reduce does not support {op} on complex tensors")
    work = chosen(group).allreduce_coalesced([real(one) for one in tensors], _options(AllreduceOptions, async_op, reduceOp=op))
    return work.get_future() if async_op else _ended(work, False)


@asks()
def reduce(
    tensor: Tensor, dst: int | None = None, op: ReduceOp = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False,
    group_dst: int | None = None,
) -> Any:  # fmt: skip
    """Reduce the ranks' ``tensor`` in place on rank ``dst``. Raise ValueError if there is no process group."""
    found = chosen(group)
    root = member_of(found, dst, group_dst)
    check_tensor(tensor, "tensor")
    if outside(found):
        return warn_outside("reduce")
    if tensor.is_complex() and not supports_complex(op):
        raise ValueError(f"reduce does not support {op} on complex tensors")
    return _ended(found.reduce([real(tensor)], _options(ReduceOptions, async_op, reduceOp=op, rootRank=root)), async_op)


@asks(2)
def all_gather(
    tensor_list: Sequence[Tensor], tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | list[Any] | None:
    """Fill ``tensor_list`` with each rank's ``tensor``. Return None, or a Work with ``async_op``. Raise ValueError if there is no process
    group.
    """
    check_tensors(tensor_list, "tensor_list")
    check_tensor(tensor, "tensor")
    _check_dtypes(*tensor_list, tensor)
    if outside(group):
        return warn_outside("all_gather")
    options = _options(AllreduceOptions, async_op)
    return _ended(chosen(group).allgather([[real(one) for one in tensor_list]], [real(tensor)], options), async_op)


@asks(2)
def all_gather_coalesced(
    output_tensor_lists: Sequence[list[Tensor]], input_tensor_list: Sequence[Tensor], group: ProcessGroup | None = None,
    async_op: bool = False
) -> Any:
    """Run ``all_gather`` for several tensors, into a list for each rank; return a future with ``async_op``. Deprecated."""
    warn(_COALESCED.format("all_gather_coalesced"), FutureWarning)
    if outside(group):
        return warn_outside("all_gather_coalesced")
    check_tensors(input_tensor_list, "input_tensor_list")
    _check_dtypes(*input_tensor_list)
    if not isinstance(output_tensor_lists, list):
        raise TypeError("Invalid function argument: output_tensor_lists should be a list")
    for outputs in output_tensor_lists:
        check_tensors(outputs, "output_tensor_lists")
        _check_dtypes(*outputs)
    lists = [[real(one) for one in outputs] for outputs in output_tensor_lists]
    options = _options(AllreduceOptions, async_op)
    work = chosen(group).allgather_coalesced(lists, [real(one) for one in input_tensor_list], options)
    return work.get_future() if async_op else _ended(work, False)


@asks(2)
def all_gather_single(
    output_tensor: Tensor, input_tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Tensor | None:
    """Fill ``output_tensor`` with the ranks' tensors, concatenated in rank order. Raise ValueError if there is no process group."""
    check_tensor(input_tensor, "input_tensor")
    check_tensor(output_tensor, "output_tensor")
    if outside(group):
        return warn_outside("all_gather_single")
    options = _options(AllreduceOptions, async_op)
    return _ended(chosen(group)._allgather_base(real(output_tensor), real(input_tensor), options), async_op)


def all_gather_into_tensor(
    output_tensor: Any, input_tensor: Any, group: ProcessGroup | None = None, async_op: bool = False
) -> tuple[Any, ...] | None:
    """Deprecated name of ``all_gather_single``."""
    warn(_SINGLE.format("all_gather_into_tensor", "all_gather_single"), FutureWarning)
    return all_gather_single(output_tensor, input_tensor, group, async_op)


@asks()
def gather(
    tensor: Tensor, gather_list: Sequence[Tensor] | None = None, dst: int | None = None, group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Any:  # fmt: skip
    """Fill ``gather_list`` of rank ``dst`` (0) with each rank's tensor. Raise ValueError if there is no process group, or if another rank
    passes a list.
    """
    check_tensor(tensor, "tensor")
    if gather_list:
        check_tensors(gather_list, "gather_list")
    into = gather_list or []
    _check_dtypes(tensor, *into)
    found = chosen(group)
    if outside(found):
        return warn_outside("gather")
    root = member_of(found, 0 if dst is None and group_dst is None else dst, group_dst)
    if root == found.rank():
        if not into:
            raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    elif into:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    outputs = [[real(one) for one in into]] if into else []
    return _ended(found.gather(outputs, [real(tensor)], _options(GatherOptions, async_op, rootRank=root)), async_op)


@asks()
def gather_single(
    tensor: Tensor, gather_tensor: Tensor | None = None, dst: int | None = None, group: ProcessGroup | None = None,
    async_op: bool = False, group_dst: int | None = None,
) -> Any:  # fmt: skip
    """Fill ``gather_tensor`` of rank ``dst`` (0), which is contiguous and has the elements of all, with each rank's tensor (torch 2.14)."""
    check_tensor(tensor, "tensor")
    found = chosen(group)
    if outside(found):
        return warn_outside("gather_single")
    root = member_of(found, 0 if dst is None and group_dst is None else dst, group_dst)
    outputs = []
    if root == found.rank():
        if gather_tensor is None:
            raise ValueError("gather_tensor must be specified on the destination rank")
        check_tensor(gather_tensor, "gather_tensor")
        _check_dtypes(tensor, gather_tensor)
        whole, count = real(gather_tensor), found.size()
        if not whole.is_contiguous():
            raise RuntimeError("Tensors must be contiguous")
        if whole.numel() != tensor.numel() * count:
            raise RuntimeError("output tensor size must be equal to world_size times input tensor size")
        outputs = [list(whole.view(count, *tensor.shape).unbind(0))]
    return _ended(found.gather(outputs, [real(tensor)], _options(GatherOptions, async_op, rootRank=root)), async_op)


def gather_into_tensor(
    tensor: Any, gather_tensor: Any = None, dst: int | None = None, group: ProcessGroup | None = None, async_op: bool = False,
    group_dst: int | None = None,
) -> Any:  # fmt: skip
    """Deprecated name of ``gather_single``."""
    warn(_SINGLE.format("gather_into_tensor", "gather_single"), FutureWarning)
    return gather_single(tensor, gather_tensor, dst, group, async_op, group_dst)


@asks()
def scatter(
    tensor: Tensor, scatter_list: Sequence[Tensor] | None = None, src: int | None = None,
    group: ProcessGroup | None = None, async_op: bool = False,
    group_src: int | None = None,
) -> Any:  # fmt: skip
    """Fill ``tensor`` with this rank's entry of rank ``src``'s (0) list. Raise ValueError if there is no process group, or if another rank
    passes a list.
    """
    check_tensor(tensor, "tensor")
    if scatter_list:
        check_tensors(scatter_list, "scatter_list")
    given = scatter_list or []
    _check_dtypes(tensor, *given)
    found = chosen(group)
    root = member_of(found, 0 if src is None and group_src is None else src, group_src)
    if outside(found):
        return warn_outside("scatter")
    if root == found.rank():
        if not given:
            raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    elif given:
        raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
    inputs = [[real(one) for one in given]] if given else []
    return _ended(found.scatter([real(tensor)], inputs, _options(ScatterOptions, async_op, rootRank=root)), async_op)


@asks(2)
def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: ReduceOp = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Any:
    """Reduce the ranks' lists elementwise and fill ``output`` with this rank's entry. Raise ValueError if there is no process group."""
    check_tensor(output, "output")
    check_tensors(input_list, "input_list")
    _check_dtypes(output, *input_list)
    if outside(group):
        return warn_outside("reduce_scatter")
    options = _options(ReduceScatterOptions, async_op, reduceOp=op)
    return _ended(chosen(group).reduce_scatter([output], [input_list], options), async_op)


@asks(2)
def reduce_scatter_single(
    output: Tensor, input: Tensor, op: ReduceOp = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Any:
    """Reduce ``input`` over all ranks and fill ``output`` with this rank's chunk. Raise ValueError if there is no process group."""
    check_tensor(output, "output")
    check_tensor(input, "input")
    if outside(group):
        return warn_outside("reduce_scatter_single")
    options = _options(ReduceScatterOptions, async_op, reduceOp=op)
    return _ended(chosen(group)._reduce_scatter_base(output, input, options), async_op)


def reduce_scatter_tensor(output: Any, input: Any, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Any:
    """Deprecated name of ``reduce_scatter_single``."""
    warn(_SINGLE.format("reduce_scatter_tensor", "reduce_scatter_single"), FutureWarning)
    return reduce_scatter_single(output, input, op, group, async_op)


@asks(2)
def all_to_all_single(
    output: Tensor, input: Tensor, output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None, group: ProcessGroup | None = None, async_op: bool = False
) -> Tensor | None:
    """Split ``input`` along dimension 0, send one chunk to each rank, and concatenate the received chunks in ``output``."""
    if outside(group):
        return warn_outside("all_to_all_single")
    check_tensor(output, "output")
    check_tensor(input, "input")
    _check_dtypes(output, input)
    options = _options(AllToAllOptions, async_op)
    work = chosen(group).alltoall_base(real(output), real(input), output_split_sizes or [], input_split_sizes or [], options)
    return _ended(work, async_op)


@asks(2)
def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: ProcessGroup | None = None, async_op: bool = False
) -> Any:
    """Send ``input_tensor_list[i]`` to rank i, and fill ``output_tensor_list`` with what each rank sent. Raise ValueError if there is no
    process group.
    """
    if outside(group):
        return warn_outside("all_to_all")
    check_tensors(output_tensor_list, "output_tensor_list")
    check_tensors(input_tensor_list, "input_tensor_list")
    _check_dtypes(*output_tensor_list, *input_tensor_list)
    options = _options(AllToAllOptions, async_op)
    outputs, inputs = [real(one) for one in output_tensor_list], [real(one) for one in input_tensor_list]
    return _ended(chosen(group).alltoall(outputs, inputs, options), async_op)


def barrier(
    group: ProcessGroup | None = None, async_op: bool = False, device_ids: Sequence[int] | None = None, timeout: timedelta | None = None
) -> Work | None:
    """Wait for all ranks of the group. Raise RuntimeError on a timeout, ValueError if there is no process group."""
    found = chosen(group)
    if outside(found):
        return warn_outside("barrier")
    more = {} if timeout is None else {"timeout": timeout}
    return _ended(found.barrier(_options(BarrierOptions, async_op, **more)), async_op)


def monitored_barrier(group: ProcessGroup | None = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """Wait for all ranks; rank 0 raises RuntimeError that names the late ranks. Raise ValueError if there is no process group."""
    if outside(group):
        return warn_outside("monitored_barrier")
    found = default_group() if group is None else group
    if get_backend(found) != Backend.GLOO and found._config.get_device_backend_map().get("cpu") != Backend.GLOO:
        raise ValueError("monitored_barrier is only implemented for GLOO backend.")
    if isinstance(timeout, float):
        warn(
            f"Please specify timeout arg as a timedelta. Converting current value of {timeout} assuming it represents seconds"
        )
        timeout = timedelta(seconds=timeout)
    if timeout is not None and not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")
    found.monitored_barrier(timeout, wait_all_ranks)


__all__ = [
    "Work", "all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_single", "all_reduce", "all_reduce_coalesced",
    "all_to_all", "all_to_all_single", "barrier", "broadcast", "gather", "gather_into_tensor",
    "gather_single", "monitored_barrier", "reduce", "reduce_scatter", "reduce_scatter_single", "reduce_scatter_tensor", "scatter",
]  # fmt: skip

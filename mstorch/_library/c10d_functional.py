"""torch.ops._c10d_functional: functional collectives as operators, with process groups given by name."""
from __future__ import annotations

from typing import Any

from ..distributed import _functional_collectives as collectives


def wait_tensor(tensor: Any) -> Any:
    """Return the tensor; collectives are synchronous in mstorch."""
    return collectives.wait_tensor(tensor)


def all_reduce(input: Any, reduce_op: str, group_name: str) -> Any:
    """Return the reduction of the ranks' tensors."""
    return collectives.all_reduce(input, reduce_op, group_name)


def all_gather_into_tensor(input: Any, group_size: int, group_name: str) -> Any:
    """Concatenate the ranks' tensors along the first dimension."""
    return collectives.all_gather_tensor(input, 0, group_name)


def reduce_scatter_tensor(input: Any, reduce_op: str, group_size: int, group_name: str) -> Any:
    """Return this rank's chunk, along the first dimension, of the reduction of the ranks' tensors."""
    return collectives.reduce_scatter_tensor(input, reduce_op, 0, group_name)


def all_to_all_single(input: Any, output_split_sizes: Any, input_split_sizes: Any, group_name: str) -> Any:
    """Send one part of ``input`` to each rank; return the received parts, concatenated along dimension 0."""
    return collectives.all_to_all_single(input, output_split_sizes, input_split_sizes, group_name)


def broadcast(input: Any, src: int, group_name: str) -> Any:
    """Return the tensor of rank ``src``."""
    return collectives.broadcast(input, src, group_name)


OPERATORS = ("all_gather_into_tensor", "all_reduce", "all_to_all_single", "broadcast", "reduce_scatter_tensor", "wait_tensor")

"""torch_npu.distributed: the collectives with parts of unequal sizes."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from ....distributed import is_available, is_hccl_available
from ..names import ProcessGroupHCCL


def all_gather_into_tensor_uneven(
    output: Any, input: Any, output_split_sizes: Any = None, group: Any = None, async_op: bool = False
) -> Any:  # fmt: skip
    """Gather rows of every process, of other numbers each, one after another into ``output``."""
    if output_split_sizes is None:
        return torch.distributed.all_gather_into_tensor(output, input, group=group, async_op=async_op)
    return torch.distributed.all_gather(list(output.split(list(output_split_sizes))), input, group=group, async_op=async_op)


def reduce_scatter_tensor_uneven(
    output: Any, input: Any, input_split_sizes: Any = None, op: Any = None, group: Any = None, async_op: bool = False
) -> Any:  # fmt: skip
    """Sum rows over the processes and give each its part, of its own size."""
    op = torch.distributed.ReduceOp.SUM if op is None else op
    if input_split_sizes is None:
        return torch.distributed.reduce_scatter_tensor(output, input, op=op, group=group, async_op=async_op)
    parts = [part.contiguous() for part in input.split(list(input_split_sizes))]
    return torch.distributed.reduce_scatter(output, parts, op=op, group=group, async_op=async_op)


__all__ = ["ProcessGroupHCCL", "all_gather_into_tensor_uneven", "is_available", "is_hccl_available", "reduce_scatter_tensor_uneven"]

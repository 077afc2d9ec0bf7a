"""torch.nn.parallel.distributed: a module in several processes, which needs a process group."""
from __future__ import annotations

from typing import Any

from ...distributed._world import default_group
from ..modules.module import Module


class DistributedDataParallel(Module):
    """A module whose gradients are averaged over the processes of a group. ValueError without one."""

    module: Module

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0, broadcast_buffers: bool | None = None,
        init_sync: bool = True, process_group: Any = None, bucket_cap_mb: int | None = None, find_unused_parameters: bool = False,
        check_reduction: bool = False, gradient_as_bucket_view: bool = False, static_graph: bool = False,
        delay_all_reduce_named_params: Any = None, param_to_hook_all_reduce: Any = None, mixed_precision: Any = None,
        device_mesh: Any = None, skip_all_reduce_unused_params: bool = False, bucket_cap_mb_list: list[int] | None = None,
        batched_grad_copy: bool = False, forward_sync_buffers: bool | None = None,
    ) -> None:  # fmt: skip
        if process_group is None:
            default_group()
        raise NotImplementedError("mstorch: DistributedDataParallel has no process group")


__all__ = ["DistributedDataParallel"]

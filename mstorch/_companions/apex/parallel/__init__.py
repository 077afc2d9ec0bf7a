"""apex.parallel: data parallelism and synchronized batch norm, by torch's; LARC."""

from __future__ import annotations

from typing import Any

import mstorch as torch

from ... import absent_names
from .LARC import LARC

Tensor = torch.Tensor


class DistributedDataParallel(torch.nn.parallel.DistributedDataParallel):
    """torch's DistributedDataParallel under apex's parameters: those of buckets have no effect on results."""

    def __init__(
        self, module: torch.nn.Module, message_size: int = 10_000_000, delay_allreduce: bool = False, shared_param: Any = None,
        allreduce_trigger_params: Any = None, retain_allreduce_buffers: bool = False, allreduce_always_fp32: bool = False,
        num_allreduce_streams: int = 1, allreduce_communicators: Any = None, gradient_average: bool = True,
        gradient_predivide_factor: float = 1.0, gradient_average_split_factor: Any = None, prof: bool = False,
    ) -> None:  # fmt: skip
        if shared_param is not None:
            raise ValueError(
                "shared_param is no longer supported as an option.  It was misleadingly named from the start.  It turns out overlapping "
                "communication with computation should work fine with shared parameters.  If you still wish to delay communication to the "
                "end of the backward pass, use delay_allreduce=True|False instead."
            )
        unlike = [name for name, value in (
            ("retain_allreduce_buffers", retain_allreduce_buffers), ("allreduce_always_fp32", allreduce_always_fp32),
            ("gradient_average=False", not gradient_average), ("gradient_predivide_factor", gradient_predivide_factor != 1.0),
        ) if value]  # fmt: skip
        if unlike:
            raise NotImplementedError(
                f"mstorch: apex's DistributedDataParallel with {', '.join(unlike)} is not here; "
                "write torch.nn.parallel.DistributedDataParallel "
                "with a hook (register_comm_hook)"
            )
        super().__init__(module)


class SyncBatchNorm(torch.nn.SyncBatchNorm):
    """torch's SyncBatchNorm, also for channels that come last (``channel_last``), with an addend and a ReLU after it (``fuse_relu``)."""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True,
        process_group: Any = None, channel_last: bool = False, fuse_relu: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, process_group)
        self.channel_last = channel_last
        self.fuse_relu = fuse_relu

    def forward(self, input: Tensor, z: Tensor | None = None) -> Tensor:
        """Normalize the input, add ``z`` to it."""
        result = super().forward(input.movedim(-1, 1)).movedim(1, -1) if self.channel_last else super().forward(input)
        if z is not None:
            result = result + z
        return result.relu() if self.fuse_relu else result


def convert_syncbn_model(
    module: torch.nn.Module, process_group: Any = None, channel_last: bool = False
) -> torch.nn.Module:
    """Return a module whose batch norms are SyncBatchNorm, with their parameters and statistics."""
    result = module
    if isinstance(module, torch.nn.modules.batchnorm._BatchNorm) and not isinstance(
        module, torch.nn.modules.instancenorm._InstanceNorm
    ):
        result = SyncBatchNorm(
            module.num_features,
            module.eps,
            module.momentum,
            module.affine,
            module.track_running_stats,
            process_group,
            channel_last,
        )
        result._parameters.update(module._parameters)
        result._buffers.update(module._buffers)
        result.training = module.training
    for name, child in module.named_children():
        result.add_module(name, convert_syncbn_model(child, process_group, channel_last))
    return result


_INSTEAD = {
    "Reducer": "torch.distributed.all_reduce of each gradient", "create_syncbn_process_group": "torch.distributed.new_group",
    "multiproc": "torchrun",
}  # fmt: skip

__getattr__ = absent_names("apex.parallel", _INSTEAD)
__all__ = ["LARC", "DistributedDataParallel", "SyncBatchNorm", "convert_syncbn_model"]

"""torch.distributed.fsdp.sharded_grad_scaler: loss scaling when gradients are sharded."""
from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from ...amp.grad_scaler import GradScaler
from ...optim.optimizer import Optimizer
from .._group import ProcessGroup
from .._world import chosen


class ShardedGradScaler(GradScaler):
    """A GradScaler that skips a step on all ranks if one of them has an inf or NaN gradient."""

    def __init__(
        self, device: str = "cuda", init_scale: float = 2.0**16, backoff_factor: float = 0.5, growth_factor: float = 2.0,
        growth_interval: int = 2000, enabled: bool = True, process_group: ProcessGroup | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            device, init_scale=init_scale, backoff_factor=backoff_factor, growth_factor=growth_factor, growth_interval=growth_interval,
            enabled=enabled,
        )  # fmt: skip
        if self._enabled:
            self.process_group = process_group

    def scale(self, outputs: Any) -> Any:
        """Return a tensor, or each tensor of an iterable, multiplied by the scale, in its own dtype."""
        found = super().scale(outputs)
        return found.type(outputs.dtype) if self._enabled and hasattr(outputs, "dtype") else found

    def _unscale_grads_(self, optimizer: Optimizer, inv_scale: Tensor, found_inf: Tensor, allow_fp16: bool = True) -> dict[Any, Any]:
        found = super()._unscale_grads_(optimizer, inv_scale, found_inf, True)
        for one in found.values():
            chosen(self.process_group).allreduce([one]).wait()
        return found


__all__ = ["ShardedGradScaler"]

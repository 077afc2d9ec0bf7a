"""torch_npu.optim: optimizers whose steps are kernels of the device where MindSpore has them; they are torch's."""
from __future__ import annotations

from typing import Any

import mstorch as torch


class _Clipping(torch.optim.Optimizer):
    """The methods that torch_npu's optimizers have besides torch's."""

    def clip_optimizer_grad_norm_fused_(self, max_norm: float, norm_type: float = 2.0) -> Any:
        """Scale the gradients of all parameters so that their norm is at most this one; returns the norm that it was."""
        params = [param for group in self.param_groups for param in group["params"] if param.grad is not None]
        return torch.nn.utils.clip_grad_norm_(params, max_norm, norm_type)

    clip_grad_norm_fused_ = clip_optimizer_grad_norm_fused_


class NpuFusedAdam(_Clipping, torch.optim.Adam):
    """``torch.optim.Adam``."""

    def __init__(
        self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
        amsgrad: bool = False,
    ) -> None:  # fmt: skip
        torch.optim.Adam.__init__(self, params, lr, betas, eps, weight_decay, amsgrad)


class NpuFusedAdamW(_Clipping, torch.optim.AdamW):
    """``torch.optim.AdamW``."""

    def __init__(
        self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 1e-2,
        amsgrad: bool = False,
    ) -> None:  # fmt: skip
        torch.optim.AdamW.__init__(self, params, lr, betas, eps, weight_decay, amsgrad)


class NpuFusedSGD(_Clipping, torch.optim.SGD):
    """``torch.optim.SGD``."""

    def __init__(
        self, params: Any, lr: float, momentum: float = 0, dampening: float = 0, weight_decay: float = 0, nesterov: bool = False
    ) -> None:  # fmt: skip
        torch.optim.SGD.__init__(self, params, lr, momentum, dampening, weight_decay, nesterov)


class NpuFusedAdadelta(_Clipping, torch.optim.Adadelta):
    """``torch.optim.Adadelta``."""

    def __init__(self, params: Any, lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0) -> None:
        torch.optim.Adadelta.__init__(self, params, lr, rho, eps, weight_decay)


class NpuFusedRMSprop(_Clipping, torch.optim.RMSprop):
    """``torch.optim.RMSprop``."""

    def __init__(
        self, params: Any, lr: float = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0, momentum: float = 0,
        centered: bool = False,
    ) -> None:  # fmt: skip
        torch.optim.RMSprop.__init__(self, params, lr, alpha, eps, weight_decay, momentum, centered)


class _Absent:
    """An optimizer that torch has not."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"mstorch: torch_npu.optim.{type(self).__name__}, which torch has not")


class NpuFusedRMSpropTF(_Absent):
    """Raises NotImplementedError."""


class NpuFusedAdamP(_Absent):
    """Raises NotImplementedError."""


class NpuFusedBertAdam(_Absent):
    """Raises NotImplementedError."""


class NpuFusedLamb(_Absent):
    """Raises NotImplementedError."""


__all__ = [
    "NpuFusedAdadelta", "NpuFusedAdam", "NpuFusedAdamP", "NpuFusedAdamW", "NpuFusedBertAdam", "NpuFusedLamb", "NpuFusedRMSprop",
    "NpuFusedRMSpropTF", "NpuFusedSGD",
]  # fmt: skip

"""torch_npu.optim: torch's optimizers under torch_npu's names; steps use fused device kernels where MindSpore has them."""
from __future__ import annotations

from typing import Any

import mstorch as torch


class _Clipping(torch.optim.Optimizer):
    """Base of torch_npu's optimizers, with gradient clipping."""

    def clip_optimizer_grad_norm_fused_(self, max_norm: float, norm_type: float = 2.0) -> Any:
        """Clip the gradients of all parameters to a total norm of ``max_norm``; return the norm before."""
        params = [param for group in self.param_groups for param in group["params"] if param.grad is not None]
        return torch.nn.utils.clip_grad_norm_(params, max_norm, norm_type)

    clip_grad_norm_fused_ = clip_optimizer_grad_norm_fused_


class NpuFusedAdam(_Clipping, torch.optim.Adam):
    """``torch.optim.Adam`` under torch_npu's name."""

    def __init__(
        self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
        amsgrad: bool = False,
    ) -> None:  # fmt: skip
        torch.optim.Adam.__init__(self, params, lr, betas, eps, weight_decay, amsgrad)


class NpuFusedAdamW(_Clipping, torch.optim.AdamW):
    """``torch.optim.AdamW`` under torch_npu's name."""

    def __init__(
        self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 1e-2,
        amsgrad: bool = False,
    ) -> None:  # fmt: skip
        torch.optim.AdamW.__init__(self, params, lr, betas, eps, weight_decay, amsgrad)


class NpuFusedSGD(_Clipping, torch.optim.SGD):
    """``torch.optim.SGD`` under torch_npu's name."""

    def __init__(
        self, params: Any, lr: float, momentum: float = 0, dampening: float = 0, weight_decay: float = 0, nesterov: bool = False
    ) -> None:  # fmt: skip
        torch.optim.SGD.__init__(self, params, lr, momentum, dampening, weight_decay, nesterov)


class NpuFusedAdadelta(_Clipping, torch.optim.Adadelta):
    """``torch.optim.Adadelta`` under torch_npu's name."""

    def __init__(self, params: Any, lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0) -> None:
        torch.optim.Adadelta.__init__(self, params, lr, rho, eps, weight_decay)


class NpuFusedRMSprop(_Clipping, torch.optim.RMSprop):
    """``torch.optim.RMSprop`` under torch_npu's name."""

    def __init__(
        self, params: Any, lr: float = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0, momentum: float = 0,
        centered: bool = False,
    ) -> None:  # fmt: skip
        torch.optim.RMSprop.__init__(self, params, lr, alpha, eps, weight_decay, momentum, centered)


class _Absent:
    """Base of optimizers that torch lacks; raises NotImplementedError."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"mstorch: torch_npu.optim.{type(self).__name__}, which torch has not")


class NpuFusedRMSpropTF(_Absent):
    """Raises NotImplementedError when constructed."""


class NpuFusedAdamP(_Absent):
    """Raises NotImplementedError when constructed."""


class NpuFusedBertAdam(_Absent):
    """Raises NotImplementedError when constructed."""


class NpuFusedLamb(_Absent):
    """Raises NotImplementedError when constructed."""


__all__ = [
    "NpuFusedAdadelta", "NpuFusedAdam", "NpuFusedAdamP", "NpuFusedAdamW", "NpuFusedBertAdam", "NpuFusedLamb", "NpuFusedRMSprop",
    "NpuFusedRMSpropTF", "NpuFusedSGD",
]  # fmt: skip

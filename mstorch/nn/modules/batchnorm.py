"""Batch normalization layers (https://arxiv.org/abs/1502.03167)."""
from __future__ import annotations

from typing import Any

from ... import init
from ..._src.core.above import above
from ..._src.core.device import device
from ..._src.core.dtype import dtype, int64
from ..._src.ops.memory.from_data import tensor
from ..._tensor import Tensor
from .. import functional as F
from ..parameter import Parameter, UninitializedBuffer, UninitializedParameter
from ._names import NORM, called
from ._own_init import own_init
from .lazy import LazyModuleMixin
from .module import Module


@called(NORM)
class _NormBase(Module):
    """Base with weight, bias, running_mean and running_var (num_features), and num_batches_tracked (int64)."""

    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    num_features: int
    eps: float
    momentum: float | None
    affine: bool
    track_running_stats: bool
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, device: device | str | int | None = None, dtype: dtype | None = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = Parameter(above.torch.ones(num_features, device=device, dtype=dtype))
        else:
            self.register_parameter("weight", None)
        if affine and bias:
            self.bias = Parameter(above.torch.zeros(num_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        if track_running_stats:
            self.register_buffer("running_mean", above.torch.zeros(num_features, device=device, dtype=dtype))
            self.register_buffer("running_var", above.torch.ones(num_features, device=device, dtype=dtype))
            self.register_buffer("num_batches_tracked", above.torch.tensor(0, dtype=int64, device=device))
        else:
            self.register_buffer("running_mean", None)
            self.register_buffer("running_var", None)
            self.register_buffer("num_batches_tracked", None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Reset the running statistics to mean 0, variance 1, no batches tracked."""
        if self.track_running_stats:
            self.running_mean.zero_()  # type: ignore[union-attr]
            self.running_var.fill_(1)  # type: ignore[union-attr]
            self.num_batches_tracked.zero_()  # type: ignore[union-attr]

    def reset_parameters(self) -> None:
        """Set weight to 1 and bias to 0, and reset the running statistics."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(self, state_dict: dict[Any, Any], prefix: str, local_metadata: dict[Any, Any], *args: Any) -> None:
        version = local_metadata.get("version", None)
        if (version is None or version < 2) and self.track_running_stats:
            # Files from before the counter existed keep the module's counter.
            key = prefix + "num_batches_tracked"
            if key not in state_dict:
                state_dict[key] = (
                    self.num_batches_tracked if self.num_batches_tracked is not None else tensor(0, dtype=int64)
                )
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


@own_init
class _BatchNorm(_NormBase):
    def _average_factor(self) -> float:
        """Return the weight of this batch in the running statistics, after counting the batch."""
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                factor = 1.0 / float(self.num_batches_tracked.item())
        return factor

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer: (N, C, *) → (N, C, *)."""
        self._check_input_dim(input)
        factor = self._average_factor()
        with_batch = self.training or (self.running_mean is None and self.running_var is None)
        tracked = not self.training or self.track_running_stats
        return F.batch_norm(
            input, self.running_mean if tracked else None, self.running_var if tracked else None, self.weight, self.bias,
            with_batch, factor, self.eps,
        )  # fmt: skip


def _expect(input: Tensor, *ranks: int) -> None:
    if input.dim() not in ranks:
        raise ValueError(f"expected {' or '.join(f'{rank}D' for rank in ranks)} input (got {input.dim()}D input)")


class BatchNorm1d(_BatchNorm):
    """Applies batch normalization to (N, C) or (N, C, L)."""

    def _check_input_dim(self, input: Tensor) -> None:
        _expect(input, 2, 3)


class BatchNorm2d(_BatchNorm):
    """Applies batch normalization to (N, C, H, W)."""

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 4:
            _expect(input, 4)


class BatchNorm3d(_BatchNorm):
    """Applies batch normalization to (N, C, D, H, W)."""

    def _check_input_dim(self, input: Tensor) -> None:
        _expect(input, 5)


def _in_a_group(group: Any) -> bool:
    """Return whether a process group with several ranks exists, without importing anything."""
    loaded = above.processes
    return loaded is not None and loaded.is_initialized() and loaded.get_world_size(group) > 1


class SyncBatchNorm(_BatchNorm):
    """Batch normalization of (N, C, *) with statistics over all ranks of a group.

    Differs from torch: CPU tensors are supported, which torch rejects in a process group.
    """

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, process_group: Any | None = None, device: int | str | device | None = None,
        dtype: dtype | None = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer: (N, C, *) → (N, C, *). All ranks have to run it, forward and backward."""
        self._check_input_dim(input)
        with_batch = self.training or (self.running_mean is None and self.running_var is None)
        if not (with_batch and self.training) or not _in_a_group(self.process_group):
            return super().forward(input)
        factor = self._average_factor()
        mean, variance = (self.running_mean, self.running_var) if self.track_running_stats else (None, None)
        return above.normalized_together(input, self.weight, self.bias, mean, variance, factor, self.eps, self.process_group)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Replace each BatchNorm*d in a module by a SyncBatchNorm with the same parameters and statistics; return the module."""
        converted: Any = module
        if isinstance(module, _BatchNorm):
            converted = SyncBatchNorm(
                module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats, process_group,
                bias=module.bias is not None,
            )  # fmt: skip
            if module.affine:
                converted.weight = module.weight
                converted.bias = module.bias
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                setattr(converted, name, getattr(module, name))
            converted.training = module.training
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted


class _LazyNormBase(LazyModuleMixin, _NormBase):
    weight: UninitializedParameter
    bias: UninitializedParameter

    def __init__(
        self, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True,
        device: device | str | int | None = None, dtype: dtype | None = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = tensor(0, dtype=int64, device=device)

    def reset_parameters(self) -> None:
        """Set weight to 1 and bias to 0, once their sizes are known."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Set num_features from the input."""
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            for value in (self.weight, self.bias, self.running_mean, self.running_var):
                if value is not None:
                    value.materialize((self.num_features,))  # type: ignore[attr-defined]
            self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, BatchNorm1d):
    """BatchNorm1d that infers num_features from the first input."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNormBase, BatchNorm2d):
    """BatchNorm2d that infers num_features from the first input."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNormBase, BatchNorm3d):
    """BatchNorm3d that infers num_features from the first input."""

    cls_to_become = BatchNorm3d


__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d",
    "SyncBatchNorm",
]  # fmt: skip

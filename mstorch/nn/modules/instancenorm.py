"""Instance normalization layers (https://arxiv.org/abs/1607.08022)."""
from __future__ import annotations

from typing import Any

from ..._src.core.device import device
from ..._src.core.dtype import dtype
from ..._src.core.warned import warn
from ..._tensor import Tensor
from .. import functional as F
from .batchnorm import _LazyNormBase, _NormBase


class _InstanceNorm(_NormBase):
    _rank: int

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
        track_running_stats: bool = False, device: device | str | int | None = None, dtype: dtype | None = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _get_no_batch_dim(self) -> int:
        return self._rank + 1

    def _check_input_dim(self, input: Tensor) -> None:
        low, high = self._rank + 1, self._rank + 2
        if input.dim() not in (low, high):
            raise ValueError(f"expected {low}D or {high}D input (got {input.dim()}D input)")

    def _apply_instance_norm(self, input: Tensor) -> Tensor:
        return F.instance_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, self.training or not self.track_running_stats,
            self.momentum if self.momentum is not None else 0.0, self.eps,
        )  # fmt: skip

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: Any, unexpected_keys: Any,
        error_msgs: list[str],
    ) -> None:  # fmt: skip
        if local_metadata.get("version", None) is None and not self.track_running_stats:
            found = [name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if found:
                names, cls = " and ".join(f'"{name}"' for name in found), type(self).__name__
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {names} for {cls} with track_running_stats=False. If state_dict is a "
                    f"checkpoint saved before 0.4.0, this may be expected because {cls} does not track running stats by default "
                    "since 0.4.0. Please remove these keys from state_dict. If the running stats are actually needed, instead set "
                    f"track_running_stats=True in {cls} to enable them. See the documentation of {cls} for details."
                )
                for name in found:
                    state_dict.pop(prefix + name)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer: (N, C, *) → (N, C, *), or unbatched."""
        self._check_input_dim(input)
        channel = input.dim() - self._get_no_batch_dim()
        if input.size(channel) != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={channel} to match num_features ({self.num_features}), but got: "
                    f"{input.size(channel)}."
                )
            warn(
                f"input's size at dim={channel} does not match num_features. You can silence this warning by not passing in "
                "num_features, which is not used because affine=False",
            )
        if channel == 0:
            return self._apply_instance_norm(input.unsqueeze(0)).squeeze(0)
        return self._apply_instance_norm(input)


class InstanceNorm1d(_InstanceNorm):
    """Applies instance normalization to (N, C, L) or (C, L)."""

    _rank = 1


class InstanceNorm2d(_InstanceNorm):
    """Applies instance normalization to (N, C, H, W) or (C, H, W)."""

    _rank = 2


class InstanceNorm3d(_InstanceNorm):
    """Applies instance normalization to (N, C, D, H, W) or (C, D, H, W)."""

    _rank = 3


class LazyInstanceNorm1d(_LazyNormBase, InstanceNorm1d):
    """InstanceNorm1d that infers num_features from the first input."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNormBase, InstanceNorm2d):
    """InstanceNorm2d that infers num_features from the first input."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNormBase, InstanceNorm3d):
    """InstanceNorm3d that infers num_features from the first input."""

    cls_to_become = InstanceNorm3d


__all__ = [
    "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
]  # fmt: skip

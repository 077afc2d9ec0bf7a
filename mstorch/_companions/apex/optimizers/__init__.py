"""apex.optimizers: Adam, LAMB, SGD and NovoGrad, with state and arithmetic in float32 for parameters of half precision."""

from __future__ import annotations

from ... import absent
from .fused_adam import FusedAdam
from .fused_lamb import FusedLAMB
from .fused_novograd import FusedNovoGrad
from .fused_sgd import FusedSGD

_INSTEAD = {"FusedAdagrad": "torch.optim.Adagrad", "FusedMixedPrecisionLamb": "apex.optimizers.FusedLAMB"}


def __getattr__(name: str) -> object:
    if name in _INSTEAD:
        return absent(f"apex.optimizers.{name}", f"write {_INSTEAD[name]}")
    raise AttributeError(f"module 'apex.optimizers' has no attribute '{name}'")


__all__ = ["FusedAdam", "FusedLAMB", "FusedNovoGrad", "FusedSGD"]

"""apex.optimizers: Adam, LAMB, SGD and NovoGrad, with state and arithmetic in float32 for parameters of half precision."""

from __future__ import annotations

from ... import absent_names
from .fused_adam import FusedAdam
from .fused_lamb import FusedLAMB
from .fused_novograd import FusedNovoGrad
from .fused_sgd import FusedSGD

_INSTEAD = {"FusedAdagrad": "torch.optim.Adagrad", "FusedMixedPrecisionLamb": "apex.optimizers.FusedLAMB"}

__getattr__ = absent_names("apex.optimizers", _INSTEAD)
__all__ = ["FusedAdam", "FusedLAMB", "FusedNovoGrad", "FusedSGD"]

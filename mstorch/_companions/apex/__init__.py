"""apex (0.1): its fused layers and optimizers, its mixed precision and its data parallelism, by torch's operations and optimizers."""

from __future__ import annotations

from .. import absent_names
from . import amp as amp
from . import multi_tensor_apply as multi_tensor_apply
from . import normalization as normalization
from . import optimizers as optimizers
from . import parallel as parallel
from . import transformer as transformer

__version__ = "0.1"

_INSTEAD = {
    "RNN": "torch.nn.LSTM, GRU or RNN", "mlp": "torch.nn.Linear and torch.nn.ReLU", "fused_dense": "torch.nn.Linear and torch.nn.GELU",
    "fp16_utils": "torch.autocast and torch.amp.GradScaler", "contrib": "torch's layers and optimizers",
    "reparameterization": "torch.nn.utils.parametrizations",
}  # fmt: skip

__getattr__ = absent_names("apex", _INSTEAD)
__all__ = ["amp", "multi_tensor_apply", "normalization", "optimizers", "parallel", "transformer"]

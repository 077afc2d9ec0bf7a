"""torch.distributed._tensor.api: the deprecated location of DTensor."""
from ..tensor import DTensor, distribute_module, distribute_tensor

__all__ = ["DTensor", "distribute_module", "distribute_tensor"]

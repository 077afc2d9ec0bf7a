"""torch.distributed._tensor.api: the old place of DTensor."""
from ..tensor import DTensor, distribute_module, distribute_tensor

__all__ = ["DTensor", "distribute_module", "distribute_tensor"]

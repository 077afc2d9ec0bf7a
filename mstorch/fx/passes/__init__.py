"""torch.fx.passes: what is done to whole graphs."""
from . import shape_prop

__all__ = ["shape_prop"]

"""torch.fx.passes: transformations of graphs."""
from ..._src.hook import missing as _missing
from . import shape_prop

__all__ = ["shape_prop"]

__getattr__ = _missing(__name__)

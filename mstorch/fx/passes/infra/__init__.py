"""torch.fx.passes.infra: base classes of passes."""
from ...._src.hook import missing as _missing

__getattr__ = _missing(__name__, ("pass_base",))

"""torch.fx.passes.infra."""
from ...._hook import missing as _missing

__getattr__ = _missing(__name__, ("pass_base",))

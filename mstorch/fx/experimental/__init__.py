"""torch.fx.experimental: helpers for tracing with dynamic sizes."""

from ..._src.hook import missing as _missing

__getattr__ = _missing(__name__, ("_config", "proxy_tensor", "symbolic_shapes"))  # torch's import binds these, too

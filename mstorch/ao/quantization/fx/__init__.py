"""torch.ao.quantization.fx: the names that packages import; preparing and converting graphs is not implemented."""
from ...._src.hook import missing as _missing

__getattr__ = _missing(__name__)

"""torch.ao.quantization.fx: what packages ask of it; preparing and converting graphs is not built."""
from ...._hook import missing as _missing

__getattr__ = _missing(__name__)

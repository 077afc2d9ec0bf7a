"""torch.quantization: deprecated location of torch.ao.quantization."""
from ..ao import quantization as _new
from ..ao._old_names import of
from . import fuse_modules as _of_fusing  # imported before the functions of the same names, which hide the modules
from . import quantize as _of_quantizing

_MODULES = _of_fusing, _of_quantizing
fuse_modules, quantize = _new.fuse_modules, _new.quantize
__all__, __getattr__, __dir__ = of(__name__)

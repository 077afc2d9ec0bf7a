"""torch_npu.utils: only ``storage``."""
from . import storage as storage

"""torch_npu.utils."""
from . import storage as storage

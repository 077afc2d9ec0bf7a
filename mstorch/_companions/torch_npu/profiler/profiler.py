"""torch_npu.profiler.profiler: the names of torch_npu.profiler."""
from . import *  # noqa: F403
from . import __all__ as __all__

"""torch_npu.multiprocessing: ``reductions``, by which tensors of the device would go to another process."""
from . import reductions as reductions

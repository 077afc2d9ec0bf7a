"""torch.distributed.optim: optimizers with sharded state, or with periodic model averaging."""
from ..._src.hook import missing as _missing
from .post_localSGD_optimizer import PostLocalSGDOptimizer
from .zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]

__getattr__ = _missing(__name__)

"""torch.distributed.optim: optimisers whose state is spread over processes."""
from ..._hook import missing as _missing
from .zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["ZeroRedundancyOptimizer"]

__getattr__ = _missing(__name__)

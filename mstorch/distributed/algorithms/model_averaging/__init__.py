"""torch.distributed.algorithms.model_averaging: the processes' parameters become their mean from time to time."""
from . import averagers, utils

__all__ = ["averagers", "utils"]

"""torch.distributed.algorithms.model_averaging: the ranks' parameters are averaged periodically."""
from . import averagers, utils

__all__ = ["averagers", "utils"]

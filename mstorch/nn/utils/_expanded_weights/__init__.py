"""torch.nn.utils._expanded_weights: weights whose gradient is kept for each sample of a batch."""
from . import _per_sample as _per_sample
from .expanded_weights_impl import ExpandedWeight as ExpandedWeight

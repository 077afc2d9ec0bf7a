"""torch.distributed._tensor.placement_types: the deprecated name of torch.distributed.tensor.placement_types."""
from ..._src.hook import missing as _missing
from ..tensor.placement_types import Partial, Placement, Replicate, Shard

__all__ = ["Partial", "Placement", "Replicate", "Shard"]

__getattr__ = _missing(__name__)

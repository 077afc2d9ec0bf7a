"""torch.distributed._tensor: the deprecated name of torch.distributed.tensor."""
from ..._src.hook import missing as _missing
from ..tensor import (
    DeviceMesh,
    DTensor,
    Partial,
    Placement,
    Replicate,
    Shard,
    distribute_module,
    distribute_tensor,
    empty,
    full,
    init_device_mesh,
    ones,
    placement_types,
    rand,
    randn,
    zeros,
)

__all__ = [
    "DTensor", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "distribute_module", "distribute_tensor", "empty", "full",
    "init_device_mesh", "ones", "placement_types", "rand", "randn", "zeros",
]  # fmt: skip

__getattr__ = _missing(__name__, ("api", "device_mesh", "experimental"))

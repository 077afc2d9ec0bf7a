"""torch.distributed._tensor.experimental: the deprecated name of torch.distributed.tensor.experimental."""
from __future__ import annotations

from ...tensor.experimental import implicit_replication, local_map

__all__ = ["implicit_replication", "local_map"]

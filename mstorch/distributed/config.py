"""torch.distributed.config: options of torch's collectives, stored without effect."""
from __future__ import annotations

from .._src.patched_settings import Patch

compile_on_one_rank = False
use_torchcomms = False
pipeline_per_direction_p2p = False


class patch(Patch):
    """Context manager and decorator that sets options: ``patch("use_torchcomms", True)``, ``patch(use_torchcomms=True)``."""

    module = __name__


__all__ = ["compile_on_one_rank", "pipeline_per_direction_p2p", "use_torchcomms"]

"""torch.distributed.algorithms: inputs of different lengths, hooks that reduce gradients."""
from . import ddp_comm_hooks, join
from .join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable", "ddp_comm_hooks", "join"]

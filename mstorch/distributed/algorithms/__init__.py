"""torch.distributed.algorithms: inputs of different lengths, hooks that reduce gradients, means of models."""
from ..._hook import missing as _missing
from . import ddp_comm_hooks, join
from .join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable", "ddp_comm_hooks", "join"]

__getattr__ = _missing(__name__, ("_checkpoint", "model_averaging"))

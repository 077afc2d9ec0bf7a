"""torch.distributed.algorithms: uneven inputs (Join), communication hooks, model averaging."""
from ..._src.hook import missing as _missing
from . import ddp_comm_hooks, join
from .join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable", "ddp_comm_hooks", "join"]

__getattr__ = _missing(__name__, ("_checkpoint", "model_averaging"))

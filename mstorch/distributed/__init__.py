"""torch.distributed: processes that compute together.

Processes of one machine exchange small tensors of the CPU over sockets and large ones in memory that they share; the backend is called
gloo. Tensors of Ascend devices are carried by HCCL, by way of MindSpore (``_device_backend.py``).
"""
import sys as _sys

from .._src.core.above import above as _above
from .._src.hook import missing as _missing
from . import config as config
from . import constants, distributed_c10d
from . import rendezvous as _meeting
from ._file_store import FileStore
from ._reducer import GradBucket
from ._reducer import Reducer as Reducer
from ._settings import BuiltinCommHookType, set_debug_level, set_debug_level_from_env
from ._stores import HashStore, QueueEmptyError
from ._tcp_store import TCPStore

globals().update({_name: getattr(distributed_c10d, _name) for _name in distributed_c10d.__all__})
_rank_not_in_group = distributed_c10d._rank_not_in_group

from .device_mesh import DeviceMesh, init_device_mesh  # noqa: E402 - they use the names above
from .nn import batch_statistics as _batch_statistics  # noqa: E402, F401 - enters itself

# As in torch, the function replaces its module.
rendezvous = _meeting.rendezvous
register_rendezvous_handler = _meeting.register_rendezvous_handler

__all__ = [
    "BuiltinCommHookType", "DeviceMesh", "FileStore", "GradBucket", "HashStore", "QueueEmptyError", "TCPStore", "constants", "device_mesh",
    "distributed_c10d", "init_device_mesh", "register_rendezvous_handler", "rendezvous", "set_debug_level", "set_debug_level_from_env",
    *distributed_c10d.__all__,
]  # fmt: skip

if distributed_c10d.hccl_is_there():
    is_hccl_available = distributed_c10d.is_hccl_available  # torch_npu adds it in torch

__getattr__ = _missing(
    __name__,
    ("_composable", "_functional_collectives", "_tensor", "algorithms", "checkpoint", "elastic", "fsdp", "launch", "launcher", "nn",
     "optim", "pipelining", "rpc", "run", "tensor"),
)  # fmt: skip
_above.processes = _sys.modules[__name__]

"""torch.multiprocessing: Python's module, whose queues and pipes pass tensors in shared memory."""

import sys
from multiprocessing import (
    Array,
    AuthenticationError,
    Barrier,
    BoundedSemaphore,
    BufferTooShort,
    Condition,
    Event,
    JoinableQueue,
    Lock,
    Manager,
    Pipe,
    Pool,
    Process,
    ProcessError,
    Queue,
    RawArray,
    RawValue,
    RLock,
    Semaphore,
    SimpleQueue,
    TimeoutError,
    Value,
    active_children,
    allow_connection_pickling,
    cpu_count,
    current_process,
    freeze_support,
    get_all_start_methods,
    get_context,
    get_logger,
    get_start_method,
    log_to_stderr,
    parent_process,
    reducer,
    set_executable,
    set_forkserver_preload,
    set_start_method,
)  # fmt: skip

from .._src.hook import missing as _missing
from . import _atfork, pool, queue, reductions
from ._process import die_with_parent as _prctl_pr_set_pdeathsig
from ._process import get_thread_name as _get_thread_name
from ._process import set_thread_name as _set_thread_name
from .reductions import init_reductions
from .spawn import (
    ENV_VAR_PARALLEL_START,
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)  # fmt: skip

__all__ = [
    "Array", "AuthenticationError", "Barrier", "BoundedSemaphore", "BufferTooShort", "Condition", "Event", "JoinableQueue", "Lock",
    "Manager", "Pipe", "Pool", "Process", "ProcessError", "Queue", "RLock", "RawArray", "RawValue", "Semaphore", "SimpleQueue",
    "TimeoutError", "Value", "active_children", "allow_connection_pickling", "cpu_count", "current_process", "freeze_support",
    "get_all_sharing_strategies", "get_all_start_methods", "get_context", "get_logger", "get_sharing_strategy",
    "get_start_method", "log_to_stderr", "parent_process", "reducer", "set_executable", "set_forkserver_preload",
    "set_sharing_strategy", "set_start_method",
]  # fmt: skip

_STRATEGIES = {"file_system"} if sys.platform in ("darwin", "win32") else {"file_descriptor", "file_system"}
_chosen = {"strategy": "file_system" if len(_STRATEGIES) == 1 else "file_descriptor"}


def set_sharing_strategy(new_strategy: str) -> None:
    """Set how memory is shared; raise AssertionError for a strategy not in `get_all_sharing_strategies()`.

    Differs from torch: both strategies pass descriptors of unnamed files, so that nothing can be left behind.
    """
    if new_strategy not in _STRATEGIES:
        raise AssertionError(f"invalid sharing strategy {new_strategy!r}, expected one of {_STRATEGIES}")
    _chosen["strategy"] = new_strategy


def get_sharing_strategy() -> str:
    """Return the current sharing strategy."""
    return _chosen["strategy"]


def get_all_sharing_strategies() -> set[str]:
    """Return the names of strategies."""
    return _STRATEGIES


init_reductions()
__getattr__ = _missing(__name__)

"""torch._C._autograd: internals of autograd that tools inspect."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._src.core.modes import modes
from .._src.hook import missing
from .._src.tape.passes import running
from .._src.tape.saved import SavedTensor


def _saved_tensors_hooks_is_enabled() -> bool:
    """Return whether saved-tensor hooks are allowed, that is, not disabled by ``disable_saved_tensors_hooks``."""
    return modes.saved_hooks_refused is None


def _get_current_graph_task_keep_graph() -> bool:
    """Return whether the running backward pass retains the graph; True outside of one."""
    return running.passes[-1].keep if running.passes else True


def _unsafe_set_version_counter(tensors: Any, versions: Sequence[int] | int) -> None:
    """Set the version counters of tensors."""
    many = isinstance(tensors, (tuple, list))
    for tensor, version in zip(tensors if many else [tensors], versions if isinstance(versions, (tuple, list)) else [versions]):
        if version < 0:
            raise RuntimeError("Cannot set a version_counter to a value below 0: " + str(version))
        tensor._ms_counter.version = version


__all__ = ["SavedTensor"]
__getattr__ = missing("mstorch._C._autograd")

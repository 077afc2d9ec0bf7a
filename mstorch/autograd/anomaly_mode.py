"""detect_anomaly: backward raises an error if a gradient is NaN."""
from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from .._src.core.warned import warn
from .._src.leaving import Block, each
from .._src.tape.bare import bare, dressed
from .._src.tape.engine import watch
from .._src.tape.node import Node


class _State(threading.local):
    def __init__(self) -> None:
        self.enabled = False
        self.check_nan = True


_state = _State()


def is_anomaly_enabled() -> bool:
    """Return whether anomaly detection is on."""
    return _state.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Return whether anomaly detection, if enabled, checks for NaN."""
    return _state.check_nan


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Enable or disable anomaly detection."""
    _state.enabled, _state.check_nan = enabled, check_nan
    watch.check = _check if enabled else None


def _as_before(enabled: bool, check_nan: bool) -> Callable[[], Any]:
    return each(
        functools.partial(vars(_state).update, enabled=enabled, check_nan=check_nan),
        functools.partial(vars(watch).update, check=_check if enabled else None),
    )


class detect_anomaly(Block):
    """A context manager in which backward raises RuntimeError if a gradient is NaN, and warns of the node in which an error occurred.

    Differs from torch: the traceback of the forward pass is not shown.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.prev, self.prev_check_nan = _state.enabled, _state.check_nan
        self.check_nan = check_nan
        warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
        )

    def __enter__(self) -> None:
        self.at_end(_as_before(self.prev, self.prev_check_nan))
        set_anomaly_enabled(True, self.check_nan)


class set_detect_anomaly(Block):
    """Enables or disables anomaly detection from the call on; as a context manager, until its end."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.prev, self.prev_check_nan = _state.enabled, _state.check_nan
        set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> None:
        self.at_end(_as_before(self.prev, self.prev_check_nan))


def _check(node: Node, gradients: Any) -> None:
    """Raise RuntimeError if a node's gradient is NaN; warn of a node that raised."""
    if gradients is None:
        try:
            warn(f"Error detected in {node.name()}. No forward pass information available: mstorch keeps no traceback of the forward call.")
        except UserWarning as told:  # where warnings are errors, the node's error stays the one that is raised
            sys.stderr.write(f"{told}\n")
    if gradients is None or not _state.check_nan:
        return
    for number, gradient in enumerate(gradients):
        if gradient is None:
            continue
        values: Any = gradient if isinstance(gradient, np.ndarray) else np.asarray(bare(dressed(gradient)))
        if values.dtype.kind not in "fc":
            values = values.astype(np.float32)
        if np.isnan(values).any():
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {number}th output.")


__all__ = ["detect_anomaly", "set_detect_anomaly"]

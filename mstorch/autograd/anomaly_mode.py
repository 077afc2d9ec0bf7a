"""detect_anomaly: a backward that yields NaN is an error."""
from __future__ import annotations

import threading
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from .._backend.raw import Raw, to_numpy


class _State(threading.local):
    def __init__(self) -> None:
        self.enabled = False
        self.check_nan = True


_state = _State()


def is_anomaly_enabled() -> bool:
    """Whether anomaly detection is on."""
    return _state.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly detection, where it is on, looks for NaN."""
    return _state.check_nan


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Turn anomaly detection on or off."""
    _state.enabled, _state.check_nan = enabled, check_nan


class detect_anomaly:
    """A context manager within which backward raises RuntimeError if a gradient is NaN.

    Differs from torch: gradients are looked at where they reach a tensor that they are wanted for, so that the error does not
    name the operation, and no traceback of the forward pass is shown.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.prev, self.prev_check_nan = _state.enabled, _state.check_nan
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        set_anomaly_enabled(True, self.check_nan)

    def __exit__(self, *args: object) -> None:
        set_anomaly_enabled(self.prev, self.prev_check_nan)


class set_detect_anomaly:
    """Anomaly detection on or off from the call on; as a context manager, until its end."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.prev, self.prev_check_nan = _state.enabled, _state.check_nan
        set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *args: object) -> None:
        set_anomaly_enabled(self.prev, self.prev_check_nan)


def check(gradients: Iterable[Raw | None]) -> None:
    """RuntimeError if anomaly detection is on and a gradient is NaN."""
    if not (_state.enabled and _state.check_nan):
        return
    for gradient in gradients:
        if gradient is None:
            continue
        values: Any = to_numpy(gradient)
        if np.isnan(values.astype(np.float32) if values.dtype.kind not in "fc" else values).any():
            raise RuntimeError(
                "Function 'Backward0' returned nan values in its 0th output. (mstorch sees a gradient where it reaches a tensor "
                f"that it is wanted for, here one of shape {tuple(gradient.shape)}.)"
            )


__all__ = ["detect_anomaly", "set_detect_anomaly"]

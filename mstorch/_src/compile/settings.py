"""Process and thread settings under which a graph is valid."""
from __future__ import annotations

import decimal
import operator
from typing import Any

import numpy as np

from ...autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled
from ..core import device as devices
from ..core.determinism import state as deterministic
from ..core.dtype import get_default_dtype
from ..core.modes import modes
from ..core.settings import get_float32_matmul_precision, get_num_threads
from ..core.warned import is_warn_always_enabled
from ..namespace.attention_choice import ALLOWED
from ..namespace.process import get_num_interop_threads
from ..ops._autocast import state as autocast
from ..quiet import error_state
from ..sparse.coo import is_checking

_call = operator.methodcaller("__call__")


def setting_key() -> tuple[Any, ...]:
    """Return the current settings as a comparable value."""
    decimals = decimal.getcontext().__reduce__()[1]  # of C alone; the last but one are flags, which any computation raises
    return (
        modes.grad, modes.inference, modes.multithreading, modes.forward, get_default_dtype(), tuple(deterministic.values()),
        autocast.on, tuple(autocast.enabled.items()), tuple(autocast.dtypes.items()), autocast.cache_enabled, autocast.nesting,
        devices.defaults.chosen, tuple(devices.defaults.blocks), get_float32_matmul_precision(), get_num_threads(),
        is_anomaly_enabled(), is_anomaly_check_nan_enabled(), is_warn_always_enabled(), get_num_interop_threads(),
        is_checking(),
        tuple(map(tuple, map(_call, ALLOWED))), error_state(), str(np.get_printoptions()), decimals[:-2], tuple(decimals[-1]),
    )  # fmt: skip

"""torch.quantization.observer: the old name of torch.ao.quantization.observer."""
from __future__ import annotations

from typing import Any

from ..ao.quantization import observer as _new
from ..ao.quantization.observer import (
    ABC,
    HistogramObserver,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    NoopObserver,
    ObserverBase,
    PerChannelMinMaxObserver,
    PlaceholderObserver,
    RecordingObserver,
    default_debug_observer,
    default_dynamic_quant_observer,
    default_float_qparams_observer,
    default_histogram_observer,
    default_observer,
    default_per_channel_weight_observer,
    default_placeholder_observer,
    default_weight_observer,
    get_observer_state_dict,
    load_observer_state_dict,
)  # fmt: skip

__all__ = [
    "ABC", "HistogramObserver", "MinMaxObserver", "MovingAverageMinMaxObserver", "MovingAveragePerChannelMinMaxObserver", "NoopObserver",
    "ObserverBase", "PerChannelMinMaxObserver", "PlaceholderObserver", "RecordingObserver", "default_debug_observer",
    "default_dynamic_quant_observer", "default_float_qparams_observer", "default_histogram_observer", "default_observer",
    "default_per_channel_weight_observer", "default_placeholder_observer", "default_weight_observer", "get_observer_state_dict",
    "load_observer_state_dict",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    return getattr(_new, name)

"""torch.nn.quantized.dynamic: the deprecated name of torch.ao.nn.quantized.dynamic."""
from __future__ import annotations

from typing import Any

from ....ao.nn.quantized import dynamic as _new
from ....ao.nn.quantized.dynamic import GRU, LSTM, GRUCell, Linear, LSTMCell, RNNCell

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "Linear", "RNNCell"]


def __getattr__(name: str) -> Any:
    return getattr(_new, name)

"""torch.nn.quantized.dynamic.modules.rnn: the deprecated name of torch.ao.nn.quantized.dynamic.modules.rnn."""
from __future__ import annotations

from typing import Any

from .....ao.nn.quantized.dynamic.modules import rnn as _new
from .....ao.nn.quantized.dynamic.modules.rnn import (
    GRU,
    LSTM,
    GRUCell,
    LSTMCell,
    PackedParameter,
    RNNBase,
    RNNCell,
    RNNCellBase,
    pack_weight_bias,
)

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "PackedParameter", "RNNBase", "RNNCell", "RNNCellBase", "pack_weight_bias"]


def __getattr__(name: str) -> Any:
    return getattr(_new, name)

"""torch_npu.contrib.module.bidirectional_lstm: an LSTM in both directions."""
from __future__ import annotations

from typing import Any

import mstorch as torch
from mstorch import nn

from ..boxes import deprecated


class BiLSTM(nn.Module):
    """Two LSTMs over (L, N, C), one of them in reverse; deprecated."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        deprecated("BiLSTM", "torch.nn.LSTM")
        self.fw_rnn, self.bw_rnn = nn.LSTM(input_size, hidden_size), nn.LSTM(input_size, hidden_size)

    def forward(self, inputs: Any) -> Any:
        """Run the LSTM; return (L, N, 2 · hidden_size)."""
        return torch.cat((self.fw_rnn(inputs)[0], torch.flip(self.bw_rnn(torch.flip(inputs, [0]))[0], [0])), 2)


__all__ = ["BiLSTM"]

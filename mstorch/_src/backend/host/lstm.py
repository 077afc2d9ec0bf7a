"""One direction of an LSTM layer over all steps on the host, by oneDNN alone: ``rnn.py`` computes the others, by NumPy."""
from __future__ import annotations

from ..onednn.library import FOUND
from ..onednn.lstm import backward as layer_slopes
from ..onednn.lstm import forward as layer

__all__ = ["FOUND", "layer", "layer_slopes"]

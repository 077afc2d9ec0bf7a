"""causal_conv1d (1.5): the convolution of each channel with its past, by torch.nn.functional.conv1d."""

from __future__ import annotations

from . import causal_conv1d_interface as causal_conv1d_interface
from . import causal_conv1d_varlen as causal_conv1d_varlen
from .causal_conv1d_interface import causal_conv1d_fn, causal_conv1d_update

__version__ = "1.5.2"

__all__ = ["causal_conv1d_fn", "causal_conv1d_update"]

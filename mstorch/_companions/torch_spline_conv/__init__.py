"""torch_spline_conv (1.2): convolution with B-splines of edges' coordinates."""
from __future__ import annotations

from .basis import spline_basis
from .conv import spline_conv
from .weighting import spline_weighting

__version__ = "1.2.2"

__all__ = ["spline_basis", "spline_conv", "spline_weighting"]

"""torch_spline_conv (1.2): convolution with B-splines of edges' coordinates; also functions of ``torch.ops.torch_spline_conv``."""
from __future__ import annotations

import mstorch as torch

from .basis import spline_basis
from .conv import spline_conv
from .weighting import spline_weighting

__version__ = "1.2.2"

vars(torch.ops.torch_spline_conv).update(spline_basis=spline_basis, spline_weighting=spline_weighting, cuda_version=lambda: -1)

__all__ = ["spline_basis", "spline_conv", "spline_weighting"]

"""The operators of torchvision's compiled library: in ``torch.ops.torchvision`` and, with Pillow, ``torch.ops.image``.

torchvision's own Python calls them; it loads its library by ``torch.ops.load_library``, which loads this in its place.
"""
from __future__ import annotations

import mstorch as torch

from . import operators

operators.register()

nms = torch.ops.torchvision.nms
roi_align = torch.ops.torchvision.roi_align
roi_pool = torch.ops.torchvision.roi_pool
ps_roi_align = torch.ops.torchvision.ps_roi_align
ps_roi_pool = torch.ops.torchvision.ps_roi_pool
deform_conv2d = torch.ops.torchvision.deform_conv2d

__all__ = ["deform_conv2d", "nms", "ps_roi_align", "ps_roi_pool", "roi_align", "roi_pool"]

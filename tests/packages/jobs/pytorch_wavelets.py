"""Jobs of pytorch_wavelets."""

from __future__ import annotations

import torch
from pytorch_wavelets import DTCWTForward, DTCWTInverse, DWT1DForward, DWTForward, DWTInverse


def job_transforms():
    torch.manual_seed(0)
    x = torch.randn(1, 2, 16, 16, requires_grad=True)
    low, high = DWTForward(J=2, wave="db3", mode="symmetric")(x)
    back = DWTInverse(wave="db3", mode="symmetric")((low, high))
    coarse, fine = DTCWTForward(J=2)(x)
    again = DTCWTInverse()((coarse, fine))
    (back.square().sum() + again.abs().sum() + sum(f.square().sum() for f in fine)).backward()
    return [low, high, back, coarse, fine, again, x.grad, DWT1DForward(J=2, wave="haar")(torch.randn(1, 2, 16))]

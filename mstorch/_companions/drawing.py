"""Random numbers and arrays of host memory for the companions' algorithms on graphs."""
from __future__ import annotations

import numpy as np

import mstorch as torch

from .._src.backend.arrays import Array

Tensor = torch.Tensor


def generator() -> np.random.Generator:
    """Return NumPy's generator with a seed that torch's default generator draws: ``torch.manual_seed`` repeats what it draws."""
    return np.random.default_rng(int(torch.randint(1 << 62, (1,))))


def array(tensor: Tensor) -> Array:
    """Return a tensor's values in host memory."""
    return tensor.detach().cpu().contiguous().numpy()


def tensor(values: Array, like: Tensor) -> Tensor:
    """Return values as a tensor on the device of another one."""
    return torch.from_numpy(np.ascontiguousarray(values)).to(like.device)


__all__ = ["array", "generator", "tensor"]

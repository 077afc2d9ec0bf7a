"""What to write instead of code that is compiled for torch's library or for GPUs."""

from __future__ import annotations

INSTEAD = (
    "write it with torch's operations, or as an operator of torch.library.custom_op over NumPy or numba on the host, or MindSpore's custom "
    "operators (mindspore.ops.Custom) on the device"
)

"""torch.cuda.sparse: the older types of sparse tensors on GPUs, of which none can be made."""
from __future__ import annotations

from .._devices.faces import dummy

_TYPES = {
    f"{kind}Tensor": dummy(
        "mstorch.cuda.sparse", f"{kind}Tensor",
        TypeError(f"type torch.cuda.sparse.{kind}Tensor not available. Torch not compiled with CUDA enabled."),
    )
    for kind in "BFloat16 Byte Char Double Float Half Int Long Short".split()
}  # fmt: skip
globals().update(_TYPES)

__all__ = [*_TYPES]

"""torch.cuda.sparse: legacy types of sparse GPU tensors, which cannot be constructed."""
from .._src.devices.faces import dummy

_TYPES = {
    f"{kind}Tensor": dummy(
        "mstorch.cuda.sparse", f"{kind}Tensor",
        TypeError(f"type torch.cuda.sparse.{kind}Tensor not available. Torch not compiled with CUDA enabled."),
    )
    for kind in "BFloat16 Byte Char Double Float Half Int Long Short".split()
}  # fmt: skip
globals().update(_TYPES)

__all__ = [*_TYPES]

"""torch.backends: options of torch's compute libraries, which are stored without effect; MindSpore has its own libraries."""
from . import (
    cpu,
    cuda,
    cudnn,
    cusparselt,
    kleidiai,
    mha,
    miopen,
    mkl,
    mkldnn,
    mps,
    nnpack,
    openmp,
    opt_einsum,
    quantized,
    xnnpack,
)

__all__ = [
    "cpu", "cuda", "cudnn", "cusparselt", "kleidiai", "mha", "miopen", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum",
    "quantized", "xnnpack",
]  # fmt: skip
fp32_precision: str = "none"

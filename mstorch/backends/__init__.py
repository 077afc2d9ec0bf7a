"""torch.backends: switches of libraries that torch computes with. MindSpore brings its own; the CPU ones are always on."""
from . import cuda, cudnn, mkl, mps, openmp

__all__ = ["cuda", "cudnn", "mkl", "mps", "openmp"]

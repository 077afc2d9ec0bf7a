"""MindSpore's own CUDA plugin on a machine without a GPU: the CUDA runtime is emulated below it (README.md)."""

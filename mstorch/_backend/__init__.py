"""The only package that imports MindSpore: runtime, tape, raw tensors and the kernel table."""

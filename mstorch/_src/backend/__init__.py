"""The only package that imports MindSpore: its runtime, its autograd, MindSpore tensors and the kernel table."""

"""The only room that imports MindSpore: runtime, tape, raw tensors and the kernel table."""

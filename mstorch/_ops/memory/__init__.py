"""Tensors that are made, copied, moved between devices, resized."""

"""mstorch together with MindSpore: conversion of tensors, checkpoints and exported graphs."""
from .checkpoint import load_mindspore_checkpoint, mindspore_names, save_mindspore_checkpoint
from .mindir import export_mindir
from .tensors import from_mindspore, to_mindspore

__all__ = [
    "export_mindir", "from_mindspore", "load_mindspore_checkpoint", "mindspore_names", "save_mindspore_checkpoint", "to_mindspore",
]  # fmt: skip

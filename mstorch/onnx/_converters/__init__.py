"""How each operation is written in ONNX: ``CONVERTERS`` has a function for each operator of torch's, by its name.

A converter takes the writer, the step and the step's arguments by name, tensors as values; it returns the names of the results.
"""
from __future__ import annotations

from . import arithmetic, indexing, layers, movement, recurrent, reductions
from .table import CONVERTERS

__all__ = ["CONVERTERS", "arithmetic", "indexing", "layers", "movement", "recurrent", "reductions"]

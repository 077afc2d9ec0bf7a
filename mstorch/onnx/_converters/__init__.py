"""Conversion of operations to ONNX: ``CONVERTERS`` maps torch's operator names to functions.

A converter takes the writer, the step and the step's arguments by name, with Values for tensors; it returns the names of the results.
"""
from . import arithmetic, indexing, layers, movement, recurrent, reductions
from .table import CONVERTERS

__all__ = ["CONVERTERS", "arithmetic", "indexing", "layers", "movement", "recurrent", "reductions"]

"""torch.onnx: export of models to ONNX, for Ascend's inference tools. It needs the package ``onnx``.

A model is run on the given arguments, and the operations that it executes are written: branches are fixed as this run takes them. Dynamic
sizes are found by one more run for each of them, with twice the size.
"""
from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from .._src.hook import missing as _missing
from . import operators
from ._errors import OnnxExporterError, UnsupportedOperatorError
from ._program import ONNXProgram, export, is_in_onnx_export


class OperatorExportTypes(enum.IntEnum):
    """Operators of an export: ONNX, or also ATen operators."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


class TrainingMode(enum.IntEnum):
    """The mode in which a model is exported."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class TensorProtoDataType(enum.IntEnum):
    """ONNX's codes of dtypes."""

    UNDEFINED = 0
    FLOAT = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    STRING = 8
    BOOL = 9
    FLOAT16 = 10
    DOUBLE = 11
    UINT32 = 12
    UINT64 = 13
    COMPLEX64 = 14
    COMPLEX128 = 15


custom_symbolics: dict[tuple[str, int], Any] = {}  # functions that programs registered; exporters do not use them


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Callable[..., Any], opset_version: int) -> None:
    """Store a function that exports an operator, for other exporters. ``export`` raises before it would be called."""
    namespace, _, name = symbolic_name.partition("::")
    if not namespace or not name:
        raise ValueError(f"Invalid symbolic name: {symbolic_name}. Expected a name of the form namespace::name")
    custom_symbolics[(symbolic_name, opset_version)] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Remove the function that exports an operator."""
    custom_symbolics.pop((symbolic_name, opset_version), None)


__all__ = [
    "ONNXProgram", "OnnxExporterError", "OperatorExportTypes", "TensorProtoDataType", "TrainingMode", "UnsupportedOperatorError", "export",
    "is_in_onnx_export", "operators", "register_custom_op_symbolic", "unregister_custom_op_symbolic",
]  # fmt: skip

__getattr__ = _missing(__name__)

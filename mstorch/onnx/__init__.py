"""torch.onnx: names for programs that can also export. Exporting raises: MindSpore 2.10 writes no ONNX from captured graphs."""
from __future__ import annotations

import enum
from typing import Any, NoReturn

from .._hook import not_yet
from . import operators


class OperatorExportTypes(enum.IntEnum):
    """How operations are written."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


class TrainingMode(enum.IntEnum):
    """In which mode a model is written."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class TensorProtoDataType(enum.IntEnum):
    """ONNX's numbers of dtypes."""

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


class OnnxExporterError(RuntimeError):
    """The base of the exporter's errors."""


class ONNXProgram:
    """A model in ONNX. None can be made here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _no_export()


def _no_export() -> NoReturn:
    raise NotImplementedError(
        f"mstorch: torch.onnx.export writes no ONNX {not_yet()}; mstorch.interop.export_mindir writes MindSpore's format"
    )


def export(
    model: Any, args: tuple[Any, ...] = (), f: Any = None, *, kwargs: Any = None, verbose: bool | None = None,
    input_names: Any = None, output_names: Any = None, opset_version: int | None = None, dynamo: bool = True,
    external_data: bool = True, dynamic_shapes: Any = None, custom_translation_table: Any = None, report: bool = False,
    optimize: bool = True, verify: bool = False, profile: bool = False, dump_exported_program: bool = False,
    artifacts_dir: Any = ".", export_params: bool = True, keep_initializers_as_inputs: bool = False, dynamic_axes: Any = None,
    training: TrainingMode = TrainingMode.EVAL, operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX,
    do_constant_folding: bool = True, custom_opsets: Any = None, export_modules_as_functions: Any = False,
    autograd_inlining: bool = True,
) -> NoReturn:  # fmt: skip
    """Raises NotImplementedError: there is no ONNX exporter here."""
    _no_export()


def is_in_onnx_export() -> bool:
    """Whether a model is being exported: never."""
    return False


custom_symbolics: dict[tuple[str, int], Any] = {}  # what programs registered; nothing exports it


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int) -> None:
    """Keep how an operator is written, for an exporter. ``export`` raises before it would ask."""
    namespace, _, name = symbolic_name.partition("::")
    if not namespace or not name:
        raise ValueError(f"Invalid symbolic name: {symbolic_name}. Expected a name of the form namespace::name")
    custom_symbolics[(symbolic_name, opset_version)] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Forget how an operator is written."""
    custom_symbolics.pop((symbolic_name, opset_version), None)


__all__ = [
    "ONNXProgram", "OnnxExporterError", "OperatorExportTypes", "TensorProtoDataType", "TrainingMode", "export", "is_in_onnx_export",
    "operators", "register_custom_op_symbolic", "unregister_custom_op_symbolic",
]  # fmt: skip

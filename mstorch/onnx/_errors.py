"""The errors of the exporter."""
from __future__ import annotations


class OnnxExporterError(RuntimeError):
    """A model cannot be exported to ONNX."""


class UnsupportedOperatorError(OnnxExporterError):
    """An operation that the model uses has no translation to ONNX."""

    def __init__(self, name: str, why: str = "") -> None:
        super().__init__(f"mstorch: torch.onnx.export has no translation of {name} to ONNX{why}")

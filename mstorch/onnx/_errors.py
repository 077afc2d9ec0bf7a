"""Exceptions of the exporter."""
from __future__ import annotations


class OnnxExporterError(RuntimeError):
    """Raised when a model cannot be exported to ONNX."""


class UnsupportedOperatorError(OnnxExporterError):
    """Raised for an operation without ONNX conversion."""

    def __init__(self, name: str, why: str = "") -> None:
        super().__init__(f"mstorch: torch.onnx.export has no translation of {name} to ONNX{why}")

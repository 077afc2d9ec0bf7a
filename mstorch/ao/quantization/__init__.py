"""torch.ao.quantization: stubs that stand in networks. Preparing and converting raise: there are no quantized tensors here."""
from __future__ import annotations

from collections import namedtuple
from typing import Any, NoReturn

from ..._hook import missing as _missing
from ..._hook import not_yet
from ...nn.modules.module import Module


class QuantStub(Module):
    """Where values are quantized, once a network is converted; gives its input until then."""

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        """The input."""
        return x


class DeQuantStub(QuantStub):
    """Where values become floating again, once a network is converted; gives its input until then."""


class QConfig(namedtuple("QConfig", ["activation", "weight"])):
    """What observes activations and weights."""

    __slots__ = ()

    def __new__(cls, activation: Any, weight: Any) -> Any:
        if isinstance(activation, Module) or isinstance(weight, Module):
            raise ValueError("QConfig received observer instance, please pass observer class instead.")
        return super().__new__(cls, activation, weight)


def _no_quantization(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises NotImplementedError: there are no quantized tensors here."""
    raise NotImplementedError(f"mstorch: there are no quantized tensors, so that no network can be prepared or converted {not_yet()}")


prepare = prepare_qat = convert = quantize = quantize_qat = quantize_dynamic = _no_quantization
fuse_modules = fuse_modules_qat = get_default_qconfig = get_default_qat_qconfig = _no_quantization

__all__ = [
    "DeQuantStub", "QConfig", "QuantStub", "convert", "fuse_modules", "fuse_modules_qat", "get_default_qat_qconfig",
    "get_default_qconfig", "prepare", "prepare_qat", "quantize", "quantize_dynamic", "quantize_qat",
]  # fmt: skip

__getattr__ = _missing(__name__)

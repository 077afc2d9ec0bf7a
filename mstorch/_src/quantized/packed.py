"""Packed weights: in torch, objects of C++ classes; in mstorch, Python objects with the same contents and pickles."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._tensor import Tensor
from ...autograd.grad_mode import no_grad
from ..core.dtype import float16, float32, int16, qint8
from ..ops.memory import copying
from ..ops.memory.from_data import tensor
from .making import refuse
from .tensor import WORDS, is_quantized

_CLASSES = "__torch__.torch.classes"
LINEAR = f"{_CLASSES}.quantized.LinearPackedParamsBase"
CONV2D, CONV3D = f"{_CLASSES}.quantized.Conv2dPackedParamsBase", f"{_CLASSES}.quantized.Conv3dPackedParamsBase"
CELL = f"{_CLASSES}.rnn.CellParamsBase"
_METHODS = {
    LINEAR: ("__getstate__", "__setstate__", "bias", "unpack"),
    CELL: ("__getstate__", "__setstate__"),
    **dict.fromkeys((CONV2D, CONV3D), (
        "__getstate__", "__setstate__", "weight", "bias", "unpack", "stride", "padding", "output_padding", "dilation", "groups",
        "transpose",
    )),
}  # fmt: skip


class ScriptObject:
    """Packed weights of one of torch's classes, given by name; ``_parts`` are the contents of that class's pickle."""

    _parts: Any
    _name: str

    def __getstate__(self) -> tuple[Any, str]:
        return self._parts, self._name

    def __setstate__(self, state: tuple[Any, str]) -> None:
        parts, name = state
        if name not in _METHODS:
            raise RuntimeError(f"Unknown type name '{name!s:.100}' of a packed object")
        self._parts, self._name = parts, name

    def __repr__(self) -> str:
        return f"<torch.ScriptObject object at {hex(id(self))}>"

    def __str__(self) -> str:
        return f"ScriptObject <{self._name}>"

    def _method_names(self) -> list[str]:
        return list(_METHODS[self._name])

    def _has_method(self, name: str) -> bool:
        return name in _METHODS[self._name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in _METHODS.get(self.__dict__.get("_name", ""), ()):
            raise AttributeError(f"'torch.ScriptObject' object has no attribute '{name}'")
        return lambda: _ask(self, name)


def _ask(self: ScriptObject, name: str) -> Any:
    if name in ("unpack", "weight", "bias"):
        both = unpacked(self)
        return both if name == "unpack" else both[name == "bias"]
    return conv_config(self)[name]


def _made(name: str, parts: tuple[Any, ...]) -> ScriptObject:
    made = object.__new__(ScriptObject)
    made.__setstate__((parts, name))
    return made


def unpacked(packed: ScriptObject) -> tuple[Any, Any]:
    """Return the weight and bias of packed weights."""
    if packed._name == LINEAR:
        return packed._parts
    return packed._parts[1][1], packed._parts[2][0]


def is_half(packed: ScriptObject) -> bool:
    """Return whether weights are rounded to float16 instead of quantized."""
    return not is_quantized(unpacked(packed)[0])


def linear_prepack(W: Tensor, B: Tensor | None = None) -> ScriptObject:
    """Pack the weight and bias of a linear layer."""
    if not is_quantized(W):
        raise NotImplementedError(
            "Could not run 'quantized::linear_prepack' with arguments from the 'CPU' backend. It takes a quantized tensor."
        )
    if W._ms_dtype is not qint8:
        raise RuntimeError(f"expected scalar type QInt8 but found {WORDS[W._ms_dtype.name]}")
    if len(W._ms_shape) != 2:
        raise RuntimeError("The weight tensor for quantized::linear_prepack (fbgemm) should be 2-dimensional.")
    return _made(LINEAR, (W, B))


def linear_prepack_fp16(W: Tensor, B: Tensor | None = None) -> ScriptObject:
    """Pack the weight and bias of a linear layer, rounded to float16."""
    with no_grad():
        rounded = copying.to(copying.to(W.clamp(-65504.0, 65504.0), float16), float32)
    return _made(LINEAR, (rounded, B))


def linear_unpack(W_prepack: ScriptObject) -> tuple[Any, Any]:
    """Return the weight and bias of a linear layer's packed weights."""
    return unpacked(W_prepack)


def make_quantized_cell_params_dynamic(
    w_ih: ScriptObject, w_hh: ScriptObject, bias_ih: Tensor, bias_hh: Tensor, reduce_range: bool = False
) -> ScriptObject:
    """Pack the weights of a recurrent cell."""
    return _made(CELL, ("quantized_dynamic", [bias_ih, bias_hh], [], [int(reduce_range)], [w_ih, w_hh]))


def make_quantized_cell_params_fp16(w_ih: ScriptObject, w_hh: ScriptObject) -> ScriptObject:
    """Pack the weights of a recurrent cell, rounded to float16."""
    return _made(CELL, ("quantized_fp16", [], [], [], [w_ih, w_hh]))


def cell_parts(params: ScriptObject) -> tuple[Any, Any, bool]:
    """Return a recurrent cell's packed weights for the input and for the state, and whether inputs are quantized to 7 bits
    (``reduce_range``)."""
    _, _, _, numbers, (w_ih, w_hh) = params._parts
    return w_ih, w_hh, bool(numbers and numbers[0])


def _conv_packed(rank: int, name: str, weight: Tensor, bias: Tensor, parts: list[Any], groups: int) -> ScriptObject:
    if not is_quantized(weight):
        refuse(f"quantized::conv{rank}d_prepack")
    config = [rank, *(item for part in parts for item in part), groups, 0]  # 0: not transposed
    return _made(name, ("2", [tensor(config, dtype=int16), weight], [bias]))


def conv2d_prepack(
    weight: Tensor, bias: Tensor, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], groups: int
) -> ScriptObject:
    """Pack the weights of a 2-d convolution."""
    return _conv_packed(2, CONV2D, weight, bias, [stride, padding, dilation, [0, 0]], groups)


def conv3d_prepack(weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> ScriptObject:
    """Pack the weights of a 3-d convolution."""
    return _conv_packed(3, CONV3D, weight, bias, [stride, padding, dilation, [0, 0, 0]], groups)


def conv1d_prepack(weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> ScriptObject:
    """Pack the weights of a 1-d convolution, as those of a 2-d one with height 1."""
    lines = [[1, *stride], [0, *padding], [1, *dilation], [0, 0]]
    return _conv_packed(2, CONV2D, weight.unsqueeze(2), bias, lines, groups)


def conv_unpack(packed_weights: ScriptObject) -> tuple[Any, Any]:
    """Return the weight and bias of a convolution's packed weights."""
    return unpacked(packed_weights)


def conv1d_unpack(packed_weights: ScriptObject) -> tuple[Any, Any]:
    """Return the weight and bias of a 1-d convolution's packed weights."""
    weight, bias = unpacked(packed_weights)
    return weight.squeeze(2), bias


def conv_config(packed: ScriptObject) -> dict[str, Any]:
    """Return a dict of a packed convolution's settings, such as stride."""
    rank, *rest = packed._parts[1][0].tolist()
    names = ("stride", "padding", "dilation", "output_padding")
    found = {name: rest[rank * place : rank * (place + 1)] for place, name in enumerate(names)}
    return {**found, "groups": rest[-2], "transpose": bool(rest[-1])}

"""Nodes and constants of an ONNX graph, created by converters."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._src.backend.arrays import Array
from .._src.backend.varying import Size
from .._src.core.dtype import dtype as torch_dtype
from .._src.core.tensor_base import array_of
from .._src.ops.memory.from_data import tensor
from ._capture import Value
from ._errors import OnnxExporterError

NUMBERS = {
    "float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10, "float64": 11,
    "uint32": 12, "uint64": 13, "complex64": 14, "complex128": 15, "bfloat16": 16,
}  # fmt: skip
"""ONNX's numbers of dtypes (``TensorProto.DataType``)."""


def word(dtype: torch_dtype) -> str:
    """Return a dtype's name without "torch."."""
    return str(dtype).rpartition(".")[2]


class Writer:
    """A graph under construction. ``dims`` are the dynamic dimensions, each as input name and axis."""

    def __init__(self, onnx: Any, opset: int, dims: Sequence[tuple[str, int]]) -> None:
        self.onnx, self.opset = onnx, opset
        self.nodes: list[Any] = []
        self.initializers: dict[str, Any] = {}
        self._dims = dims
        self._names: dict[Value, str] = {}
        self._constants: dict[Any, str] = {}
        self._sizes: dict[Any, str] = {}
        self._taken: set[str] = set()

    def free(self, stem: str) -> str:
        """Return an unused name."""
        name, number = stem, 0
        while name in self._taken:
            number += 1
            name = f"{stem}_{number}"
        self._taken.add(name)
        return name

    def op(self, kind: str, *inputs: str, results: int = 1, **attributes: Any) -> Any:
        """Add a node; return the name of its result, or a list of several. "" is an omitted input."""
        stem = kind.lower()
        names = [self.free(stem) for _ in range(results)]
        given = {key: value for key, value in attributes.items() if value is not None}
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), names, self.free(f"node_{stem}"), **given))
        return names[0] if results == 1 else names

    # Values

    def bind(self, value: Value, name: str) -> None:
        """Set the name of a Value."""
        self._names[value] = name

    def has(self, value: Value) -> bool:
        """Return whether a Value has a name."""
        return value in self._names

    def t(self, value: Any) -> str:
        """Return the name of a tensor, and "" for None; a number or an array becomes a constant."""
        if value is None:
            return ""
        if not isinstance(value, Value):
            return self.const(np.asarray(value))
        if value not in self._names:
            if value.array is None:
                raise OnnxExporterError("mstorch: torch.onnx.export met a tensor that no operation made")
            self._names[value] = self._initializer(value)
        return self._names[value]

    def _initializer(self, value: Value) -> str:
        if not value.name:
            return self.const(array(value.array), word(value.dtype))
        name = self.free(value.name)
        self.initializers[name] = self._proto(array(value.array), name, word(value.dtype))
        return name

    def _proto(self, values: Array, name: str, kind: str) -> Any:
        helper = self.onnx.helper
        return helper.make_tensor(name, NUMBERS[kind], values.shape, np.ascontiguousarray(values).tobytes(), raw=True)

    def const(self, values: Any, kind: str = "") -> str:
        """Return the name of a constant; ``kind`` is its dtype if it differs from the array's."""
        values = np.asarray(values)
        kind = kind or str(values.dtype)
        key = (values.tobytes(), values.shape, kind) if values.size <= 64 else None
        if key is None or key not in self._constants:
            name = self.free("constant")
            self.initializers[name] = self._proto(values, name, kind)
            if key is None:
                return name
            self._constants[key] = name
        return self._constants[key]

    def ints(self, values: Sequence[int]) -> str:
        """Return the name of an int64 constant."""
        return self.const(np.asarray(list(values), np.int64))

    def like(self, number: Any, value: Value) -> str:
        """Return the name of a number as a 0-d constant with a Value's dtype."""
        return self.number(number, value.dtype)

    def number(self, number: Any, dtype: torch_dtype) -> str:
        """Return the name of a number, or a Size, as a 0-d tensor of the given dtype."""
        if isinstance(number, Size):
            scalar = self.op("Squeeze", self.size(number))
            return scalar if word(dtype) == "int64" else self.op("Cast", scalar, to=NUMBERS[word(dtype)])
        return self.const(array(tensor(number, dtype=dtype)), word(dtype))

    def cast(self, name: str, before: torch_dtype, after: torch_dtype) -> str:
        """Return the name of a tensor cast to another dtype."""
        return name if before == after else self.op("Cast", name, to=NUMBERS[word(after)])

    def operand(self, value: Any, dtype: torch_dtype) -> str:
        """Return the name of a tensor or a number cast to a dtype."""
        return self.cast(self.t(value), value.dtype, dtype) if isinstance(value, Value) else self.number(value, dtype)

    # Sizes

    def size(self, number: int | Size) -> str:
        """Return the name of a number as a 1-d int64 tensor."""
        if not isinstance(number, Size):
            return self.ints([number])
        key = (number.dims, number.factor, number.offset, number.divisor)
        if key not in self._sizes:
            found = [self._dim(dim) for dim in number.dims]
            name = found[0]
            for other in found[1:]:
                name = self.op("Mul", name, other)
            for kind, part, neutral in (("Mul", number.factor, 1), ("Add", number.offset, 0), ("Div", number.divisor, 1)):
                if part != neutral:
                    name = self.op(kind, name, self.ints([part]))
            self._sizes[key] = name
        return self._sizes[key]

    def _dim(self, dim: int) -> str:
        if dim not in self._sizes:
            name, axis = self._dims[dim]
            self._sizes[dim] = self.op("Gather", self.op("Shape", name), self.ints([axis]))
        return self._sizes[dim]

    def sizes(self, numbers: Sequence[int | Size]) -> str:
        """Return the name of several numbers as a 1-d int64 tensor."""
        if not any(isinstance(number, Size) for number in numbers):
            return self.ints(numbers)  # type: ignore[arg-type]
        return self.op("Concat", *(self.size(number) for number in numbers), axis=0) if len(numbers) > 1 else self.size(numbers[0])


def array(tensor: Any) -> Array:
    """Return the elements of a constant; bfloat16 as 16-bit integers."""
    host = tensor.detach().cpu().contiguous()
    found = array_of(host.resolve_conj() if host.is_conj() else host)
    return np.ascontiguousarray(found).reshape(tuple(host.shape))


"""MindIR files: one whose sizes vary, merged from graphs of the same function for other sizes, and the run of a file.

A graph is MindSpore's protocol buffer. The recorder writes one graph without functions, whose weights are constants, and each node with
the shape that it gives. Graphs for other sizes differ in these shapes, in numbers that were computed from sizes, and in constants of such
sizes.
"""
from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import mindspore
import numpy as np
from mindspore.train import mind_ir_pb2 as format_

from .arrays import Array
from .raw import Raw
from .varying import Size, solved

_ATTRIBUTE, _PRIMITIVE = format_.AttributeProto, format_.PrimitiveProto
_DTYPES = {
    1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_, 10: np.float16,
    11: np.float64, 12: np.uint32, 13: np.uint64, 14: np.complex64, 15: np.complex128, 16: np.uint16, 17: np.float64,
}  # fmt: skip
"""NumPy's dtypes by the format's numbers; bfloat16 as its bits."""
_NEW_PRIMITIVES = {
    "Shape": _PRIMITIVE.PRIMITIVE_FUNCTION, "TupleGetItem": _PRIMITIVE.PRIMITIVE, "MakeTuple": _PRIMITIVE.PRIMITIVE,
    "ScalarMul": _PRIMITIVE.PRIMITIVE_FUNCTION, "ScalarAdd": _PRIMITIVE.PRIMITIVE_FUNCTION, "ScalarFloorDiv": _PRIMITIVE.PRIMITIVE_FUNCTION,
    "BroadcastTo": _PRIMITIVE.PRIMITIVE_FUNCTION, "Range": _PRIMITIVE.PRIMITIVE_FUNCTION, "Reshape": _PRIMITIVE.PRIMITIVE_FUNCTION,
    "Mul": _PRIMITIVE.PRIMITIVE_FUNCTION, "Add": _PRIMITIVE.PRIMITIVE_FUNCTION, "Cast": _PRIMITIVE.PRIMITIVE_FUNCTION,
    "TupleToTensor": _PRIMITIVE.PRIMITIVE_FUNCTION,
}  # fmt: skip
_INT64, _WHOLE, _FLOATS = 7, (6, 7), (1, 10, 11)
_TYPE_IDS = {1: 43, 6: 34, 7: 35, 10: 42, 11: 44}
"""MindSpore's numbers of dtypes, which operations take, by the format's."""
_MOST_SIZES = 64
_LONGEST = 1 << 24
"""Elements that MindSpore lets a range have."""


class SizesError(RuntimeError):
    """Raised if graphs for other sizes differ in something that has no form for sizes that vary."""


def run_file(path: str, raws: Sequence[Raw]) -> list[Raw]:
    """Load a file and return what its graph computes."""
    results = mindspore.nn.GraphCell(mindspore.load(path))(*raws)
    return list(results) if isinstance(results, (tuple, list)) else [results]


def merged(graphs: Sequence[bytes], sizes: Sequence[Sequence[int]], dims: Sequence[tuple[int, int]]) -> bytes:
    """Return the graph for all sizes, of graphs for some of them.

    ``sizes[i]`` are the sizes of graph i, of which number d is dimension ``dims[d]`` (an input and an axis); graph i + 1 differs from
    graph 0 in size i only. Raise SizesError for what has no form.
    """
    return _Merge([format_.ModelProto.FromString(data) for data in graphs], sizes, dims).written()


def _array(tensor: Any) -> Array:
    return np.frombuffer(tensor.raw_data, _DTYPES[tensor.data_type]).reshape(tuple(tensor.dims))


class _Merge:
    """The first graph, which takes the sizes of all."""

    def __init__(self, models: Sequence[Any], sizes: Sequence[Sequence[int]], dims: Sequence[tuple[int, int]]) -> None:
        self.model, self.models = models[0], models
        self.sizes, self.dims = sizes, dims
        self.constants = [{node.output[0]: node for node in model.graph.node if node.op_type == "Constant"} for model in models]
        self.primitives = [{one.name: one for one in model.primitives} for model in models]
        self.names: list[dict[str, str]] = [{} for _ in models]  # of values of each graph, those of the first
        self.shapes: dict[str, list[list[int]]] = {}  # of the first graph's values, their shapes in each
        self.nodes: list[Any] = []
        self.sources: dict[Any, str] = {}  # names of nodes that compute sizes
        self.numbers = itertools.count()

    def written(self) -> bytes:
        if any(len(model.functions) or len(model.graph.parameter) for model in self.models):
            raise SizesError("a graph of several functions")
        for same in zip(*(model.graph.input for model in self.models)):
            self._same_value([one.name for one in same], [list(one.tensor[0].dims) for one in same])
            self._vary(same[0].tensor[0], [one.tensor[0] for one in same])
        bodies = [[node for node in model.graph.node if node.op_type != "Constant"] for model in self.models]
        self.nodes.extend(self.constants[0].values())
        for same in itertools.zip_longest(*bodies):
            kinds = [node.op_type.split(":")[-2] if node is not None else "nothing" for node in same]
            if len(set(kinds)) > 1:
                raise SizesError(f"one size does {kinds[0]}, another does {' or '.join(kinds[1:])}")
            self._node(kinds[0], same)
        for same in zip(*(model.graph.output for model in self.models)):
            for tensors in zip(*([*one.tensor, *_tensors(one.attr_info)] for one in same)):
                self._vary(tensors[0], tensors)
        del self.model.graph.node[:]
        self.model.graph.node.extend(self.nodes)
        return self.model.SerializeToString()

    # Nodes that are the same in all graphs

    def _same_value(self, names: Sequence[str], shapes: list[list[int]]) -> None:
        for own, name in zip(self.names, names):
            own[name] = names[0]
        self.shapes[names[0]] = shapes

    def _vary(self, tensor: Any, others: Sequence[Any]) -> None:
        """Set sizes that differ to -1."""
        if any(len(one.dims) != len(tensor.dims) for one in others):
            raise SizesError("a tensor has another number of dimensions for other sizes")
        tensor.dims[:] = [size if all(one.dims[axis] == size for one in others) else -1 for axis, size in enumerate(list(tensor.dims))]

    def _node(self, kind: str, same: Sequence[Any]) -> None:
        node = same[0]
        self._same_primitive(kind, same)
        taken = list(zip(*(one.input for one in same)))  # before any is replaced
        for place, names in enumerate(taken):
            ends = [constants.get(name) for constants, name in zip(self.constants, names)]
            if all(end is None for end in ends):
                if len({own.get(name) for own, name in zip(self.names, names)}) > 1:
                    raise SizesError(f"{kind} takes other values for other sizes")
            elif any(end is None for end in ends):
                raise SizesError(f"{kind} takes a constant for some sizes only")
            else:
                node.input[place] = self._argument(kind, node, place, [end.attribute[0] for end in ends if end is not None])
        shapes = [_shape_of(one) for one in same]
        given = [list(one.tensors[0].dims) if one is not None and len(one.tensors) else [] for one in shapes]
        self._same_value([one.output[0] for one in same], given)
        if shapes[0] is not None:
            for tensors in zip(*map(_tensors, shapes)):
                self._vary(tensors[0], tensors)
        self.nodes.append(node)

    def _same_primitive(self, kind: str, same: Sequence[Any]) -> None:
        attributes = []
        for one, primitives in zip(same, self.primitives):
            primitive = primitives.get(one.op_type.removeprefix("REF::"))
            parts = primitive.attribute if primitive is not None else ()
            attributes.append({part.name: part.SerializeToString(deterministic=True) for part in parts})
        # A primitive has some only once it has run, and keeps the number of the inputs that it ran on last, in whatever call.
        fixed = [(name, part) for name, part in attributes[0].items() if name not in _OF_LAST_RUN]
        differing = sorted(name for name, part in fixed if any(one.get(name, part) != part for one in attributes))
        if differing:
            raise SizesError(f"{kind}'s {differing[0]} depends on sizes")

    # Arguments that are constants in each graph

    def _argument(self, kind: str, node: Any, place: int, values: Sequence[Any]) -> str:
        """Return the name of an argument, a constant or the nodes that compute it."""
        name = node.input[place]
        first = values[0]
        if all(_same(first, value) for value in values[1:]):
            return name
        if first.type == _ATTRIBUTE.INT64 and all(value.type == _ATTRIBUTE.INT64 for value in values):
            return self._number(self._size(kind, [value.i for value in values]))
        if first.type == _ATTRIBUTE.TUPLE and all(_of_numbers(value) and len(value.values) == len(first.values) for value in values):
            numbers = [self._size(kind, [value.values[n].ints[0] for value in values]) for n in range(len(first.values))]
            return self._tuple(self._known_shape(kind, node, place, numbers))
        if first.type == _ATTRIBUTE.TENSORS and all(value.type == _ATTRIBUTE.TENSORS for value in values):
            return self._tensor(kind, [value.tensors[0] for value in values])
        raise SizesError(f"{kind} takes a value that depends on sizes")

    def _size(self, kind: str, values: Sequence[int]) -> int | Size:
        size = solved(values, self.sizes)
        if size is None:
            raise SizesError(f"{kind} takes the numbers {list(values)} for the sizes {[tuple(one) for one in self.sizes]}")
        return size

    def _known_shape(self, kind: str, node: Any, place: int, numbers: list[int | Size]) -> list[int | Size]:
        """Return the numbers of a shape with -1 where the operation knows the size itself, so that shapes stay known."""
        varying = [n for n, number in enumerate(numbers) if isinstance(number, Size)]
        if place == 1 and kind == "Reshape" and len(varying) == 1 and -1 not in numbers:
            return [-1 if isinstance(number, Size) else number for number in numbers]
        shapes = self.shapes.get(node.input[0], [])
        if place == 1 and kind == "BroadcastTo" and shapes:
            ahead = len(numbers) - len(shapes[0])
            for n in varying:
                if n >= ahead and _are(numbers[n], [shape[n - ahead] for shape in shapes]):
                    numbers[n] = -1
        if place == 2 and kind == "StridedSlice" and shapes:
            self._open_ends(node, shapes, numbers)
        return numbers

    def _open_ends(self, node: Any, shapes: list[list[int]], numbers: list[int | Size]) -> None:
        """Let a slice reach to the end of a dimension by the mask of its ends, where it does so for all sizes."""
        steps, mask = (self.constants[0].get(node.input[place]) for place in (3, 5))
        if steps is None or mask is None or not _of_numbers(steps.attribute[0]):
            return
        bits = mask.attribute[0].i
        for n, number in enumerate(numbers):
            step = steps.attribute[0].values[n].ints[0]
            if step > 0 and _are(number, [shape[n] for shape in shapes]):
                numbers[n] = 0
                bits |= 1 << n
        if bits != mask.attribute[0].i:
            node.input[5] = self._number(bits)

    def _tensor(self, kind: str, tensors: Sequence[Any]) -> str:
        """Return the name of a tensor that repeats along the sizes that vary, counts up along one, or holds sizes."""
        arrays = [_array(one) for one in tensors]
        first, dtype = arrays[0], tensors[0].data_type
        if any(one.ndim != first.ndim for one in arrays) or len({one.data_type for one in tensors}) > 1:
            raise SizesError(f"{kind} takes a constant of another number of dimensions for other sizes")
        lengths = [self._size(kind, [one.shape[axis] for one in arrays]) for axis in range(first.ndim)]
        varying = [axis for axis, length in enumerate(lengths) if isinstance(length, Size)]
        if not varying:
            return self._sizes(kind, arrays, dtype)
        once = [one[tuple(slice(0, 1) if axis in varying else slice(None) for axis in range(first.ndim))] for one in arrays]
        if all(_equal(one, once[0]) and _equal(whole, np.broadcast_to(one, whole.shape)) for one, whole in zip(once, arrays)):
            return self._repeated(self._constant_tensor(once[0], dtype), lengths, dtype)
        whole = dtype in _WHOLE or (dtype in _FLOATS and all((one == np.floor(one)).all() and np.isfinite(one).all() for one in arrays))
        counted = self._counted(arrays, lengths, varying[0], dtype) if len(varying) == 1 and whole else None
        if counted is None:
            raise SizesError(f"{kind} takes a constant of other numbers for other sizes: compute it of an input's shape")
        return counted

    def _repeated(self, name: str, lengths: Sequence[int | Size], dtype: int) -> str:
        return self._op("BroadcastTo", [name, self._tuple(lengths)], [size if isinstance(size, int) else -1 for size in lengths], dtype)

    def _sizes(self, kind: str, arrays: Sequence[Array], dtype: int) -> str:
        """Return the name of a tensor whose numbers are sizes."""
        first = arrays[0]
        if first.size > _MOST_SIZES or dtype not in (*_WHOLE, *_FLOATS) or any((one != np.floor(one)).any() for one in arrays):
            raise SizesError(f"{kind} takes a constant whose numbers depend on sizes")
        numbers = [self._size(kind, [int(one.flat[place]) for one in arrays]) for place in range(first.size)]
        name = self._op("TupleToTensor", [self._tuple(numbers), self._number(_TYPE_IDS[dtype])], [first.size], dtype)
        return name if first.ndim == 1 else self._op("Reshape", [name, self._tuple(first.shape)], first.shape, dtype)

    def _counted(self, arrays: Sequence[Array], lengths: list[int | Size], axis: int, dtype: int) -> str | None:
        """Return the name of a tensor of whole numbers that grow by the same amounts along a dimension that varies, in steps of as many
        entries as the dimension has for a size of 1 (positions in flat memory do). None: the numbers do not."""
        length = lengths[axis]
        if not isinstance(length, Size) or len(length.dims) > 1 or length.offset or length.divisor != 1:
            return None
        inner = length.factor
        parted = [
            np.moveaxis(one.reshape(*one.shape[:axis], -1, inner, *one.shape[axis + 1 :]), axis, 0).astype(np.int64) for one in arrays
        ]
        first = parted[0][0]
        grown = parted[0][1] - first
        for one in parted:
            if not _equal(one, first + np.arange(len(one)).reshape(-1, *(1,) * first.ndim) * grown):
                return None
        dim = Size(length.dims, 1, 0, 1, ())
        shape = [1] * (first.ndim + 1)
        name = self._op("Range", [self._number(0), self._number(dim), self._number(1), self._number(_LONGEST)], [-1], _INT64)
        shape[axis] = -1
        name = self._op("Reshape", [name, self._tuple(shape)], shape, _INT64)
        shape[:axis], shape[axis + 1 :] = first.shape[:axis], first.shape[axis:]
        name = self._op("Mul", [name, self._constant_tensor(np.expand_dims(grown, axis), _INT64)], shape, _INT64)
        name = self._op("Add", [name, self._constant_tensor(np.expand_dims(first, axis), _INT64)], shape, _INT64)
        if dtype != _INT64:
            name = self._op("Cast", [name, self._number(_TYPE_IDS[dtype])], shape, dtype)
        ends = [-1 if n == axis else int(size) for n, size in enumerate(arrays[0].shape)]
        return self._op("Reshape", [name, self._tuple(ends)], ends, dtype)

    # New nodes

    def _free(self, stem: str) -> str:
        return f"sizes_{stem}_{next(self.numbers)}"

    def _constant(self, stem: str, attribute: Any) -> str:
        name = self._free(stem)
        attribute.name = "value"
        self.nodes.append(format_.NodeProto(output=[name], name=name, op_type="Constant", attribute=[attribute]))
        return name

    def _constant_tensor(self, values: Array, dtype: int) -> str:
        attribute = format_.AttributeProto(type=_ATTRIBUTE.TENSORS)
        attribute.tensors.add(dims=values.shape, data_type=dtype, name="value0", raw_data=np.ascontiguousarray(values).tobytes())
        return self._constant("tensor", attribute)

    def _number(self, size: int | Size) -> str:
        """Return the name of a number."""
        if isinstance(size, int):
            if size not in self.sources:
                self.sources[size] = self._constant("number", format_.AttributeProto(type=_ATTRIBUTE.INT64, i=size))
            return self.sources[size]
        key = (size.dims, size.factor, size.offset, size.divisor)
        if key not in self.sources:
            name = self._dim(size.dims[0])
            for dim in size.dims[1:]:
                name = self._scalar("ScalarMul", [name, self._dim(dim)])
            for kind, part, neutral in (("ScalarMul", size.factor, 1), ("ScalarAdd", size.offset, 0), ("ScalarFloorDiv", size.divisor, 1)):
                if part != neutral:
                    name = self._scalar(kind, [name, self._number(part)])
            self.sources[key] = name
        return self.sources[key]

    def _dim(self, dim: int) -> str:
        key = ("dim", dim)
        if key not in self.sources:
            number, axis = self.dims[dim]
            source = self.model.graph.input[number]
            shape = self._node_of("Shape", [source.name])
            self._scalars(shape.attribute.add(name="shape"), len(source.tensor[0].dims))
            self.sources[key] = self._scalar("TupleGetItem", [shape.output[0], self._number(axis)])
        return self.sources[key]

    def _tuple(self, numbers: Sequence[int | Size]) -> str:
        """Return the name of a tuple of numbers."""
        if all(isinstance(number, int) for number in numbers):
            parts = [format_.AttributeProto(type=_ATTRIBUTE.INT64, ints=[number]) for number in numbers]
            return self._constant("tuple", format_.AttributeProto(type=_ATTRIBUTE.TUPLE, values=parts))
        names = [self._number(number) for number in numbers]
        node = self._node_of("MakeTuple", names)
        self._scalars(node.attribute.add(name="shape"), len(names))
        return node.output[0]

    @staticmethod
    def _scalars(attribute: Any, count: int) -> None:
        attribute.type = _ATTRIBUTE.TUPLE
        for _ in range(count):
            attribute.values.add(type=_ATTRIBUTE.SCALAR).tensors.add(dims=[0], data_type=_INT64)
        attribute.seq_info.is_dyn_len = False

    def _scalar(self, kind: str, inputs: Sequence[str]) -> str:
        node = self._node_of(kind, inputs)
        node.attribute.add(name="shape", type=_ATTRIBUTE.SCALAR).tensors.add(dims=[0], data_type=_INT64)
        return node.output[0]

    def _op(self, kind: str, inputs: Sequence[str], shape: Sequence[int], data_type: int) -> str:
        node = self._node_of(kind, inputs)
        node.attribute.add(name="shape", type=_ATTRIBUTE.TENSORS).tensors.add(dims=shape, data_type=data_type)
        return node.output[0]

    def _node_of(self, kind: str, inputs: Sequence[str]) -> Any:
        primitive = f"{kind}:sizes"
        if primitive not in self.primitives[0]:
            self.primitives[0][primitive] = self.model.primitives.add(
                name=primitive, op_type=kind, instance_name="", prim_type=_NEW_PRIMITIVES[kind]
            )
        name = f"{self.model.graph.name}:{self._free(kind)}"
        node = format_.NodeProto(input=inputs, output=[name], name=name, op_type=f"REF::{primitive}", domain=f"Default/{name}")
        node.node_attr.add(name="checkpoint", i=1, type=_ATTRIBUTE.BOOL)
        self.nodes.append(node)
        return node


_OF_LAST_RUN = frozenset(("N", "num", "inputNums"))
"""Attributes of Stack and Concat: how many inputs they have, which the nodes tell too."""


def _shape_of(node: Any) -> Any:
    return next((one for one in node.attribute if one.name == "shape"), None)


def _tensors(attribute: Any) -> Iterator[Any]:
    """Yield the tensors of a node's shape, which may be a tuple of shapes."""
    yield from attribute.tensors
    for value in attribute.values:
        yield from _tensors(value)


def _same(one: Any, other: Any) -> bool:
    if one.type != other.type or one.type != _ATTRIBUTE.TENSORS:
        return one == other
    return all(a.dims == b.dims and a.data_type == b.data_type and a.raw_data == b.raw_data for a, b in zip(one.tensors, other.tensors))


def _of_numbers(attribute: Any) -> bool:
    return attribute.type == _ATTRIBUTE.TUPLE and all(value.type == _ATTRIBUTE.INT64 and len(value.ints) == 1 for value in attribute.values)


def _are(number: int | Size, values: Sequence[int]) -> bool:
    """Return whether a number depends on sizes, and is these values in the graphs."""
    return isinstance(number, Size) and number.values == tuple(values)


def _equal(one: Array, other: Array) -> bool:
    return one.shape == other.shape and bool(((one == other) | ((one != one) & (other != other))).all())

"""Programs whose sizes vary: the module is traced for several sizes, and numbers that differ become computations of the inputs' sizes."""
from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from .. import ops
from .._src.ops.shape.join import cat
from .._tensor import Tensor
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import Node
from ..utils._pytree import tree_flatten, tree_unflatten
from ._expressions import Expression, Point, expressed, line
from ._trace import traced
from .graph_signature import ExportGraphSignature, InputKind, OutputSpec, TensorArgument


class Varying:
    """The sizes of inputs that vary: names with their ranges, and the places where they are."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.ranges: list[tuple[int, int | None]] = []
        self.places: list[tuple[int, int, int, int, int]] = []  # leaf, axis, number of the size, factor, offset

    def add(self, name: str, least: int, most: int | None) -> int:
        """Return the number of a size, which is added if it is new."""
        if name not in self.names:
            self.names.append(name)
            self.ranges.append((least, most))
        return self.names.index(name)

    def base(self, leaves: Sequence[Any]) -> Point:
        """Return the sizes that the inputs have."""
        sizes: dict[int, int] = {}
        for leaf, axis, number, factor, offset in self.places:
            sizes.setdefault(number, (leaves[leaf].shape[axis] - offset) // factor)
        return tuple(sizes[number] for number in range(len(self.names)))

    def points(self, leaves: Sequence[Any]) -> list[Point]:
        """Return the sizes of the runs: the inputs' own, others of each size, and others of all, for comparison."""
        base = self.base(leaves)
        several = [self._others(number, size) for number, size in enumerate(base)]
        points = [base]
        for number, others in enumerate(several):
            points += [(*base[:number], other, *base[number + 1 :]) for other in others]
        for turn in (0, 1):
            points.append(tuple(others[(turn + number) % len(others)] for number, others in enumerate(several)))
        return list(dict.fromkeys(points))

    def _others(self, number: int, size: int) -> list[int]:
        """Return other values of a size, from its range."""
        least, most = self.ranges[number]
        wanted = [size + 1, size + 2, size + 3, 2 * size + 1, size - 1, size - 2]
        fitting = [other for other in wanted if max(least, 2) <= other and (most is None or other <= most)]
        return fitting[:4] or [size]

    def inputs(self, leaves: Sequence[Any], point: Point) -> list[Any]:
        """Return the inputs, repeated or cut to the sizes of a point."""
        changed = list(leaves)
        for leaf, axis, number, factor, offset in self.places:
            wanted, tensor = factor * point[number] + offset, changed[leaf]
            if wanted > tensor.shape[axis]:
                tensor = cat([tensor] * -(-wanted // tensor.shape[axis]), axis)
            changed[leaf] = tensor.narrow(axis, 0, wanted).detach().clone().requires_grad_(leaves[leaf].requires_grad)
        return changed

    def size_at(self, number: int) -> tuple[int, int, int, int]:
        """Return leaf, axis, factor and offset of a place that tells a size; best one where the size is itself."""
        places = [(leaf, axis, factor, offset) for leaf, axis, own, factor, offset in self.places if own == number]
        return min(places, key=lambda place: place[2:] != (1, 0))


class Unlike(Exception):
    """Raised where one graph cannot stand for all sizes; it says why."""


def traced_varying(
    module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], varying: Varying
) -> tuple[GraphModule, ExportGraphSignature, Any]:
    """Return the graph of a module for sizes that vary, its signature and the TreeSpec of its result. Raise Unlike if there is none."""
    leaves, structure = tree_flatten((args, kwargs))
    points = varying.points(leaves)
    if len(points) < 2:
        raise Unlike("a size that varies has no other value in its range")
    traces = []
    for point in points:
        given, named = tree_unflatten(varying.inputs(leaves, point), structure)
        try:
            traces.append(traced(module, given, named))
        except (RuntimeError, ValueError, IndexError, TypeError, AssertionError) as error:
            if point is points[0]:
                raise
            shown = ", ".join(f"{name} = {size}" for name, size in zip(varying.names, point))
            raise Unlike(f"the module does not run for {shown}: {error}") from error
    return _Merger(traces, points, varying).merged()


class _Merger:
    """Makes one graph of those for several sizes."""

    def __init__(self, traces: list[tuple[GraphModule, ExportGraphSignature, Any]], points: list[Point], varying: Varying) -> None:
        self._traces, self._points, self._varying = traces, points, varying
        self._graph = Graph()
        self._nodes: dict[str, Node] = {}
        self._known: dict[str, Any] = {}

    def merged(self) -> tuple[GraphModule, ExportGraphSignature, Any]:
        module, signature, form = self._traces[0]
        self._check_constants()
        columns = [list(trace.graph.nodes) for trace, _, _ in self._traces]
        if any(len(column) != len(columns[0]) for column in columns):
            raise Unlike("the module does other operations for other sizes")
        self._inputs = [spec.arg.name for spec in signature.input_specs if spec.kind is InputKind.USER_INPUT]
        outputs: Any = ()
        for row in zip(*columns):
            first = row[0]
            if any((one.op, str(one.target)) != (first.op, str(first.target)) for one in row):
                called = " or ".join(str(one.target) for one in row)
                raise Unlike(f"the module does other operations for other sizes: {first.name} is {called}")
            args = self._merge([one.args for one in row], first)
            kwargs = self._merge([dict(one.kwargs) for one in row], first)
            if first.op == "output":
                outputs = args[0]
                self._graph.output(outputs)
                continue
            node = self._nodes[first.name] = self._graph.create_node(first.op, first.target, tuple(args), kwargs, name=first.name)
            node.name = first.name
            node.meta.update(first.meta)
        told = [
            OutputSpec(spec.kind, TensorArgument(value.name), spec.target) if isinstance(value, Node) else spec
            for spec, value in zip(signature.output_specs, outputs)
        ]
        constants = dict(module.named_buffers())
        return GraphModule(constants, self._graph), ExportGraphSignature(signature.input_specs, told), form

    def _check_constants(self) -> None:
        several = [dict(trace.named_buffers()) for trace, _, _ in self._traces]
        for name, value in several[0].items():
            for other in several[1:]:
                one = other.get(name)
                if one is None or one.shape != value.shape or not bool(((one != one) | (one == value)).all()):
                    raise Unlike(f"the module makes a tensor, {name}, of sizes that vary, by other means than operators")

    def _merge(self, values: Sequence[Any], node: Node) -> Any:
        first = values[0]
        if isinstance(first, Node):
            if any(not isinstance(one, Node) or one.name != first.name for one in values):
                raise Unlike(f"{node.name} takes other values for other sizes")
            return self._nodes[first.name]
        if isinstance(first, (list, tuple)):
            if any(not isinstance(one, type(first)) or len(one) != len(first) for one in values):
                raise Unlike(f"{node.name} takes lists of other lengths for other sizes")
            parts = [self._merge(one, node) for one in zip(*values)]
            return tuple(parts) if isinstance(first, tuple) else parts
        if isinstance(first, dict):
            return {key: self._merge([one[key] for one in values], node) for key in first}
        if type(first) is int and any(one != first for one in values):
            form = expressed(values, self._points)
            if form is None:
                words = "otherwise than by products, sums and quotients"
                raise Unlike(f"{node.name} takes a number that depends on sizes {words}: {list(values)}")
            return self._computed(form)
        if any(type(one) is not type(first) or not (one == first or one != one and first != first) for one in values):
            raise Unlike(f"{node.name} takes other values for other sizes: {list(values)}")
        return first

    def _computed(self, form: int | Expression) -> Any:
        if isinstance(form, int):
            return form
        if form.key not in self._known:
            self._known[form.key] = form.node(self._size, self._call)
        return self._known[form.key]

    def _size(self, number: int) -> Node:
        key = f"size {number}"
        if key not in self._known:
            leaf, axis, factor, offset = self._varying.size_at(number)
            where = self._nodes[self._inputs[leaf]]
            node = self._graph.create_node("call_function", ops.aten.sym_size.int, (where, axis), {}, name="sym_size_int")
            node = self._call(operator.sub, node, offset) if offset else node
            self._known[key] = self._call(operator.floordiv, node, factor) if factor > 1 else node
        return self._known[key]

    def _call(self, function: Callable[..., Any], one: Any, other: Any) -> Node:
        return self._graph.create_node("call_function", function, (one, other), {}, name=f"sym_{function.__name__}")


class Told:
    """The sizes of tensors and the numbers of a program as functions of its inputs' sizes, from runs at several points."""

    def __init__(self, varying: Varying, points: Sequence[Point]) -> None:
        self._varying, self._points = varying, list(points)

    def number(self, values: Sequence[int]) -> dict[str, Any]:
        """Return the JSON of a number. Raise Unlike for one that depends on sizes in no known way."""
        return self._json(self._form(values), values[0])

    def _form(self, values: Sequence[int]) -> int | Expression:
        form = expressed(values, self._points)
        if form is None:
            raise Unlike(f"a number depends on sizes otherwise than by products, sums and quotients: {list(values)}")
        return form

    def _json(self, form: int | Expression, hint: int) -> dict[str, Any]:
        if isinstance(form, int):
            return {"as_int": form}
        return {"as_expr": {"expr_str": form.text(self._varying.names), "hint": {"as_int": int(hint)}}}

    def tensor(self, tensors: Sequence[Tensor]) -> tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, Any]]:
        """Return the JSON of the sizes, strides and offset of a tensor, given those of all runs."""
        first = tensors[0]
        forms = [self._form([int(one.shape[axis]) for one in tensors]) for axis in range(first.dim())]
        sizes = [self._json(form, size) for form, size in zip(forms, first.shape)]
        strides: list[dict[str, Any]] = []
        if all(one.is_contiguous() for one in tensors):
            step: int | Expression = 1
            for form, hint in reversed(list(zip(forms, first.stride()))):
                strides.insert(0, self._json(step, hint))
                step = _times(step, form)
        else:
            strides = [self.number([int(one.stride()[axis]) for one in tensors]) for axis in range(first.dim())]
        return sizes, strides, self.number([int(one.storage_offset()) for one in tensors])


def _times(one: int | Expression, other: int | Expression) -> int | Expression:
    if isinstance(one, int):
        return line(other, one, 0) if one else 0
    if isinstance(other, int):
        return line(one, other, 0) if other else 0
    return Expression("mul", one, other)

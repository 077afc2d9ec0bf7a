"""Indices, comprehensions and loops over values as nodes of a graph."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from .._graph import Value
from .graph_expressions import Expressions
from .graph_types import BOOL, INT, STR
from .types import ANY, TENSOR, Damaged, Type, listed


class Indices(Expressions):
    """The part of the lowering for what is indexed or gone through."""

    bind: Callable[[ast.expr, list[Value]], None]

    def index(self, holder: Value, where: ast.expr) -> Value:
        """Append the read of an element, or of a part."""
        kind = self.kind_of(holder)
        if kind.kind == "Tensor":
            return self._part(holder, where)
        if isinstance(where, ast.Slice):
            bounds = [self.constant(None) if one is None else self.expression(one) for one in (where.lower, where.upper)]
            step = self.constant(1) if where.step is None else self.expression(where.step)
            if kind.kind == "Tuple":
                return self.value("prim::TupleSlice", [holder, *bounds], ANY)
            return self.value("aten::slice", [holder, *bounds, step], kind)
        place = self.expression(where)
        if kind.kind == "Tuple" or self._is_named_tuple(holder):
            number = place.toIValue()
            of = kind.of or tuple(one or ANY for one in self._fields(holder))
            return self.value("prim::TupleIndex", [holder, place], of[number] if isinstance(number, int) and number < len(of) else ANY)
        if kind.kind in ("List", "Dict", "str"):
            return self.one(self.operator("aten", "__getitem__", [holder, place]))
        return self.value("prim::ModuleContainerIndex", [holder, place], ANY)

    def _is_named_tuple(self, holder: Value) -> bool:
        definition = self.definition_of(holder)
        return definition is not None and definition.kind == "NamedTuple"

    def _fields(self, holder: Value) -> list[Type | None]:
        definition = self.definition_of(holder)
        return list(definition.attributes.values()) if definition is not None and definition.kind == "NamedTuple" else []

    def _part(self, holder: Value, where: ast.expr) -> Value:
        items = where.elts if isinstance(where, ast.Tuple) else [where]
        dim, taken = 0, sum(not _is_plain(item) for item in items)
        tensors: dict[int, Value] = {}
        for item in items:
            at = self.constant(dim)
            if isinstance(item, ast.Constant) and item.value is Ellipsis:
                dim -= taken - sum(not _is_plain(one) for one in items[: items.index(item)])
                continue
            if isinstance(item, ast.Constant) and item.value is None:
                holder = self.one(self.operator("aten", "unsqueeze", [holder, at]))
                dim += 1
            elif isinstance(item, ast.Slice):
                bounds = [self.constant(None) if one is None else self.expression(one) for one in (item.lower, item.upper)]
                step = self.constant(1) if item.step is None else self.expression(item.step)
                holder = self.value("aten::slice", [holder, at, *bounds, step], TENSOR)
                dim += 1
            else:
                place = self.expression(item)
                if self.kind_of(place).kind in ("Tensor", "List"):
                    tensors[dim] = place
                    dim += 1
                else:
                    holder = self.one(self.operator("aten", "select", [holder, at, place]))
        if tensors:
            last = max(tensors) + 1 if min(tensors) >= 0 else 1
            listed_indices = [tensors.get(number, None) or self.constant(None) for number in range(last)]
            several = self.value("prim::ListConstruct", listed_indices, listed(Type("Optional", (TENSOR,))))
            holder = self.value("aten::index", [holder, several], TENSOR)
        return holder

    def write_at(self, holder: Value, where: ast.expr, value: Value) -> None:
        """Append a write to an element, or to a part of a tensor."""
        if self.kind_of(holder).kind == "Tensor":
            part = self._part(holder, where)
            name = "copy_" if self.kind_of(value).kind == "Tensor" else "fill_"
            self.operator("aten", name, [part, value])
        else:
            self._writes.add(id(self.node("aten::_set_item", [holder, self.expression(where), value], [])))

    # The sequences of loops

    def gone_through(self, node: ast.expr) -> tuple[Value, Callable[[Value], list[Value]]]:
        """Return how often a loop over an expression turns, and a function that appends what a turn reads."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("range", "enumerate", "zip"):
            if node.func.id == "range":
                return self._range(list(map(self.expression, node.args)))
            parts = [self.gone_through(one) for one in node.args]
            if node.func.id == "enumerate":
                return parts[0][0], lambda turn: [self._tuple([turn, self.one(parts[0][1](turn))])]
            lengths = self.value("prim::ListConstruct", [length for length, _ in parts], listed(INT))
            least = self.value("prim::min", [lengths], INT)
            return least, lambda turn: [self._tuple([self.one(read(turn)) for _, read in parts])]
        held = self.expression(node)
        kind = self.kind_of(held)
        if kind.kind == "Dict":
            held = self.one(self.operator("aten", "keys", [held]))
            kind = self.kind_of(held)
        length = self.value("aten::len", [held], INT)
        if kind.kind == "Tensor":
            return length, lambda turn: self.operator("aten", "select", [held, self.constant(0), turn])
        of = kind.of[0] if kind.kind == "List" else STR if kind.kind == "str" else ANY
        return length, lambda turn: [self.value("aten::__getitem__", [held, turn], of)]

    def _tuple(self, items: list[Value]) -> Value:
        return self.value("prim::TupleConstruct", items, Type("Tuple", tuple(map(self.kind_of, items))))

    def _range(self, bounds: list[Value]) -> tuple[Value, Callable[[Value], list[Value]]]:
        if len(bounds) == 1:
            return bounds[0], lambda turn: [turn]
        start, step = bounds[0], bounds[2] if len(bounds) == 3 else self.constant(1)
        length = self.value("aten::__range_length", [start, bounds[1], step], INT)
        return length, lambda turn: [self.value("aten::__derive_index", [turn, start, step], INT)]

    def loop(self, count: Value, test: Value, names: list[str], body: Callable[[Value], Value]) -> None:
        """Append a loop that carries the values of names. ``body`` appends a turn and returns whether there is another."""
        carried = [self._names[name] for name in names]
        node, outer, before = self.node("prim::Loop", [count, test, *carried], []), self._block, self._names
        block = self._block = node.addBlock()
        turn = self.typed(block.addInputToBlock(self.shown(INT)), INT)
        self._names = dict(before)
        for name, value in zip(names, carried):
            kind = self.kind_of(value)
            self._names[name] = self.named(self.typed(block.addInputToBlock(self.shown(kind)), kind), name)
        again = body(turn)
        block._outputs += [again, *(self._names[name] for name in names)]
        self._block, self._names = outer, before
        for name, value in zip(names, carried):
            kind = self.kind_of(value)
            result = self._graph._value(node, self.shown(kind))
            self._kinds[id(result)] = kind
            self._names[name] = self.named(result, name)

    named: Callable[[Value, str], Value]

    def comprehension(self, node: Any) -> Value:
        """Append the loop of a comprehension and return the list or dict."""
        one = node.generators[0]
        if len(node.generators) > 1:
            raise Damaged(f"A comprehension with several loops (line {node.lineno}) is no TorchScript")
        is_list = isinstance(node, ast.ListComp)
        kind = listed(TENSOR) if is_list else Type("Dict", (STR, TENSOR))
        held = self.value("prim::ListConstruct" if is_list else "prim::DictConstruct", [], kind)
        count, read = self.gone_through(one.iter)
        yes = self.constant(True, BOOL)

        def add() -> Value:
            if is_list:
                item = self.expression(node.elt)
                self.typed(held, listed(self.kind_of(item)))
                self._writes.add(id(self.node("aten::append", [held, item], [listed(self.kind_of(item))])))
            else:
                key, item = self.expression(node.key), self.expression(node.value)
                self.typed(held, Type("Dict", (self.kind_of(key), self.kind_of(item))))
                self._writes.add(id(self.node("aten::_set_item", [held, key, item], [])))
            return yes

        def turn(number: Value) -> Value:
            self.bind(one.target, read(number))
            test = one.ifs[0] if len(one.ifs) == 1 else ast.BoolOp(ast.And(), one.ifs)
            if one.ifs:
                self.chosen(self.test(test), add, lambda: yes)
            else:
                add()
            return yes

        self.loop(count, yes, [], turn)
        return held


def _is_plain(item: ast.expr) -> bool:
    """Return whether an item of an index takes no dimension: None and an ellipsis."""
    return isinstance(item, ast.Constant) and item.value in (None, Ellipsis)

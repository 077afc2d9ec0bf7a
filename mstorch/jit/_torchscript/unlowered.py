"""Statements and expressions that torch's writer lowers and its loader takes all the same: those of a script as its author wrote it."""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any

from ..._tensor import Tensor
from .errors import raised
from .operators import OWN, operator
from .scalars import text as text_of
from .types import Damaged, described
from .words import cut, element

Frame = dict[str, Any]
Expression = Callable[[Frame], Any]
Statement = Callable[[Frame], "tuple[Any] | None"]
BREAK: tuple[Any] = ("break",)
CONTINUE: tuple[Any] = ("continue",)
"""Results of statements that end a loop's turn; loops know them by identity."""


def iterated(value: Any) -> Iterable[Any]:
    """Return what a loop over a value goes through: rows of a tensor, keys of a dict, elements. Raise RuntimeError for other values."""
    if isinstance(value, Tensor) or type(value) in (list, dict, str, range, enumerate, zip) or isinstance(value, tuple):
        return value
    raise RuntimeError(f"'{described(value)}' object is not iterable")


def where_of(value: Any, index: Any) -> Any:
    """Return an index of a tensor. Raise RuntimeError for one that a script cannot have."""
    items = index if type(index) is tuple else (index,)
    for item in items:
        if not (item is None or item is Ellipsis or isinstance(item, (int, slice, Tensor, list))):
            raise RuntimeError(f"Unsupported operation: indexing tensor with unsupported index type '{described(item)}'")
    return index


def read_at(value: Any, index: Any) -> Any:
    """Return an element, or a part of a tensor."""
    if type(index) is slice and not isinstance(value, Tensor):
        return cut(value, index)
    if isinstance(value, Tensor) and type(index) is not int:
        return value[where_of(value, index)]
    return element(value, index)


def write_at(value: Any, index: Any, item: Any) -> None:
    """Set an element of a list or dict, or a part of a tensor."""
    if isinstance(value, Tensor):
        value[where_of(value, index)] = item
    elif type(value) in (list, dict):
        operator("aten", "_set_item")(value, index, item)
    else:
        raise RuntimeError(f"'{described(value)}' object does not support item assignment")


def grown(name: str, value: Any, other: Any) -> Any:
    """Return the result of ``value += other``, for an operator by its name: tensors and lists change in place."""
    if isinstance(value, Tensor):
        in_place = f"__i{name[2:]}" if name.startswith("__") else "floor_divide_" if name == "floordiv" else f"{name}_"
        return operator("aten", in_place)(value, other)
    if type(value) is list and name == "add":
        value.extend(other)
        return value
    return operator("aten", name)(value, other)


class Unlowered:
    """The part of the compiler for such statements and expressions."""

    expression: Callable[[ast.expr], Expression]
    _several: Callable[..., Statement]
    _BINARY: dict[type[ast.operator], str]
    _program: Any

    def _index(self, node: ast.expr) -> Expression:
        """Return an index, which may be a slice, or several with slices among them."""
        if isinstance(node, ast.Slice):
            bounds = [self._bound(one) for one in (node.lower, node.upper, node.step)]
            return lambda frame: slice(*(bound(frame) for bound in bounds))
        if isinstance(node, ast.Tuple):
            items = [self._index(one) for one in node.elts]
            return lambda frame: tuple(item(frame) for item in items)
        if isinstance(node, ast.Constant) and node.value is Ellipsis:
            return lambda frame: Ellipsis
        return self.expression(node)

    def _bound(self, node: ast.expr | None) -> Expression:
        if node is None:
            return lambda frame: None
        value = self.expression(node)

        def bound(frame: Frame) -> Any:
            number = value(frame)
            return OWN["Int"](number) if isinstance(number, Tensor) else number

        return bound

    def _to_subscript(self, target: ast.Subscript, value: Expression) -> Statement:
        holder, index = self.expression(target.value), self._index(target.slice)
        return lambda frame: write_at(holder(frame), index(frame), value(frame))

    def _of_Subscript(self, node: ast.Subscript) -> Expression:
        value, index = self.expression(node.value), self._index(node.slice)
        return lambda frame: read_at(value(frame), index(frame))

    def _do_AugAssign(self, node: ast.AugAssign) -> Statement:
        name, value, target = self._BINARY[type(node.op)], self.expression(node.value), node.target
        if isinstance(target, ast.Name):
            own = target.id

            def grow(frame: Frame) -> None:
                if own not in frame:
                    raise RuntimeError(f"undefined value {own}")
                frame[own] = grown(name, frame[own], value(frame))

            return grow
        holder = self.expression(target.value)
        if isinstance(target, ast.Attribute):
            title, program = target.attr, self._program

            def grow_attribute(frame: Frame) -> None:
                owner = holder(frame)
                before = program.attribute(owner, title)
                after = grown(name, before, value(frame))
                if after is not before:
                    program.assign(owner, title, after)

            return grow_attribute
        index = self._index(target.slice)

        def grow_element(frame: Frame) -> None:
            owner, place = holder(frame), index(frame)
            before = read_at(owner, place)
            after = grown(name, before, value(frame))
            if isinstance(owner, Tensor) and after is before and not isinstance(place, int) and _is_copy(place):
                write_at(owner, place, after)
            elif after is not before:
                write_at(owner, place, after)

        return grow_element

    def _do_Break(self, node: ast.Break) -> Statement:
        return lambda frame: BREAK

    def _do_Continue(self, node: ast.Continue) -> Statement:
        return lambda frame: CONTINUE

    def _do_Assert(self, node: ast.Assert) -> Statement:
        test = self.expression(node.test)
        message = self.expression(node.msg) if node.msg is not None else lambda frame: ""

        def check(frame: Frame) -> None:
            if not test(frame):
                raise raised(text_of(message(frame)), "AssertionError")

        return check

    def _do_Delete(self, node: ast.Delete) -> Statement:
        places = []
        for target in node.targets:
            if not isinstance(target, ast.Subscript):
                raise Damaged(f"A deletion (line {node.lineno}) is no TorchScript")
            places.append((self.expression(target.value), self._index(target.slice)))

        def delete(frame: Frame) -> None:
            for holder, index in places:
                operator("aten", "Delete")(holder(frame), index(frame))

        return delete

    def _of_ListComp(self, node: ast.ListComp) -> Expression:
        names, items, tests = self._comprehended(node)
        value = self.expression(node.elt)

        def gather(frame: Frame) -> list[Any]:
            return [value(inner) for inner in _turns(frame, names, items, tests)]

        return gather

    def _of_DictComp(self, node: ast.DictComp) -> Expression:
        names, items, tests = self._comprehended(node)
        key, value = self.expression(node.key), self.expression(node.value)

        def gather(frame: Frame) -> dict[Any, Any]:
            return {key(inner): value(inner) for inner in _turns(frame, names, items, tests)}

        return gather

    def _comprehended(self, node: Any) -> tuple[Any, Expression, list[Expression]]:
        one = node.generators[0]
        if len(node.generators) > 1 or one.is_async:
            raise Damaged(f"A comprehension with several loops (line {node.lineno}) is no TorchScript")
        return target_of(one.target), self.expression(one.iter), [self.expression(test) for test in one.ifs]


def _turns(frame: Frame, names: Any, items: Expression, tests: list[Expression]) -> Iterable[Frame]:
    inner = dict(frame)
    for item in iterated(items(frame)):
        bind_target(inner, names, item)
        if all(test(inner) for test in tests):
            yield inner


def _is_copy(place: Any) -> bool:
    """Return whether a part of a tensor is a copy, not a view of it."""
    return any(isinstance(item, (Tensor, list)) for item in (place if type(place) is tuple else (place,)))


def target_of(node: ast.expr) -> Any:
    """Return a target as a name, or a tuple of targets. Raise Damaged for another one."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Tuple):
        return tuple(map(target_of, node.elts))
    raise Damaged(f"A target of a loop (line {node.lineno}) is no TorchScript")


def bind_target(frame: Frame, target: Any, item: Any) -> None:
    """Bind the names of a target."""
    if type(target) is str:
        frame[target] = item
        return
    items = list(item)
    if len(items) != len(target):
        raise RuntimeError(f"Expected {len(target)} elements in a list but found {len(items)}")
    for one, part in zip(target, items):
        bind_target(frame, one, part)

"""Expressions of the text as nodes of a graph."""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from ..._src.core.device import device
from .._graph import Block, Graph, Node, Value
from .._graph import Type as GraphType
from .graph_types import BOOL, FLOAT, INT, NONE, STR, Match, graph_type, matched, type_of
from .source import Definition, Function
from .types import ANY, TENSOR, Damaged, Type, dotted, listed, read_type
from .words import OPERATORS

_WORDS = {"inf": math.inf, "nan": math.nan}
_CONVERSIONS = {
    "int": ("Int", INT), "float": ("Float", FLOAT), "bool": ("Bool", BOOL), "complex": ("Complex", Type("complex")), "str": ("str", STR),
}  # fmt: skip
_IMPLICIT = {"int": "IntImplicit", "float": "FloatImplicit", "complex": "ComplexImplicit"}
_OF_TENSORS = {
    "dtype": INT, "layout": INT, "device": Type("Device"), "shape": listed(INT), "ndim": INT, "itemsize": INT, "nbytes": INT,
    "grad": Type("Optional", (TENSOR,)), "data": TENSOR, "T": TENSOR, "mT": TENSOR, "H": TENSOR, "mH": TENSOR, "NumToTensor": TENSOR,
    "type": STR, "index": Type("Optional", (INT,)), "name": STR, "format": STR, "percentFormat": STR,
}  # fmt: skip


class Inlined(Exception):
    """Raised where a call cannot be put in place of itself: the function returns within a loop, or calls itself."""


class Expressions:
    """The part of the lowering for expressions. ``_names`` holds the Value of each local name."""

    _program: Any
    _graph: Graph
    _block: Block
    _names: dict[str, Value]
    _kinds: dict[int, Type]
    _place: str
    _inlined: bool
    inline: Callable[[Function, list[Value]], Value]
    lower_block: Callable[..., Any]
    index: Callable[[Value, ast.expr], Value]
    comprehension: Callable[[Any], Value]
    forked: Callable[[str, ast.Call], Value]

    # Values

    def kind_of(self, value: Value) -> Type:
        """Return the type of a value."""
        return self._kinds.get(id(value), ANY)

    def shown(self, kind: Type) -> GraphType:
        """Return a type as the graph has it."""
        return graph_type(kind, self._class_kind)

    def _class_kind(self, name: str) -> str:
        try:
            target = self._program.find(name)
        except Damaged:
            return ""
        return target.kind if isinstance(target, Definition) else ""

    def typed(self, value: Value, kind: Type) -> Value:
        """Give a value a type and return it."""
        value._type = self.shown(kind)
        self._kinds[id(value)] = kind
        return value

    def node(self, kind: str, inputs: Sequence[Value], results: Sequence[Type], **attributes: Any) -> Node:
        """Append a node to the current block and return it."""
        node = Node(self._graph, kind, list(inputs), "", self._place)
        node._attributes.update(attributes)
        self._block._nodes.append(node)
        for one in results:
            self._kinds[id(self._graph._value(node, self.shown(one)))] = one
        return node

    def value(self, kind: str, inputs: Sequence[Value], result: Type, **attributes: Any) -> Value:
        """Append a node with one result and return that."""
        return self.node(kind, inputs, [result], **attributes)._outputs[0]

    def constant(self, constant: Any, kind: Type | None = None) -> Value:
        """Return a constant, of which the graph has one node each, at its head."""
        kind = type_of(constant) if kind is None else kind
        key = kind.kind, repr(constant) if not hasattr(constant, "data_ptr") else id(constant)
        known = self._constants.get(key)
        if known is None:
            node = Node(self._graph, "prim::Constant", [], "", self._place)
            if constant is not None:
                node._attributes["value"] = constant
            self._head.append(node)
            known = self._constants[key] = self._graph._value(node, self.shown(kind), constant)
            self._kinds[id(known)] = kind
        return known

    _constants: dict[tuple[str, Any], Value]
    _head: list[Node]

    # Operators

    def operator(
        self, space: str, name: str, args: list[Value], kwargs: dict[str, Value] | None = None
    ) -> list[Value]:
        """Append the call of an operator, with the defaults of its schema, and return its results."""
        kwargs = kwargs or {}
        kinds = list(map(self.kind_of, args))
        if name == "wait" and kinds and kinds[0].of:
            return self.node("aten::wait", args, kinds[0].of)._outputs
        if name == "device" and len(args) == 1 and isinstance(args[0].toIValue(), str):
            return [self.constant(device(args[0].toIValue()))]
        match = matched(name, kinds, {key: self.kind_of(one) for key, one in kwargs.items()}) if space == "aten" else None
        if match is None:
            return self.node(f"{space}::{name}", [*args, *kwargs.values()], [self._guessed(name, kinds)])._outputs
        inputs = self._given(match, args, kwargs)
        node = self.node(f"aten::{name}", inputs, match.results(kinds[0] if kinds else None))
        if any(one.is_write for one in match.schema.arguments):
            self._writes.add(id(node))
        return node._outputs

    _writes: set[int]

    def _given(self, match: Match, args: list[Value], kwargs: dict[str, Value]) -> list[Value]:
        inputs = []
        for place, one in enumerate(match.schema.arguments):
            if place < len(args):
                number = match.implicit.get(place)
                value = args[place] if number is None else self.value(f"aten::{number}", [args[place]], Type(one.type))
                inputs.append(value)
            elif one.name in kwargs:
                inputs.append(kwargs[one.name])
            elif one.name != "out":
                inputs.append(self._default(one.default, one.type))
        return inputs

    def _default(self, default: Any, text: str) -> Value:
        if isinstance(default, bool) or default is None or isinstance(default, str):
            return self.constant(default)
        if isinstance(default, (list, tuple)) or text.endswith("]") and isinstance(default, (int, float)):
            count = text[text.rindex("[") + 1 : -1]
            items = list(default) if isinstance(default, (list, tuple)) else [default] * int(count or 1)
            return self.constant(items, listed(FLOAT if text.startswith("float") else INT))
        if text == "float":
            return self.constant(float(default))
        return self.constant(default)

    @staticmethod
    def _guessed(name: str, kinds: list[Type]) -> Type:
        if name in _OF_TENSORS:
            return _OF_TENSORS[name]
        if name.startswith("is_") or name in ("requires_grad", "eq", "ne"):
            return BOOL
        if name in ("min", "max", "abs", "unchecked_unwrap_optional"):
            first = kinds[0] if kinds else ANY
            floats = FLOAT.kind in [kind.kind for kind in kinds] or first.kind == "complex"
            return first.of[0] if first.kind in ("List", "Optional") else FLOAT if floats else first
        return next((kind for kind in kinds if kind.kind == "Tensor"), ANY)

    def one(self, values: list[Value]) -> Value:
        """Return results as one value: several become a tuple."""
        if len(values) == 1:
            return values[0]
        return self.value("prim::TupleConstruct", values, Type("Tuple", tuple(map(self.kind_of, values))))

    # Expressions

    def expression(self, node: ast.expr) -> Value:
        """Append an expression's nodes and return its value."""
        return self.one(self.several(node))

    def several(self, node: ast.expr) -> list[Value]:
        """Append an expression's nodes and return its values: an operator may have several."""
        method = getattr(self, f"_of_{type(node).__name__}", None)
        if method is None:
            raise Damaged(f"An expression {type(node).__name__} (line {node.lineno}) is no TorchScript")
        result = method(node)
        return result if isinstance(result, list) else [result]

    def test(self, node: ast.expr) -> Value:
        """Append a test's nodes and return its value, a bool."""
        value = self.expression(node)
        if self.kind_of(value).kind in ("Tensor", "int", "float"):
            return self.value("aten::Bool", [value], BOOL)
        return value

    def _of_Constant(self, node: ast.Constant) -> Value:
        return self.constant(node.value)

    def _of_Name(self, node: ast.Name) -> Value:
        if node.id in self._names:
            return self._names[node.id]
        if node.id in _WORDS:
            return self.constant(_WORDS[node.id])
        raise Damaged(f"undefined value {node.id}")

    def _of_Tuple(self, node: ast.Tuple) -> Value:
        items = list(map(self.expression, node.elts))
        return self.value("prim::TupleConstruct", items, Type("Tuple", tuple(map(self.kind_of, items))))

    def _of_List(self, node: ast.List, kind: Type | None = None) -> Value:
        items = list(map(self.expression, node.elts))
        return self.value("prim::ListConstruct", items, kind or listed(self.kind_of(items[0]) if items else TENSOR))

    def _of_Dict(self, node: ast.Dict, kind: Type | None = None) -> Value:
        items = [self.expression(one) for pair in zip(node.keys, node.values) for one in pair]  # type: ignore[arg-type]
        told = Type("Dict", (self.kind_of(items[0]), self.kind_of(items[1])) if items else (STR, TENSOR))
        return self.value("prim::DictConstruct", items, kind or told)

    def _of_UnaryOp(self, node: ast.UnaryOp) -> Any:
        operand = node.operand
        if isinstance(node.op, ast.USub) and isinstance(operand, ast.Constant) and type(operand.value) in (int, float):
            return self.constant(-operand.value)  # type: ignore[operator]
        name = {ast.USub: "neg", ast.Not: "__not__", ast.Invert: "bitwise_not"}.get(type(node.op), "")
        return self.operator("aten", name, [self.expression(operand)])

    def _of_BinOp(self, node: ast.BinOp) -> Any:
        left, right = self.expression(node.left), self.expression(node.right)
        name = self._BINARY[type(node.op)]
        return self.operator("aten", "percentFormat" if name == "remainder" and self.kind_of(left).kind == "str" else name, [left, right])

    _BINARY: dict[type[ast.operator], str]
    _COMPARED: dict[type[ast.cmpop], str]

    def _of_Compare(self, node: ast.Compare) -> Any:
        if len(node.ops) > 1:
            pairs = zip([node.left, *node.comparators], node.ops, node.comparators)
            return self._of_BoolOp(ast.BoolOp(ast.And(), [ast.copy_location(ast.Compare(a, [op], [b]), node) for a, op, b in pairs]))
        left, right = self.expression(node.left), self.expression(node.comparators[0])
        if isinstance(node.ops[0], (ast.In, ast.NotIn)):
            within = self.operator("aten", "__contains__", [right, left])
            return within if isinstance(node.ops[0], ast.In) else self.operator("aten", "__not__", within)
        name = self._COMPARED[type(node.ops[0])]
        if name in ("__is__", "__isnot__"):
            return self.value(f"aten::{name}", [left, right], BOOL)
        return self.operator("aten", name, [left, right])

    def _of_BoolOp(self, node: ast.BoolOp) -> Value:
        value = self.expression(node.values[0])
        is_or = isinstance(node.op, ast.Or)
        for one in node.values[1:]:
            rest, ended = functools.partial(self.expression, one), functools.partial(self.constant, is_or)
            value = self.chosen(value, ended, rest) if is_or else self.chosen(value, rest, ended)
        return value

    def _of_IfExp(self, node: ast.IfExp) -> Value:
        return self.chosen(self.test(node.test), lambda: self.expression(node.body), lambda: self.expression(node.orelse))

    def chosen(self, test: Value, yes: Callable[[], Value], no: Callable[[], Value]) -> Value:
        """Append a branch with one result and return that; of a test that is known only the branch that it takes."""
        known = self.known(test)
        if known is not None:
            return yes() if known else no()
        node, outer, before = self.node("prim::If", [test], []), self._block, self._names
        values = []
        for branch in (yes, no):
            self._block, self._names = node.addBlock(), dict(before)
            values.append(branch())
            self._block._outputs.append(values[-1])
        self._block, self._names = outer, before
        return self.joined(node, values)

    def known(self, value: Value) -> bool | None:
        """Return a test's value where the graph's constants and types tell it; None elsewhere."""
        constant = value.toIValue()
        if isinstance(constant, bool):
            return constant
        node = value.node()
        kind, inputs = node.kind(), node._inputs
        if kind in ("aten::__is__", "aten::__isnot__") and self.kind_of(inputs[1]) is NONE:
            first = self.kind_of(inputs[0]).kind
            if first not in ("Optional", "Any", "Union"):
                return (first == "NoneType") is (kind == "aten::__is__")
        if self._inlined and kind in ("aten::eq", "aten::ne") and all(one.node().kind() == "prim::Constant" for one in inputs):
            return (inputs[0].toIValue() == inputs[1].toIValue()) is (kind == "aten::eq")
        if kind == "aten::__not__":
            inner = self.known(inputs[0])
            return None if inner is None else not inner
        return None

    def joined(self, node: Node, values: Sequence[Value]) -> Value:
        """Return a new result of a branch, of the type that the branches' values have."""
        first, second = map(self.kind_of, values)
        kind = first
        if first.kind == "NoneType" and second.kind != "NoneType":
            kind = second if second.kind == "Optional" else Type("Optional", (second,))
        elif second.kind == "NoneType" and first.kind not in ("NoneType", "Optional"):
            kind = Type("Optional", (first,))
        elif second.kind == "Optional":
            kind = second
        value = self._graph._value(node, self.shown(kind))
        self._kinds[id(value)] = kind
        return value

    def _of_Attribute(self, node: ast.Attribute) -> Any:
        root = _root(node)
        if root == "CONSTANTS" and node.attr[1:].isdecimal():
            return self.constant(self._program.constant(int(node.attr[1:])))
        if root == "__torch__" and root not in self._names:
            return self._named(dotted(node))
        return self.attribute(self.expression(node.value), node.attr)

    def _named(self, name: str) -> Value:
        outer, _, member = name.rpartition(".")
        kind = self._program.enum(outer)
        if kind is not None:
            return self.constant(kind.python.__members__[member], Type(kind.name))
        return self._function(name)

    def _function(self, name: str) -> Value:
        value = self.value("prim::Constant", [], Type("Function"), name=name.rpartition(".")[2])
        target = self._program.find(name)
        if isinstance(target, Function):
            self._functions[id(value)] = target
        return value

    _functions: dict[int, Function]

    def called(self, function: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
        """Append the call of a function that is a value."""
        target = self._functions.get(id(function))
        if target is None:
            return self.value("prim::CallFunction", [function, *args, *kwargs.values()], ANY)
        values = self.filled(target, args, kwargs)
        if self._inlined:
            try:
                return self.inline(target, values)
            except Inlined:
                pass
        return self.value("prim::CallFunction", [function, *values], target.returns or NONE)

    def definition_of(self, value: Value) -> Definition | None:
        """Return the class of a value's type; None for one that is none of the archive's."""
        name = self.kind_of(value).kind
        if not name.startswith("__torch__."):
            return None
        kind = self._program.find(name)
        return kind if isinstance(kind, Definition) else None

    def attribute(self, holder: Value, name: str) -> Value:
        """Append the read of an attribute."""
        definition = self.definition_of(holder)
        if definition is None and name == "shape":
            return self.value("aten::size", [holder], listed(INT))
        if definition is None:
            return self.one(self.operator("aten" if name in ("real", "imag") else "prim", name, [holder]))
        if definition.kind == "NamedTuple":
            place = list(definition.attributes).index(name)
            return self.value("prim::TupleIndex", [holder, self.constant(place)], definition.attributes[name] or ANY)
        if definition.kind == "Enum":
            members = list(definition.python.__members__.values())
            kind = STR if name == "name" or not members else type_of(members[0].value)
            return self.value(f"prim::Enum{name.capitalize()}", [holder], kind)
        told = definition.attributes.get(name)
        if told is None and name in definition.constants:
            return self.expression(definition.constants[name])
        if told is None and name in definition.methods:
            return self.constant(name, Type("Function"))
        return self.value("prim::GetAttr", [holder], told or (BOOL if name == "training" else ANY), name=name)

    def _of_Subscript(self, node: ast.Subscript) -> Value:
        return self.index(self.expression(node.value), node.slice)

    def _of_ListComp(self, node: ast.ListComp) -> Value:
        return self.comprehension(node)

    _of_DictComp = _of_ListComp

    # Calls

    def _of_Call(self, node: ast.Call) -> Any:
        function = node.func
        if isinstance(function, ast.Name):
            return self._word(function.id, node)
        if not isinstance(function, ast.Attribute):
            raise Damaged(f"A call (line {node.lineno}) is no TorchScript")
        root = _root(function)
        if root in self._names:
            root = ""
        if root == "__torch__":
            return self._of_archive(dotted(function), function, node)
        if root in ("torch", "prim", "warnings") and isinstance(function.value, ast.Name):
            return self.operator("prim" if root == "prim" else "aten", function.attr, *self._arguments(node))
        if root == "ops":
            _, space, name = dotted(function).split(".")
            args, kwargs = self._arguments(node)
            if name == "RaiseException":
                return self.node(f"{space}::{name}", args if len(args) > 1 else [*args, self.constant(None)], [])._outputs
            return self.operator(space, name, args, kwargs)
        holder = self.expression(function.value)
        args, kwargs = self._arguments(node)
        definition = self.definition_of(holder)
        if definition is None:
            return self.operator("aten", function.attr, [holder, *args], kwargs)
        return self.method(holder, definition, function.attr, args, kwargs)

    def _arguments(self, node: ast.Call) -> tuple[list[Value], dict[str, Value]]:
        args = list(map(self.expression, node.args))
        return args, {str(one.arg): self.expression(one.value) for one in node.keywords}

    def filled(self, function: Function, args: list[Value], kwargs: dict[str, Value]) -> list[Value]:
        """Return the arguments of a call in order, with defaults."""
        values = list(args)
        for one in function.parameters[len(args) :]:
            if one.name in kwargs:
                values.append(kwargs[one.name])
            elif one.default is not None:
                values.append(self.expression(one.default))
        return values

    def method(
        self, holder: Value, definition: Definition, name: str, args: list[Value], kwargs: dict[str, Value]
    ) -> Value:
        """Append the call of a method."""
        function = definition.methods.get(name)
        if function is None:
            return self.value("prim::CallMethod", [holder, *args, *kwargs.values()], ANY, name=name)
        values = self.filled(function, [holder, *args], kwargs)
        if self._inlined and definition.kind not in ("Interface", "ModuleInterface"):
            try:
                result = self.inline(function, values)
            except Inlined:
                pass
            else:
                self._writes.add(id(holder.node()))  # torch keeps the submodule's read
                return result
        return self.value("prim::CallMethod", values, function.returns or NONE, name=name)

    def _of_archive(self, name: str, function: ast.Attribute, node: ast.Call) -> Value:
        if function.attr == "__new__":
            return self.value("prim::CreateObject", [], Type(dotted(function.value)))
        target = self._program.find(name)
        args, kwargs = self._arguments(node)
        if isinstance(target, Function):
            return self.called(self._function(name), args, kwargs)
        if target.kind == "NamedTuple":
            return self.value("prim::TupleConstruct", [*args, *kwargs.values()], Type(target.name))
        made = self.value("prim::CreateObject", [], Type(target.name))
        if "__init__" in target.methods:
            self.method(made, target, "__init__", args, kwargs)
        return made

    def _word(self, word: str, node: ast.Call) -> Any:
        if word in ("annotate", "unchecked_cast"):
            return self._cast(word, read_type(node.args[0]), node.args[1])
        if word == "uninitialized":
            return self.value("prim::Uninitialized", [], read_type(node.args[0]))
        if word in ("fork", "awaitable"):
            return self.forked(word, node)
        if word == "isinstance":
            items = node.args[1].elts if isinstance(node.args[1], (ast.Tuple, ast.List)) else [node.args[1]]
            types = [self.shown(read_type(one)) for one in items]
            return self.value("prim::isinstance", [self.expression(node.args[0])], BOOL, types=types)
        if word == "getattr" and isinstance(node.args[1], ast.Constant):
            return self.attribute(self.expression(node.args[0]), str(node.args[1].value))
        if word == "setattr" and isinstance(node.args[1], ast.Constant):
            pair = [self.expression(node.args[0]), self.expression(node.args[2])]
            return self.node("prim::SetAttr", pair, [], name=node.args[1].value)._outputs
        args, kwargs = self._arguments(node)
        if word == "print":
            return self.node("prim::Print", args, [])._outputs
        if word in _CONVERSIONS:
            name, kind = _CONVERSIONS[word]
            return args[0] if self.kind_of(args[0]).kind == kind.kind else self.value(f"aten::{name}", args, kind)
        if word in self._names:
            return self.called(self._names[word], args, kwargs)
        return self.operator(OPERATORS.get(word, "aten"), word, args, kwargs)

    def _cast(self, word: str, kind: Type, node: ast.expr) -> Value:
        if word == "annotate" and isinstance(node, ast.List) and kind.kind == "List":
            return self._of_List(node, kind)
        if word == "annotate" and isinstance(node, ast.Dict) and kind.kind == "Dict":
            return self._of_Dict(node, kind)
        value = self.expression(node)
        if word == "unchecked_cast" and self._inlined and repr(self.kind_of(value)) == repr(kind):
            return value
        if word == "unchecked_cast":
            return self.value("prim::unchecked_cast", [value], kind)
        if kind.kind in _IMPLICIT and self.kind_of(value).kind == "Tensor":
            return self.value(f"aten::{_IMPLICIT[kind.kind]}", [value], kind)
        return value if isinstance(node, ast.Constant) else self.typed(value, kind)


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""

"""The graph of a function of the text: its statements as nodes and blocks, as torch's ``.graph`` has them.

The nodes are those that torch's compiler makes of the same text, without the passes in which it rewrites them: a return, a break or a
continue within a loop is a node (``prim::ReturnStmt``, ``prim::BreakStmt``, ``prim::ContinueStmt``). Nothing runs.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .._graph import Block, Graph, Node, Value
from .compile import Compiler
from .graph_expressions import Inlined
from .graph_indices import Indices
from .graph_pruning import prune
from .graph_types import BOOL, NONE, STR
from .source import Function
from .types import ANY, TENSOR, Damaged, Type

_MOST = 9223372036854775807
_IN_PLACE = {"floordiv": "floor_divide_", "__and__": "__iand__", "__or__": "__ior__", "__xor__": "__ixor__"}


class Lowering(Indices):
    """Makes the graph of one function."""

    _BINARY = Compiler._BINARY
    _COMPARED = Compiler._COMPARED

    def __init__(self, program: Any, inlined: bool) -> None:
        self._program, self._inlined = program, inlined
        self._graph = self._block = Graph()
        self._names: dict[str, Value] = {}
        self._kinds: dict[int, Type] = {}
        self._constants: dict[tuple[str, Any], Value] = {}
        self._head: list[Node] = []
        self._writes: set[int] = set()
        self._functions: dict[int, Function] = {}
        self._counts: dict[str, int] = {}
        self._closures: dict[str, ast.FunctionDef] = {}
        self._running: list[Function] = []
        self._place = self._file = ""

    def graph_of(self, function: Function, owner: str) -> Graph:
        """Return the graph of a function or method. ``owner`` is the class of a method's ``self``."""
        graph = self._graph
        for number, one in enumerate(function.parameters):
            kind = one.type or (Type(owner) if owner and not number else ANY)
            value = self.typed(graph.addInputToBlock(self.shown(kind)), kind)
            self._names[one.name] = value.setDebugName(one.name) if not number and owner else self.named(value, one.name)
        self._enter(function)
        result = self.statements(function.node.body)
        graph._outputs = [self.constant(None) if result is None else result]
        graph._nodes[:0] = self._head
        prune(graph, lambda node: id(node) in self._writes)
        return graph

    def _enter(self, function: Function) -> None:
        self._running.append(function)
        self._file = f"code/{function.file.replace('.', '/')}.py"

    def named(self, value: Value, name: str) -> Value:
        """Give a value that has only a number the name of a variable; return it."""
        if value._name.isdecimal():
            count = self._counts[name] = self._counts.get(name, 0) + 1
            value.setDebugName(f"{name}.{count}")
        return value

    def inline(self, function: Function, values: list[Value]) -> Value:
        """Append the nodes of a function in the place of its call. Raise Inlined if that cannot be."""
        if function in self._running or _returns_in_loop(function.node.body):
            raise Inlined
        before = self._names, self._place, self._file
        self._names = {one.name: value for one, value in zip(function.parameters, values)}
        self._enter(function)
        result = self.statements(function.node.body)
        self._running.pop()
        self._names, self._place, self._file = before
        return self.constant(None) if result is None else result

    # Statements

    def statements(self, nodes: Sequence[ast.stmt]) -> Value | None:
        """Append statements; return what they return. A branch that returns takes the statements after it into the other one."""
        for number, node in enumerate(nodes):
            self._place = f"{self._file}:{node.lineno}:{node.col_offset}"
            if isinstance(node, ast.Return):
                return self.constant(None) if node.value is None else self.expression(node.value)
            if isinstance(node, ast.If) and (_returns(node.body) or _returns(node.orelse)):
                rest = nodes[number + 1 :]
                test, (yes, no) = self.test(node.test), _refined(node.test)
                return self.chosen(test, self._branch([*node.body, *rest], yes), self._branch([*node.orelse, *rest], no))
            method: Callable[[Any], None] | None = getattr(self, f"_do_{type(node).__name__}", None)
            if method is None:
                raise Damaged(f"A statement {type(node).__name__} (line {node.lineno}) is no TorchScript")
            method(node)
            if isinstance(node, ast.Raise):
                return self.value("prim::Uninitialized", [], self._returned())
        return None

    def _branch(self, nodes: Sequence[ast.stmt], refined: Sequence[str]) -> Callable[[], Value]:
        def lower() -> Value:
            self._refine(refined)
            value = self.statements(nodes)
            return self.constant(None) if value is None else value

        return lower

    def _refine(self, names: Sequence[str]) -> None:
        """Append casts of names that are known not to be None."""
        for name in names:
            value = self._names.get(name)
            if value is not None and self.kind_of(value).kind == "Optional":
                self._names[name] = self.named(self.value("prim::unchecked_cast", [value], self.kind_of(value).of[0]), name)

    def _returned(self) -> Type:
        return self._running[-1].returns or NONE

    def _do_Pass(self, node: ast.Pass) -> None:
        pass

    def _do_Expr(self, node: ast.Expr) -> None:
        self.several(node.value)

    def _do_Assign(self, node: ast.Assign) -> None:
        values = self.several(node.value)
        self.bind(node.targets[0], values)

    def _do_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.bind(node.target, self.several(node.value))

    def bind(self, target: ast.expr, values: list[Value]) -> None:
        """Append the assignment of values to a target."""
        if isinstance(target, ast.Name):
            self._names[target.id] = self.named(self.one(values), target.id)
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts = values if len(values) == len(target.elts) > 1 else self._unpacked(self.one(values), len(target.elts))
            for one, value in zip(target.elts, parts):
                self.bind(one, [value])
        elif isinstance(target, ast.Attribute):
            self.node("prim::SetAttr", [self.expression(target.value), self.one(values)], [], name=target.attr)
        elif isinstance(target, ast.Subscript):
            self.write_at(self.expression(target.value), target.slice, self.one(values))
        else:
            raise Damaged(f"A target of an assignment (line {target.lineno}) is no TorchScript")

    def _unpacked(self, value: Value, count: int) -> list[Value]:
        node, kind = value.node(), self.kind_of(value)
        if node.kind() == "prim::TupleConstruct":
            return list(node._inputs)
        fields = list(kind.of) if kind.kind == "Tuple" else [one or ANY for one in self._fields(value)]
        if fields:
            return self.node("prim::TupleUnpack", [value], fields)._outputs
        return self.node("prim::ListUnpack", [value], [kind.of[0] if kind.kind == "List" else ANY] * count)._outputs

    def _do_AugAssign(self, node: ast.AugAssign) -> None:
        name, target = self._BINARY[type(node.op)], node.target
        before = self.expression(ast.copy_location(_read_of(target), target))
        kind, other = self.kind_of(before).kind, self.expression(node.value)
        in_place = kind == "Tensor" or kind == "List" and name == "add"
        after = self.operator("aten", _IN_PLACE.get(name, f"{name}_") if in_place else name, [before, other])
        if not in_place or isinstance(target, ast.Name):
            self.bind(target, after)

    def _do_If(self, node: ast.If) -> None:
        test, refined = self.test(node.test), _refined(node.test)
        known = self.known(test)
        if known is not None:
            self.statements(node.body if known else node.orelse)
            return
        branch, outer, before = self.node("prim::If", [test], []), self._block, self._names
        scopes = []
        for nodes, names in zip((node.body, node.orelse), refined):
            self._block, self._names = branch.addBlock(), dict(before)
            self._refine(names)
            ended = self.statements(nodes) is not None
            scopes.append((self._block, self._names, ended))
        self._block, self._names = outer, before
        (first, yes, ended), (second, no, _) = scopes
        for name in dict.fromkeys((*yes, *no)):
            values = yes.get(name), no.get(name)
            if values[0] is not None and values[0] is values[1]:
                self._names[name] = values[0]
                continue
            ends = [value if value is not None else self._absent(scope, values) for value, scope in zip(values, scopes)]
            left, right = ends
            if left is None or right is None:
                continue
            first._outputs.append(left)
            second._outputs.append(right)
            self._names[name] = self.named(self.joined(branch, (left, right)), name)
        if ended:
            self._refine(refined[1])

    def _absent(self, scope: tuple[Block, Any, bool], values: Sequence[Value | None]) -> Value | None:
        """Return a value for a name that a branch which raises does not set."""
        other = next(value for value in values if value is not None)
        if not scope[2]:
            return None
        outer, self._block = self._block, scope[0]
        value = self.value("prim::Uninitialized", [], self.kind_of(other))
        self._block = outer
        return value

    def _carried(self, nodes: Sequence[ast.stmt]) -> list[str]:
        stored = [
            one.id for node in nodes for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
        ]
        return [name for name in dict.fromkeys(stored) if name in self._names]

    def _do_While(self, node: ast.While) -> None:
        test = self.test(node.test)

        def turn(number: Value) -> Value:
            self._body(node.body)
            return self.test(node.test)

        self.loop(self.constant(_MOST), test, self._carried(node.body), turn)

    def _do_For(self, node: ast.For) -> None:
        count, read = self.gone_through(node.iter)
        yes = self.constant(True, BOOL)

        def turn(number: Value) -> Value:
            self.bind(node.target, read(number))
            self._body(node.body)
            return yes

        self.loop(count, yes, self._carried([*node.body, ast.Expr(node.target)]), turn)

    def _body(self, nodes: Sequence[ast.stmt]) -> None:
        """Append the statements of a loop, in which a return is a node."""
        value = self.statements(nodes)
        if value is not None and _returns(nodes):
            self.node("prim::ReturnStmt", [value], [])

    def _do_Break(self, node: ast.Break) -> None:
        self.node("prim::BreakStmt", [], [])

    def _do_Continue(self, node: ast.Continue) -> None:
        self.node("prim::ContinueStmt", [], [])

    def _do_Assert(self, node: ast.Assert) -> None:
        message = ast.Constant("") if node.msg is None else node.msg
        self.chosen(self.test(node.test), lambda: self.constant(None), lambda: self._raise(message, "AssertionError"))
        self._refine(_refined(node.test)[0])

    def _do_Raise(self, node: ast.Raise) -> None:
        error = node.exc
        if isinstance(error, ast.Call) and isinstance(error.func, ast.Name) and error.args:
            self._raise(error.args[0], error.func.id)
        else:
            self._raise(ast.Constant("") if error is None else error, "")

    def _raise(self, message: ast.expr, kind: str) -> Value:
        self.node("prim::RaiseException", [self.expression(message), self.constant(kind, STR) if kind else self.constant(None)], [])
        return self.constant(None)

    def _do_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                inputs = [self.expression(target.value), self.expression(target.slice)]
                self._writes.add(id(self.node("aten::Delete", inputs, [])))

    def _do_With(self, node: ast.With) -> None:
        held = []
        for one in node.items:
            manager = self.expression(one.context_expr)
            held.append(manager)
            entered = self.value("prim::Enter", [manager], self._result_of(manager, "__enter__"))
            if one.optional_vars is not None:
                self.bind(one.optional_vars, [entered])
        for statement in node.body:
            self.statements([statement])
        for manager in reversed(held):
            self.node("prim::Exit", [manager], [TENSOR])

    def _result_of(self, value: Value, name: str) -> Type:
        definition = self.definition_of(value)
        method = None if definition is None else definition.methods.get(name)
        return ANY if method is None else method.returns or NONE

    def _do_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._closures[node.name] = node

    def forked(self, word: str, node: ast.Call) -> Value:
        """Append a fork: a node with the graph of the function, whose inputs are the names that it reads."""
        function, args = node.args[0], list(map(self.expression, node.args[1:]))
        body = self._closures.get(function.id) if isinstance(function, ast.Name) else None
        if body is None:
            return self.value(f"prim::{word}", [self.expression(function), *args], Type("Future", (ANY,)))
        loaded = list(_loaded(body))
        names = [name for name in dict.fromkeys(loaded) if name in self._names and name not in [arg.arg for arg in body.args.args]]
        outer = self._graph, self._block, self._names, self._constants, self._head
        inputs = [self._names[name] for name in names]
        graph = self._graph = self._block = Graph()
        self._constants, self._head, self._names = {}, [], {}
        for name, value in zip([*(arg.arg for arg in body.args.args), *names], [*args, *inputs]):
            kind = self.kind_of(value)
            self._names[name] = self.named(self.typed(graph.addInputToBlock(self.shown(kind)), kind), name)
        result = self.statements(body.body)
        graph._outputs = [self.constant(None) if result is None else result]
        graph._nodes[:0] = self._head
        prune(graph, lambda one: id(one) in self._writes)
        kind = self.kind_of(graph._outputs[0])
        self._graph, self._block, self._names, self._constants, self._head = outer
        return self.value(f"prim::{word}", [*args, *inputs], Type("Future" if word == "fork" else "Await", (kind,)), Subgraph=graph)


def _refined(test: ast.expr) -> tuple[list[str], list[str]]:
    """Return the names that are not None where a test is true, and where it is false."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yes, no = _refined(test.operand)
        return no, yes
    if isinstance(test, ast.BoolOp):
        place = int(isinstance(test.op, ast.Or))
        names = [name for one in test.values for name in _refined(one)[place]]
        return ([], names) if place else (names, [])
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.left, ast.Name):
        other = test.comparators[0]
        if isinstance(other, ast.Constant) and other.value is None and isinstance(test.ops[0], (ast.Is, ast.IsNot)):
            return ([], [test.left.id]) if isinstance(test.ops[0], ast.Is) else ([test.left.id], [])
    return [], []


def _loaded(node: ast.AST) -> Iterator[str]:
    """Yield the names that code reads, in the order of the text."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node.id
    for child in ast.iter_child_nodes(node):
        yield from _loaded(child)


def _read_of(target: ast.expr) -> ast.expr:
    """Return the expression that reads a target."""
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    if isinstance(target, ast.Attribute):
        return ast.Attribute(target.value, target.attr, ast.Load())
    return ast.Subscript(target.value, target.slice, ast.Load()) if isinstance(target, ast.Subscript) else target


def _returns(nodes: Sequence[ast.stmt]) -> bool:
    """Return whether statements may return outside a loop."""
    return any(
        isinstance(node, ast.Return) or isinstance(node, ast.If) and (_returns(node.body) or _returns(node.orelse)) for node in nodes
    )


def _returns_in_loop(nodes: Sequence[ast.stmt]) -> bool:
    loops = [one for node in nodes for one in ast.walk(node) if isinstance(one, (ast.For, ast.While))]
    return any(isinstance(one, ast.Return) for loop in loops for one in ast.walk(loop))


def graph_of(program: Any, function: Function, owner: str = "", inlined: bool = False) -> Graph:
    """Return the graph of a function of the text; ``inlined``: with the nodes of the functions that it calls in place of their calls.

    Raise Damaged for text that is no TorchScript.
    """
    try:
        return Lowering(program, inlined).graph_of(function, owner)
    except RecursionError:
        raise Damaged(f"{function.name} is nested too deeply") from None

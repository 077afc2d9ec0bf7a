"""Functions of the text, as Python closures over a dict of local names. Each expression becomes a function of that dict.

Nothing of Python is reachable from the text: names are local names or TorchScript's own words, attributes are those of the archive's own
objects, and calls are those of the archive's functions and of operators.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

from .errors import raised
from .former import former
from .operators import operator
from .source import Definition, Function
from .types import Damaged, Type, cast, dotted, is_of, read_type
from .unlowered import BREAK, CONTINUE, Unlowered, bind_target, iterated, target_of
from .words import FUNCTIONS, OPERATORS, Closure, forked, raise_

Frame = dict[str, Any]
Expression = Callable[[Frame], Any]
# A statement returns None, or a one-element tuple with the function's result.
Statement = Callable[[Frame], "tuple[Any] | None"]
_WORDS = {"inf": math.inf, "nan": math.nan, "infj": complex(0, math.inf), "nanj": complex(0, math.nan)}


class Program:
    """Where the text's names lead: ``find`` returns a class or function of the archive, ``constant`` a constant by its number."""

    version = 3  # of the archive's operators
    places: dict[str, Any] = {}  # devices by the kinds that the text names, if it was told another place

    def device(self, text: str) -> Any:
        """Return the device of a name."""
        return self.places.get(text.partition(":")[0]) or operator("aten", "device")(text)

    def find(self, name: str) -> Definition | Function:
        """Return the class or function of a full name."""
        raise NotImplementedError

    def enum(self, name: str) -> Definition | None:
        """Return the enum of a full name; None if the name is another's."""
        try:
            kind = self.find(name)
        except Damaged:
            return None
        return kind if isinstance(kind, Definition) and kind.kind == "Enum" else None

    def constant(self, number: int) -> Any:
        """Return a constant of the archive."""
        raise NotImplementedError

    def attribute(self, value: Any, name: str) -> Any:
        """Return the attribute of a module, an object or a named tuple of the archive."""
        raise NotImplementedError

    def assign(self, value: Any, name: str, item: Any) -> None:
        """Set an attribute of a module or object of the archive."""
        raise NotImplementedError

    def call(self, value: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call a method of a module or object of the archive."""
        raise NotImplementedError

    def construct(self, definition: Definition, args: list[Any]) -> Any:
        """Return a new object, or named tuple, of a class."""
        raise NotImplementedError


def _unknown(what: str, node: Any) -> Damaged:
    return Damaged(f"{what} (line {getattr(node, 'lineno', '?')}) is no TorchScript")


class Compiler(Unlowered):
    """Compiles the functions of a program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._waiting: list[Function] = []

    def run(self, function: Function) -> Callable[..., Any]:
        """Return a function as a Python function of lists of arguments and a dict of named ones; compile all that it calls.

        Raise Damaged for text that is no TorchScript, and for operators that mstorch does not have."""
        self._want(function)
        while self._waiting:
            self._compile(self._waiting.pop())
        return function.run  # type: ignore[return-value]

    def _want(self, function: Function) -> None:
        if function.run is None and function not in self._waiting:
            self._waiting.append(function)

    def _compile(self, function: Function) -> None:
        if function.run is not None:
            return
        try:
            function.run = self._function(function)
        except RecursionError:
            raise Damaged(f"{function.name} is nested too deeply") from None

    def _function(self, function: Function) -> Callable[..., Any]:
        names = [parameter.name for parameter in function.parameters]
        defaults = {one.name: (self.expression(one.default), one.type) for one in function.parameters if one.default is not None}
        body = self._block(function.node.body)
        last = function.name.rpartition(".")[2]

        def run(args: list[Any], kwargs: dict[str, Any]) -> Any:
            frame = dict(zip(names, args))
            if kwargs:
                frame.update(kwargs)
            if len(frame) < len(names):
                for name in names:
                    if name not in frame:
                        if name not in defaults:
                            raise RuntimeError(f"{last}() is missing value for argument '{name}'.")
                        frame[name] = defaults[name][0]({})
            result = body(frame)
            return None if result is None else result[0]

        return run

    # Statements

    def _block(self, nodes: list[ast.stmt]) -> Statement:
        statements = [self._statement(node) for node in nodes if not isinstance(node, ast.Pass)]
        if len(statements) == 1:
            return statements[0]

        def run(frame: Frame) -> tuple[Any] | None:
            for statement in statements:
                result = statement(frame)
                if result is not None:
                    return result
            return None

        return run

    def _statement(self, node: ast.stmt) -> Statement:
        method = getattr(self, f"_do_{type(node).__name__}", None)
        if method is None:
            raise _unknown(f"A statement {type(node).__name__}", node)
        return method(node)

    def _do_Assign(self, node: ast.Assign) -> Statement:
        if len(node.targets) != 1:
            raise _unknown("An assignment to several targets", node)
        return self._assigned(node.targets[0], self.expression(node.value), node)

    def _assigned(self, target: ast.expr, value: Expression, node: ast.AST) -> Statement:
        if isinstance(target, ast.Name):
            return _stored(target.id, value)
        if isinstance(target, ast.Tuple):
            return self._several(target, value)
        if isinstance(target, ast.Attribute):
            holder, name, assign = self.expression(target.value), target.attr, self._program.assign
            return lambda frame: assign(holder(frame), name, value(frame))
        if isinstance(target, ast.Subscript):
            return self._to_subscript(target, value)
        raise _unknown("A target of an assignment", node)

    def _several(self, target: ast.Tuple, value: Expression) -> Statement:
        if all(isinstance(one, (ast.Name, ast.Tuple)) for one in target.elts):
            names = target_of(target)
            return lambda frame: bind_target(frame, names, value(frame))
        held = f"{target.lineno}:{target.col_offset}"  # no name of the text
        parts = [
            self._assigned(one, lambda frame, place=place: frame[held][place], target)
            for place, one in enumerate(target.elts)
        ]

        def several(frame: Frame) -> None:
            items = list(value(frame))
            if len(items) != len(parts):
                raise RuntimeError(f"Expected {len(parts)} elements in a list but found {len(items)}")
            frame[held] = items
            for part in parts:
                part(frame)
            del frame[held]

        return several

    def _do_AnnAssign(self, node: ast.AnnAssign) -> Statement:
        if not isinstance(node.target, ast.Name) or node.value is None:
            raise _unknown("An annotation", node)
        return _stored(node.target.id, self.expression(node.value))

    def _do_Expr(self, node: ast.Expr) -> Statement:
        value = self.expression(node.value)

        def evaluate(frame: Frame) -> None:
            value(frame)

        return evaluate

    def _do_Return(self, node: ast.Return) -> Statement:
        if node.value is None:
            return lambda frame: (None,)
        value = self.expression(node.value)
        return lambda frame: (value(frame),)

    def _do_If(self, node: ast.If) -> Statement:
        test, yes, no = self.expression(node.test), self._block(node.body), self._block(node.orelse)

        def branch(frame: Frame) -> tuple[Any] | None:
            return yes(frame) if test(frame) else no(frame)

        return branch

    def _do_While(self, node: ast.While) -> Statement:
        if node.orelse:
            raise _unknown("An else of a loop", node)
        test, body = self.expression(node.test), self._block(node.body)

        def loop(frame: Frame) -> tuple[Any] | None:
            while test(frame):
                result = body(frame)
                if result is None or result is CONTINUE:
                    continue
                return None if result is BREAK else result
            return None

        return loop

    def _do_For(self, node: ast.For) -> Statement:
        if node.orelse:
            raise _unknown("An else of a loop", node)
        items, body = self._iterated(node.iter), self._block(node.body)
        target = target_of(node.target)

        def loop(frame: Frame) -> tuple[Any] | None:
            for item in iterated(items(frame)):
                bind_target(frame, target, item)
                result = body(frame)
                if result is None or result is CONTINUE:
                    continue
                return None if result is BREAK else result
            return None

        return loop

    def _iterated(self, node: ast.expr) -> Expression:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
            bounds = [self.expression(one) for one in node.args]
            return lambda frame: range(*(bound(frame) for bound in bounds))
        return self.expression(node)

    def _do_FunctionDef(self, node: ast.FunctionDef) -> Statement:
        if node.args.args or node.args.kwonlyargs or node.args.vararg or node.args.kwarg or node.decorator_list:
            raise _unknown("A function within a function", node)
        body, name = self._block(node.body), node.name

        def define(frame: Frame) -> None:
            def call() -> Any:
                result = body(dict(frame))
                return None if result is None else result[0]

            frame[name] = Closure(call)

        return define

    def _do_With(self, node: ast.With) -> Statement:
        managers = [self.expression(one.context_expr) for one in node.items]
        body, call = self._block(node.body), self._program.call
        names = [None if one.optional_vars is None else getattr(one.optional_vars, "id", None) for one in node.items]

        def within(frame: Frame) -> tuple[Any] | None:
            entered: list[Any] = []
            try:
                for manager, name in zip(managers, names):
                    held = manager(frame)
                    value = call(held, "__enter__", [], {})
                    entered.append(held)
                    if name is not None:
                        frame[name] = value
                return body(frame)
            finally:
                for held in reversed(entered):
                    call(held, "__exit__", [None, None, None], {})

        return within

    def _do_Raise(self, node: ast.Raise) -> Statement:
        error = node.exc
        if isinstance(error, ast.Call) and isinstance(error.func, ast.Name) and error.func.id == "AssertionError" and len(error.args) == 1:
            message = self.expression(error.args[0])

            def fail_assertion(frame: Frame) -> None:
                raise raised(str(message(frame)), "AssertionError")

            return fail_assertion
        text = self.expression(error) if error is not None else lambda frame: ""

        def fail(frame: Frame) -> None:
            raise raised(str(text(frame)))

        return fail

    # Expressions

    def expression(self, node: ast.expr) -> Expression:
        """Return an expression as a function of the local names."""
        method = getattr(self, f"_of_{type(node).__name__}", None)
        if method is None:
            raise _unknown(f"An expression {type(node).__name__}", node)
        return method(node)

    def _of_Constant(self, node: ast.Constant) -> Expression:
        value = node.value
        if value is not None and type(value) not in (bool, int, float, complex, str):
            raise _unknown(f"A constant of type {type(value).__name__}", node)
        return lambda frame: value

    def _of_Name(self, node: ast.Name) -> Expression:
        name = node.id
        other = _WORDS.get(name)

        def load(frame: Frame) -> Any:
            if name in frame:
                return frame[name]
            if other is None:
                raise RuntimeError(f"undefined value {name}")
            return other

        return load

    def _of_Tuple(self, node: ast.Tuple) -> Expression:
        items = [self.expression(one) for one in node.elts]
        return lambda frame: tuple([item(frame) for item in items])

    def _of_List(self, node: ast.List) -> Expression:
        items = [self.expression(one) for one in node.elts]
        return lambda frame: [item(frame) for item in items]

    def _of_Dict(self, node: ast.Dict) -> Expression:
        if any(key is None for key in node.keys):
            raise _unknown("A dict", node)
        pairs = [(self.expression(key), self.expression(value)) for key, value in zip(node.keys, node.values)]  # type: ignore[arg-type]
        return lambda frame: {key(frame): value(frame) for key, value in pairs}

    def _of_UnaryOp(self, node: ast.UnaryOp) -> Expression:
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant) and type(node.operand.value) in (int, float):
            number = -float(node.operand.value) if type(node.operand.value) is float else -int(node.operand.value)  # type: ignore[arg-type]
            return lambda frame: number
        name = {ast.USub: "neg", ast.Not: "__not__", ast.Invert: "bitwise_not"}.get(type(node.op))
        if name is None:
            raise _unknown("An operator", node)
        return self._operated(name, [node.operand])

    _BINARY = {
        ast.Add: "add",
        ast.Sub: "sub",
        ast.Mult: "mul",
        ast.Div: "div",
        ast.FloorDiv: "floordiv",
        ast.Mod: "remainder",
        ast.Pow: "pow",
        ast.BitAnd: "__and__",
        ast.BitOr: "__or__",
        ast.BitXor: "__xor__",
        ast.MatMult: "matmul",
        ast.LShift: "__lshift__",
        ast.RShift: "__rshift__",
    }
    _COMPARED = {
        ast.Eq: "eq",
        ast.NotEq: "ne",
        ast.Lt: "lt",
        ast.LtE: "le",
        ast.Gt: "gt",
        ast.GtE: "ge",
        ast.Is: "__is__",
        ast.IsNot: "__isnot__",
    }

    def _operated(self, name: str, operands: list[ast.expr]) -> Expression:
        call, items = operator("aten", name), [self.expression(one) for one in operands]
        return lambda frame: call(*[item(frame) for item in items])

    def _of_BinOp(self, node: ast.BinOp) -> Expression:
        return self._operated(self._BINARY[type(node.op)], [node.left, node.right])

    def _of_Compare(self, node: ast.Compare) -> Expression:
        if len(node.ops) > 1:
            operands = [node.left, *node.comparators]
            parts = [
                self._of_Compare(ast.copy_location(ast.Compare(left, [op], [right]), node))
                for left, op, right in zip(operands, node.ops, operands[1:])
            ]
            return lambda frame: all(part(frame) for part in parts)
        if isinstance(node.ops[0], (ast.In, ast.NotIn)):
            contains, item, holder = operator("aten", "__contains__"), self.expression(node.left), self.expression(node.comparators[0])
            wanted = isinstance(node.ops[0], ast.In)
            return lambda frame: contains(holder(frame), item(frame)) is wanted
        name = self._COMPARED.get(type(node.ops[0]))
        if name is None:
            raise _unknown("A comparison", node)
        return self._operated(name, [node.left, node.comparators[0]])

    def _of_BoolOp(self, node: ast.BoolOp) -> Expression:
        items = [self.expression(one) for one in node.values]
        if isinstance(node.op, ast.And):
            return lambda frame: all(item(frame) for item in items)
        return lambda frame: any(item(frame) for item in items)

    def _of_IfExp(self, node: ast.IfExp) -> Expression:
        test, yes, no = map(self.expression, (node.test, node.body, node.orelse))
        return lambda frame: yes(frame) if test(frame) else no(frame)

    def _of_Attribute(self, node: ast.Attribute) -> Expression:
        root = _root(node)
        if root == "CONSTANTS":
            text = node.attr.removeprefix("c")
            if not isinstance(node.value, ast.Name) or not text.isdecimal():
                raise _unknown("A constant", node)
            value = self._program.constant(int(text))
            return lambda frame: value
        if root == "__torch__":
            return self._named(dotted(node), node)
        if root in ("torch", "ops"):
            raise _unknown(f"{dotted(node)} as a value", node)
        holder, name, attribute = self.expression(node.value), node.attr, self._program.attribute
        return lambda frame: attribute(holder(frame), name)

    def _named(self, name: str, node: ast.expr) -> Expression:
        """Return a function of the archive as a value, or a member of an enum."""
        outer, _, member = name.rpartition(".")
        kind = self._program.enum(outer)
        if kind is not None:
            value = kind.python.__members__.get(member)
            if value is None:
                raise _unknown(name, node)
            return lambda frame: value
        target = self._program.find(name)
        if isinstance(target, Definition):
            return lambda frame: target
        self._want(target)
        closure = Closure(lambda *args, **kwargs: target.run(list(args), kwargs))
        return lambda frame: closure

    def _of_Call(self, node: ast.Call) -> Expression:
        if any(isinstance(one, ast.Starred) for one in node.args) or any(one.arg is None for one in node.keywords):
            raise _unknown("A call with a star", node)
        function = node.func
        if isinstance(function, ast.Name):
            return self._call_of_word(function.id, node)
        if not isinstance(function, ast.Attribute):
            raise _unknown("A call", node)
        root = _root(function)
        if root == "torch" and isinstance(function.value, ast.Name):
            text = node.args[0].value if len(node.args) == 1 and isinstance(node.args[0], ast.Constant) else None
            if function.attr == "device" and type(text) is str:
                place = self._program.device(text)
                return lambda frame: place
            old = former(function.attr, self._program.version)
            return self._call_of(old or operator("aten", function.attr), node)
        if root == "ops":
            parts = dotted(function).split(".")
            if len(parts) != 3:
                raise _unknown(dotted(function), node)
            if parts[1:] == ["prim", "RaiseException"]:
                return self._call_of(raise_, node)
            return self._call_of(operator(parts[1], parts[2]), node)
        if root == "warnings" and function.attr == "warn":
            return self._call_of(operator("aten", "warn"), node)
        if root == "prim" and isinstance(function.value, ast.Name):
            return self._call_of(operator("prim", function.attr), node)
        if root == "__torch__":
            return self._call_of_archive(function, node)
        holder, name, call = self.expression(function.value), function.attr, self._program.call
        args, kwargs = self._arguments(node)
        return lambda frame: call(holder(frame), name, [arg(frame) for arg in args], {key: value(frame) for key, value in kwargs.items()})

    def _call_of_archive(self, function: ast.Attribute, node: ast.Call) -> Expression:
        name, program = dotted(function), self._program
        if function.attr == "__new__":
            kind = program.find(dotted(function.value))
            if not isinstance(kind, Definition):
                raise _unknown(name, node)
            return lambda frame: program.construct(kind, [])
        target = program.find(name)
        args, kwargs = self._arguments(node)
        if isinstance(target, Definition):
            if target.kind == "Enum":
                members = target.python
                return lambda frame: members(args[0](frame))
            start = target.methods.get("__init__") if target.kind == "Class" else None
            if start is not None:
                self._want(start)

                def create(frame: Frame) -> Any:
                    value = program.construct(target, [])
                    start.run([value, *(arg(frame) for arg in args)], {key: item(frame) for key, item in kwargs.items()})
                    return value

                return create
            return lambda frame: program.construct(target, [arg(frame) for arg in args])
        self._want(target)
        return lambda frame: target.run([arg(frame) for arg in args], {key: value(frame) for key, value in kwargs.items()})

    def _arguments(self, node: ast.Call) -> tuple[list[Expression], dict[str, Expression]]:
        return [self.expression(one) for one in node.args], {str(one.arg): self.expression(one.value) for one in node.keywords}

    def _call_of(self, call: Callable[..., Any], node: ast.Call) -> Expression:
        args, kwargs = self._arguments(node)
        if not kwargs:
            if len(args) == 1:
                one = args[0]
                return lambda frame: call(one(frame))
            return lambda frame: call(*[arg(frame) for arg in args])
        return lambda frame: call(*[arg(frame) for arg in args], **{key: value(frame) for key, value in kwargs.items()})

    def _call_of_word(self, word: str, node: ast.Call) -> Expression:
        form = _FORMS.get((word, len(node.args)))
        expression = form(self, node) if form is not None else None
        if expression is not None:
            return expression
        if word in ("fork", "awaitable") and node.args:
            function, operands = self.expression(node.args[0]), [self.expression(one) for one in node.args[1:]]
            return lambda frame: forked(function(frame), [operand(frame) for operand in operands])
        if word in FUNCTIONS:
            return self._call_of(FUNCTIONS[word], node)
        if word in OPERATORS:
            return self._call_of(operator(OPERATORS[word], word), node)
        args, kwargs = self._arguments(node)

        def call(frame: Frame) -> Any:
            function = frame.get(word)
            if type(function) is not Closure:
                raise RuntimeError(f"undefined value {word}")
            return function.call(*[arg(frame) for arg in args], **{key: value(frame) for key, value in kwargs.items()})

        return call

    def _annotate(self, node: ast.Call) -> Expression:
        kind, value = read_type(node.args[0]), self.expression(node.args[1])
        return (lambda frame: cast(value(frame), kind)) if _casts(kind) else value

    def _unchecked_cast(self, node: ast.Call) -> Expression:
        read_type(node.args[0])  # a text that is no type is refused
        return self.expression(node.args[1])

    def _isinstance(self, node: ast.Call) -> Expression:
        items = node.args[1].elts if isinstance(node.args[1], (ast.Tuple, ast.List)) else [node.args[1]]
        kinds, value = [read_type(one) for one in items], self.expression(node.args[0])
        return lambda frame: any(is_of(value(frame), kind) for kind in kinds)

    def _getattr(self, node: ast.Call) -> Expression | None:
        name, attribute = _text_of(node.args[1]), self._program.attribute
        if name is None:
            return None
        holder = self.expression(node.args[0])
        return lambda frame: attribute(holder(frame), name)

    def _setattr(self, node: ast.Call) -> Expression | None:
        name = _text_of(node.args[1])
        if name is None:
            return None
        holder, value = self.expression(node.args[0]), self.expression(node.args[2])
        return lambda frame: self._program.assign(holder(frame), name, value(frame))


def _stored(name: str, value: Expression) -> Statement:
    def store(frame: Frame) -> None:
        frame[name] = value(frame)

    return store


def _root(node: ast.expr) -> str:
    """Return the first name of a dotted name; "" for another expression."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _casts(kind: Type) -> bool:
    return kind.kind in ("int", "float", "complex") or kind.kind == "Optional" and kind.of[0].kind in ("int", "float", "complex")


def _text_of(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and type(node.value) is str else None


_FORMS: dict[tuple[str, int], Callable[[Compiler, ast.Call], Expression | None]] = {
    ("annotate", 2): Compiler._annotate,
    ("unchecked_cast", 2): Compiler._unchecked_cast,
    ("uninitialized", 1): lambda self, node: lambda frame: None,
    ("isinstance", 2): Compiler._isinstance,
    ("getattr", 2): Compiler._getattr,
    ("setattr", 3): Compiler._setattr,
}
"""Words of TorchScript whose arguments are not all values, by their number; a form returns None for a call that is not one of it"""

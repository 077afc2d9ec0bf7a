"""One file's uses of torch: names, tensor methods and calls, each with its line and the checks that guard it; no code is executed."""
from __future__ import annotations

import ast
import functools
from typing import Any, NamedTuple

from . import kinds
from .guards import AT_IMPORT, CHECKED, IN_FUNCTION, IN_TRY, Guards, catches_absence, checked_names
from .kinds import Kind, Name, Object, Tensor, This
from .parameters import all_arguments, argument_kinds, own_attributes
from .sources import Source

Function = ast.FunctionDef | ast.AsyncFunctionDef
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


class Use(NamedTuple):
    """A use of torch in code; ``what`` is "import", "name", "call", "method" or "method call"."""

    line: int
    what: str
    name: str
    state: str
    function: str
    call: ast.Call | None = None


class Import(NamedTuple):
    """An import in the code: the module that it loads, and the names that it imports from the module."""

    line: int
    module: str
    names: tuple[str, ...]
    level: int
    state: str


class Walk:
    """Analyses a file: ``uses`` of torch, ``imports`` of all modules, and the names below torch that the file ``sets``."""

    def __init__(self, tree: ast.Module) -> None:
        self.uses: list[Use] = []
        self.imports: list[Import] = []
        self.sets: set[str] = set()
        self.methods: set[str] = set()  # methods of the file's own classes
        self.calls: list[tuple[ast.Call, str | None, str]] = []  # all calls, each with the dotted torch name and the state
        self.devices: list[tuple[str, int]] = []  # strings that are bound to a name or are a default, with their lines
        self._guards = Guards()
        self._later: list[tuple[Any, dict[str, Kind], This | None]] = []
        self._loud = True
        self._lazy = "annotations" in [
            alias.name for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__" for alias in node.names
        ]
        named: dict[str, Kind] = {}
        self._block(tree.body, named)
        while self._later:
            node, around, this = self._later.pop(0)
            self._function(node, {**named, **around}, this)

    # Statements

    def _block(self, statements: list[ast.stmt], named: dict[str, Kind], this: This | None = None) -> None:
        for statement in statements:
            visit = getattr(self, f"_{type(statement).__name__.lower()}", None)
            if visit is not None:
                visit(statement, named, this)
            else:
                for child in ast.iter_child_nodes(statement):
                    if isinstance(child, ast.expr):
                        self._value(child, named)

    def _import(self, node: ast.Import, named: dict[str, Kind], this: This | None) -> None:
        for alias in node.names:
            self._imported(node.lineno, alias.name, (), 0)
            root = alias.name.partition(".")[0]
            bound = alias.asname or root
            if root == "torch":
                self._use(node.lineno, "import", alias.name)
                named[bound] = Name(alias.name if alias.asname else "torch")
            else:
                named.pop(bound, None)

    def _importfrom(self, node: ast.ImportFrom, named: dict[str, Kind], this: This | None) -> None:
        module = node.module or ""
        self._imported(node.lineno, module, tuple(alias.name for alias in node.names), node.level)
        for alias in node.names:
            if module.partition(".")[0] == "torch" and not node.level:
                name = module if alias.name == "*" else f"{module}.{alias.name}"
                self._use(node.lineno, "import", name)
                if alias.name == "*":
                    named.update(dict.fromkeys(("nn", "Tensor", "optim"), None) if module != "torch" else {"nn": Name("torch.nn")})
                else:
                    named[alias.asname or alias.name] = Name(name)
            else:
                named.pop(alias.asname or alias.name, None)

    def _imported(self, line: int, module: str, names: tuple[str, ...], level: int) -> None:
        if self._loud:
            state = self._guards.state()
            self.imports.append(Import(line, module, names, level, CHECKED if state == AT_IMPORT and self._guards.depends() else state))

    def _functiondef(self, node: Function, named: dict[str, Kind], this: This | None) -> None:
        for decorator in node.decorator_list:
            self._value(decorator, named)
        arguments = node.args
        for default in (*arguments.defaults, *(item for item in arguments.kw_defaults if item is not None)):
            self._value(default, named)
            self._text(default)
        if not self._lazy:
            for annotation in (*(item.annotation for item in all_arguments(arguments)), node.returns):
                if annotation is not None and not isinstance(annotation, ast.Constant):
                    self._value(annotation, named)
        named.pop(node.name, None)
        if self._loud:
            self._later.append((node, named, this))

    _asyncfunctiondef = _functiondef

    def _function(self, node: Function, named: dict[str, Kind], this: This | None) -> None:
        named.update(argument_kinds(node, this, named))
        with self._guards.within(node.name):
            self._block(node.body, named)

    def _classdef(self, node: ast.ClassDef, named: dict[str, Kind], this: This | None) -> None:
        for part in (*node.bases, *node.decorator_list, *(item.value for item in node.keywords)):
            self._value(part, named)
        methods = [item for item in node.body if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef))]
        self.methods |= {item.name for item in methods}
        attributes = own_attributes(node, methods, lambda value, around: self._quietly(value, {**named, **around}))
        self._block(node.body, named.copy(), This(attributes))
        named.pop(node.name, None)

    def _quietly(self, value: ast.expr, named: dict[str, Kind]) -> Kind:
        loud, self._loud = self._loud, False
        try:
            return self._value(value, dict(named))
        finally:
            self._loud = loud

    def _assign(self, node: ast.Assign, named: dict[str, Kind], this: This | None) -> None:
        kind = self._value(node.value, named)
        self._text(node.value)
        for target in node.targets:
            self._bind(target, kind, named, node.value)

    def _annassign(self, node: ast.AnnAssign, named: dict[str, Kind], this: This | None) -> None:
        kind = self._value(node.value, named) if node.value is not None else None
        if not (self._lazy or self._guards.function or isinstance(node.annotation, ast.Constant)):
            self._value(node.annotation, named)
        self._bind(node.target, kinds.of_annotation(node.annotation, named) or kind, named, node.value)

    def _augassign(self, node: ast.AugAssign, named: dict[str, Kind], this: This | None) -> None:
        self._value(node.value, named)
        if not isinstance(node.target, ast.Name):
            self._value(node.target, named)

    def _text(self, value: ast.expr) -> None:
        text = value.value if isinstance(value, ast.Constant) else None
        if self._loud and isinstance(text, str) and self._guards.state() in (AT_IMPORT, IN_FUNCTION):
            self.devices.append((text, value.lineno))

    def _bind(self, target: ast.expr, kind: Kind, named: dict[str, Kind], value: ast.expr | None = None) -> None:
        if isinstance(target, ast.Name):
            named[target.id] = kind
        elif isinstance(target, (ast.Tuple, ast.List)):
            values = value.elts if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts) else None
            for number, item in enumerate(target.elts):
                if values is not None:
                    self._bind(item, self._quietly(values[number], named), named, values[number])
                else:
                    self._bind(item, kinds.item_of(kind), named)
        elif isinstance(target, ast.Starred):
            self._bind(target.value, None, named)
        elif isinstance(target, ast.Attribute):
            owner = self._value(target.value, named)
            if isinstance(owner, Name):
                self.sets.add(f"{owner.dotted}.{target.attr}")
            elif isinstance(owner, Tensor):
                self.sets.add(f"torch.Tensor.{target.attr}")
        else:
            self._value(target, named)

    def _if(self, node: ast.If, named: dict[str, Kind], this: This | None) -> None:
        self._value(node.test, named)
        inside, outside = named.copy(), named.copy()
        self._narrow(node.test, inside)
        guard = checked_names(node.test)
        with self._guards.branch(guard):
            self._block(node.body, inside, this)
        with self._guards.branch(guard):
            self._block(node.orelse, outside, this)
        ends = [bool(body) and isinstance(body[-1], _LEAVES) for body in (node.body, node.orelse)]
        if ends[0] and not ends[1]:
            if guard:
                self._guards.since_checked(guard)
            named.update(outside)
        elif ends[1] and not ends[0]:
            named.update(inside)
        else:
            for name in {*inside, *outside}:
                named[name] = kinds.merged(inside.get(name), outside.get(name))

    def _narrow(self, test: ast.expr, named: dict[str, Kind]) -> None:
        """Forget in ``named`` that a name is a tensor if a condition tests it by ``isinstance`` or ``hasattr``."""
        for node in ast.walk(test):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "hasattr") and node.args:
                if isinstance(node.args[0], ast.Name) and isinstance(named.get(node.args[0].id), Tensor):
                    named[node.args[0].id] = None

    def _for(self, node: ast.For | ast.AsyncFor, named: dict[str, Kind], this: This | None) -> None:
        kind = self._value(node.iter, named)
        self._bind(node.target, kinds.item_of(kind), named)
        self._loop([*node.body, *node.orelse], named, this)

    _asyncfor = _for

    def _while(self, node: ast.While, named: dict[str, Kind], this: This | None) -> None:
        self._value(node.test, named)
        self._loop([*node.body, *node.orelse], named, this)

    def _loop(self, body: list[ast.stmt], named: dict[str, Kind], this: This | None) -> None:
        if self._loud:  # names that the loop's body binds to other values are unknown in the body
            self._loud, after = False, named.copy()
            self._block(body, after, this)
            self._loud = True
            for name, kind in after.items():
                named[name] = kinds.merged(named.get(name), kind) if name in named else kind
        self._block(body, named, this)

    def _try(self, node: ast.Try, named: dict[str, Kind], this: This | None) -> None:
        with self._guards.tried(any(catches_absence(handler) for handler in node.handlers)):
            self._block(node.body, named, this)
        before = named.copy()
        for handler in node.handlers:
            inside = before.copy()
            if handler.type is not None:
                self._value(handler.type, inside)
            with self._guards.tried(catches_absence(handler)):
                self._block(handler.body, inside, this)
            if not isinstance(handler.body[-1], _LEAVES):
                for name, kind in inside.items():
                    known = named.get(name)
                    named[name] = kind if known is None else known if kind is None else kinds.merged(known, kind)
        self._block([*node.orelse, *node.finalbody], named, this)

    _trystar = _try

    def _with(self, node: ast.With | ast.AsyncWith, named: dict[str, Kind], this: This | None) -> None:
        for item in node.items:
            self._value(item.context_expr, named)
            if item.optional_vars is not None:
                self._bind(item.optional_vars, None, named)
        tried = any("suppress" in ast.unparse(item.context_expr) for item in node.items)
        with self._guards.tried(tried):
            self._block(node.body, named, this)

    _asyncwith = _with

    def _match(self, node: ast.Match, named: dict[str, Kind], this: This | None) -> None:
        self._value(node.subject, named)
        for case in node.cases:
            self._block(case.body, named, this)

    # Expressions: each is visited once, its uses are recorded, and its inferred type is returned

    def _value(self, node: ast.expr, named: dict[str, Kind]) -> Kind:
        visit = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        if visit is not None:
            return visit(node, named)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self._value(child, named)
            elif isinstance(child, ast.keyword):
                self._value(child.value, named)
        return None

    def _of_name(self, node: ast.Name, named: dict[str, Kind]) -> Kind:
        kind = named.get(node.id)
        if isinstance(kind, Name) and isinstance(node.ctx, ast.Load) and kind.dotted != "torch":
            self._use(node.lineno, "name", kind.dotted)
        return kind

    def _of_attribute(self, node: ast.Attribute, named: dict[str, Kind]) -> Kind:
        dotted = kinds.dotted_name(node, named)
        if dotted is not None:
            self._use(node.end_lineno or node.lineno, "name", dotted)
            return Name(dotted)
        owner = self._value(node.value, named)
        if isinstance(owner, Tensor):
            self._use(node.end_lineno or node.lineno, "method", node.attr)
            return kinds.property_of_tensor(node.attr)
        return dict(owner.attributes).get(node.attr) if isinstance(owner, This) else None

    def _of_call(self, node: ast.Call, named: dict[str, Kind]) -> Kind:
        guard = checked_names(node) if isinstance(node.func, ast.Name) and node.func.id in ("hasattr", "getattr") else frozenset()
        with self._guards.checked(guard):
            return self._called(node, named)

    def _called(self, node: ast.Call, named: dict[str, Kind]) -> Kind:
        function = node.func
        of_tensor: Kind = None
        if isinstance(function, ast.Attribute) and kinds.dotted_name(function, named) is None:
            of_tensor = self._value(function.value, named)
            if isinstance(of_tensor, Tensor):
                self._use(function.end_lineno or function.lineno, "method call", function.attr, node)
            called: Kind = dict(of_tensor.attributes).get(function.attr) if isinstance(of_tensor, This) else None
        else:
            called = self._value(function, named)
        dotted = called.dotted if isinstance(called, Name) else None
        for value in (*node.args, *(item.value for item in node.keywords)):
            self._value(value.value if isinstance(value, ast.Starred) else value, named)
        if self._loud:
            method = f".{function.attr}" if isinstance(function, ast.Attribute) else None
            self.calls.append((node, dotted or method, self._guards.state()))
            self._set_by_call(node, named)
        if isinstance(of_tensor, Tensor) and isinstance(function, ast.Attribute):
            return kinds.result_of_method(function.attr)
        if dotted is not None:
            self._use(node.lineno, "call", dotted, node)
            return kinds.result_of_function(dotted) or (Object(dotted) if dotted.rpartition(".")[2][:1].isupper() else None)
        return kinds.result_of_layer(called.dotted) if isinstance(called, Object) else None

    def _set_by_call(self, node: ast.Call, named: dict[str, Kind]) -> None:
        if isinstance(node.func, ast.Name) and node.func.id in ("setattr", "getattr") and len(node.args) >= 2:
            owner, name = kinds.dotted_name(node.args[0], named), node.args[1]
            if owner is None or not isinstance(name, ast.Constant) or not isinstance(name.value, str):
                return
            if node.func.id == "setattr":
                self.sets.add(f"{owner}.{name.value}")
            elif len(node.args) == 2:
                self._use(node.lineno, "name", f"{owner}.{name.value}")

    def _of_binop(self, node: ast.BinOp, named: dict[str, Kind]) -> Kind:
        sides = [self._value(node.left, named), self._value(node.right, named)]
        return next((kind for kind in sides if isinstance(kind, Tensor)), None)

    def _of_compare(self, node: ast.Compare, named: dict[str, Kind]) -> Kind:
        sides = [self._value(item, named) for item in (node.left, *node.comparators)]
        if any(isinstance(operator, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for operator in node.ops):
            return None
        return next((kind for kind in sides if isinstance(kind, Tensor)), None)

    def _of_unaryop(self, node: ast.UnaryOp, named: dict[str, Kind]) -> Kind:
        kind = self._value(node.operand, named)
        return kind if isinstance(kind, Tensor) and not isinstance(node.op, ast.Not) else None

    def _of_subscript(self, node: ast.Subscript, named: dict[str, Kind]) -> Kind:
        kind = self._value(node.value, named)
        self._value(node.slice, named)
        return kinds.item_of(kind)

    def _of_ifexp(self, node: ast.IfExp, named: dict[str, Kind]) -> Kind:
        self._value(node.test, named)
        with self._guards.checked(checked_names(node.test)):
            first, second = self._value(node.body, named), self._value(node.orelse, named)
        return kinds.merged(first, second)

    def _of_boolop(self, node: ast.BoolOp, named: dict[str, Kind]) -> Kind:
        guard: frozenset[str] = frozenset()
        inside = named.copy()
        for value in node.values:  # the tests in earlier operands guard the later ones
            with self._guards.checked(guard):
                self._value(value, inside)
            guard |= checked_names(value)
            self._narrow(value, inside)
        return None

    def _of_namedexpr(self, node: ast.NamedExpr, named: dict[str, Kind]) -> Kind:
        kind = self._value(node.value, named)
        self._bind(node.target, kind, named)
        return kind

    def _of_lambda(self, node: ast.Lambda, named: dict[str, Kind]) -> Kind:
        with self._guards.within("lambda"):
            self._value(node.body, {**named, **{item.arg: None for item in all_arguments(node.args)}})
        return None

    def _of_listcomp(self, node: Any, named: dict[str, Kind]) -> Kind:
        inside = named.copy()
        for loop in node.generators:
            kind = self._value(loop.iter, inside)
            self._bind(loop.target, kinds.item_of(kind), inside)
            for test in loop.ifs:
                self._value(test, inside)
                self._narrow(test, inside)
        for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            self._value(part, inside)
        return None

    _of_setcomp = _of_generatorexp = _of_dictcomp = _of_listcomp

    def _use(self, line: int, what: str, name: str, call: ast.Call | None = None) -> None:
        if self._loud:
            state = self._guards.state(name.rpartition(".")[2] if what != "import" else "")
            self.uses.append(Use(line, what, name, state, self._guards.function, call))


@functools.cache
def walk_of(source: Source) -> Walk:
    """Return the Walk of a file, cached."""
    return Walk(source.tree)


__all__ = ["AT_IMPORT", "CHECKED", "IN_FUNCTION", "IN_TRY", "Import", "Use", "Walk", "walk_of"]

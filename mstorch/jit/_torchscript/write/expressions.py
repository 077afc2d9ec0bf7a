"""Expressions of a script's functions, as TorchScript's text."""

from __future__ import annotations

import ast
import builtins
import enum
import operator
import types
from typing import Any

from ...._src.core.device import device
from ...._src.core.dtype import dtype
from ...._src.core.formats import layout, memory_format
from ...._tensor import Tensor
from ....nn.modules.module import Module
from ..numbers import number_of
from ..types import ANY, TENSOR, Type, is_kind
from .annotations import BOOL, DEVICE, INT, NONE, STR, fits, joined, of_annotation, of_value
from .callables import Callables
from .pieces import NOTHING, Items, Method, ParentOf, Piece, Poison, attribute, plain_of
from .results import COMPARED, PROPERTIES, NamedResult, of_binary, of_element, of_operator, of_turn
from .values import quoted, shown, tuple_text

BINARY: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("add", "+"), ast.Sub: ("sub", "-"), ast.Mult: ("mul", "*"), ast.Div: ("div", "/"), ast.FloorDiv: ("floordiv", "//"),
    ast.Mod: ("remainder", "%"), ast.Pow: ("pow", "**"), ast.BitAnd: ("__and__", "&"), ast.BitOr: ("__or__", "|"),
    ast.BitXor: ("__xor__", "^"), ast.MatMult: ("matmul", "@"), ast.LShift: ("__lshift__", "<<"), ast.RShift: ("__rshift__", ">>"),
}  # fmt: skip
_MAGIC = {"div": "truediv", "remainder": "mod"}


class Expressions(Callables):
    """Writes expressions. ``expected`` is the type that an annotation tells of an empty list or dict."""

    def expression(self, node: ast.expr, expected: Type | None = None) -> Piece:
        """Return an expression's text, type, and value if it is known. Raise Unwritable, naming the line, for what a program has not."""
        method = getattr(self, f"_of_{type(node).__name__}", None)
        if method is None:
            raise self.unwritable(f"an expression {type(node).__name__}", node)
        if isinstance(node, (ast.List, ast.Dict, ast.Tuple, ast.IfExp)):
            return method(node, expected)
        return method(node)

    def _of_Constant(self, node: ast.Constant) -> Piece:
        value = node.value
        if type(value) is str and not value.isascii():
            return Piece(self.program.constant(value), STR, value)
        kind = of_value(value, self.program.named)
        if kind is None:
            raise self.unwritable(f"a constant of {type(value).__name__}", node)
        return Piece(shown(value, str), kind, value)

    def _of_Name(self, node: ast.Name) -> Piece:
        return self.name(node.id, node)

    def name(self, name: str, node: ast.AST) -> Piece:
        """Return a name's piece: of a local variable, or of what the function sees."""
        if name in self.env:
            piece = self.env[name]
            if isinstance(piece, Poison):
                raise self.unwritable(f"'{name}' ({piece.reason})", node)
            return piece
        if name in self.locals:
            raise self.unwritable(f"'{name}', which has no value here,", node)
        if name in self.scope:
            return self.static(self.scope[name], node)
        if hasattr(builtins, name):
            return Piece(name, None, getattr(builtins, name))
        raise self.unwritable(f"the undefined name '{name}'", node)

    def static(self, value: Any, node: ast.AST) -> Piece:
        """Return the piece of a value of Python."""
        if isinstance(value, (dtype, layout, memory_format)):
            return Piece(str(number_of(value)), INT, value)
        if isinstance(value, device):
            return Piece(f'torch.device("{value}")', DEVICE)
        if isinstance(value, enum.Enum):
            kind = self.program.named(type(value))
            if kind is not None:
                return Piece(f"{kind!r}.{value.name}", kind, value)
        if isinstance(value, Tensor):
            raise self.unwritable("a tensor of the surrounding module: make it an argument or a buffer", node)
        if value is None or type(value) in (bool, int, float, str, complex):
            if type(value) is str and not value.isascii():
                return Piece(self.program.constant(value), STR, value)
            return Piece(shown(value, str), of_value(value, self.program.named), value)
        if type(value) in (tuple, list) and value and all(type(item) in (bool, int, float, str) for item in value):
            return Piece(shown(value, str) if type(value) is list else tuple_text(value), of_value(value, self.program.named))
        return Piece("", None, value)

    def evaluated(self, node: ast.expr) -> Any:
        """Return the value of an annotation, or of another expression of names that the function sees."""
        try:
            return eval(compile(ast.Expression(node), self.file, "eval"), dict(self.scope))
        except Exception as error:  # noqa: BLE001 - it may be any
            raise self.unwritable(f"'{ast.unparse(node)}' ({type(error).__name__}: {error})", node) from None

    def _runtime(self, piece: Piece, node: ast.AST) -> Piece:
        """Raise Unwritable for a piece that is no value of a program."""
        if piece.static is not NOTHING and (piece.kind is None or isinstance(piece.static, Items)):
            value = piece.static
            if isinstance(value, Method) and isinstance(value.owner, Piece) and value.owner.kind is None:
                return Piece(piece.text)  # an attribute of a value of unknown type
            if isinstance(value, Module):
                raise self.unwritable(f"a module ({type(value).__name__}) as a value", node)
            title = getattr(value, "__name__", type(value).__name__)
            raise self.unwritable("several modules as a value" if isinstance(value, Items) else f"'{title}' of Python as a value", node)
        return piece

    def value(self, node: ast.expr, expected: Type | None = None) -> Piece:
        """Return the piece of an expression that is a value of a program."""
        return self._runtime(self.expression(node, expected), node)

    def _of_Tuple(self, node: ast.Tuple, expected: Type | None = None) -> Piece:
        kinds = (
            expected.of
            if expected is not None and expected.kind == "Tuple" and len(expected.of) == len(node.elts)
            else [None] * len(node.elts)
        )
        parts = (
            [self.value(one, kind) for one, kind in zip(self._unstarred(node.elts), kinds)]
            if not any(isinstance(one, ast.Starred) for one in node.elts)
            else self.spread(node.elts)
        )
        of = [part.kind for part in parts]
        kind = None if None in of else Type("Tuple", tuple(of))  # type: ignore[arg-type]
        return Piece(f"({', '.join(part.text for part in parts)}{',' if len(parts) == 1 else ''})", kind)

    @staticmethod
    def _unstarred(nodes: list[ast.expr]) -> list[ast.expr]:
        return nodes

    def _of_List(self, node: ast.List, expected: Type | None = None) -> Piece:
        inner = expected.of[0] if expected is not None and expected.kind == "Optional" else expected
        of = inner.of[0] if inner is not None and inner.kind == "List" else None
        parts = (
            self.spread(node.elts) if any(isinstance(one, ast.Starred) for one in node.elts) else [self.value(one, of) for one in node.elts]
        )
        if not parts:
            return Piece("[]", Type("List", (TENSOR,)) if of is None else inner)
        kind: Type | None = parts[0].kind
        for part in parts[1:]:
            try:
                kind = joined(kind, part.kind)
            except TypeError:
                if of is None or not all(fits(one.kind, of) for one in parts):
                    raise self.unwritable(f"a list of {kind!r} and {part.kind!r}", node) from None
        if of is not None and all(fits(part.kind, of) for part in parts):
            kind = of
        return Piece(f"[{', '.join(part.text for part in parts)}]", None if kind is None else Type("List", (kind,)))

    def _of_Dict(self, node: ast.Dict, expected: Type | None = None) -> Piece:
        if None in node.keys:
            raise self.unwritable("a dict with **", node)
        inner = expected.of[0] if expected is not None and expected.kind == "Optional" else expected
        of = inner.of if inner is not None and inner.kind == "Dict" else (None, None)
        pairs = [(self.value(key, of[0]), self.value(item, of[1])) for key, item in zip(node.keys, node.values) if key is not None]
        if not pairs:
            return Piece("{}", Type("Dict", (STR, TENSOR)) if inner is None else inner)
        kinds: list[Type | None] = list(of)
        for place in (0, 1):
            if kinds[place] is None:
                kinds[place] = pairs[0][place].kind
            for pair in pairs:
                if not fits(pair[place].kind, kinds[place]):
                    raise self.unwritable(f"a dict with {kinds[place]!r} and {pair[place].kind!r}", node)
        text = ", ".join(f"{key.text}: {item.text}" for key, item in pairs)
        return Piece(f"{{{text}}}", None if None in kinds else Type("Dict", tuple(kinds)))  # type: ignore[arg-type]

    def _of_JoinedStr(self, node: ast.JoinedStr) -> Piece:
        template, values = "", []
        for part in node.values:
            if isinstance(part, ast.Constant):
                text = str(part.value)
                if "{" in text or "}" in text:
                    raise self.unwritable("a brace in an f-string", node)
                template += text
            elif isinstance(part, ast.FormattedValue):
                if part.conversion != -1 or part.format_spec is not None:
                    raise self.unwritable("a format in an f-string", node)
                template += "{}"
                values.append(self.value(part.value).text)
        if not template.isascii():
            return Piece(f"torch.format({', '.join([self.program.constant(template), *values])})", STR)
        return Piece(f"torch.format({', '.join([quoted(template), *values])})" if values else quoted(template), STR)

    def _of_UnaryOp(self, node: ast.UnaryOp) -> Piece:
        if isinstance(node.op, ast.Not):
            return self.condition(node)
        piece = self.value(node.operand)
        if isinstance(node.op, ast.USub) and piece.is_static and type(piece.static) in (int, float):
            return Piece(shown(-piece.static, str), piece.kind, -piece.static)
        if isinstance(node.op, ast.UAdd):
            return piece
        sign = "-" if isinstance(node.op, ast.USub) else "~"
        if sign == "~" and piece.kind is not None and piece.kind.kind != "Tensor":
            raise self.unwritable(f"~ of {piece.kind!r}", node)
        return Piece(f"({sign}{piece.text})", piece.kind if piece.kind is None or piece.kind.kind != "bool" else INT)

    def _of_BinOp(self, node: ast.BinOp) -> Piece:
        name, sign = BINARY[type(node.op)]
        # a tuple times a number is a list, as torch's compiler makes one of it
        first = ast.List(node.left.elts, ast.Load()) if name == "mul" and isinstance(node.left, ast.Tuple) else node.left
        left, right = self.value(ast.copy_location(first, node.left)), self.value(node.right)
        if name == "remainder" and left.kind is not None and left.kind.kind == "str":
            return Piece(f"({left.text} % {right.text})", STR)
        own = self.magic(left, name if name.startswith("__") else f"__{_MAGIC.get(name, name)}__", [right], node)
        if own is not None:
            return own
        kind = self.binary_kind(name, left, right, node)
        static: Any = NOTHING
        if type(left.static) is type(right.static) is int and name in ("add", "sub", "mul"):
            static = {"add": left.static + right.static, "sub": left.static - right.static, "mul": left.static * right.static}[name]
        return Piece(self.binary_text(name, sign, left.text, right.text), kind, static)

    def binary_kind(self, name: str, left: Piece, right: Piece, node: ast.AST) -> Type | None:
        """Return the type of a binary operator's result."""
        self.here = node
        return of_binary(name, left.kind, right.kind)

    def binary_text(self, name: str, sign: str, left: str, right: str) -> str:
        """Return the text of a binary operator."""
        return f"({left} {sign} {right})" if sign != "@" else f"torch.matmul({left}, {right})"

    def _of_Compare(self, node: ast.Compare) -> Piece:
        operands, parts = [node.left, *node.comparators], []
        for left, op, right in zip(operands, node.ops, operands[1:]):
            parts.append(self._compared(left, op, right, node))
        if len(parts) == 1:
            return parts[0]
        return Piece(f"({' and '.join(part.text for part in parts)})", BOOL)

    def _compared(self, first: ast.expr, op: ast.cmpop, second: ast.expr, node: ast.AST) -> Piece:
        left, right = self.expression(first), self.expression(second)
        if isinstance(op, (ast.Is, ast.IsNot)):
            known = _none_known(left, right)
            if known is not None:
                return _truth(known is isinstance(op, ast.Is))
            self._runtime(left, node), self._runtime(right, node)
            if left.kind is not None and right.kind is not None and self.program.is_class(left.kind) and left.kind.kind == right.kind.kind:
                return Piece(f"({left.text} {'==' if isinstance(op, ast.Is) else '!='} {right.text})", BOOL)  # members of an enum
            return Piece(f"({left.text} {'is' if isinstance(op, ast.Is) else 'is not'} {right.text})", BOOL)
        if isinstance(op, (ast.In, ast.NotIn)):
            if isinstance(right.static, Module):
                return _truth((left.static in right.static) is isinstance(op, ast.In))  # type: ignore[operator]
            holder = right.text
            if isinstance(second, ast.Tuple) and right.kind is not None:
                holder = f"[{right.text[1:-1].rstrip(',')}]"  # torch finds elements of lists alone
            self._runtime(left, node)
            own = self.magic(right, "__contains__", [left], node)
            if own is not None:
                return own if isinstance(op, ast.In) else Piece(f"(not {own.text})", BOOL)
            text = f"({left.text} in {holder})"
            return Piece(text if isinstance(op, ast.In) else f"(not {text})", BOOL)
        self._runtime(left, node), self._runtime(right, node)
        name, sign = COMPARED[type(op)]
        own = self.magic(left, f"__{name}__", [right], node)
        if own is not None:
            return own
        if left.is_static and right.is_static and left.kind is not None and right.kind is not None:
            try:
                return _truth(bool(getattr(operator, name)(left.static, right.static)))
            except TypeError:
                pass
        return Piece(f"({left.text} {sign} {right.text})", self.binary_kind(name, left, right, node))

    def condition(self, node: ast.expr) -> Piece:
        """Return a test: its text, or its truth if that is known."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.condition(node.operand)
            return _truth(not inner.static) if inner.is_static else Piece(f"(not {inner.text})", BOOL)
        if isinstance(node, ast.BoolOp):
            return self._of_BoolOp(node)
        piece = self.expression(node)
        if isinstance(piece.static, (Module, Items)):
            return _truth(not isinstance(piece.static, Items) or bool(piece.static))
        self._runtime(piece, node)
        if piece.is_static:
            return _truth(bool(piece.static))
        if piece.kind is not None and piece.kind.kind in ("List", "Dict", "Tuple", "Optional", "str", "NoneType"):
            raise self.unwritable(f"a value of {piece.kind!r} as a condition", node)
        return Piece(piece.text, BOOL)

    def _of_BoolOp(self, node: ast.BoolOp) -> Piece:
        wanted = isinstance(node.op, ast.And)
        parts: list[Piece] = []
        env = dict(self.env)
        for place, one in enumerate(node.values):
            self.conditional += place > 0
            part = self.condition(one)
            self.conditional -= place > 0
            if part.is_static:
                if bool(part.static) is not wanted:
                    if not parts:
                        self.env = env
                        return part
                    if not any(isinstance(part_of, ast.Call) for value in node.values[:place] for part_of in ast.walk(value)):
                        self.env = env
                        return part  # as torch's compiler has it, which leaves a branch out by what follows, too
                    parts.append(part)
                    break
                continue
            parts.append(part)
            self._narrow(self.narrowed(one, wanted))
        self.env = env
        if not parts:
            return _truth(wanted)
        return Piece(f"({(' and ' if wanted else ' or ').join(part.text for part in parts)})", BOOL)

    def narrowed(self, node: ast.expr, truth: bool) -> list[tuple[str, Type]]:
        """Return the local names of which a test tells a narrower type where it holds, or where it does not."""
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.narrowed(operand, not truth)
            case ast.BoolOp(op=op, values=values) if isinstance(op, ast.And) is truth:
                return [pair for one in values for pair in self.narrowed(one, truth)]
            case ast.Compare(left=ast.Name(id=name), ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(value=None)]):
                piece = self.env.get(name)
                if isinstance(piece, Piece) and is_kind(piece.kind, "Optional"):
                    is_none = isinstance(op, ast.Is) is truth
                    return [(name, NONE if is_none else piece.kind.of[0])]
            case ast.Call(func=ast.Name(id="isinstance") | ast.Attribute(attr="isinstance"), args=[ast.Name(id=name), tested]) if truth:
                kind = None if isinstance(tested, ast.Tuple) else self.evaluated(tested)
                if kind not in (None, list, dict, tuple):
                    return [(name, of_annotation(kind, self.program.named))]
        return []

    def _of_IfExp(self, node: ast.IfExp, expected: Type | None = None) -> Piece:
        test = self.condition(node.test)
        if test.is_static:
            return self.expression(node.body if test.static else node.orelse, expected)
        env = dict(self.env)
        self.conditional += 1
        self._narrow(self.narrowed(node.test, True))
        yes = self.value(node.body, expected)
        self.env = dict(env)
        self._narrow(self.narrowed(node.test, False))
        no = self.value(node.orelse, expected)
        self.env = env
        self.conditional -= 1
        try:
            kind = joined(yes.kind, no.kind)
        except TypeError as error:
            raise self.unwritable(f"a choice that is {error}", node) from None
        return Piece(f"({yes.text} if {test.text} else {no.text})", kind)

    def _of_Subscript(self, node: ast.Subscript) -> Piece:
        holder = self.expression(node.value)
        items = self.items(holder)
        if items is not None or isinstance(holder.static, Module):
            return self._module_at(holder, items, node)
        self._runtime(holder, node)
        text, place, cut = self.index(node.slice)
        own = self.magic(holder, "__getitem__", [Piece(text)], node)
        if own is not None:
            return own
        kind = holder.kind if cut and holder.kind is not None and holder.kind.kind in ("List", "str") else None
        if kind is None and not cut:
            self.here = node
            kind = of_element(holder.kind, place)
        elif kind is None and holder.kind is not None and holder.kind.kind == "Tensor":
            kind = TENSOR
        elif kind is None and holder.kind is not None and holder.kind.kind == "Tuple" and isinstance(node.slice, ast.Slice):
            bounds = [None if one is None else self.expression(one).static for one in (node.slice.lower, node.slice.upper, node.slice.step)]
            if all(one is None or type(one) is int for one in bounds):
                kind = Type("Tuple", holder.kind.of[slice(*bounds)])
        return Piece(f"{holder.text}[{text}]", kind)

    def _module_at(self, holder: Piece, items: Items | None, node: ast.Subscript) -> Piece:
        if isinstance(node.slice, ast.Slice) and items is not None:
            bounds = [None if one is None else self.expression(one).static for one in (node.slice.lower, node.slice.upper, node.slice.step)]
            if all(one is None or type(one) is int for one in bounds):
                return Piece("", None, Items(items[slice(*bounds)]))
        place = self.expression(node.slice).static
        if type(place) is str and isinstance(holder.static, Module) and place in holder.static._modules:
            return Piece(attribute(holder.text, place), None, plain_of(holder.static._modules[place]))
        if type(place) is str and isinstance(holder.static, Module) and place in holder.static._parameters:
            return Piece(attribute(holder.text, place), TENSOR)
        if type(place) is not int or items is None:
            raise self.unwritable("a module that is chosen by a value", node)
        if not -len(items) <= place < len(items):
            raise self.unwritable(f"module {place} of {len(items)}", node)
        return items[place]

    def index(self, node: ast.expr) -> tuple[str, Any, bool]:
        """Return an index's text, its value if known, and whether it takes a part rather than an element."""
        if isinstance(node, ast.Slice):
            bounds = ["" if one is None else self.value(one).text for one in (node.lower, node.upper)]
            step = "" if node.step is None else f":{self.value(node.step).text}"
            return f"{bounds[0]}:{bounds[1]}{step}", None, True
        if isinstance(node, ast.Tuple):
            return ", ".join(self.index(one)[0] for one in node.elts) + ("," if len(node.elts) == 1 else ""), None, True
        if isinstance(node, ast.Constant) and node.value is Ellipsis:
            return "...", None, True
        piece = self.value(node)
        return piece.text, piece.static, False

    def _of_ListComp(self, node: ast.ListComp) -> Piece:
        target, items = self._comprehended(node)
        if items is not None and isinstance(items.static, Items):
            if node.generators[0].ifs:
                raise self.unwritable("a comprehension over modules with a condition", node)
            env, parts = dict(self.env), []
            for item in items.static:
                self._turn(target, item, node)
                parts.append(self.expression(node.elt))
            self.env = env
            if any(part.is_static and part.kind is None for part in parts):
                return Piece("", None, Items(parts))
            kind = parts[0].kind if parts else TENSOR
            return Piece(f"[{', '.join(part.text for part in parts)}]", None if kind is None else Type("List", (kind,)))
        if node.generators[0].ifs or not isinstance(target, ast.Name):
            return self._spelled_out(node, items)
        head, env = self._loop_head(node, items)
        value = self.value(node.elt)
        self.env = env
        self.conditional -= 1
        return Piece(f"[{value.text} {head}]", None if value.kind is None else Type("List", (value.kind,)))

    _of_GeneratorExp = _of_ListComp

    def _of_DictComp(self, node: ast.DictComp) -> Piece:
        target, items = self._comprehended(node)
        if isinstance(items.static, Items):
            raise self.unwritable("a dict comprehension over modules", node)
        if node.generators[0].ifs or not isinstance(target, ast.Name):
            return self._spelled_out(node, items)
        head, env = self._loop_head(node, items)
        key, value = self.value(node.key), self.value(node.value)
        self.env = env
        self.conditional -= 1
        kind = None if key.kind is None or value.kind is None else Type("Dict", (key.kind, value.kind))
        return Piece(f"{{{key.text}: {value.text} {head}}}", kind)

    def _comprehended(self, node: Any) -> tuple[ast.expr, Piece]:
        one = node.generators[0]
        if len(node.generators) > 1 or one.is_async:
            raise self.unwritable("a comprehension with several loops", node)
        return one.target, self.over(self.expression(one.iter))

    def _loop_head(self, node: Any, items: Piece) -> tuple[str, dict[str, Any]]:
        """Return the loop of a comprehension, and the names as they were before it."""
        self._runtime(items, node)
        env = dict(self.env)
        self.here = node
        target = self._loop_target(node.generators[0].target, of_turn(items.kind), True)
        self.conditional += 1  # until the comprehension ends
        return f"for {target} in {items.text}", env

    def _spelled_out(self, node: Any, items: Piece) -> Piece:
        """Write a comprehension as a loop before the statement: torch's text knows none with a condition, or with several names."""
        if self.conditional:
            raise self.unwritable(
                "a comprehension with a condition or several names within another expression: give it a name before", node
            )
        name, place = self.fresh(), len(self.lines)
        self.line("")
        head, env = self._loop_head(node, items)
        self.conditional = 0
        self.line(f"{head}:")
        depth = self.depth
        for test in node.generators[0].ifs:
            self.depth += 1
            self.line(f"if {self.condition(test).text}:")
            self._narrow(self.narrowed(test, True))
        self.depth += 1
        if isinstance(node, ast.DictComp):
            parts = [self.value(node.key), self.value(node.value)]
            self.line(f"{name}[{parts[0].text}] = {parts[1].text}")
        else:
            parts = [self.value(node.elt)]
            self.line(f"{name}.append({parts[0].text})")
        self.env, self.depth = env, depth
        of = [part.kind for part in parts]
        if None in of:
            raise self.unwritable("a comprehension whose elements are of an unknown type: give the list a type before", node)
        kind = Type("Dict" if len(of) == 2 else "List", tuple(of))  # type: ignore[arg-type]
        self.lines[place] = f"{'  ' * depth}{name} = annotate({kind!r}, {'{}' if len(of) == 2 else '[]'})"
        return Piece(name, kind)

    def _of_Attribute(self, node: ast.Attribute) -> Piece:
        holder = self.expression(node.value)
        value = holder.static
        if isinstance(value, Module):
            return self.of_module(holder, node.attr, node)
        if isinstance(value, ParentOf):
            return Piece("", None, Method(value, node.attr, holder.text))
        if isinstance(value, enum.Enum) and node.attr in ("name", "value"):
            return self.static(getattr(value, node.attr), node)
        if isinstance(value, (dtype, layout, memory_format)) and node.attr in ("is_floating_point", "is_complex"):
            return _truth(bool(getattr(value, node.attr)))
        if value is not NOTHING and holder.kind is None and not isinstance(value, Items):
            if isinstance(value, type) and issubclass(value, enum.Enum) and node.attr in value.__members__:
                return self.static(value[node.attr], node)
            if not isinstance(value, (type, types.ModuleType)) and type(value).__name__ not in (
                "OpOverloadPacket",
                "_Namespace",
                "_OpNamespace",
                "_Ops",
                "Operators",
                "Namespace",
            ):
                raise self.unwritable(f"an attribute of '{type(value).__name__}' of Python", node)
            try:
                return self.static(getattr(value, node.attr), node)
            except AttributeError as error:
                raise self.unwritable(f"{ast.unparse(node)} ({error})", node) from None
        if isinstance(value, Items):
            raise self.unwritable(f"'{node.attr}' of several modules", node)
        if isinstance(holder.kind, NamedResult) and node.attr in holder.kind.names:
            place = holder.kind.names.index(node.attr)
            return Piece(f"{holder.text}[{place}]", holder.kind.of[place])
        kind = self.attribute_kind(holder, node.attr, node)
        if kind is None and (
            holder.kind is None or not self.program.is_class(holder.kind) or node.attr in self.program.methods_of(holder.kind)
        ):
            return Piece(f"{holder.text}.{node.attr}", None, Method(holder, node.attr, holder.text))
        return Piece(f"{holder.text}.{node.attr}", kind)

    def attribute_kind(self, holder: Piece, name: str, node: ast.AST) -> Type | None:
        """Return the type of an attribute; None for a method, and where it is unknown."""
        if isinstance(holder.static, Module):
            return self.program.attribute(holder.static, name, self.place(node))
        kind = holder.kind
        if kind is None:
            return PROPERTIES.get(name)
        if kind.kind == "Tensor":
            if name in PROPERTIES:
                return PROPERTIES[name]
            if not self.has_method(kind, name):
                raise self.unwritable(f"an attribute '{name}' of a Tensor", node)
            return None
        if kind.kind == "Device":
            return {"type": STR, "index": Type("Optional", (INT,))}.get(name)
        if kind.kind == "complex":
            return Type("float")
        if self.program.is_class(kind):
            return self.program.field(kind, name, self.place(node))
        if kind.kind in ("Optional", "NoneType"):
            raise self.unwritable(f"an attribute '{name}' of {kind!r}: check for None before", node)
        if not self.has_method(kind, name):
            raise self.unwritable(f"an attribute '{name}' of {kind!r}", node)
        return None

    def tensor_of(self, name: str, args: list[Piece], kwargs: dict[str, Piece], node: ast.AST) -> Type | None:
        """Return the type of an operator's result."""
        self.here = node
        return of_operator(name, [one.kind for one in args], {key: one.kind for key, one in kwargs.items()})


def _truth(value: bool) -> Piece:
    return Piece(str(value), BOOL, value)


def _none_known(left: Piece, right: Piece) -> bool | None:
    """Return whether two pieces are the same, where that is known: of None, and of values of Python."""
    for one, other in ((left, right), (right, left)):
        if other.static is None:
            if one.static is not NOTHING:
                return one.static is None
            if one.kind is not None and one.kind.kind not in ("Optional", "NoneType", "Any", "Union"):
                return False
            if one.kind is not None and one.kind.kind == "NoneType":
                return True
    if left.is_static and right.is_static:
        return left.static is right.static
    return None


__all__ = ["ANY", "BINARY", "Expressions"]

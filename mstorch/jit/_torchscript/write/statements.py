"""Statements of a script's functions, as TorchScript's text."""

from __future__ import annotations

import ast
import builtins
from typing import Any

from ....nn.modules.module import Module
from ..types import Type
from .annotations import fits, joined, of_annotation
from .expressions import BINARY, Expressions
from .pieces import Items, Piece, Poison, implied
from .results import Misfit, of_turn

_Narrowed = list[tuple[str, Type]]


class Statements(Expressions):
    """Writes the lines of a function."""

    def block(self, nodes: list[ast.stmt]) -> bool:
        """Write statements, one level deeper; return whether the last of them leaves the function, or its loop."""
        self.depth += 1
        start, ends = len(self.lines), False
        for node in nodes:
            if self._statement(node):
                ends = True
                break
        if len(self.lines) == start:
            self.line("pass")
        self.depth -= 1
        return ends

    def line(self, text: str) -> None:
        """Add a line."""
        self.lines.append(f"{'  ' * self.depth}{text}")

    def _statement(self, node: ast.stmt) -> bool:
        method = getattr(self, f"_do_{type(node).__name__}", None)
        if method is None:
            raise self.unwritable(f"a statement {type(node).__name__}", node)
        self.here = node
        try:
            return bool(method(node))
        except Misfit as error:
            raise self.unwritable(str(error), self.here) from None

    def _do_Pass(self, node: ast.Pass) -> None:
        return None

    def _do_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return  # a docstring
        piece = self.expression(node.value)
        if piece.text and not piece.is_static:
            self.line(piece.text)

    def _do_Return(self, node: ast.Return) -> bool:
        piece = self.expression(node.value, self.returns) if node.value is not None else Piece("None", Type("NoneType"))
        self._runtime(piece, node)
        if self.returns is not None:
            piece = implied(piece, self.returns)
            if not fits(piece.kind, self.returns):
                raise self.unwritable(f"the return of {piece.kind!r}, where {self.returns!r} is declared,", node)
        else:
            self.returned.append(piece.kind)
        self.line(f"return {piece.text}")
        return True

    def _do_Assign(self, node: ast.Assign) -> None:
        value = self.expression(node.value, self._expected(node.targets[0]))
        if len(node.targets) > 1:
            self._runtime(value, node)
            name = self.fresh()
            self.line(f"{name} = {value.text}")
            value = Piece(name, value.kind)
        for target in node.targets:
            self._assign(target, value, node)

    def _expected(self, target: ast.expr) -> Type | None:
        """Return the type that a target is known to have, for an empty list or dict."""
        if isinstance(target, ast.Name):
            return self.declared.get(target.id) or self.outer.get(target.id)
        if isinstance(target, ast.Subscript):
            kind = self.expression(target.value).kind
            return kind.of[-1] if kind is not None and kind.kind in ("List", "Dict") else None
        if isinstance(target, ast.Attribute):
            holder = self.expression(target.value)
            if isinstance(holder.static, Module):
                return self.attribute_kind(holder, target.attr, target)
            if holder.kind is not None and self.program.is_class(holder.kind):
                return self.program.fields(holder.kind).get(target.attr)
        return None

    def _assign(self, target: ast.expr, value: Piece, node: ast.AST) -> None:
        if isinstance(target, ast.Name):
            self._bind(target.id, value, node)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, value, node)
        elif isinstance(target, ast.Attribute):
            self._runtime(value, node)
            holder = self.expression(target.value)
            if self.title == "__init__" and holder.text == "self" and holder.kind is not None:
                self.program.add_field(holder.kind, target.attr, value.kind, self.place(node))
            kind = self.attribute_kind(holder, target.attr, target)
            if kind is not None and value.text in ("[]", "{}"):
                value = Piece(f"annotate({kind!r}, {value.text})", kind)
            if not fits(value.kind, kind):
                raise self.unwritable(f"an attribute '{target.attr}' of {kind!r} that becomes {value.kind!r}", node)
            self.line(f"{holder.text}.{target.attr} = {value.text}")
        elif isinstance(target, ast.Subscript):
            self._runtime(value, node)
            holder = self.expression(target.value)
            if value.kind is not None and value.text in ("[]", "{}"):
                value = Piece(f"annotate({value.kind!r}, {value.text})", value.kind)
            if holder.kind is not None and holder.kind.kind in ("List", "Dict") and not fits(value.kind, holder.kind.of[-1]):
                raise self.unwritable(f"an element of {value.kind!r} in {holder.kind!r}", node)
            self.line(f"{holder.text}[{self.index(target.slice)[0]}] = {value.text}")
        else:
            raise self.unwritable("a target of an assignment", node)

    def _bind(self, name: str, value: Piece, node: ast.AST) -> None:
        """Assign to a local name."""
        if self._is_written_only(value):
            self.env[name] = value
            return
        before = self.env.get(name)
        kind: Type | None
        if name in self.declared:
            value = implied(value, self.declared[name])
            if name not in self.outer and not fits(value.kind, self.declared[name]):
                del self.declared[name]  # outside blocks a name may become a value of another type
                return self._bind(name, value, node)
            if not fits(value.kind, self.declared[name]):
                raise self.unwritable(f"'{name}', declared {self.declared[name]!r}, that becomes {value.kind!r}", node)
            kind = value.kind if value.kind is not None and value.kind.kind not in ("NoneType", "Optional") else self.declared[name]
        else:
            follows = isinstance(before, Piece) and name in self.outer and not before.is_static
            value = implied(value, self.outer[name]) if follows else value
            kind = value.kind
            if follows and not fits(kind, self.outer[name]):
                raise self.unwritable(f"'{name}', which is {self.outer[name]!r} outside, that becomes {value.kind!r}", node)
        text = f"annotate({value.kind!r}, {value.text})" if value.kind is not None and value.text in ("[]", "{}") else value.text
        self.line(f"{name} = {text}")
        self.env[name] = Piece(name, kind)

    def _is_written_only(self, value: Piece) -> bool:
        """Return whether a value exists only while the program is written: a module, a function, several modules."""
        return value.is_static and (isinstance(value.static, Items) or value.kind is None)

    def _unpack(self, target: ast.Tuple | ast.List, value: Piece, node: ast.AST) -> None:
        if isinstance(value.static, Items):
            if len(value.static) != len(target.elts):
                raise self.unwritable(f"an assignment of {len(value.static)} values to {len(target.elts)} names", node)
            for one, item in zip(target.elts, value.static):
                self._assign(one, item, node)
            return
        if any(isinstance(one, ast.Starred) for one in target.elts):
            raise self.unwritable("a target with a star", node)
        kinds: list[Type | None] = [None] * len(target.elts)
        if value.kind is not None:
            if value.kind.kind == "Tuple":
                if len(value.kind.of) != len(kinds):
                    raise self.unwritable(f"an assignment of {value.kind!r} to {len(kinds)} names", node)
                kinds = list(value.kind.of)
            elif value.kind.kind in ("List", "Tensor"):
                kinds = [of_turn(value.kind)] * len(kinds)
        names, later = [], []
        for one, kind in zip(target.elts, kinds):
            if isinstance(one, ast.Name):
                names.append(one.id)
                self.env[one.id] = Piece(one.id, kind)
            else:
                names.append(self.fresh())
                later.append((one, Piece(names[-1], kind)))
        self.line(f"{', '.join(names)}{',' if len(names) == 1 else ''} = {value.text}")
        for one, item in later:
            self._assign(one, item, node)

    def _do_AnnAssign(self, node: ast.AnnAssign) -> None:
        kind = of_annotation(self.evaluated(node.annotation), self.program.named)
        if isinstance(node.target, ast.Name):
            self.declared[node.target.id] = kind
        if node.value is None:
            return
        value = self._declared_list(node.value, kind) or self.expression(node.value, kind)
        self._runtime(value, node)
        if not fits(value.kind, kind):
            raise self.unwritable(f"a value of {value.kind!r} that is declared {kind!r}", node)
        typed = Piece(f"annotate({kind!r}, {value.text})", kind)
        if isinstance(node.target, ast.Name):
            self.line(f"{node.target.id} = {typed.text}")
            self.env[node.target.id] = Piece(node.target.id, kind)
        else:
            self._assign(node.target, typed, node)

    def _declared_list(self, node: ast.expr, kind: Type) -> Piece | None:
        """Return a call of a tensor's ``tolist``, whose type only a declaration tells; None for another expression."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "tolist":
            return None
        holder = self.expression(node.func.value)
        return Piece(f"{holder.text}.tolist()", kind) if holder.kind is not None and holder.kind.kind == "Tensor" else None

    def _do_AugAssign(self, node: ast.AugAssign) -> None:
        value = self.expression(node.value)
        self._runtime(value, node)
        name, sign = BINARY[type(node.op)]
        target = node.target
        if isinstance(target, ast.Name):
            before = self.name(target.id, target)
            if before.text != target.id:  # a number of a loop over modules
                self.line(f"{target.id} = {before.text}")
            kind = self.binary_kind(name, before, value, node)
            if isinstance(before.kind, Type) and before.kind.kind == "Tensor":
                kind = before.kind
            elif target.id in self.outer and sign in ("+", "-", "*", "/") and implied(Piece("", kind), before.kind).kind is not kind:
                # as of an assignment, which converts what the sum is
                self._bind(target.id, Piece(f"({target.id} {sign} {value.text})", kind), node)
                return
            elif before.kind is not None and not fits(kind, before.kind) and target.id in self.outer:
                raise self.unwritable(f"'{target.id}', which is {before.kind!r} outside, that becomes {kind!r}", node)
            self.env[target.id] = Piece(target.id, kind)
            place = target.id
        elif isinstance(target, ast.Attribute):
            holder = self.expression(target.value)
            self.attribute_kind(holder, target.attr, target)
            place = f"{holder.text}.{target.attr}"
        else:
            holder = self.expression(target.value)
            place = f"{holder.text}[{self.index(target.slice)[0]}]"
        if sign in ("+", "-", "*", "/", "%", "|", "&", "^", "<<", ">>", "**"):
            self.line(f"{place} {sign}= {value.text}")
        else:
            self.line(f"{place} = {self.binary_text(name, sign, place, value.text)}")

    def _do_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                self.line(f"del {self.expression(target.value).text}[{self.index(target.slice)[0]}]")
            elif isinstance(target, ast.Name):
                self.env[target.id] = Poison(f"'{target.id}' was deleted")
            else:
                raise self.unwritable("a deletion", node)

    def _do_Assert(self, node: ast.Assert) -> bool:
        return self.asserted(node.test, node.msg)

    def asserted(self, node: ast.expr, message: ast.expr | None) -> bool:
        """Write an assertion; return whether it is known to fail."""
        test = self.condition(node)
        if test.static is True:
            return False
        self.conditional += 1
        said = f", {self.expression(message).text}" if message is not None else ""
        self.conditional -= 1
        self.line(f"assert {test.text}{said}")
        self._narrow(self.narrowed(node, True))
        return test.static is False

    def _do_Raise(self, node: ast.Raise) -> bool:
        error, message, kind = node.exc, '""', "builtins.Exception"
        if error is None:
            raise self.unwritable("a raise without an exception", node)
        if isinstance(error, ast.Call):
            parts = [self.expression(one) for one in error.args]
            for part in parts:
                self._runtime(part, node)
            if len(parts) == 1:
                message = parts[0].text if parts[0].kind is not None and parts[0].kind.kind == "str" else f"str({parts[0].text})"
            elif parts:
                message = f'torch.format("({", ".join(["{}"] * len(parts))})", {", ".join(part.text for part in parts)})'
            error = error.func
        own = self.evaluated(error)
        if not isinstance(own, type) or not issubclass(own, BaseException):
            raise self.unwritable("a raise of something else than an exception", node)
        kind = f"{'builtins' if getattr(builtins, own.__name__, None) is own else own.__module__}.{own.__name__}"
        self.line(f'ops.prim.RaiseException({message}, "{kind}")')
        self.line("assert False")  # torch's compiler knows by this that no line follows
        return True

    def _do_Break(self, node: ast.Break) -> bool:
        return self._leave("break", node)

    def _do_Continue(self, node: ast.Continue) -> bool:
        return self._leave("continue", node)

    def _leave(self, word: str, node: ast.stmt) -> bool:
        if self.unrolled:
            raise self.unwritable(f"a {word} in a loop over modules", node)
        self.line(word)
        return True

    def _do_If(self, node: ast.If) -> bool:
        test = self.condition(node.test)
        if test.static is True or test.static is False:
            self.depth -= 1  # the branch stands where the statement stood
            start = len(self.lines)
            ends = self.block(node.body if test.static else node.orelse)
            if len(self.lines) == start + 1 and self.lines[-1].strip() == "pass":
                self.lines.pop()
            self.depth += 1
            return ends
        outer, self.outer = self.outer, self._kinds()
        before, declared = dict(self.env), dict(self.declared)
        self.line(f"if {test.text}:")
        self._narrow(self.narrowed(node.test, True))
        first = self.block(node.body)
        after, self.env = self.env, dict(before)
        self._narrow(self.narrowed(node.test, False))
        second = False
        if node.orelse:
            self.line("else:")
            second = self.block(node.orelse)
        self.outer = outer
        self.declared = {**declared, **self.declared}
        if first and second:
            return True
        if first or second:
            self.env = self.env if first else after
        else:
            self._join(after, self.env)
        return False

    def _kinds(self) -> dict[str, Type | None]:
        return {name: piece.kind for name, piece in self.env.items() if isinstance(piece, Piece)}

    def _join(self, one: dict[str, Any], two: dict[str, Any]) -> None:
        """Make the names after two branches those that both have, with a type for both."""
        env: dict[str, Any] = {}
        for name in {**one, **two}:
            a, b = one.get(name), two.get(name)
            if not isinstance(a, Piece) or not isinstance(b, Piece):
                reason = next(
                    (side.reason for side in (a, b) if isinstance(side, Poison)), f"'{name}' is not defined in each branch before"
                )
                env[name] = Poison(reason)
            elif a is b:
                env[name] = a
            elif self._is_written_only(a) or self._is_written_only(b):
                env[name] = a if a.static is b.static else Poison(f"'{name}' is another module or function in each branch before")
            else:
                try:
                    env[name] = Piece(name, self.declared.get(name) if a.kind is None or b.kind is None else joined(a.kind, b.kind))
                except TypeError as error:
                    env[name] = Poison(f"'{name}' is {error}")
        self.env = env

    def _narrow(self, narrowed: _Narrowed) -> None:
        for name, kind in narrowed:
            piece = self.env.get(name)
            if isinstance(piece, Piece) and not piece.is_static:
                self.env[name] = Piece(piece.text, kind)

    def _do_While(self, node: ast.While) -> bool:
        if node.orelse:
            raise self.unwritable("an else of a loop", node)
        self.conditional += 1
        test = self.condition(node.test)
        self.conditional -= 1
        if test.static is False:
            return False
        self._loop(f"while {'True' if test.static is True else test.text}:", node.body, self.narrowed(node.test, True))
        return False

    def _loop(self, head: str, body: list[ast.stmt], narrowed: _Narrowed) -> None:
        outer, unrolled, before = self.outer, self.unrolled, dict(self.env)
        self.outer, self.unrolled = self._kinds(), False
        self.line(head)
        self._narrow(narrowed)
        self.block(body)
        after = self.env
        self.outer, self.unrolled = outer, unrolled
        self._join({**after, **{name: piece for name, piece in before.items() if name not in after}}, before)
        for name, piece in after.items():
            if name not in before and isinstance(piece, Piece):
                self.env[name] = Poison(f"'{name}' is defined in a loop alone, which may not run")

    def _do_For(self, node: ast.For) -> bool:
        if node.orelse:
            raise self.unwritable("an else of a loop", node)
        items = self.over(self.expression(node.iter))
        if isinstance(items.static, Items):
            unrolled, self.unrolled = self.unrolled, True
            ends = False
            for item in items.static:
                self._turn(node.target, item, node)
                self.depth -= 1
                ends = self.block(node.body)
                self.depth += 1
                if ends:
                    break
            self.unrolled = unrolled
            return ends
        self._runtime(items, node)
        before = dict(self.env)
        text = self._loop_target(node.target, of_turn(items.kind))
        inner = {name: piece for name, piece in self.env.items() if before.get(name) is not piece}
        self.env = before
        outer, unrolled = self.outer, self.unrolled
        self.outer, self.unrolled = self._kinds(), False
        self.line(f"for {text} in {items.text}:")
        self.env = {**before, **inner}
        self.block(node.body)
        after = self.env
        self.outer, self.unrolled = outer, unrolled
        self._join({**before, **after}, {**before, **{name: piece for name, piece in after.items() if name not in before}})
        for name, piece in after.items():
            if name not in before and isinstance(piece, Piece):
                self.env[name] = Poison(f"'{name}' is defined in a loop alone, which may not run")
        return False

    def _turn(self, target: ast.expr, item: Piece, node: ast.AST) -> None:
        """Bind the target of a loop over modules to an element."""
        if isinstance(target, (ast.Tuple, ast.List)) and isinstance(item.static, Items):
            for one, part in zip(target.elts, item.static):
                self._turn(one, part, node)
        elif isinstance(target, ast.Name) and item.is_static:
            self.env[target.id] = item
        else:
            self._assign(target, item, node)

    def _loop_target(self, target: ast.expr, kind: Type | None, aside: bool = False) -> str:
        """Bind the target of a loop and return its text; ``aside`` leaves variables of the same name as they are."""
        if isinstance(target, ast.Name):
            name = self.fresh() if aside and target.id in self.locals_and_arguments else target.id
            self.env[target.id] = Piece(name, kind)
            return name
        if not isinstance(target, (ast.Tuple, ast.List)):
            raise self.unwritable("a target of a loop", target)
        kinds = kind.of if kind is not None and kind.kind == "Tuple" and len(kind.of) == len(target.elts) else [None] * len(target.elts)
        parts = [self._loop_target(one, of, aside) for one, of in zip(target.elts, kinds)]
        return parts[0] + "," if len(parts) == 1 else ", ".join(f"({part})" if ", " in part else part for part in parts)

    def _do_With(self, node: ast.With) -> bool:
        heads = []
        for one in node.items:
            piece = self.expression(one.context_expr)
            self._runtime(piece, node)
            head = piece.text
            if one.optional_vars is not None:
                if not isinstance(one.optional_vars, ast.Name):
                    raise self.unwritable("a target of a with", node)
                self.env[one.optional_vars.id] = Piece(one.optional_vars.id, None)
                head += f" as {one.optional_vars.id}"
            heads.append(head)
        self.line(f"with {', '.join(heads)}:")
        return self.block(node.body)

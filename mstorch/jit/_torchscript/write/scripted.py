"""The text of a scripted function, written from Python's source."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any

from ....nn.modules.module import Module
from ..types import ANY, TENSOR, Type
from .annotations import NONE, hints_of, joined, of_annotation
from .pieces import Piece, of_library
from .program import Program
from .statements import Statements
from .values import Unwritable, shown


def _outside_comprehensions(node: ast.AST) -> list[ast.Name]:
    """Return the names of a function that are not of a comprehension."""
    names = []
    for one in ast.iter_child_nodes(node):
        if isinstance(one, ast.Name):
            names.append(one)
        elif not isinstance(one, (ast.ListComp, ast.DictComp, ast.GeneratorExp)):
            names += _outside_comprehensions(one)
    return names


class Body(Statements):
    """Writes one function."""

    def __init__(self, program: Program, function: Any, owner: Any, name: str, of_module: bool = False) -> None:
        self._of_module = of_module  # a function that stands as the method of a module
        self.program, self.function, self.owner, self.title = program, function, owner, name
        self.lines: list[str] = []
        self.env: dict[str, Any] = {}
        self.outer: dict[str, Type | None] = {}
        self.declared: dict[str, Type] = {}
        self.returned: list[Type | None] = []
        self.depth, self.unrolled, self.here = int(owner is not None or of_module), False, None
        self._count = 0
        try:
            lines, start = inspect.getsourcelines(function)
            self.file = inspect.getsourcefile(function) or ""
        except (OSError, TypeError):
            raise Unwritable(f"mstorch: torch.jit.save finds no source of {getattr(function, '__qualname__', function)}") from None
        self.source, self._start = textwrap.dedent("".join(lines)), start
        try:
            tree = ast.parse(self.source)
        except SyntaxError:
            raise Unwritable(
                f"mstorch: torch.jit.save finds no function in the source of {function.__qualname__} ({self.file}:{start})"
            ) from None
        node = tree.body[0]
        if not isinstance(node, ast.FunctionDef):
            raise self.unwritable("a lambda, or another function without a def,", node)
        self.node = node
        closed = {}
        for title, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                closed[title] = cell.cell_contents
            except ValueError:
                pass
        self.scope: dict[str, Any] = {**function.__globals__, **closed}
        self.locals = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        self.locals_and_arguments = {one.id for one in _outside_comprehensions(node) if isinstance(one.ctx, ast.Store)} | {
            one.arg for one in ast.walk(node) if isinstance(one, ast.arg)
        }
        self.conditional = 0  # how many expressions enclose the present one that may leave it out
        hints = self._placed(lambda: hints_of(function, self.source, closed))
        self.returns = self._placed(lambda: of_annotation(hints["return"], program.named)) if "return" in hints else None
        self.hints = hints
        library = owner is not None and isinstance(owner, Module) and of_library(function)
        if library and self.returns is ANY:
            self.returns = None
        self._library = library

    def _placed(self, read: Any) -> Any:
        """Return what a function reads of the signature; an error of it names the line."""
        try:
            return read()
        except Unwritable as error:
            raise error if error.file == self.file else self._named(f"{error} ({self.place(self.node)})") from None

    def type_of_parameter(self, name: str) -> Type:
        """Return the type of a parameter."""
        kind: Type = self._placed(lambda: of_annotation(self.hints.get(name, inspect.Parameter.empty), self.program.named))
        return kind

    def fresh(self) -> str:
        """Return a new local name."""
        self._count += 1
        return f"_{self._count}"

    def place(self, node: Any) -> str:
        """Return the file and line of a part of the source."""
        return f"{self.file}:{self._start + getattr(node, 'lineno', 1) - 1}"

    def unwritable(self, what: str, node: Any) -> Unwritable:
        """Return the error for a part of the source."""
        return self._named(f"mstorch: torch.jit.save cannot write {what} as TorchScript ({self.place(node)})")

    def _named(self, message: str) -> Unwritable:
        error = Unwritable(message)
        error.file = self.file
        return error

    def write(self) -> tuple[str, Type | None]:
        """Return the function's text, and the type of its result."""
        parameters = self._parameters()
        ends = self.block(self.node.body)
        if [line.strip() for line in self.lines] == ["pass"]:
            self.lines.clear()
        returns = self._common_result(ends) if self.returns is None else self.returns
        if not ends:
            self.depth += 1
            self.line("return None" if returns is None or returns.kind in ("NoneType", "Optional") else "assert False")
            self.depth -= 1
        shown = returns if self.returns is not None or not self.returned else None  # else the reader infers it from the text
        arrow = "" if shown is None else f" -> {shown!r}"
        head = f"{'  ' * self.depth}def {self.title}({', '.join(parameters)}){arrow}:"
        return "\n".join([head, *self.lines]) + "\n", returns

    def _parameters(self) -> list[str]:
        """Return the parameters as the text has them, and take them as local names."""
        arguments = self.node.args
        if arguments.vararg is not None or arguments.kwarg is not None:
            raise self.unwritable("a parameter with a star", self.node)
        signature = list(inspect.signature(self.function).parameters.values())
        written = ["self"] if self.owner is not None or self._of_module else []
        if self.owner is not None and signature:
            own = signature.pop(0).name
            self.env[own] = self._self_piece()
            if own != "self" and any(isinstance(one, ast.Name) and one.id == "self" for one in ast.walk(self.node)):
                raise self.unwritable(f"a variable 'self' of a method whose first parameter is '{own}'", self.node)
        for one in signature:
            if one.kind is one.KEYWORD_ONLY and "*" not in written:
                written.append("*")
            kind = self.type_of_parameter(one.name)
            if self._library and kind is ANY:
                kind = TENSOR
            default = "" if one.default is one.empty else f"={self._default(one.name, one.default, kind)}"
            written.append(f"{one.name}: {kind!r}{default}")
            self.env[one.name] = Piece(one.name, kind)
            self.declared[one.name] = kind
        return written

    def _common_result(self, ends: bool) -> Type | None:
        """Return the type that all results have; a body that does not end in a return returns None, too."""
        kinds = self.returned if ends else [*self.returned, NONE]
        returns = kinds[0] if kinds else None
        for kind in kinds[1:]:
            try:
                returns = joined(returns, kind)
            except TypeError as error:
                raise self.unwritable(f"results that are {error}", self.node) from None
        return returns

    def _self_piece(self) -> Piece:
        if isinstance(self.owner, Module):
            return Piece("self", None, self.owner)
        return Piece("self", self.owner)

    def _default(self, name: str, value: Any, kind: Type) -> str:
        if kind == TENSOR and not self._library and (value is None or isinstance(value, (int, float, str, tuple, list))):
            raise self.unwritable(f"a default of {value!r} for '{name}', which is a Tensor unless it is annotated,", self.node)
        inner = kind.of[0] if kind.kind == "Optional" else kind
        if isinstance(value, int) and inner.kind == "float":
            value = float(value)
        piece = self.static(list(value) if isinstance(value, tuple) and inner.kind == "List" else value, self.node)
        if isinstance(value, list) or isinstance(value, tuple) and inner.kind == "List":
            return f"[{', '.join(shown(item, str) for item in value)}]"
        return self._runtime(piece, self.node).text


__all__ = ["Body"]

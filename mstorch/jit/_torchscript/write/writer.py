"""The state of a function while it is written, and the base class of the writer's parts."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ..types import Type
from .pieces import Piece
from .program import Program
from .values import Unwritable


class Function:
    """A function while it is written."""

    program: Program
    function: Any
    owner: Any
    """The module, or the type of the class, whose method it is; None for a function."""
    title: str
    file: str
    scope: dict[str, Any]
    """Globals and closure variables of the function by name."""
    locals: set[str]
    locals_and_arguments: set[str]
    returns: Type | None
    lines: list[str]
    depth: int
    env: dict[str, Any]
    """The pieces of the variables."""
    outer: dict[str, Type | None]
    """The types of the variables as they are outside the present branch or loop."""
    declared: dict[str, Type]
    returned: list[Type | None]
    unrolled: bool
    """Whether the innermost loop is one over modules."""
    conditional: int
    """How many expressions enclose the present one that may leave it out."""
    here: Any

    if TYPE_CHECKING:

        def fresh(self) -> str:
            """Return a new local name."""

        def unwritable(self, what: str, node: Any) -> Unwritable:
            """Return the error for a part of the source."""

        def place(self, node: Any) -> str:
            """Return the file and line of a part of the source."""

        def expression(self, node: ast.expr, expected: Type | None = None) -> Piece:
            """Return the piece of an expression."""

        def value(self, node: ast.expr, expected: Type | None = None) -> Piece:
            """Return the piece of a value."""

        def static(self, value: Any, node: Any) -> Piece:
            """Return the piece of a value of Python."""

        def evaluated(self, node: ast.expr) -> Any:
            """Return the value of an annotation."""

        def _runtime(self, piece: Piece, node: Any) -> Piece: ...

        def tensor_of(self, name: str, args: list[Piece], kwargs: dict[str, Piece], node: Any) -> Type | None:
            """Return the type of an operator's result."""

        def line(self, text: str) -> None:
            """Add a line."""

        def asserted(self, node: ast.expr, message: ast.expr | None) -> bool:
            """Write an assertion; return whether it is known to fail."""

        def _narrow(self, narrowed: list[tuple[str, Type]]) -> None: ...

        def _turn(self, target: ast.expr, item: Piece, node: ast.AST) -> None: ...

        def _loop_target(self, target: ast.expr, kind: Type | None, aside: bool = False) -> str: ...

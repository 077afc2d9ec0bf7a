"""Code around a use: a function, a ``try`` for an absent name, a test whether the name exists."""
from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager

AT_IMPORT = "stops the import"
IN_TRY = "in a try"
CHECKED = "after a check"
IN_FUNCTION = "in a function"
_CATCH = frozenset("ImportError ModuleNotFoundError AttributeError Exception BaseException NotImplementedError RuntimeError".split())
_WORDS = ("TYPE_CHECKING", "is_available", "is_scripting", "is_tracing", "version", "__name__", "find_spec", "_available", "_AVAILABLE",
          "is_torch_", "sys.modules", "os.environ", "HAS_", "has_")  # fmt: skip
_ANY = "*"


class Guards:
    """The checks for names that guard the code at the current position of the analysis."""

    def __init__(self) -> None:
        self._functions: list[str] = []
        self._tries = 0
        self._branches = 0
        self._checked: list[frozenset[str]] = []
        self._since: list[set[str]] = [set()]

    @property
    def function(self) -> str:
        """Dotted name of the enclosing functions."""
        return ".".join(self._functions)

    def state(self, name: str = "") -> str:
        """Return the condition under which a name is used here: in a ``try``, after a check for the name, in a function, or at import."""
        if self._tries:
            return IN_TRY
        if any(name in names or _ANY in names for names in (*self._checked, *self._since)):
            return CHECKED
        return IN_FUNCTION if self._functions else AT_IMPORT

    def depends(self) -> bool:
        """Return whether this code is in a branch of a condition."""
        return self._branches > 0

    @contextmanager
    def branch(self, names: frozenset[str]) -> Iterator[None]:
        """Context manager for a branch of a test, which may check for names."""
        self._branches += 1
        try:
            with self.checked(names):
                yield
        finally:
            self._branches -= 1

    @contextmanager
    def within(self, function: str) -> Iterator[None]:
        """Context manager for the body of a function, which runs at a different time from the surrounding code."""
        tries, checked = self._tries, self._checked
        self._functions.append(function)
        self._since.append(set())
        self._tries, self._checked = 0, []
        try:
            yield
        finally:
            self._functions.pop()
            self._since.pop()
            self._tries, self._checked = tries, checked

    @contextmanager
    def tried(self, takes: bool) -> Iterator[None]:
        """Context manager for the body of a ``try``; ``takes``: its handlers catch the error of a missing name."""
        self._tries += takes
        try:
            yield
        finally:
            self._tries -= takes

    @contextmanager
    def checked(self, names: frozenset[str]) -> Iterator[None]:
        """Context manager for code that runs only if names exist."""
        self._checked.append(names)
        try:
            yield
        finally:
            self._checked.pop()

    def since_checked(self, names: frozenset[str]) -> None:
        """Mark the rest of the function as running only if the names exist: a check for them returned or raised otherwise."""
        self._since[-1] |= names


def catches_absence(handler: ast.ExceptHandler) -> bool:
    """Return whether an ``except`` clause catches the errors of an absent name, and continues."""
    if handler.body and isinstance(handler.body[-1], ast.Raise):
        return False
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(ast.unparse(kind).rpartition(".")[2] in _CATCH for kind in kinds)


def checked_names(test: ast.expr) -> frozenset[str]:
    """Return the names whose presence a test checks by ``hasattr`` and ``getattr``; all names if it checks a version or an installed
    package.
    """
    found: set[str] = set()
    for node in ast.walk(test):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) >= 2:
            if node.func.id == "hasattr" or (node.func.id == "getattr" and len(node.args) == 3):
                name = node.args[1]
                found.add(str(name.value).partition(".")[0] if isinstance(name, ast.Constant) else _ANY)
    text = ast.unparse(test)
    if any(word in text for word in _WORDS):
        found.add(_ANY)
    return frozenset(found)

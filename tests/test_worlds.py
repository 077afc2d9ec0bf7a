"""Upper packages do not test in which kind of memory elements are; the storage classes (`_src/core/storage.py`) decide.

Such a question is found by its syntax: a comparison with a storage class, a name that stands for one (also an alias of it, or a function
that returns nothing else), or an attribute that tells. `python -m tests.test_worlds` prints all questions.
"""
from __future__ import annotations

import ast
import pathlib
import sys
from collections.abc import Iterator
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.core

PACKAGE = pathlib.Path(__file__).resolve().parent.parent / "mstorch"
ROOMS = ("_src/ops", "_src/tape/rules", "nn", "optim")

# Classes of memory, and of bare values of one: operands of class comparisons.
KINDS = frozenset("Storage DeviceMemory Value Absent Mirror NATIVE Raw ndarray".split())
# Names that exist for one kind of memory only, or that depend on the process's kind of memory.
NAMES = frozenset(
    "META is_meta on_host host_inputs capturing reading_waits of_device ON_CPU NATIVE FAKE_DEVICE is_elsewhere without_memory "
    "is_all_of_device_memory".split()
)
# Attributes of a tensor or a storage that depend on its place.
TELLING = frozenset("shadow is_cpu is_meta is_cuda is_npu _layout".split())
TYPES = frozenset(("cpu", "meta", "npu", "cuda"))

# Functions that may test, and why.
EXCEPTIONS: dict[str, str] = {
    "_src/tape/rules/elementwise.py:add": "the commonest gradient, at the least cost: one class check",
    "_src/tape/rules/elementwise.py:mul": "the commonest gradient, at the least cost: one class check",
    "_src/ops/indexing/subscript.py:window_of": "slices of the host's memory, at the least cost: one class check",
    "_src/ops/memory/from_data.py:without_values": "the device that `tensor(device=)` names decides whether data of Python's are looked at for a shape alone",
    "_src/ops/memory/placing.py:_on_accelerators": "factories are wrapped where the process has an accelerator, once, as they are defined",
    "_src/ops/memory/placing.py:_placing": "where a new tensor is put is decided here for all factories",
    "_src/ops/_numbers.py:not_differentiable": "asked at each normalization and loss, at the least cost: most tensors have no history",
    "_src/ops/layers/norm.py:_moves_running": "batch norm of the host's memory, at the least cost: one class check",
    "_src/ops/memory/together.py:can_be_laid_out": "asked for each tensor of an optimizer at each step, at the least cost",
    "nn/modules/_conversion.py:ConversionMixin": "Module.to has a sentence of its own about the meta device",
    "nn/modules/_conversion.py:_differ_in_kind": "torch moves data between layouts and to the meta device by other rules",
    "nn/modules/_cell.py:CellMixin": "a Module that MindSpore trains refuses hooks that MindSpore would pass over",
    "nn/modules/_state.py:_load_one": "torch warns of values that are loaded into a parameter of the meta device",
    "nn/modules/_native.py:_called": "a Cell of MindSpore's within MindSpore's own block is recorded by MindSpore",
    "optim/optimizer.py:_default_to_fused_or_foreach": "torch names the devices on which steps are fused, by their types",
}


class Question(NamedTuple):
    path: str
    function: str
    line: int
    text: str


def _last(node: ast.AST) -> str:
    """Return the last part of a name: ``ndarray`` of ``np.ndarray``."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _of_class(node: ast.AST) -> bool:
    """Return whether an expression is the class of an object: ``x.__class__``, ``type(x)``."""
    return _last(node) == "__class__" or isinstance(node, ast.Call) and _last(node.func) == "type" and len(node.args) == 1


def _kinds_in(node: ast.AST, known: frozenset[str], arrays: bool) -> bool:
    parts = node.elts if isinstance(node, (ast.Tuple, ast.Set, ast.List)) else [node]
    return any(_last(part) in known and (arrays or _last(part) != "ndarray") for part in parts)


def _is_home(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _last(node.func) == "home"


def _tells_device(node: ast.AST) -> bool:
    """Return whether an expression is the type of a device: ``x.device.type``, ``place.type``."""
    return isinstance(node, ast.Attribute) and node.attr == "type" and not isinstance(node.value, ast.Constant)


class _Finder(ast.NodeVisitor):
    def __init__(self, path: str, names: set[str], kinds: set[str]) -> None:
        self.path, self.names, self.kinds = path, names, kinds
        self.arrays = path.startswith("_src/tape/rules")  # there an array is a bare value, elsewhere a user's argument
        self.found: list[Question] = []
        self.within: list[str] = []

    def _add(self, node: ast.AST) -> None:
        place = self.within[0] if self.within else ""
        if not self.found or (self.found[-1].line, self.found[-1].function) != (node.lineno, place):  # type: ignore[attr-defined]
            self.found.append(Question(self.path, place, node.lineno, ast.unparse(node)))  # type: ignore[attr-defined]

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef) -> None:
        self.within.append(node.name)
        self.generic_visit(node)
        self.within.pop()

    visit_ClassDef = visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        kinds = frozenset(self.kinds)
        if any(map(_of_class, sides)) and any(_kinds_in(side, kinds, True) for side in sides):
            self._add(node)
        elif any(map(_tells_device, sides)) and any(
            isinstance(part, ast.Constant) and part.value in TYPES
            for side in sides for part in (side.elts if isinstance(side, ast.Tuple) else [side])
        ):  # fmt: skip
            self._add(node)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        word = _last(node.func)
        if isinstance(node.func, ast.Attribute) and word in TELLING and word not in self.names:
            self.visit(node.func.value)  # a method of this name
            for part in (*node.args, *node.keywords):
                self.visit(part)
            return
        if word == "isinstance" and len(node.args) == 2 and _kinds_in(node.args[1], frozenset(self.kinds), self.arrays):
            self._add(node)
        elif word == "getattr" and len(node.args) > 1 and isinstance(node.args[1], ast.Constant) and node.args[1].value in TELLING | {"native"}:
            self._add(node)
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.ctx, ast.Load) and (
            node.attr == "native" or node.attr in TELLING and node.attr not in self.within or node.attr in self.names
            or node.attr == "kind" and (_last(node.value) in ("_ms_storage", "storage") or _is_home(node.value))
        ):
            self._add(node)
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load) and node.id in self.names:
            self._add(node)


def _aliases(tree: ast.Module, known: set[str]) -> set[str]:
    """Return other names of the known ones, from imports and assignments."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found |= {alias.asname for alias in node.names if alias.asname and alias.name in known}
        elif isinstance(node, ast.Assign) and _last(node.value) in known:
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def _asking(tree: ast.Module, path: str, names: set[str], kinds: set[str]) -> set[str]:
    """Return functions of a module that do nothing but test one argument and return the answer."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and len(node.args.args) <= 1:
            body = [part for part in node.body if not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))]
            if len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value is not None and not isinstance(body[0].value, ast.IfExp):
                finder = _Finder(path, names, kinds)
                finder.visit(body[0].value)
                if finder.found and isinstance(body[0].value, (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Name, ast.Attribute)):
                    found.add(node.name)
    return found


def _questions_of(tree: ast.Module, path: str) -> list[Question]:
    names, kinds = set(NAMES), set(KINDS)
    while True:
        more, kinds_more = _aliases(tree, names) | _asking(tree, path, names, kinds), _aliases(tree, kinds)
        if more <= names and kinds_more <= kinds:
            break
        names |= more
        kinds |= kinds_more
    finder = _Finder(path, names, kinds)
    finder.visit(tree)
    return finder.found


def questions() -> Iterator[Question]:
    """Return all such tests, in the order of the files."""
    for room in ROOMS:
        for path in sorted((PACKAGE / room).rglob("*.py")):
            yield from _questions_of(ast.parse(path.read_text()), path.relative_to(PACKAGE).as_posix())


def test_no_code_above_the_kinds_of_memory_tests_where_elements_are() -> None:
    wrong = [
        f"mstorch/{question.path}:{question.line} {question.function}: {question.text}"
        for question in questions() if f"{question.path}:{question.function}" not in EXCEPTIONS
    ]  # fmt: skip
    assert not wrong, "the kinds of memory answer, see _src/core/storage.py:\n" + "\n".join(wrong)


def test_exceptions_are_few_and_needed() -> None:
    asking = {f"{question.path}:{question.function}" for question in questions()}
    assert len(EXCEPTIONS) <= 15 and all(EXCEPTIONS.values())
    assert not set(EXCEPTIONS) - asking, "these ask no more"


@pytest.mark.parametrize("text, count", [
    ("def f(x): return x._ms_storage.__class__ is Storage", 1), ("def f(x): return type(x._ms_storage) in (Value, DeviceMemory)", 1),
    ("def f(): return modes.native is not None", 1), ("def f(x): return getattr(modes, 'native') is None", 1),
    ("from a import is_meta as no_memory\ndef f(x): return no_memory(x)", 1), ("elsewhere = is_meta\ndef f(x): return elsewhere(x)", 2),
    ("def _here(x): return x._ms_storage.__class__ is Storage\ndef f(x):\n    if _here(x): return 1", 2),
    ("def f(x): return isinstance(x, Raw)", 1), ("def f(x): return x.device.type == 'cpu'", 1), ("def f(x): return x.device.type != y", 0),
    ("from a import Storage as S\ndef f(x): return x.__class__ is S", 1), ("def f(x): return isinstance(x, np.ndarray)", 0),
    ("def f(x): return x.is_cpu", 1), ("def f(x): return devices.is_meta(x)", 1), ("def f(x): return home(x).kind == 'host'", 1),
    ("def f(x): return x._ms_storage.kind == 'host'", 1), ("def f(x): return x._ms_storage.read(x)", 0),
    ("def f(x): return x.reducer.shadow()", 0),
])  # fmt: skip
def test_a_question_is_found(text: str, count: int) -> None:
    assert len(_questions_of(ast.parse(text), "_src/ops/some.py")) == count


if __name__ == "__main__":
    for question in questions():
        sys.stdout.write(f"{question.path}:{question.line} {question.function}: {question.text}\n")

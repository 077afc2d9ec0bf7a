"""Infer types of expressions in source code: tensors, names of torch, modules, and tuples of these. Such an inferred type is called a kind.
"""
from __future__ import annotations

import ast
import functools
from pathlib import Path
from typing import NamedTuple

_STUBS = Path(__file__).parents[2] / "_src" / "stubs"
_ROOMS = {"": "torch_*.pyi", "Tensor": "methods*.pyi", "linalg": "linalg.pyi", "fft": "fft.pyi", "special": "special.pyi",
          "nn.functional": "nn_functional.pyi"}  # fmt: skip
_SEVERAL = frozenset("LSTM GRU RNN LSTMCell MultiheadAttention Transformer Sequential ModuleList ModuleDict Module Identity".split())


class Tensor(NamedTuple):
    """Inferred type of an expression whose value is a tensor."""

    what: str = "tensor"


class Name(NamedTuple):
    """Module, class or function of torch, by its dotted name."""

    dotted: str


class Object(NamedTuple):
    """Inferred type of an expression whose value is an instance of the torch class ``dotted``."""

    dotted: str


class Several(NamedTuple):
    """Inferred type of a tuple whose items all have the inferred type ``item``."""

    item: Tensor


class This(NamedTuple):
    """Inferred type of ``self`` in a class's methods, with the types of its attributes."""

    attributes: tuple[tuple[str, Tensor | Name | Object | None], ...]


Kind = Tensor | Name | Object | Several | This | None
TENSOR = Tensor()


@functools.cache
def _returned() -> dict[str, dict[str, Kind]]:
    """Return the inferred return types of torch's functions by namespace and name, from the stubs; only where all overloads agree."""
    found: dict[str, dict[str, Kind]] = {}
    for room, pattern in _ROOMS.items():
        home = found[room] = {}
        for file in sorted(_STUBS.glob(pattern)):
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.FunctionDef):
                    kind = _kind_of_text(ast.unparse(node.returns) if node.returns else "")
                    home[node.name] = kind if home.get(node.name, kind) == kind else None
    return found


def _kind_of_text(text: str) -> Kind:
    if text == "Tensor":
        return TENSOR
    if text.startswith("return_types.") or (text.startswith("tuple[Tensor") and set(text[6:-1].split(", ")) <= {"Tensor", "..."}):
        return Several(TENSOR)
    return None


_METHODS_OF_NUMBERS = frozenset("long int float double half bool byte short char bfloat16".split())


def result_of_function(dotted: str) -> Kind:
    """Return the inferred type of a torch function's result."""
    room, _, last = dotted.partition(".")[2].rpartition(".")
    if dotted in ("torch.tensor", "torch.as_tensor", "torch.nn.Parameter", "torch.nn.parameter.Parameter", "torch.Tensor"):
        return TENSOR
    return _returned().get({"functional": "nn.functional"}.get(room, room), {}).get(last)


def result_of_method(name: str) -> Kind:
    """Return the inferred type of a tensor method's result."""
    return TENSOR if name in _METHODS_OF_NUMBERS else _returned()["Tensor"].get(name)


def property_of_tensor(name: str) -> Kind:
    """Return the inferred type of a tensor's attribute."""
    return TENSOR if name in _attributes() else None


@functools.cache
def _attributes() -> set[str]:
    found = set()
    for file in _STUBS.glob(_ROOMS["Tensor"]):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.AnnAssign) and "Tensor" in ast.unparse(node.annotation):
                found.add(ast.unparse(node.target))
            elif isinstance(node, ast.FunctionDef) and [*map(ast.unparse, node.decorator_list)] == ["property"]:
                found |= {node.name} if node.returns is not None and ast.unparse(node.returns) == "Tensor" else set()
    return found


def result_of_layer(dotted: str) -> Kind:
    """Return the inferred type of what a call of a ``torch.nn`` module returns."""
    last = dotted.rpartition(".")[2]
    return TENSOR if dotted.startswith("torch.nn.") and last[:1].isupper() and last not in _SEVERAL else None


def of_annotation(node: ast.expr | None, named: dict[str, Kind]) -> Kind:
    """Return the inferred type of an annotation: ``Tensor``, ``Optional[Tensor]`` and ``Tensor | None`` are tensors."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            node = ast.parse(node.value, mode="eval").body
        except SyntaxError:
            return None
    if isinstance(node, ast.Subscript) and ast.unparse(node.value).rpartition(".")[2] == "Optional":
        return of_annotation(node.slice, named)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        sides = [side for side in (node.left, node.right) if ast.unparse(side) != "None"]
        return of_annotation(sides[0], named) if len(sides) == 1 else None
    dotted = dotted_name(node, named) if node is not None else None
    return TENSOR if dotted in ("torch.Tensor", "torch.nn.Parameter", "torch.FloatTensor", "torch.LongTensor") else None


def dotted_name(node: ast.expr, named: dict[str, Kind]) -> str | None:
    """Return the dotted torch name of an expression; None for an expression that is not such a name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        kind = named.get(node.id)
        if isinstance(kind, Name):
            return ".".join([kind.dotted, *reversed(parts)])
    return None


def item_of(kind: Kind) -> Kind:
    """Return the inferred type of an item of a value of the type ``kind``; None if it is unknown."""
    return kind.item if isinstance(kind, Several) else kind if isinstance(kind, Tensor) else None


def merged(first: Kind, second: Kind) -> Kind:
    """Return the inferred type of a value with two alternative types: the type if they are equal, else None."""
    return first if first == second else None

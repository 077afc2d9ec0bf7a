"""Infer kinds of values without running anything: tensors, names of torch, layers, and tuples of such."""
from __future__ import annotations

import ast
import functools
from pathlib import Path
from typing import NamedTuple

_STUBS = Path(__file__).parent.parent / "_stubs"
_ROOMS = {"": "torch_*.pyi", "Tensor": "methods*.pyi", "linalg": "linalg.pyi", "fft": "fft.pyi", "special": "special.pyi",
          "nn.functional": "nn_functional.pyi"}  # fmt: skip
_SEVERAL = frozenset("LSTM GRU RNN LSTMCell MultiheadAttention Transformer Sequential ModuleList ModuleDict Module Identity".split())


class Tensor(NamedTuple):
    """A tensor."""

    what: str = "tensor"


class Name(NamedTuple):
    """A module, class or function of torch, by its dotted name."""

    dotted: str


class Object(NamedTuple):
    """An instance of a class of torch."""

    dotted: str


class Several(NamedTuple):
    """A tuple whose items are all of one kind."""

    item: Tensor


class This(NamedTuple):
    """``self`` in a class's methods."""

    attributes: tuple[tuple[str, Tensor | Name | Object | None], ...]


Kind = Tensor | Name | Object | Several | This | None
TENSOR = Tensor()


@functools.cache
def _returned() -> dict[str, dict[str, Kind]]:
    """By room and name, what torch's functions return, as the stubs say: where their forms agree."""
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
    """Return what a call of a torch function gives."""
    room, _, last = dotted.partition(".")[2].rpartition(".")
    if dotted in ("torch.tensor", "torch.as_tensor", "torch.nn.Parameter", "torch.nn.parameter.Parameter", "torch.Tensor"):
        return TENSOR
    return _returned().get({"functional": "nn.functional"}.get(room, room), {}).get(last)


def result_of_method(name: str) -> Kind:
    """Return what a call of a tensor's method gives."""
    return TENSOR if name in _METHODS_OF_NUMBERS else _returned()["Tensor"].get(name)


def property_of_tensor(name: str) -> Kind:
    """Return what an attribute of a tensor is."""
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
    """Return what a call of a layer of ``torch.nn`` gives."""
    last = dotted.rpartition(".")[2]
    return TENSOR if dotted.startswith("torch.nn.") and last[:1].isupper() and last not in _SEVERAL else None


def of_annotation(node: ast.expr | None, named: dict[str, Kind]) -> Kind:
    """Return what an annotation says: ``Tensor``, ``Optional[Tensor]`` and ``Tensor | None`` are tensors."""
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
    """Return the dotted torch name that an expression is, None for another expression."""
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
    """Return what an item of a value is."""
    return kind.item if isinstance(kind, Several) else kind if isinstance(kind, Tensor) else None


def merged(first: Kind, second: Kind) -> Kind:
    """Return what a value is that is one or the other."""
    return first if first == second else None

"""Sizes of a program's inputs: fixed ones, and symbols with their ranges."""

from __future__ import annotations

import ast
import functools
import re
from typing import Any

from ..._tensor import Tensor
from ...utils._pytree import tree_flatten_with_path
from .._varying import Varying
from ..graph_signature import ConstantArgument, ExportGraphSignature, InputKind
from .values import Unreadable

_SYMBOL = re.compile(r"Symbol\('(\w+)'.*\)")


def _linear(text: str) -> tuple[str, int, int]:
    """Return the symbol, factor and offset of a size, such as ``Add(Mul(Integer(2), Symbol('s0', …)), Integer(1))``.

    Raise Unreadable for other sizes.
    """
    try:
        return _read(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Unreadable(f"the size of an input is {text[:80]}, which mstorch does not read ({type(error).__name__})") from None


def _read(node: ast.expr) -> tuple[str, int, int]:
    match node:
        case ast.Call(func=ast.Name(id="Symbol"), args=[ast.Constant(value=str(name))]):
            return name, 1, 0
        case ast.Call(func=ast.Name(id="Mul" | "Add" as word), args=[one, other]):
            number, rest = (one, other) if _integer(one) is not None else (other, one)
            value = _integer(number)
            if value is not None:
                name, factor, offset = _read(rest)
                return (name, factor * value, offset * value) if word == "Mul" else (name, factor, offset + value)
    raise ValueError("no linear size")


def _integer(node: ast.expr) -> int | None:
    match node:
        case ast.Call(func=ast.Name(id="Integer"), args=[argument]):
            value = ast.literal_eval(argument)
            return value if type(value) is int else None
    return None


class Guards:
    """Checks the tensors of a call against the sizes that the file tells."""

    def __init__(self, data: Any, signature: ExportGraphSignature) -> None:
        values = data["graph_module"]["graph"]["tensor_values"]
        names = [
            spec.arg.name if hasattr(spec.arg, "name") else "" for spec in signature.input_specs if spec.kind is InputKind.USER_INPUT
        ]
        self._metas = [(name, values.get(name)) for name in names]
        told = [spec for spec in data["graph_module"]["signature"]["input_specs"] if "user_input" in spec or "constant_input" in spec]
        constants = [spec.arg for spec in signature.input_specs if spec.kind is InputKind.USER_INPUT]
        self._constants = {
            number: (str(one["constant_input"]["name"]), constants[number].value)
            for number, one in enumerate(told)
            if "constant_input" in one and isinstance(constants[number], ConstantArgument)
        }
        self._ranges = {name: (one["min_val"], one["max_val"]) for name, one in data["range_constraints"].items()}

    @functools.cached_property
    def varying(self) -> Varying | None:
        """The sizes that vary; None if there are none."""
        varying = Varying()
        for leaf, (_, meta) in enumerate(self._metas):
            for axis, size in enumerate(() if meta is None else meta["sizes"]):
                if "as_int" not in size:
                    name, factor, offset = _linear(size["as_expr"]["expr_str"])
                    least, most = self._ranges.get(name, (None, None))
                    varying.places.append((leaf, axis, varying.add(name, least or 0, most), factor, offset))
        return varying if varying.names else None

    def check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise AssertionError for a tensor of another shape or dtype than the program takes."""
        symbols: dict[str, tuple[int, str]] = {}
        for number, ((_, leaf), (name, meta)) in enumerate(zip(tree_flatten_with_path((args, kwargs))[0], self._metas)):
            if number in self._constants:
                title, constant = self._constants[number]
                if leaf is not constant and (isinstance(leaf, Tensor) or leaf != constant):
                    raise AssertionError(f"Guard failed: {title} == {constant}")
            if meta is None or not isinstance(leaf, Tensor):
                continue
            if leaf.dim() != len(meta["sizes"]):
                raise AssertionError(f"Guard failed: {name}.ndimension() == {len(meta['sizes'])}")
            for place, (length, size) in enumerate(zip(leaf.shape, meta["sizes"])):
                self._check_length(f"{name}.size()[{place}]", int(length), size, symbols)

    def _check_length(self, where: str, length: int, size: Any, symbols: dict[str, tuple[int, str]]) -> None:
        if "as_int" in size:
            if length != size["as_int"]:
                raise AssertionError(f"Guard failed: {where} == {size['as_int']}")
            return
        found = _SYMBOL.fullmatch(size["as_expr"]["expr_str"])
        if found is None:
            return
        name = found[1]
        least, most = self._ranges.get(name, (None, None))
        if least is not None and length < least and least > 2:  # (like torch, which does not tell 0 and 1 from other sizes here)
            raise AssertionError(f"Guard failed: {where} >= {least}")
        if most is not None and length > most:
            raise AssertionError(f"Guard failed: {where} <= {most}")
        known, first = symbols.setdefault(name, (length, where))
        if known != length:
            raise AssertionError(f"Guard failed: {where} == {first}")

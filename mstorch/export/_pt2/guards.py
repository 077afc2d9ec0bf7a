"""Sizes of a program's inputs: fixed ones, and symbols with their ranges."""

from __future__ import annotations

import re
from typing import Any

from ..._tensor import Tensor
from ...utils._pytree import tree_flatten_with_path
from ..graph_signature import ExportGraphSignature, InputKind

_SYMBOL = re.compile(r"Symbol\('(\w+)'.*\)")


class Guards:
    """Checks the tensors of a call against the sizes that the file tells."""

    def __init__(self, data: Any, signature: ExportGraphSignature) -> None:
        values = data["graph_module"]["graph"]["tensor_values"]
        names = [
            spec.arg.name if hasattr(spec.arg, "name") else "" for spec in signature.input_specs if spec.kind is InputKind.USER_INPUT
        ]
        self._metas = [(name, values.get(name)) for name in names]
        self._ranges = {name: (one["min_val"], one["max_val"]) for name, one in data["range_constraints"].items()}

    @property
    def has_symbols(self) -> bool:
        """True if a size of an input may vary."""
        return any("as_int" not in size for _, meta in self._metas if meta is not None for size in meta["sizes"])

    def check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise AssertionError for a tensor of another shape or dtype than the program takes."""
        symbols: dict[str, tuple[int, str]] = {}
        for (_, leaf), (name, meta) in zip(tree_flatten_with_path((args, kwargs))[0], self._metas):
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

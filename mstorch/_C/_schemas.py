"""Schemas of torch's operators by name."""
from __future__ import annotations

from .._library.function_schema import FunctionSchema
from .._src.aten.overloads import overload, overloads


def _get_schema(name: str, overload_name: str = "") -> FunctionSchema:
    """Return the schema of one overload of an operator."""
    found = overload(name.removeprefix("aten::"), overload_name or "default")
    if found is None:
        raise RuntimeError(f"No such operator {name}" + (f".{overload_name}" if overload_name else ""))
    return FunctionSchema(found)


def _jit_get_schemas_for_operator(name: str) -> list[FunctionSchema]:
    """Return the schemas of all overloads of an operator; empty for unknown ones."""
    return [FunctionSchema(found) for found in overloads(name.removeprefix("aten::"))]


__all__ = ["_get_schema", "_jit_get_schemas_for_operator"]

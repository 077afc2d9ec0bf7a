"""The schema's numbers and words for values: dtypes, layouts, formats, devices, arguments."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from ..._src.core.device import device
from ..._src.core.dtype import by_name as dtype_named
from ..._src.core.formats import by_name as format_named
from ...fx.node import Node

MAJOR = 8  # version of the schema
DTYPES = {
    1: "uint8",
    2: "int8",
    3: "int16",
    4: "int32",
    5: "int64",
    6: "float16",
    7: "float32",
    8: "float64",
    9: "complex32",
    10: "complex64",
    11: "complex128",
    12: "bool",
    13: "bfloat16",
    28: "uint16",
    29: "float8_e4m3fn",
    30: "float8_e5m2",
    31: "float8_e4m3fnuz",
    32: "float8_e5m2fnuz",
    33: "float8_e8m0fnu",
    34: "uint32",
    35: "uint64",
}
LAYOUTS = {1: "sparse_coo", 2: "sparse_csr", 3: "sparse_csc", 4: "sparse_bsr", 5: "sparse_bsc", 7: "strided"}
FORMATS = {1: "contiguous_format", 2: "channels_last", 3: "channels_last_3d", 4: "preserve_format"}


class Unreadable(ValueError):
    """Raised for a program that is damaged, or that calls what mstorch does not have."""


def entry(table: dict[Any, Any], key: Any, what: str) -> Any:
    """Return the entry of a key from a file. Raise Unreadable if there is none."""
    if isinstance(key, (list, dict)) or key not in table:
        raise Unreadable(f"the program has an unknown {what}: {str(key)[:80]!r}")
    return table[key]


def variant(union: Any) -> tuple[str, Any]:
    """Return the kind and value of a union: a JSON object with one key."""
    if not isinstance(union, dict) or len(union) != 1:
        raise Unreadable(f"the program has a malformed value: {str(union)[:80]}")
    return next(iter(union.items()))


def device_of(data: Any) -> Any:
    """Return the device of its JSON."""
    return device(data["type"], data["index"]) if data.get("index") is not None else device(data["type"])


_PLAIN: dict[str, Callable[[Any], Any]] = {
    "as_none": lambda value: None,
    "as_int": int,
    "as_float": float,  # infinities and NaN are texts in the file
    "as_string": str,
    "as_bool": bool,
    "as_ints": lambda value: list(map(int, value)),
    "as_floats": lambda value: list(map(float, value)),
    "as_strings": lambda value: list(map(str, value)),
    "as_bools": lambda value: list(map(bool, value)),
    "as_scalar_type": lambda value: dtype_named(entry(DTYPES, value, "dtype")),
    "as_layout": lambda value: format_named(entry(LAYOUTS, value, "layout")),
    "as_memory_format": lambda value: format_named(entry(FORMATS, value, "memory format")),
    "as_device": device_of,
    "as_complex": lambda value: complex(value["real"], value["imag"]),
    "as_int_lists": lambda value: [list(map(int, one)) for one in value],
    "as_float_lists": lambda value: [list(map(float, one)) for one in value],
}


def read_argument(union: Any, nodes: dict[str, Node]) -> Any:
    """Return an argument of a call: a value, or the node that computes it."""
    kind, value = variant(union)
    plain = _PLAIN.get(kind)
    if plain is not None:
        return plain(value)
    if kind == "as_tensor":
        return entry(nodes, value["name"], "value")
    if kind == "as_tensors":
        return [entry(nodes, one["name"], "value") for one in value]
    if kind == "as_nested_tensors":
        return [read_argument({"as_tensors": one}, nodes) for one in value]
    if kind in ("as_sym_int", "as_sym_bool", "as_sym_float"):
        name, number = variant(value)
        return entry(nodes, number, "value") if name == "as_name" else number
    if kind in ("as_sym_ints", "as_sym_bools", "as_sym_floats"):
        return [read_argument({kind[:-1]: one}, nodes) for one in value]
    if kind == "as_optional_tensors":
        return [None if variant(one)[0] == "as_none" else read_argument(one, nodes) for one in value]
    if kind == "as_optional_tensor":
        return None if variant(value)[0] == "as_none" else read_argument(value, nodes)
    raise Unreadable(f"mstorch: the program has an argument of a kind that is not supported: {kind}")


def _sym_not(value: Any) -> bool:
    return not value


# What a program may call beside operators of ``torch.ops``: arithmetic of sizes.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "_operator.add": operator.add,
    "_operator.sub": operator.sub,
    "_operator.mul": operator.mul,
    "_operator.truediv": operator.truediv,
    "_operator.floordiv": operator.floordiv,
    "_operator.mod": operator.mod,
    "_operator.neg": operator.neg,
    "_operator.pos": operator.pos,
    "_operator.pow": operator.pow,
    "_operator.lt": operator.lt,
    "_operator.le": operator.le,
    "_operator.gt": operator.gt,
    "_operator.ge": operator.ge,
    "_operator.eq": operator.eq,
    "_operator.ne": operator.ne,
    "_operator.and_": operator.and_,
    "_operator.or_": operator.or_,
    "_operator.getitem": operator.getitem,
    "math.trunc": math.trunc,
    "math.ceil": math.ceil,
    "math.floor": math.floor,
    "math.sqrt": math.sqrt,
    "torch.sym_int": int,
    "torch.sym_float": float,
    "torch.sym_max": max,
    "torch.sym_min": min,
    "torch.sym_not": _sym_not,
    "torch._sym_sqrt": math.sqrt,
}
OPERATORS = "torch.ops."


def target_of(text: Any, read_operator: Callable[[str], Any]) -> Any:
    """Return what a node calls. Raise Unreadable for anything but operators and arithmetic of sizes."""
    if not isinstance(text, str):
        raise Unreadable("a call of the program names no function")
    if text.startswith(OPERATORS) and text.count(".") == 4:
        try:
            return read_operator(text.removeprefix(OPERATORS))
        except (ValueError, AttributeError) as error:
            raise Unreadable(f"mstorch: {error}") from None
    if text.startswith(OPERATORS) and text.count(".") == 3 and text.startswith(f"{OPERATORS}aten."):
        raise Unreadable(f"{text} names no overload")
    return entry(FUNCTIONS, text, "function")

"""The types of results of operators and methods, as far as they are known; None stands for an unknown one."""

from __future__ import annotations

import ast
import functools
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from ...._src.aten.overloads import all_overloads
from ...._src.core.declared import declared
from ...._src.core.schemas import Schema
from ..scalars import PLAIN
from ..types import TENSOR, Type, is_kind, part_of_dict
from .annotations import BOOL, FLOAT, INT, NONE, STR, fits

NUMBER, INTS = Type("number"), Type("List", (INT,))
_OF_SCHEMAS = {
    "Tensor": TENSOR, "int": INT, "SymInt": INT, "float": FLOAT, "bool": BOOL, "str": STR, "Scalar": NUMBER, "ScalarType": INT,
    "Layout": INT,
    "MemoryFormat": INT, "Device": Type("Device"), "Generator": Type("Generator"), "complex": Type("complex"),
}  # fmt: skip
PROPERTIES: dict[str, Type] = {
    "shape": INTS, "dtype": INT, "device": Type("Device"), "layout": INT, "ndim": INT, "requires_grad": BOOL, "is_leaf": BOOL,
    "itemsize": INT,
    "nbytes": INT, **dict.fromkeys(("T", "mT", "H", "mH", "data", "real", "imag"), TENSOR), "grad": Type("Optional", (TENSOR,)),
    **{f"is_{name}": BOOL for name in ("cuda", "cpu", "xpu", "mps", "meta", "nested", "mkldnn", "sparse", "sparse_csr", "quantized")},
}  # fmt: skip

class NamedResult(Type):
    """A tuple whose elements have names, as some operators return."""

    __slots__ = ("names",)

    def __init__(self, of: tuple[Type, ...], names: tuple[str, ...]) -> None:
        super().__init__("Tuple", of)
        self.names = names


class Misfit(TypeError):
    """Raised for arguments that no overload of an operator takes."""


@functools.cache
def of_schema(text: str) -> Type | None:
    """Return the type that a schema writes; None for one that is not known here."""
    text = re.sub(r"\([a-z!*| >-]+\)", "", text).strip()
    if text.startswith("(") and text.endswith(")"):
        if text == "()":
            return NONE
        listed = [part.strip().split(" ") for part in text[1:-1].split(",")]
        parts = [of_schema(part[0]) for part in listed]
        return None if None in parts else NamedResult(tuple(parts), tuple(part[-1] if len(part) > 1 else "" for part in listed))  # type: ignore[arg-type]
    if text.endswith("?"):
        inner = of_schema(text[:-1])
        return None if inner is None else Type("Optional", (inner,))
    several = re.fullmatch(r"(.*)\[\d*\]", text)
    if several is not None:
        inner = of_schema(several[1])
        return None if inner is None else Type("List", (inner,))
    return _OF_SCHEMAS.get(text.split(" ")[0])


def _takes(text: str, kind: Type | None, exactly: bool = False) -> bool:
    """Return whether a parameter of a schema takes a value of a type; ``exactly`` without a conversion of numbers to tensors and back."""
    if kind is None or kind.kind == "Any":
        return True
    wanted = of_schema(text)
    if wanted is None or fits(kind, wanted):
        return True
    inner = wanted.of[0] if wanted.kind == "Optional" else wanted
    if kind.kind == "Optional":
        return False
    if exactly and ("Tensor" in (inner.kind, kind.kind)):
        return False
    if inner.kind in ("int", "float", "number", "bool", "complex"):
        return kind.kind in ("Tensor", "number") or inner.kind in ("float", "number", "complex") and kind.kind in ("int", "float", "bool")
    if inner.kind == "Tensor":
        return kind.kind in ("int", "float", "bool", "number", "complex")  # (binary operators turn numbers into tensors)
    if inner.kind == "List":
        item = inner.of[0]
        if kind.kind in ("Tuple", "List"):
            return all(_takes(text.rstrip("?").rpartition("[")[0], one) for one in kind.of)
        return bool(re.search(r"\[\d+\]", text)) and fits(kind, item) or kind.kind == "Tensor" and item.kind == "int"
    return inner.kind == "Device" and kind.kind == "str"


def _bound(schema: Schema, args: Sequence[Type | None], kwargs: dict[str, Type | None], exactly: bool) -> bool:
    free = [one for one in schema.arguments if not one.kwarg_only]
    values = list(args)
    if len(values) > len(free):
        last = next((place for place, one in enumerate(free) if one.type in ("int[]", "SymInt[]")), None)
        if last is None or not all(one is None or one.kind == "int" for one in values[last:]):
            return False
        values = [*values[:last], INTS]
    known = {one.name: one for one in schema.arguments}
    if any(name not in known for name in kwargs):
        return False
    told = {one.name for one in free[: len(values)]} | set(kwargs)
    if any(not one.has_default and one.name not in told for one in schema.arguments):
        return False
    return all(_takes(one.type, kind, exactly) for one, kind in zip(free, values)) and all(
        _takes(known[name].type, kind, exactly) for name, kind in kwargs.items()
    )


def of_operator(name: str, args: Sequence[Type | None], kwargs: dict[str, Type | None]) -> Type | None:
    """Return the type of an operator's result. Raise Misfit if the arguments' types are known, and no overload takes them."""
    tensors = any(kind is not None and (kind.kind == "Tensor" or kind.kind == "List" and kind.of[0].kind == "Tensor") for kind in args)
    if args and not tensors and all(kind is not None and kind.kind in ("int", "float", "bool") for kind in args):
        result = _of_numbers(name)
        if result is not None:
            return result
    if name in ("tensor", "as_tensor", "scalar_tensor"):
        return TENSOR
    if name in ("size", "stride"):
        return INT if len(args) + len(kwargs) > 1 else INTS
    return _chosen(name, args, kwargs)


@functools.cache
def _of_numbers(name: str) -> Type | None:
    """Return the type that a function of ``math``, or ``len``, gives for numbers; None for other functions."""
    if name in ("len", "log2"):  # torch has no form of them for numbers
        return INT if name == "len" else FLOAT
    if name not in PLAIN or not hasattr(math, name) or name == "remainder":
        return None
    forms = (schema for schema in _overloads(name) if schema.arguments and {one.type for one in schema.arguments} <= {"int", "float"})
    return next((of_schema(schema.returns) for schema in forms), None)


def _overloads(name: str) -> list[Schema]:
    try:
        return [schema for schema, _ in all_overloads(name).values()]
    except RuntimeError:
        return []


def _chosen(name: str, args: Sequence[Type | None], kwargs: dict[str, Type | None]) -> Type | None:
    schemas = _overloads(name)
    if not schemas:
        return None
    kinds = [schema for schema in schemas if _bound(schema, args, kwargs, True)] or [
        schema for schema in schemas if _bound(schema, args, kwargs, False)
    ]
    if not kinds:
        if args and (args[0] is None or args[0].kind in ("Tensor", "List")) or not args:
            told = ", ".join([*(repr(kind) for kind in args), *(f"{key}: {kind!r}" for key, kind in kwargs.items())])
            raise Misfit(f"{name}({told}) has no overload that takes these arguments")
        return None
    results = {repr(of_schema(schema.returns)) for schema in kinds}
    return of_schema(kinds[0].returns) if len(results) == 1 else None


def of_method(holder: Type, name: str, args: Sequence[Type | None], kwargs: dict[str, Type | None]) -> Type | None:
    """Return the type of the result of a method of a tensor, list, dict, text or future."""
    if holder.kind == "Tensor":
        return of_operator(name, [holder, *args], kwargs)
    if holder.kind == "str":
        own = [schema for schema in _overloads(name) if schema.arguments and schema.arguments[0].type == "str"]
        return of_schema(own[0].returns) if own else None
    if holder.kind == "List":
        if name in ("append", "insert") and args and not fits(args[-1], holder.of[0]):
            raise Misfit(f"a list of {holder.of[0]!r} takes no {args[-1]!r}")
        if name in ("pop", "copy"):
            return holder.of[0] if name == "pop" else holder
        return INT if name in ("index", "count") else NONE if hasattr(list, name) else None
    if holder.kind == "Dict":
        return NONE if name in ("clear", "update") else part_of_dict(holder, name, len(args) > 1)
    return holder.of[0] if holder.kind == "Future" and name == "wait" else None


COMPARED: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: ("eq", "=="), ast.NotEq: ("ne", "!="), ast.Lt: ("lt", "<"), ast.LtE: ("le", "<="), ast.Gt: ("gt", ">"), ast.GtE: ("ge", ">="),
}  # fmt: skip
"""Operators and signs of comparisons."""
_COMPARISONS = {name for name, _ in COMPARED.values()}


def of_binary(name: str, left: Type | None, right: Type | None) -> Type | None:
    """Return the type of a binary operator's result. Raise Misfit for operands that it does not take."""
    if left is None or right is None:
        return BOOL if name in _COMPARISONS and (left or right or TENSOR).kind in ("int", "float", "str", "bool") else None
    kinds = left.kind, right.kind
    if "Optional" in kinds or "NoneType" in kinds:
        if name in ("eq", "ne"):
            return BOOL
        raise Misfit(f"an operand is {left if left.kind in ('Optional', 'NoneType') else right!r}: check for None before")
    if "Tensor" in kinds:
        if not _BESIDE_TENSORS.issuperset(kinds):
            raise Misfit(f"{name} takes no {left!r} and {right!r}")
        return TENSOR
    if name in _COMPARISONS:
        return BOOL
    if "number" in kinds or "Any" in kinds or any("." in kind for kind in kinds):
        return NUMBER if "number" in kinds and name != "matmul" else None
    result = _number_kind(name, kinds) if _NUMBER_KINDS.issuperset(kinds) else _of_sequences(name, left, right)
    if result is None:
        raise Misfit(f"{name} takes no {left!r} and {right!r}")
    return result


_NUMBER_KINDS = {"int", "float", "complex", "bool"}
_BESIDE_TENSORS = {"Tensor", "number", "Any", *_NUMBER_KINDS}


def _number_kind(name: str, kinds: tuple[str, str]) -> Type:
    if "complex" in kinds:
        return Type("complex")
    if name in ("__and__", "__or__", "__xor__") and kinds == ("bool", "bool"):
        return BOOL
    return FLOAT if "float" in kinds or name in ("div", "pow") else INT


def _of_sequences(name: str, left: Type, right: Type) -> Type | None:
    """Return the type of a sum or a repetition of texts, lists and tuples, or of a formatted text; None for anything else."""
    kinds = left.kind, right.kind
    if name == "add" and kinds == ("Tuple", "Tuple"):
        return Type("Tuple", (*left.of, *right.of))
    if name == "add" and kinds in (("str", "str"), ("List", "List")):
        return left
    if name == "mul" and "int" in kinds and ("List" in kinds or "str" in kinds):
        return left if kinds[1] == "int" else right
    return STR if name == "remainder" and kinds[0] == "str" else None


def of_element(holder: Type | None, place: Any) -> Type | None:
    """Return the type of an element; ``place`` is the index, if it is known."""
    if holder is None:
        return None
    if holder.kind in ("Tensor", "str"):
        return holder
    if holder.kind == "List":
        return holder.of[0]
    if holder.kind == "Dict":
        return holder.of[1]
    if holder.kind == "Tuple" and isinstance(place, int):
        if not -len(holder.of) <= place < len(holder.of):
            raise Misfit(f"{holder!r} has no element {place}")
        return holder.of[place]
    if holder.kind in ("Optional", "NoneType", "int", "float", "bool"):
        raise Misfit(f"{holder!r} has no elements" + (": check for None before" if holder.kind == "Optional" else ""))
    return None


def of_turn(holder: Type | None) -> Type | None:
    """Return the type of what a loop over a value goes through."""
    if holder is None:
        return None
    if holder.kind == "Dict":
        return holder.of[0]
    if holder.kind in ("Tensor", "str", "List"):
        return of_element(holder, None)
    if holder.kind in ("Optional", "NoneType", "int", "float", "bool"):
        raise Misfit(f"{holder!r} is not iterable")
    return None


def _tuples(kinds: list[Type | None]) -> Type | None:
    """Return the type of a list of tuples of these types."""
    return None if None in kinds else Type("List", (Type("Tuple", tuple(kinds)),))  # type: ignore[arg-type]


_OfKinds = Callable[[list[Type | None]], Type | None]
BUILTINS: dict[str, Type | None | _OfKinds] = {
    **dict.fromkeys(("len", "ord", "hash", "int"), INT), **dict.fromkeys(("chr", "hex", "oct", "bin", "str"), STR),
    **dict.fromkeys(("any", "all", "bool"), BOOL),
    "print": NONE, "float": FLOAT, "complex": Type("complex"), "range": INTS, "divmod": None,
    "enumerate": lambda kinds: _tuples([INT, *map(of_turn, kinds[:1])]), "zip": lambda kinds: _tuples([*map(of_turn, kinds)]),
    "sorted": lambda kinds: kinds[0] if kinds and is_kind(kinds[0], "List") else None,
}  # fmt: skip
"""Python's functions that a script may call: the type of their result, or the function that computes it from those of the arguments."""


@declared(BUILTINS, "list")
def _of_list(kinds: list[Type | None]) -> Type | None:
    item = of_turn(kinds[0]) if kinds else None
    return None if item is None else Type("List", (item,))


@declared(BUILTINS, "dict")
def _of_dict(kinds: list[Type | None]) -> Type | None:
    if not kinds:
        return Type("Dict", (STR, TENSOR))
    pairs = kinds[0].of[0] if is_kind(kinds[0], "List") else None
    return Type("Dict", pairs.of) if is_kind(pairs, "Tuple") and len(pairs.of) == 2 else kinds[0]


@declared(BUILTINS, "round")
def _of_round(kinds: list[Type | None]) -> Type | None:
    return TENSOR if is_kind(kinds[0], "Tensor") else None


@declared(BUILTINS, "sum")
def _of_sum(kinds: list[Type | None]) -> Type | None:
    first = kinds[0]
    if None in kinds or first is None:
        return None
    return first.of[0] if first.of else TENSOR


@declared(BUILTINS, "pow")
def _of_power(kinds: list[Type | None]) -> Type | None:
    if None in kinds:
        return None
    return TENSOR if any(is_kind(kind, "Tensor") for kind in kinds) else FLOAT


@declared(BUILTINS, "abs")
@declared(BUILTINS, "min")
@declared(BUILTINS, "max")
def _of_same(kinds: list[Type | None]) -> Type | None:
    """Return the type of a number like the arguments, or like the items of the only one."""
    first = kinds[0]
    if None in kinds or first is None:
        return None
    if len(kinds) == 1 and first.kind == "List":
        return _of_sum(kinds)
    return first if all(is_kind(kind, first.kind) for kind in kinds) else FLOAT


def of_builtin(name: str, kinds: list[Type | None]) -> Type | None:
    """Return the type of the result of one of Python's functions. Raise Misfit for an argument that it does not take."""
    if name in ("int", "float", "bool") and kinds and is_kind(kinds[0], "Optional", "NoneType", "List", "Tuple", "Dict"):
        raise Misfit(f"{name} takes no {kinds[0]!r}")
    result = BUILTINS[name]
    return result if result is None or isinstance(result, Type) else result(kinds)

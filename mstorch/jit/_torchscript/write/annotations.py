"""Types of TorchScript for Python's annotations and values."""

from __future__ import annotations

import collections.abc
import enum
import inspect
import re
import types
import typing
from collections.abc import Callable
from typing import Any

from ...._src.core.device import device
from ...._src.core.dtype import dtype
from ...._src.core.formats import layout, memory_format
from ...._src.core.generator import Generator
from ...._src.core.size import Size
from ...._tensor import Tensor
from ....futures import Future
from ..types import ANY, TENSOR, Type
from .values import Unwritable

NONE, INT, FLOAT, BOOL, STR, DEVICE = (Type(name) for name in ("NoneType", "int", "float", "bool", "str", "Device"))
_PLAIN: dict[Any, Type] = {
    int: INT, float: FLOAT, bool: BOOL, str: STR, complex: Type("complex"), None: NONE, type(None): NONE, Any: ANY, device: DEVICE,
    dtype: INT, layout: INT, memory_format: INT, Generator: Type("Generator"), Size: Type("List", (INT,)),
}  # fmt: skip
_LISTS = (list, collections.abc.Sequence, collections.abc.Iterable)
Named = Callable[[type], "Type | None"]
"""Returns the type of a class that the program may hold, and None for others."""


def same(a: Type | None, b: Type | None) -> bool:
    """Return whether two types are the same; an unknown one is like any."""
    if a is None or b is None:
        return True
    return a.kind == b.kind and len(a.of) == len(b.of) and all(map(same, a.of, b.of))


def optional(kind: Type) -> Type:
    """Return the type that also takes None."""
    return kind if kind.kind in ("Optional", "NoneType", "Any") else Type("Optional", (kind,))


def fits(kind: Type | None, wanted: Type | None) -> bool:
    """Return whether a value of a type may stand where another is wanted."""
    if kind is None or wanted is None or wanted.kind == "Any" or same(kind, wanted):
        return True
    if wanted.kind == "Optional":
        return kind.kind == "NoneType" or fits(kind.of[0] if kind.kind == "Optional" else kind, wanted.of[0])
    if wanted.kind == "Union":
        parts = kind.of if kind.kind == "Union" else (*kind.of, NONE) if kind.kind == "Optional" else (kind,)
        return all(any(fits(part, one) for one in wanted.of) for part in parts)
    if wanted.kind == "Tuple" and kind.kind == "Tuple":
        return len(kind.of) == len(wanted.of) and all(map(fits, kind.of, wanted.of))
    if wanted.kind == "number":
        return kind.kind in ("int", "float", "complex", "bool")
    return wanted.kind in ("list", "tuple") and kind.kind.lower() == wanted.kind or "." in wanted.kind and "." in kind.kind


def joined(a: Type | None, b: Type | None) -> Type | None:
    """Return the type of a variable that is one or the other; None if it is unknown. Raise TypeError if there is none."""
    if a is None or b is None:
        return None
    if fits(a, b):
        return b
    if fits(b, a):
        return a
    if "NoneType" in (a.kind, b.kind):
        return optional(b if a.kind == "NoneType" else a)
    if a.kind == b.kind == "Tuple" and len(a.of) == len(b.of):
        parts = [joined(one, two) for one, two in zip(a.of, b.of)]
        return None if None in parts else Type("Tuple", tuple(parts))  # type: ignore[arg-type]
    raise TypeError(f"{a!r} in one branch and {b!r} in another")


def of_annotation(annotation: Any, named: Named) -> Type:
    """Return the type of an annotation. Raise Unwritable for one that TorchScript has not."""
    if annotation is inspect.Parameter.empty:
        return TENSOR
    try:
        if annotation in _PLAIN:
            return _PLAIN[annotation]
    except TypeError:
        pass
    if annotation in (list, dict, tuple):
        raise Unwritable(f"mstorch: torch.jit.save needs the types of the elements of {annotation.__name__}, as in List[int]")
    kind = _of_parts(annotation, named)
    if kind is None and isinstance(annotation, type):
        kind = TENSOR if issubclass(annotation, Tensor) else named(annotation)
    if kind is None:
        title = getattr(annotation, "__qualname__", None) or str(annotation)
        raise Unwritable(f"mstorch: torch.jit.save has no type for the annotation {title}")
    return kind


def _of_parts(annotation: Any, named: Named) -> Type | None:
    """Return the type of an annotation that contains others, as ``list[int]`` does; None for any other."""
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Annotated, typing.Final) or getattr(origin, "__name__", "") == "Final":
        return of_annotation(parts[0], named)
    if origin in (typing.Union, types.UnionType):
        kinds = [of_annotation(part, named) for part in parts if part is not type(None)]
        kind = kinds[0] if len(kinds) == 1 else Type("Union", tuple(kinds))
        return kind if len(kinds) == len(parts) else optional(kind)
    if origin in _LISTS and len(parts) == 1:
        return Type("List", (of_annotation(parts[0], named),))
    if origin in (dict, collections.abc.Mapping, collections.OrderedDict) and len(parts) == 2:
        return Type("Dict", tuple(of_annotation(part, named) for part in parts))
    if origin is tuple:
        if Ellipsis in parts:
            raise Unwritable("mstorch: torch.jit.save has no form for a tuple of any length")
        return Type("Tuple", tuple(of_annotation(part, named) for part in parts if part != ()))
    if (annotation if origin is None else origin) is Future:
        return Type("Future", tuple(of_annotation(part, named) for part in parts) or (TENSOR,))
    return None


def of_value(value: Any, named: Named) -> Type | None:
    """Return the type of a value of Python; None if TorchScript has none."""
    if isinstance(value, Tensor):
        return TENSOR
    if value is None:
        return NONE
    kind = type(value)
    if isinstance(value, enum.Enum) or isinstance(value, tuple) and hasattr(value, "_fields"):
        return named(kind)
    if kind in _PLAIN:
        return _PLAIN[kind]
    if isinstance(value, tuple):
        parts = [of_value(item, named) for item in value]
        return None if None in parts else Type("Tuple", tuple(parts))  # type: ignore[arg-type]
    if isinstance(value, list) and value:
        item = _common([of_value(one, named) for one in value])
        return None if item is None else Type("List", (item,))
    if isinstance(value, dict) and value:
        key, item = _common([of_value(one, named) for one in value]), _common([of_value(one, named) for one in value.values()])
        return None if key is None or item is None else Type("Dict", (key, item))
    return None


def _common(kinds: list[Type | None]) -> Type | None:
    first = kinds[0]
    return first if all(one is not None and same(one, first) for one in kinds) else None


_COMMENT = re.compile(r"#\s*type:\s*\((.*)\)\s*->\s*(.+?)\s*(?:#.*)?$")


def hints_of(function: Any, source: str, names: dict[str, Any]) -> dict[str, Any]:
    """Return a function's annotations by parameter, and "return": of its signature, or of a type comment below it."""
    for line in source.splitlines():
        comment = _COMMENT.search(line)
        if comment is not None:
            space = {**vars(typing), "Tensor": Tensor, **names}
            listed = eval(f"({comment[1]},)" if comment[1].strip() else "()", space)
            parameters = list(inspect.signature(function).parameters)
            if len(parameters) == len(listed) + 1:
                parameters = parameters[1:]
            return dict(zip(parameters, listed)) | {"return": eval(comment[2], space)}
        if line.strip().startswith(("return", "if ", "for ", "while ", "with ")):
            break
    try:
        return typing.get_type_hints(function, localns=names)
    except (NameError, AttributeError, TypeError, SyntaxError) as error:
        raise Unwritable(f"mstorch: torch.jit.save cannot read the annotations of {function.__qualname__}: {error}") from None


def fields_of(kind: type, named: Named) -> dict[str, Type]:
    """Return the fields of a NamedTuple with their types."""
    hints = typing.get_type_hints(kind)
    return {name: of_annotation(hints[name], named) if name in hints else TENSOR for name in kind._fields}  # type: ignore[attr-defined]

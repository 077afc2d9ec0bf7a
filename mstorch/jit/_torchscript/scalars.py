"""TorchScript's operators on numbers, texts, lists and dicts, by their names in ``torch.``."""

from __future__ import annotations

import cmath
import math
import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ..._src.aten.overloads import all_overloads
from ..._src.core.device import device
from ..._tensor import Tensor

NONE = object()
Operator = Callable[..., Any]
_OF_BOTH: dict[str, Operator] = {}
"""Operators on values without tensors and on containers, whose elements may be tensors."""
OF_ALL: dict[str, Operator] = {}
"""Operators on values of any kind."""


def _operator(name: str, operators: dict[str, Operator]) -> Callable[[Operator], Operator]:
    """Return a decorator that declares a function as the operator of a name."""

    def decorate(function: Operator) -> Operator:
        operators[name] = function
        return function

    return decorate


def _number(value: Any) -> bool:
    return type(value) in (int, float, bool, complex)


def _divide(a: Any, b: Any) -> Any:
    if b == 0 and type(a) in (int, float) and type(b) in (int, float):
        if type(a) is type(b) is int:
            raise ZeroDivisionError("division by zero")
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a / b


def _zero_checked(function: Operator) -> Operator:
    def checked(a: Any, b: Any) -> Any:
        if b == 0:
            if type(a) is type(b) is int:
                raise RuntimeError("division by 0")
            return math.nan
        return function(a, b)

    return checked


def _power(a: Any, b: Any) -> Any:
    if complex in (type(a), type(b)):
        return complex(a) ** complex(b)
    try:
        return math.pow(a, b)
    except OverflowError:
        return math.inf
    except ValueError:
        return math.inf if a == 0 else math.nan


def _real(function: Operator, of_complex: Operator | None = None) -> Operator:
    """Return a function of numbers that gives NaN or infinity where Python's raises."""

    def apply(value: Any, *more: Any) -> Any:
        if type(value) is complex and of_complex is not None:
            return of_complex(value)
        try:
            return function(value, *more)
        except OverflowError:
            return math.inf
        except ValueError:
            return -math.inf if value == 0 and function in (math.log, math.log2, math.log10) else math.nan

    return apply


@_operator("slice", _OF_BOTH)
def _slice(value: Any, start: Any = None, end: Any = None, step: int = 1) -> Any:
    return value[slice(start, end, step)]


def _pop(value: Any, *where: Any) -> Any:
    if type(value) is dict:
        if not where:
            raise RuntimeError("pop expects a key")
        return value.pop(*where)
    if not value:
        raise IndexError("pop from empty list")
    return value.pop(*where)


def _sort(value: list[Any], reverse: bool = False) -> None:
    value.sort(reverse=reverse)


def _set_item(value: Any, key: Any, item: Any) -> Any:
    if type(value) is list and not -len(value) <= key < len(value):
        raise IndexError("list index out of range")
    value[key] = item
    return value


def _delete(value: Any, key: Any) -> None:
    if type(value) is list and not -len(value) <= key < len(value):
        raise IndexError("list index out of range")
    del value[key]


@_operator("dict", _OF_BOTH)
def _dict_of(pairs: Sequence[Any] = ()) -> dict[Any, Any]:
    return dict(pairs)


@_operator("copy", _OF_BOTH)
def _copied(value: Any) -> Any:
    return value.copy() if type(value) in (list, dict) else value


@_operator("list", _OF_BOTH)
def _listed(value: Any) -> list[Any]:
    return list(value)


def _chosen(choose: Operator) -> Operator:
    """Return ``min`` or ``max`` of two numbers, of two lists by element, or of one list."""

    def apply(a: Any, b: Any = NONE) -> Any:
        if b is NONE:
            return choose(a)
        if type(a) is list:
            return choose(a, b)
        if type(a) is not type(b):
            a, b = float(a), float(b)
        return choose(a, b)

    return apply


@_operator("str", OF_ALL)
def _text(value: Any) -> str:
    """Return a value's text as TorchScript's ``str`` and ``format`` write it."""
    if type(value) is list:
        return f"[{', '.join(map(_text, value))}]"
    if type(value) is tuple:
        return f"({', '.join(map(_text, value))})"
    if type(value) is float:
        if value == int(value) if math.isfinite(value) else False:
            return f"{value:.0f}." if abs(value) < 1e16 else f"{value:.17g}"
        return f"{value:.6g}" if math.isfinite(value) else str(value)
    return str(value)


@_operator("format", OF_ALL)
def _format(template: str, *values: Any) -> str:
    parts = template.split("{}")
    if len(parts) - 1 > len(values):
        raise RuntimeError(f"Too few arguments for format string: {template}")
    pieces = [parts[0]]
    for value, part in zip(values, parts[1:]):
        pieces += [_text(value), part]
    return "".join(pieces)


@_operator("percentFormat", OF_ALL)
def _percent(template: str, *values: Any) -> str:
    values = values[0] if len(values) == 1 and type(values[0]) is tuple else values
    return template % tuple(values)


def _split(value: str, separator: str | None = None, most: int = -1) -> list[str]:
    return value.split(separator, most)


@_operator("join", OF_ALL)
def _join(separator: str, parts: list[str]) -> str:
    return separator.join(parts)


@_operator("warn", OF_ALL)
def _warn(message: str, stacklevel: int = 2) -> None:
    warnings.warn(message, UserWarning, stacklevel=max(stacklevel, 1) + 3)


@_operator("__is__", OF_ALL)
def _is(a: Any, b: Any) -> bool:
    return a is b


def _round(value: float, digits: int = 0) -> float:
    return float(round(value, digits))


def _derived(index: int, start: int, step: int) -> int:
    return start + index * step


@_operator("popitem", _OF_BOTH)
def _popped_item(value: dict[Any, Any]) -> Any:
    if not value:
        raise RuntimeError("popitem(): dictionary is empty")
    return value.popitem()


def _factorial(value: int) -> int:
    if not 0 <= value <= 20:
        raise RuntimeError("math.factorial() not defined for negative values, or beyond 20")
    return math.factorial(value)


def _contains(holder: Any, item: Any) -> bool:
    if type(holder) is list and isinstance(item, Tensor):
        return any(bool((item == one).all()) for one in holder)
    return item in holder


def _shifted(left: bool) -> Operator:
    def apply(a: int, b: int) -> int:
        if not 0 <= b < 64:
            raise RuntimeError(f"cannot shift by {b}")
        shifted = a << b if left else a >> b
        return (shifted + (1 << 63)) % (1 << 64) - (1 << 63)

    return apply


@_operator("mul", _OF_BOTH)
def _times(a: Any, b: Any) -> Any:
    sized = a if type(a) in (list, str) else b if type(b) in (list, str) else None
    if sized is not None and len(sized) * max(a if sized is b else b, 0) > 1 << 28:
        raise RuntimeError("a list or text of more than 268,435,456 elements")
    return a * b


@_operator("add_", _OF_BOTH)
def _grown(value: Any, more: Any) -> Any:
    if type(value) is not list:
        return value + more
    value.extend(more)
    return value


_operator("append", _OF_BOTH)(lambda a, b: a.append(b) or a)
_operator("extend", _OF_BOTH)(lambda a, b: a.extend(b))
_operator("insert", _OF_BOTH)(lambda a, i, b: a.insert(i, b))
_operator("clear", _OF_BOTH)(lambda a: a.clear())
_operator("reverse", _OF_BOTH)(lambda a: a.reverse())
_operator("keys", _OF_BOTH)(lambda a: list(a))
_operator("values", _OF_BOTH)(lambda a: list(a.values()))
_operator("items", _OF_BOTH)(lambda a: list(a.items()))
_operator("get", _OF_BOTH)(lambda a, key, default=None: a.get(key, default))
_operator("update", _OF_BOTH)(lambda a, b: a.update(b))
_operator("setdefault", _OF_BOTH)(lambda a, key, item: a.setdefault(key, item))
_operator("select", _OF_BOTH)(lambda a, i: a[i])
_operator("add", _OF_BOTH)(lambda a, b, alpha=1: a + b if alpha == 1 else a + alpha * b)
_NUMBERS = frozenset(("int", "float", "bool", "complex", "number", "Scalar"))


def _takes_numbers(name: str) -> bool:
    """Return whether an operator has a form that takes numbers only."""
    return any(
        schema.arguments and all(one.type.rstrip("?") in _NUMBERS for one in schema.arguments) for schema, _ in all_overloads(name).values()
    )


def _takes_text(name: str) -> bool:
    """Return whether an operator has a form whose first argument is a text."""
    return any(schema.arguments and schema.arguments[0].type == "str" for schema, _ in all_overloads(name).values())


# Operators on numbers: Python's own, where torch has a form of the same name for numbers.
_OF_NUMBERS: dict[str, Operator] = {
    **{name: getattr(operator, name) for name in dir(operator) if _takes_numbers(name)},
    **{name: _real(getattr(math, name), getattr(cmath, name, None)) for name in dir(math) if _takes_numbers(name)},
    "abs": abs, "bitwise_not": operator.invert, "trunc": _real(math.trunc), "log2": _real(math.log2),
}  # fmt: skip


_operator("floordiv", _OF_NUMBERS)(_zero_checked(operator.floordiv))
_operator("floor_divide", _OF_NUMBERS)(_zero_checked(operator.floordiv))
_operator("remainder", _OF_NUMBERS)(_zero_checked(operator.mod))
_operator("fmod", _OF_NUMBERS)(_zero_checked(math.fmod))
_operator("divmod", _OF_NUMBERS)(_zero_checked(divmod))
_operator("div", _OF_NUMBERS)(_divide)
_operator("pow", _OF_NUMBERS)(_power)
_operator("round", _OF_NUMBERS)(_round)
_operator("factorial", _OF_NUMBERS)(_factorial)
_operator("__lshift__", _OF_NUMBERS)(_shifted(True))
_operator("__rshift__", _OF_NUMBERS)(_shifted(False))


@_operator("sub", _OF_NUMBERS)
def _difference(a: Any, b: Any, alpha: Any = 1) -> Any:
    return a - b if alpha == 1 else a - alpha * b


@_operator("rsub", _OF_NUMBERS)
def _difference_to(a: Any, b: Any, alpha: Any = 1) -> Any:
    return b - alpha * a


@_operator("log", _OF_NUMBERS)
def _logarithm(a: Any, *base: Any) -> Any:
    return math.log(a, *base) if base else _real(math.log, cmath.log)(a)


# Methods of texts; format and join are in OF_ALL, since Python's own read attributes of what they format.
_OF_TEXTS: dict[str, Operator] = {
    name: getattr(str, name) for name in dir(str) if not name.startswith("_") and name not in OF_ALL and _takes_text(name)
}

# Operators that take no tensor; the same names with a tensor among the arguments are ATen's.
PLAIN: dict[str, Operator] = {
    **_OF_NUMBERS, **_OF_TEXTS, **_OF_BOTH, **{function.__name__: function for function in (sum, any, all, ord, chr, hex, oct, bin, hash)},
}  # fmt: skip
_operator("angle", PLAIN)(lambda a: cmath.phase(a))
_operator("polar", PLAIN)(cmath.rect)
_operator("remove", PLAIN)(lambda a, b: a.remove(b))
_operator("sort", PLAIN)(_sort)
_operator("sorted", PLAIN)(lambda a, reverse=False: sorted(a, reverse=reverse))
_operator("index", PLAIN)(lambda a, b, *where: a.index(b, *where))
_operator("count", PLAIN)(lambda a, b, *where: a.count(b, *where))
_operator("split", PLAIN)(_split)
_operator("zfill", PLAIN)(lambda a, b: a.zfill(min(b, 1 << 20)))
_operator("expandtabs", PLAIN)(lambda a, b=8: a.expandtabs(min(b, 1 << 10)))
_operator("center", PLAIN)(lambda a, b, *c: a.center(min(b, 1 << 20), *c))
_operator("ljust", PLAIN)(lambda a, b, *c: a.ljust(min(b, 1 << 20), *c))
_operator("rjust", PLAIN)(lambda a, b, *c: a.rjust(min(b, 1 << 20), *c))
_operator("__range_length", PLAIN)(lambda start, end, step: len(range(start, end, step)))
_operator("__derive_index", PLAIN)(_derived)
_operator("real", PLAIN)(lambda a: complex(a).real)
_operator("imag", PLAIN)(lambda a: complex(a).imag)
_operator("mathremainder", PLAIN)(math.remainder)
_operator("Int", PLAIN)(int)
_operator("Float", PLAIN)(float)
_operator("Bool", PLAIN)(bool)
_operator("Complex", PLAIN)(complex)
_operator("item", PLAIN)(lambda a: a)
# Operators on containers, whose elements may be tensors.
OF_CONTAINERS: dict[str, Operator] = {
    **_OF_BOTH,
    "__getitem__": lambda a, i: a[i],
    "_set_item": _set_item,
    "__delitem__": _delete,
    "Delete": _delete,
    "pop": _pop,
    "__contains__": _contains,
}
_operator("len", OF_ALL)(lambda a: a.size(0) if isinstance(a, Tensor) else len(a))
_operator("__isnot__", OF_ALL)(lambda a, b: a is not b)
_operator("wait", OF_ALL)(lambda future: future.wait())
_operator("dim", OF_ALL)(lambda a: a.dim())
_operator("numel", OF_ALL)(lambda a: a.numel())
_operator("IntImplicit", OF_ALL)(lambda a: int(a.item()))
_operator("FloatImplicit", OF_ALL)(lambda a: float(a.item()))
_operator("ScalarImplicit", OF_ALL)(lambda a: a.item())
_operator("ComplexImplicit", OF_ALL)(lambda a: complex(a.item()))
_operator("is_floating_point", OF_ALL)(lambda a: a.is_floating_point())
_operator("is_complex", OF_ALL)(lambda a: a.is_complex())
_operator("is_contiguous", OF_ALL)(lambda a: a.is_contiguous())
_operator("get_device", OF_ALL)(lambda a: a.get_device())
_operator("element_size", OF_ALL)(lambda a: a.element_size())
_operator("device", OF_ALL)(lambda text, index=None: device(text) if index is None else device(text, index))
_operator("requires_grad_", OF_ALL)(lambda a, flag=True: a.requires_grad_(flag))
_operator("is_leaf", OF_ALL)(lambda a: a.is_leaf)
_operator("storage_offset", OF_ALL)(lambda a: a.storage_offset())
_operator("stride", OF_ALL)(lambda a, *dim: a.stride(*dim) if dim else list(a.stride()))
_operator("size", OF_ALL)(lambda a, *dim: a.size(*dim) if dim else list(a.shape))
_operator("sym_size", OF_ALL)(lambda a, dim: a.size(dim))
_operator("Size", OF_ALL)(lambda a: list(a))
_operator("cpu", OF_ALL)(lambda a: a.cpu())
_operator("is_scripting", OF_ALL)(lambda: True)
_operator("is_autocast_enabled", OF_ALL)(lambda: False)
_operator("is_autocast_cpu_enabled", OF_ALL)(lambda: False)
text = _text
least, greatest = _chosen(min), _chosen(max)

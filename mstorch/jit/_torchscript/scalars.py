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


def _dict_of(pairs: Sequence[Any] = ()) -> dict[Any, Any]:
    return dict(pairs)


def _copied(value: Any) -> Any:
    return value.copy() if type(value) in (list, dict) else value


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


def _format(template: str, *values: Any) -> str:
    parts = template.split("{}")
    if len(parts) - 1 > len(values):
        raise RuntimeError(f"Too few arguments for format string: {template}")
    pieces = [parts[0]]
    for value, part in zip(values, parts[1:]):
        pieces += [_text(value), part]
    return "".join(pieces)


def _percent(template: str, *values: Any) -> str:
    values = values[0] if len(values) == 1 and type(values[0]) is tuple else values
    return template % tuple(values)


def _split(value: str, separator: str | None = None, most: int = -1) -> list[str]:
    return value.split(separator, most)


def _join(separator: str, parts: list[str]) -> str:
    return separator.join(parts)


def _warn(message: str, stacklevel: int = 2) -> None:
    warnings.warn(message, UserWarning, stacklevel=max(stacklevel, 1) + 3)


def _is(a: Any, b: Any) -> bool:
    return a is b


def _round(value: float, digits: int = 0) -> float:
    return float(round(value, digits))


def _derived(index: int, start: int, step: int) -> int:
    return start + index * step


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


def _times(a: Any, b: Any) -> Any:
    sized = a if type(a) in (list, str) else b if type(b) in (list, str) else None
    if sized is not None and len(sized) * max(a if sized is b else b, 0) > 1 << 28:
        raise RuntimeError("a list or text of more than 268,435,456 elements")
    return a * b


def _grown(value: Any, more: Any) -> Any:
    if type(value) is not list:
        return value + more
    value.extend(more)
    return value


# Operators on values without tensors and on containers, whose elements may be tensors.
_OF_BOTH: dict[str, Operator] = {
    "append": lambda a, b: a.append(b) or a,
    "extend": lambda a, b: a.extend(b),
    "insert": lambda a, i, b: a.insert(i, b),
    "clear": lambda a: a.clear(),
    "reverse": lambda a: a.reverse(),
    "list": _listed,
    "copy": _copied,
    "dict": _dict_of,
    "keys": lambda a: list(a),
    "values": lambda a: list(a.values()),
    "items": lambda a: list(a.items()),
    "get": lambda a, key, default=None: a.get(key, default),
    "update": lambda a, b: a.update(b),
    "setdefault": lambda a, key, item: a.setdefault(key, item),
    "popitem": _popped_item,
    "select": lambda a, i: a[i],
    "add": lambda a, b, alpha=1: a + b if alpha == 1 else a + alpha * b,
    "add_": _grown,
    "mul": _times,
    "slice": _slice,
}
_NUMBERS = frozenset(("int", "float", "bool", "complex", "number", "Scalar"))


def _takes_numbers(name: str) -> bool:
    """Return whether an operator has a form that takes numbers only."""
    return any(
        schema.arguments and all(one.type.rstrip("?") in _NUMBERS for one in schema.arguments) for schema, _ in all_overloads(name).values()
    )


# Operators on numbers: Python's own, where torch has a form of the same name for numbers.
_OF_NUMBERS: dict[str, Operator] = {
    **{name: getattr(operator, name) for name in dir(operator) if _takes_numbers(name)},
    **{name: _real(getattr(math, name), getattr(cmath, name, None)) for name in dir(math) if _takes_numbers(name)},
    "abs": abs, "bitwise_not": operator.invert, "trunc": _real(math.trunc), "log2": _real(math.log2),
}  # fmt: skip


def _own(name: str) -> Callable[[Operator], Operator]:
    """Return a decorator that declares a function of numbers as the operator of a name."""

    def decorate(function: Operator) -> Operator:
        _OF_NUMBERS[name] = function
        return function

    return decorate


_own("floordiv")(_zero_checked(operator.floordiv))
_own("floor_divide")(_zero_checked(operator.floordiv))
_own("remainder")(_zero_checked(operator.mod))
_own("fmod")(_zero_checked(math.fmod))
_own("divmod")(_zero_checked(divmod))
_own("div")(_divide)
_own("pow")(_power)
_own("round")(_round)
_own("factorial")(_factorial)
_own("__lshift__")(_shifted(True))
_own("__rshift__")(_shifted(False))


@_own("sub")
def _difference(a: Any, b: Any, alpha: Any = 1) -> Any:
    return a - b if alpha == 1 else a - alpha * b


@_own("rsub")
def _difference_to(a: Any, b: Any, alpha: Any = 1) -> Any:
    return b - alpha * a


@_own("log")
def _logarithm(a: Any, *base: Any) -> Any:
    return math.log(a, *base) if base else _real(math.log, cmath.log)(a)


# Operators that take no tensor; the same names with a tensor among the arguments are ATen's.
PLAIN: dict[str, Operator] = {
    **_OF_NUMBERS,
    **_OF_BOTH,
    "angle": lambda a: cmath.phase(a),
    "polar": cmath.rect,
    "remove": lambda a, b: a.remove(b),
    "sort": _sort,
    "sorted": lambda a, reverse=False: sorted(a, reverse=reverse),
    "index": lambda a, b, *where: a.index(b, *where),
    "count": lambda a, b, *where: a.count(b, *where),
    **{function.__name__: function for function in (sum, any, all, ord, chr, hex, oct, bin, hash)},
    "upper": lambda a: a.upper(),
    "lower": lambda a: a.lower(),
    "capitalize": lambda a: a.capitalize(),
    "title": lambda a: a.title(),
    "swapcase": lambda a: a.swapcase(),
    "strip": lambda a, *b: a.strip(*b),
    "lstrip": lambda a, *b: a.lstrip(*b),
    "rstrip": lambda a, *b: a.rstrip(*b),
    "find": lambda a, *b: a.find(*b),
    "rfind": lambda a, *b: a.rfind(*b),
    "rindex": lambda a, *b: a.rindex(*b),
    "replace": lambda a, *b: a.replace(*b),
    "startswith": lambda a, *b: a.startswith(*b),
    "endswith": lambda a, *b: a.endswith(*b),
    "split": _split,
    "rsplit": lambda a, *b: a.rsplit(*b),
    "splitlines": lambda a, *b: a.splitlines(*b),
    "partition": lambda a, b: a.partition(b),
    "rpartition": lambda a, b: a.rpartition(b),
    "isdigit": lambda a: a.isdigit(),
    "isalpha": lambda a: a.isalpha(),
    "isalnum": lambda a: a.isalnum(),
    "isdecimal": lambda a: a.isdecimal(),
    "isnumeric": lambda a: a.isnumeric(),
    "isspace": lambda a: a.isspace(),
    "isupper": lambda a: a.isupper(),
    "islower": lambda a: a.islower(),
    "istitle": lambda a: a.istitle(),
    "isidentifier": lambda a: a.isidentifier(),
    "isprintable": lambda a: a.isprintable(),
    "zfill": lambda a, b: a.zfill(min(b, 1 << 20)),
    "expandtabs": lambda a, b=8: a.expandtabs(min(b, 1 << 10)),
    "center": lambda a, b, *c: a.center(min(b, 1 << 20), *c),
    "ljust": lambda a, b, *c: a.ljust(min(b, 1 << 20), *c),
    "rjust": lambda a, b, *c: a.rjust(min(b, 1 << 20), *c),
    "__range_length": lambda start, end, step: len(range(start, end, step)),
    "__derive_index": _derived,
    "real": lambda a: complex(a).real,
    "imag": lambda a: complex(a).imag,
    "mathremainder": math.remainder,
    "Int": int,
    "Float": float,
    "Bool": bool,
    "Complex": complex,
    "item": lambda a: a,
}
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
# Operators on values of any kind.
OF_ALL: dict[str, Operator] = {
    "len": lambda a: a.size(0) if isinstance(a, Tensor) else len(a),
    "format": _format,
    "percentFormat": _percent,
    "__is__": _is,
    "__isnot__": lambda a, b: a is not b,
    "str": _text,
    "join": _join,
    "warn": _warn,
    "wait": lambda future: future.wait(),
    "dim": lambda a: a.dim(),
    "numel": lambda a: a.numel(),
    "IntImplicit": lambda a: int(a.item()),
    "FloatImplicit": lambda a: float(a.item()),
    "ScalarImplicit": lambda a: a.item(),
    "ComplexImplicit": lambda a: complex(a.item()),
    "is_floating_point": lambda a: a.is_floating_point(),
    "is_complex": lambda a: a.is_complex(),
    "is_contiguous": lambda a: a.is_contiguous(),
    "get_device": lambda a: a.get_device(),
    "element_size": lambda a: a.element_size(),
    "device": lambda text, index=None: device(text) if index is None else device(text, index),
    "requires_grad_": lambda a, flag=True: a.requires_grad_(flag),
    "is_leaf": lambda a: a.is_leaf,
    "storage_offset": lambda a: a.storage_offset(),
    "stride": lambda a, *dim: a.stride(*dim) if dim else list(a.stride()),
    "size": lambda a, *dim: a.size(*dim) if dim else list(a.shape),
    "sym_size": lambda a, dim: a.size(dim),
    "Size": lambda a: list(a),
    "cpu": lambda a: a.cpu(),
    "is_scripting": lambda: True,
    "is_autocast_enabled": lambda: False,
    "is_autocast_cpu_enabled": lambda: False,
}
text = _text
least, greatest = _chosen(min), _chosen(max)

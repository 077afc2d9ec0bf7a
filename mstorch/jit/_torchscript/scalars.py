"""TorchScript's operators on numbers, texts, lists and dicts, by their names in ``torch.``."""

from __future__ import annotations

import cmath
import math
import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ..._src.aten.overloads import all_overloads
from ..._src.core.declared import declared
from ..._src.core.device import device
from ..._tensor import Tensor

NONE = object()
Operator = Callable[..., Any]
_OF_BOTH: dict[str, Operator] = {}
"""Operators on values without tensors and on containers, whose elements may be tensors."""
OF_ALL: dict[str, Operator] = {}
"""Operators on values of any kind."""


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


@declared(_OF_BOTH, "slice")
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


@declared(_OF_BOTH, "dict")
def _dict_of(pairs: Sequence[Any] = ()) -> dict[Any, Any]:
    return dict(pairs)


@declared(_OF_BOTH, "copy")
def _copied(value: Any) -> Any:
    return value.copy() if type(value) in (list, dict) else value


@declared(_OF_BOTH, "list")
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


@declared(OF_ALL, "str")
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


@declared(OF_ALL, "format")
def _format(template: str, *values: Any) -> str:
    parts = template.split("{}")
    if len(parts) - 1 > len(values):
        raise RuntimeError(f"Too few arguments for format string: {template}")
    pieces = [parts[0]]
    for value, part in zip(values, parts[1:]):
        pieces += [_text(value), part]
    return "".join(pieces)


@declared(OF_ALL, "percentFormat")
def _percent(template: str, *values: Any) -> str:
    values = values[0] if len(values) == 1 and type(values[0]) is tuple else values
    return template % tuple(values)


def _split(value: str, separator: str | None = None, most: int = -1) -> list[str]:
    return value.split(separator, most)


@declared(OF_ALL, "join")
def _join(separator: str, parts: list[str]) -> str:
    return separator.join(parts)


@declared(OF_ALL, "warn")
def _warn(message: str, stacklevel: int = 2) -> None:
    warnings.warn(message, UserWarning, stacklevel=max(stacklevel, 1) + 3)


@declared(OF_ALL, "__is__")
def _is(a: Any, b: Any) -> bool:
    return a is b


def _round(value: float, digits: int = 0) -> float:
    return float(round(value, digits))


def _derived(index: int, start: int, step: int) -> int:
    return start + index * step


@declared(_OF_BOTH, "popitem")
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


@declared(_OF_BOTH, "mul")
def _times(a: Any, b: Any) -> Any:
    sized = a if type(a) in (list, str) else b if type(b) in (list, str) else None
    if sized is not None and len(sized) * max(a if sized is b else b, 0) > 1 << 28:
        raise RuntimeError("a list or text of more than 268,435,456 elements")
    return a * b


@declared(_OF_BOTH, "add_")
def _grown(value: Any, more: Any) -> Any:
    if type(value) is not list:
        return value + more
    value.extend(more)
    return value


declared(_OF_BOTH, "append")(lambda a, b: a.append(b) or a)
declared(_OF_BOTH, "extend")(lambda a, b: a.extend(b))
declared(_OF_BOTH, "insert")(lambda a, i, b: a.insert(i, b))
declared(_OF_BOTH, "clear")(lambda a: a.clear())
declared(_OF_BOTH, "reverse")(lambda a: a.reverse())
declared(_OF_BOTH, "keys")(lambda a: list(a))
declared(_OF_BOTH, "values")(lambda a: list(a.values()))
declared(_OF_BOTH, "items")(lambda a: list(a.items()))
declared(_OF_BOTH, "get")(lambda a, key, default=None: a.get(key, default))
declared(_OF_BOTH, "update")(lambda a, b: a.update(b))
declared(_OF_BOTH, "setdefault")(lambda a, key, item: a.setdefault(key, item))
declared(_OF_BOTH, "select")(lambda a, i: a[i])
declared(_OF_BOTH, "add")(lambda a, b, alpha=1: a + b if alpha == 1 else a + alpha * b)
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


declared(_OF_NUMBERS, "floordiv")(_zero_checked(operator.floordiv))
declared(_OF_NUMBERS, "floor_divide")(_zero_checked(operator.floordiv))
declared(_OF_NUMBERS, "remainder")(_zero_checked(operator.mod))
declared(_OF_NUMBERS, "fmod")(_zero_checked(math.fmod))
declared(_OF_NUMBERS, "divmod")(_zero_checked(divmod))
declared(_OF_NUMBERS, "div")(_divide)
declared(_OF_NUMBERS, "pow")(_power)
declared(_OF_NUMBERS, "round")(_round)
declared(_OF_NUMBERS, "factorial")(_factorial)
declared(_OF_NUMBERS, "__lshift__")(_shifted(True))
declared(_OF_NUMBERS, "__rshift__")(_shifted(False))


@declared(_OF_NUMBERS, "sub")
def _difference(a: Any, b: Any, alpha: Any = 1) -> Any:
    return a - b if alpha == 1 else a - alpha * b


@declared(_OF_NUMBERS, "rsub")
def _difference_to(a: Any, b: Any, alpha: Any = 1) -> Any:
    return b - alpha * a


@declared(_OF_NUMBERS, "log")
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
declared(PLAIN, "angle")(lambda a: cmath.phase(a))
declared(PLAIN, "polar")(cmath.rect)
declared(PLAIN, "remove")(lambda a, b: a.remove(b))
declared(PLAIN, "sort")(_sort)
declared(PLAIN, "sorted")(lambda a, reverse=False: sorted(a, reverse=reverse))
declared(PLAIN, "index")(lambda a, b, *where: a.index(b, *where))
declared(PLAIN, "count")(lambda a, b, *where: a.count(b, *where))
declared(PLAIN, "split")(_split)
declared(PLAIN, "zfill")(lambda a, b: a.zfill(min(b, 1 << 20)))
declared(PLAIN, "expandtabs")(lambda a, b=8: a.expandtabs(min(b, 1 << 10)))
declared(PLAIN, "center")(lambda a, b, *c: a.center(min(b, 1 << 20), *c))
declared(PLAIN, "ljust")(lambda a, b, *c: a.ljust(min(b, 1 << 20), *c))
declared(PLAIN, "rjust")(lambda a, b, *c: a.rjust(min(b, 1 << 20), *c))
declared(PLAIN, "__range_length")(lambda start, end, step: len(range(start, end, step)))
declared(PLAIN, "__derive_index")(_derived)
declared(PLAIN, "real")(lambda a: complex(a).real)
declared(PLAIN, "imag")(lambda a: complex(a).imag)
declared(PLAIN, "mathremainder")(math.remainder)
declared(PLAIN, "Int")(int)
declared(PLAIN, "Float")(float)
declared(PLAIN, "Bool")(bool)
declared(PLAIN, "Complex")(complex)
declared(PLAIN, "item")(lambda a: a)
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
declared(OF_ALL, "len")(lambda a: a.size(0) if isinstance(a, Tensor) else len(a))
declared(OF_ALL, "__isnot__")(lambda a, b: a is not b)
declared(OF_ALL, "wait")(lambda future: future.wait())
declared(OF_ALL, "dim")(lambda a: a.dim())
declared(OF_ALL, "numel")(lambda a: a.numel())
declared(OF_ALL, "IntImplicit")(lambda a: int(a.item()))
declared(OF_ALL, "FloatImplicit")(lambda a: float(a.item()))
declared(OF_ALL, "ScalarImplicit")(lambda a: a.item())
declared(OF_ALL, "ComplexImplicit")(lambda a: complex(a.item()))
declared(OF_ALL, "is_floating_point")(lambda a: a.is_floating_point())
declared(OF_ALL, "is_complex")(lambda a: a.is_complex())
declared(OF_ALL, "is_contiguous")(lambda a: a.is_contiguous())
declared(OF_ALL, "get_device")(lambda a: a.get_device())
declared(OF_ALL, "element_size")(lambda a: a.element_size())
declared(OF_ALL, "device")(lambda text, index=None: device(text) if index is None else device(text, index))
declared(OF_ALL, "requires_grad_")(lambda a, flag=True: a.requires_grad_(flag))
declared(OF_ALL, "is_leaf")(lambda a: a.is_leaf)
declared(OF_ALL, "storage_offset")(lambda a: a.storage_offset())
declared(OF_ALL, "stride")(lambda a, *dim: a.stride(*dim) if dim else list(a.stride()))
declared(OF_ALL, "size")(lambda a, *dim: a.size(*dim) if dim else list(a.shape))
declared(OF_ALL, "sym_size")(lambda a, dim: a.size(dim))
declared(OF_ALL, "Size")(lambda a: list(a))
declared(OF_ALL, "cpu")(lambda a: a.cpu())
declared(OF_ALL, "is_scripting")(lambda: True)
declared(OF_ALL, "is_autocast_enabled")(lambda: False)
declared(OF_ALL, "is_autocast_cpu_enabled")(lambda: False)
text = _text
least, greatest = _chosen(min), _chosen(max)

"""Values and types as TorchScript's text writes them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...._src.core.size import Size
from ...._tensor import Tensor
from ..numbers import number_of


class Unwritable(RuntimeError):
    """Raised for what a TorchScript archive cannot hold; ``file`` is that of the line that the message names."""

    file = ""


class Length(int):
    """A size that a tensor tells while a program is recorded: an int that knows the text that computes it."""

    is_symbolic_number = True  # (torch.Size keeps it)
    text: str

    def __index__(self) -> int:
        return self

    def _computed(self, name: str, other: Any, number: Callable[[int, int], int], turned: bool = False) -> Any:
        if type(other) not in (int, Length):
            return NotImplemented
        first, second = (other, self) if turned else (self, other)
        return length(number(int(first), int(second)), f"torch.{name}({shown_length(first)}, {shown_length(second)})")

    def __add__(self, other: Any) -> Any:
        return self._computed("add", other, lambda a, b: a + b)

    def __radd__(self, other: Any) -> Any:
        return self._computed("add", other, lambda a, b: a + b, True)

    def __sub__(self, other: Any) -> Any:
        return self._computed("sub", other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Any:
        return self._computed("sub", other, lambda a, b: a - b, True)

    def __mul__(self, other: Any) -> Any:
        return self._computed("mul", other, lambda a, b: a * b)

    def __rmul__(self, other: Any) -> Any:
        return self._computed("mul", other, lambda a, b: a * b, True)

    def __floordiv__(self, other: Any) -> Any:
        return self._computed("floordiv", other, lambda a, b: a // b)

    def __mod__(self, other: Any) -> Any:
        return self._computed("remainder", other, lambda a, b: a % b)

    def __neg__(self) -> Any:
        return length(-int(self), f"torch.neg({self.text})")


def length(number: int, text: str) -> Length:
    """Return a size with its text."""
    made = Length(number)
    made.text = text
    return made


def shown_length(value: int) -> str:
    """Return the text of an int."""
    return value.text if type(value) is Length else str(int(value))


def plain(value: Any) -> Any:
    """Return a value whose sizes are plain ints."""
    kind = type(value)
    if kind is Length:
        return int.__int__(value)
    if kind is Size:
        return Size([int.__int__(item) for item in value])
    if kind in (list, tuple):
        return kind(map(plain, value))
    return {key: plain(item) for key, item in value.items()} if kind is dict else value


def has_length(value: Any) -> bool:
    """Return whether sizes are among a value's items."""
    if isinstance(value, (list, tuple)):
        return any(map(has_length, value))
    return any(map(has_length, value.values())) if isinstance(value, dict) else type(value) is Length


def _float(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return "nan" if value != value else "inf" if value > 0 else "-inf"


def quoted(value: str) -> str:
    """Return a text in quotes, as TorchScript's text has it. Raise Unwritable for one that is not ASCII, which only a constant can be."""
    if not value.isascii():
        raise Unwritable(f"mstorch: torch.jit.save has no form for the text {value!r}, which is not ASCII, here")
    parts = []
    for letter in value:
        if letter in '"\\':
            parts.append(f"\\{letter}")
        elif letter == "\n":
            parts.append("\\n")
        else:
            parts.append(letter if " " <= letter <= "~" else f"\\{ord(letter):03o}")
    return f'"{"".join(parts)}"'


def shown(value: Any, name_of: Callable[[Any], str]) -> str:
    """Return the text of an argument; ``name_of`` returns the name of a tensor. Raise Unwritable for a value without a form."""
    if isinstance(value, Tensor):
        return name_of(value)
    if value is None or type(value) is bool:
        return str(value)
    if isinstance(value, int):
        return shown_length(value)
    if isinstance(value, float):
        return _float(float(value))
    if isinstance(value, complex):
        return f"torch.Complex({_float(value.real)}, {_float(value.imag)})"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(shown(item, name_of) for item in value)}]" if value else "annotate(List[int], [])"
    kind = type(value).__name__
    if kind in ("dtype", "layout", "memory_format"):
        return str(number_of(value))
    if kind == "device":
        return f'torch.device("{value}")'
    raise Unwritable(f"mstorch: torch.jit.save has no form for an argument of {kind}")


def tuple_text(values: tuple[Any, ...]) -> str:
    """Return the text of a tuple of numbers, texts and None."""
    return f"({', '.join(shown(one, str) for one in values)}{',' if len(values) == 1 else ''})"


def type_text(value: Any) -> str:
    """Return the type of a value of Python as TorchScript writes it. Raise Unwritable for a value without one."""
    if isinstance(value, Tensor):
        return "Tensor"
    if value is None:
        return "NoneType"
    for kind in (bool, int, float, complex, str):
        if type(value) is kind:
            return kind.__name__
    if isinstance(value, tuple):
        return f"Tuple[{', '.join(map(type_text, value))}]" if value else "Tuple[()]"
    if isinstance(value, list) and value:
        kinds = {type_text(item) for item in value}
        if len(kinds) == 1:
            return f"List[{kinds.pop()}]"
    if isinstance(value, dict) and value:
        kinds, keys = {type_text(item) for item in value.values()}, {type_text(key) for key in value}
        if len(kinds) == len(keys) == 1:
            return f"Dict[{keys.pop()}, {kinds.pop()}]"
    raise Unwritable(f"mstorch: torch.jit.save has no type for {type(value).__name__}")

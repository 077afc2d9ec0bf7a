"""Comparison of two results, given as messages (``messages.py``), and the element that differs most."""
from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from ..._src.backend.arrays import Array
from .messages import Message, values_of

# Allowed difference by dtype, relative to the element and to the largest element. Sums in another order differ by this much.
TOLERANCES = {"float64": 1e-8, "complex128": 1e-8, "float32": 1e-4, "complex64": 1e-4, "float16": 5e-3, "bfloat16": 3e-2}
# Allowed difference relative to the largest operand, in units of the dtype's precision: if terms cancel, their rounding errors remain.
CANCELLED = 16.0
_PRECISION = {"float64": 2e-16, "complex128": 2e-16, "float32": 1.2e-7, "complex64": 1.2e-7, "float16": 1e-3, "bfloat16": 8e-3}


class Scale:
    """Scale of a call's operands, which bounds rounding errors: the largest absolute value, and the number of elements of the largest
    operand. Each is computed on first use.
    """

    def __init__(self, operands: Message) -> None:
        self._operands = operands

    @cached_property
    def magnitude(self) -> float:
        return magnitude(self._operands)

    @cached_property
    def length(self) -> int:
        return length(self._operands)

    def rounding(self, elements: int) -> float:
        """Return the largest rounding error to expect where terms cancel, if the operation returns this number of elements. It is a
        multiple of the precision."""
        terms = max(1.0, self.length / max(1, elements))
        return CANCELLED * (self.magnitude or 1.0) * math.sqrt(terms)


def magnitude(message: Message) -> float:
    """Return the largest finite absolute value of the floating-point tensors in a message."""
    if isinstance(message, (list, tuple)):
        return max((magnitude(item) for item in message), default=0.0)
    if not isinstance(message, dict):
        return 0.0
    if message.get("is") == "tensor":
        return _largest(values_of(message)) if message["data"] and message["dtype"] in TOLERANCES else 0.0
    if "items" in message:
        return magnitude(message["items"])
    return 0.0 if "is" in message else magnitude(list(message.values()))


def length(message: Message) -> int:
    """Return the number of elements of the largest tensor in a message."""
    if isinstance(message, dict):
        return math.prod(message["shape"]) if message.get("is") == "tensor" else length(list(message.values()))
    return max(map(length, message), default=0) if isinstance(message, (list, tuple)) else 0


def _largest(values: Array) -> float:
    sizes = np.abs(values)
    return float(np.max(sizes, initial=0.0, where=np.isfinite(sizes)))


def difference(want: Message, got: Message, what: str, scale: Scale, values: bool, layout: bool = True) -> str | None:
    """Describe the difference, or return None.

    ``scale``: the Scale of the operands. ``values``: whether to compare elements. ``layout``: whether to compare strides and requires_grad.
    """
    if not layout and (_is_nothing(want) and _is_nothing(got)):
        return None  # a gradient of zeros, or none
    if not isinstance(want, dict) or not isinstance(got, dict):
        return _plain_difference(want, got, what, values)
    kind, other = want["is"], got["is"]
    if "unknown" in (kind, other):
        return None
    if kind != other:
        return f"{what}: {other} where torch gives {kind}"
    if kind == "tensor":
        return _tensor_difference(want, got, what, scale, values, layout)
    if kind in ("list", "tuple"):
        if len(want["items"]) != len(got["items"]):
            return f"{what}: {len(got['items'])} items where torch gives {len(want['items'])}"
        for number, (one, two) in enumerate(zip(want["items"], got["items"])):
            found = difference(one, two, f"{what}[{number}]", scale, values, layout)
            if found is not None:
                return found
    elif kind == "name" and want["name"] != got["name"]:
        return f"{what}: {got['name']} where torch gives {want['name']}"
    return None


def _is_nothing(message: Message) -> bool:
    if isinstance(message, dict) and message["is"] == "tensor" and message["data"]:
        return not values_of(message).any()
    return message is None


def _plain_difference(want: Any, got: Any, what: str, values: bool) -> str | None:
    if any(isinstance(item, dict) and item["is"] in ("unknown", "again") for item in (want, got)) or not values:
        return None
    if type(want) is float and type(got) is float:
        if want == got or (want != want and got != got) or abs(want - got) <= TOLERANCES["float32"] * abs(want) + 1e-12:
            return None
    elif isinstance(want, dict) or isinstance(got, dict):
        return f"{what}: {_word(got)} where torch gives {_word(want)}"
    elif want == got:
        return None
    return f"{what}: {got!r} where torch gives {want!r}"


def _word(message: Message) -> str:
    return f"a {message['is']}" if isinstance(message, dict) else repr(message)


def _tensor_difference(want: Message, got: Message, what: str, scale: Scale, values: bool, layout: bool) -> str | None:
    for name in ("dtype", "shape"):
        if want[name] != got[name]:
            return f"{what}: {name} {_shown(got[name])} where torch gives {_shown(want[name])}"
    if layout and _relevant_strides(want) != _relevant_strides(got):
        return f"{what}: strides {tuple(got['strides'])} where torch gives {tuple(want['strides'])}"
    if layout and want["grad"] != got["grad"]:
        return f"{what}: requires_grad={got['grad']} where torch gives {want['grad']}"
    if not values or not want["data"] or not got["data"] or (want["data"] == got["data"] and want["strides"] == got["strides"]):
        return None
    one, two = values_of(want), values_of(got)
    wrong = _wrong(one, two, want["dtype"], scale)
    if not wrong.any():
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        sizes = np.where(wrong, np.abs(np.asarray(two, one.dtype if one.dtype.kind == "c" else float) - one), -1)
    place = np.unravel_index(int(np.argmax(np.where(np.isnan(sizes), np.inf, sizes))), one.shape)
    at = f" at {list(map(int, place))}" if one.shape else ""
    return (
        f"{what}: {int(wrong.sum())} of {one.size} elements; the largest difference is {sizes[place]:.6g}{at}: {two[place]} where torch "
        f"gives {one[place]}"
    )


def _shown(value: Any) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)


def _relevant_strides(message: Message) -> Any:
    """Return the strides that matter: those of dimensions with more than one element, in tensors that are not empty."""
    if 0 in message["shape"]:
        return None
    return [step for step, length in zip(message["strides"], message["shape"]) if length > 1]


def _wrong(want: Array, got: Array, name: str, scale: Scale) -> Array:
    tolerance = TOLERANCES.get(name)
    if tolerance is None:
        return np.asarray(want != got)
    with np.errstate(invalid="ignore", over="ignore"):
        allowed = tolerance * (np.abs(want) + 0.01 * _largest(want)) + _PRECISION[name] * scale.rounding(want.size)
        near = np.abs(want - got) <= np.where(np.isfinite(allowed), allowed, 0)
    return np.asarray(~(near | (want == got) | (np.isnan(want) & np.isnan(got))))

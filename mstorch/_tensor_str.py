"""The repr of a tensor, equal to torch's letter by letter, made from NumPy values."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._src.backend.arrays import Array
from ._src.backend.float8 import EXPONENTS, FLOAT8
from ._src.leaving import END, Undo, undoing, values_again
from ._src.quiet import quiet

__all__ = ["format_tensor", "get_printoptions", "printoptions", "set_printoptions"]


@dataclasses.dataclass
class _PrintOptions:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PRINT_OPTS = _PrintOptions()

_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision=None,
    threshold=None,
    edgeitems=None,
    linewidth=None,
    profile=None,
    sci_mode=None,
):
    """Set how tensors are printed; ``profile`` is 'default', 'short' or 'full', ``sci_mode`` is reset by every call."""
    # torch ignores an unknown profile without an error, so that scripts may rely on that.
    changes = dict(_PROFILES.get(profile, {})) if profile is not None else {}
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    changes.update({name: value for name, value in given.items() if value is not None})
    for name, value in changes.items():
        setattr(PRINT_OPTS, name, value)
    PRINT_OPTS.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """Return the current print options, as keyword arguments for :func:`set_printoptions`."""
    return dataclasses.asdict(PRINT_OPTS)


@undoing
def printoptions(undo: Undo, **kwargs: Any) -> None:
    """Context manager that sets print options; takes the arguments of :func:`set_printoptions`."""
    undo[END:] = (values_again(PRINT_OPTS, *get_printoptions()),)
    set_printoptions(**kwargs)


class _Column:
    """Number format of a tensor: all numbers share a width and a notation."""

    def __init__(self, values: Array, exponents: bool = False):
        self.is_float = values.dtype.kind == "f"
        self.unordered = exponents and bool(np.isnan(values).any())  # torch treats NaN of such a dtype as finite
        self.whole = True
        self.scientific = False
        self.width = 1
        if self.is_float:
            self._fit_floats(values.reshape(-1))
        else:
            self.width = max((len(str(value)) for value in values.reshape(-1).tolist()), default=1)

    def _fit_floats(self, values: Array) -> None:
        # Half precision is widened first: its maximum is below 1e8, the bound of the rule.
        values = values.astype(np.float64)
        values = values[np.isfinite(values) & (values != 0)]
        if values.size == 0:
            return
        magnitudes = np.abs(values)
        low, high = magnitudes.min(), magnitudes.max()
        self.whole = bool((values == np.ceil(values)).all()) and not self.unordered
        if PRINT_OPTS.sci_mode is None:
            with quiet():
                self.scientific = bool(high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4) and not self.unordered
        else:
            self.scientific = PRINT_OPTS.sci_mode
        spec = self._spec()
        longest = max(len(format(value, spec)) for value in values.tolist())
        point = 1 if self.whole and not self.scientific else 0
        self.width = max(self.width, longest + point)

    def _spec(self) -> str:
        if self.scientific:
            return f".{PRINT_OPTS.precision}e"
        return ".0f" if self.whole else f".{PRINT_OPTS.precision}f"

    def text(self, value: float) -> str:
        if not self.is_float:
            return str(value).rjust(self.width)
        written = format(value, self._spec())
        if self.whole and not self.scientific and math.isfinite(value):
            written += "."
        return written.rjust(self.width)


class _Complex:
    """Number formats of the real and the imaginary part of a complex tensor."""

    def __init__(self, values: Array):
        self.real = _Column(values.real)
        self.imag = _Column(values.imag)
        # The "j" is one more character than the two columns.
        self.width = self.real.width + self.imag.width + 1

    def text(self, value: complex) -> str:
        imaginary = (self.imag.text(value.imag) + "j").lstrip()
        sign = "" if imaginary[0] in "+-" else "+"
        return self.real.text(value.real) + sign + imaginary


def _edges(array: Array) -> Array:
    """Return the values that a summary shows, which alone determine width and notation."""
    edge = PRINT_OPTS.edgeitems
    if edge == 0:
        # torch slices a vector's tail with [-0:], which is the whole vector.
        return array if array.ndim <= 1 else array[:0]
    for axis, length in enumerate(array.shape):
        if length > 2 * edge:
            array = np.take(array, [*range(edge), *range(length - edge, length)], axis=axis)
    return array


def _row(array: Array, indent: int, summarize: bool, column: _Column | _Complex) -> str:
    edge = PRINT_OPTS.edgeitems
    if summarize and not edge:
        cells = ["..."]
    elif summarize and len(array) > 2 * edge:
        head, tail = array[:edge].tolist(), array[-edge:].tolist()
        cells = [*map(column.text, head), " ...", *map(column.text, tail)]
    else:
        cells = [column.text(value) for value in array.tolist()]
    per_line = max(1, math.floor((PRINT_OPTS.linewidth - indent) / (column.width + 2)))
    lines = [", ".join(cells[start : start + per_line]) for start in range(0, len(cells), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _nested(array: Array, indent: int, summarize: bool, column: _Column | _Complex) -> str:
    if array.ndim == 0:
        return column.text(array.item())
    if array.ndim == 1:
        return _row(array, indent, summarize, column)
    edge = PRINT_OPTS.edgeitems
    length = len(array)
    shown: Sequence[int | None] = range(length)
    if summarize and length > 2 * edge:
        shown = [*range(edge), None, *range(length - edge, length)]
    parts = ["..." if at is None else _nested(array[at], indent + 1, summarize, column) for at in shown]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def values_text(array: Array, indent: int, exponents: bool = False) -> str:
    """Return the numbers of an array in brackets; ``indent`` is their starting column, ``exponents`` marks a dtype of exponents only."""
    if array.size == 0:
        return "[]"
    summarize = array.size > PRINT_OPTS.threshold
    shown = _edges(array) if summarize else array
    column = _Complex(shown) if array.dtype.kind == "c" else _Column(shown, exponents)
    return _nested(array, indent, summarize, column)


def close_text(text: str, suffixes: Sequence[str], indent: int, new_line: bool = False) -> str:
    """Append the suffixes, each on a new line if it would exceed the line width, and the closing bracket.

    With ``new_line`` the first suffix always starts a new line.
    """
    pieces = [text]
    # torch counts from the newline, so that a text of one line counts one character more.
    used = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if new_line or used + len(suffix) + 2 > PRINT_OPTS.linewidth:
            new_line = False
            pieces.append(",\n" + " " * indent + suffix)
            used = indent + len(suffix)
        else:
            pieces.append(", " + suffix)
            used += len(suffix) + 2
    return "".join(pieces) + ")"


def format_tensor(
    array: Array | None,
    *,
    dtype_name: str,
    shape: Sequence[int] | None = None,
    requires_grad: bool = False,
    grad_fn_name: str | None = None,
    device: str | None = None,
    is_parameter: bool = False,
    class_name: str = "Tensor",
    default_dtype_name: str = "float32",
    tangent: str | None = None,
) -> str:
    """Return torch's ``repr`` of a tensor.

    ``array`` holds the values (bfloat16 and float8 as float32); None stands for a meta tensor and needs ``shape``. ``dtype_name`` is
    torch's name without "torch.". ``device`` is the device's text, None for the default device. ``class_name`` is 'Tensor', 'Parameter' or
    a subclass's name. ``is_parameter`` marks parameters. ``tangent`` is the text of the forward-mode tangent.
    """
    plain = class_name in ("Tensor", "Parameter")
    prefix = "tensor(" if plain else class_name + "("
    size = tuple(array.shape if shape is None and array is not None else shape or ())
    suffixes = []
    if device is not None:
        suffixes.append(f"device='{device}'")
    if array is None or array.size == 0:
        # An empty tensor shows no dtype otherwise, so only the default dtype is omitted; "[]" implies a vector's size.
        if array is None or len(size) != 1:
            suffixes.append(f"size={size}")
        if dtype_name != default_dtype_name:
            suffixes.append(f"dtype=torch.{dtype_name}")
    else:
        if not PRINT_OPTS.edgeitems:
            suffixes.append(f"size={size}")
        default_complex = "complex128" if default_dtype_name == "float64" else "complex64"
        if dtype_name not in (default_dtype_name, default_complex, "int64", "bool"):
            suffixes.append(f"dtype=torch.{dtype_name}")
    if grad_fn_name is not None:
        suffixes.append(f"grad_fn=<{grad_fn_name}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")
    values = "..." if array is None else values_text(array, len(prefix), dtype_name == EXPONENTS)
    text = close_text(prefix + values, suffixes, len(prefix))
    if not is_parameter:
        return text
    if not plain:
        text = f"Parameter({text})"
    return "Parameter containing:\n" + text


# Parts of the text, under names that packages with their own tensors import.


def _tensor_str(self: Any, indent: int) -> str:
    """Return a tensor's numbers in brackets; ``indent`` is their starting column."""
    plain = self.detach().cpu()
    wide = str(plain.dtype) in ("torch.bfloat16", *(f"torch.{name}" for name in FLOAT8))
    return values_text((plain.float() if wide else plain).numpy(), indent)


def _add_suffixes(tensor_str: str, suffixes: Sequence[str], indent: int, force_newline: bool) -> str:
    """Return the text with suffixes and the closing bracket."""
    return close_text(tensor_str, suffixes, indent, force_newline)


def _str_intern(inp: Any, *, tensor_contents: str | None = None) -> str:
    """Return the repr of a tensor, optionally with other contents."""
    if tensor_contents is None:
        return repr(inp)
    suffixes = []
    if str(inp.dtype) not in ("torch.float32", "torch.complex64", "torch.int64", "torch.bool"):
        suffixes.append(f"dtype={inp.dtype}")
    if inp.grad_fn is not None:
        suffixes.append(f"grad_fn=<{type(inp.grad_fn).__name__}>")
    elif inp.requires_grad:
        suffixes.append("requires_grad=True")
    name = type(inp).__name__
    prefix = "tensor(" if name in ("Tensor", "Parameter") else f"{name}("
    return close_text(f"{prefix}{tensor_contents}", suffixes, len(prefix))

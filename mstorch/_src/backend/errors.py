"""Errors that carry their cause as an attribute, so that it need not be parsed from the message.

Their classes are torch's, because programs may compare an error's class with torch's by identity; ``about`` returns the cause.
"""
from __future__ import annotations

from typing import NamedTuple, TypeVar

E = TypeVar("E", bound=BaseException)

TYPE_NAMES = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long", "float16": "Half",
    "bfloat16": "BFloat16", "float32": "Float", "float64": "Double", "complex64": "ComplexFloat", "complex32": "ComplexHalf",
    "complex128": "ComplexDouble", "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64",
}  # fmt: skip
"""Scalar types as torch's messages name them; others by their own names, with a capital."""


class NoKernel(NamedTuple):
    """Cause of an error: no kernel computes a dtype. Holds the name of torch's kernel in the message, and the dtype's."""

    kernel: str
    dtype: str


WRONG_TYPE = "an argument is of a wrong type, which the types of all arguments may explain better"
NAMELESS = "the same, in words that stand behind the name of the function, which is not known where it is raised"
WRONG_MASK = "a mask has another shape than the tensor that it is an index of"
TOLD = "the text says already which pipe of data raised it, or that it was left for another iterator"
ADVISED = "the text says already what to do with a tensor of MindSpore's"


def telling(error: E, what: str | NoKernel) -> E:
    """Attach a cause to an error, and return the error."""
    error._about = what  # type: ignore[attr-defined]
    return error


def about(error: BaseException) -> str | NoKernel | None:
    """Return the cause that an error carries (an instance of a class above), or None."""
    return getattr(error, "_about", None)


def not_for(kernel: str, dtype: str, where: str = "") -> NotImplementedError:
    """Return torch's error for a kernel that does not support a dtype; ``where`` is appended to the message."""
    text = f"\"{kernel}\" not implemented for '{TYPE_NAMES.get(dtype) or dtype.capitalize()}'{where}"
    return telling(NotImplementedError(text), NoKernel(kernel, dtype))


def wrong_type(text: str) -> TypeError:
    """Return the error of an argument of a wrong type."""
    return telling(TypeError(text), WRONG_TYPE)


def nameless(text: str) -> TypeError:
    """Return an error for an argument of a wrong type, whose message begins with the argument because the function's name is not known."""
    return telling(TypeError(text), NAMELESS)

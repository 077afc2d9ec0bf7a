"""Out-of-memory errors of host and device in torch's words, which tools that retry with smaller batches look for.

A tensor with more dimensions than NumPy supports (32 before NumPy 2, 64 since) raises torch's class too, with the limit in its message.
"""
from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from ..backend.arrays import Array
from ..backend.mindspore_errors import NO_MEMORY, meaning
from ..backend.runtime import device_type
from .device_failures import AcceleratorError, device_failure
from .raised import foreign
from .size import Size

Function = TypeVar("Function", bound=Callable[..., Any])


class OutOfMemoryError(RuntimeError):
    """Raised when a device runs out of memory."""


OutOfMemoryError.__module__ = "torch"


MOST_DIMENSIONS = 32 if np.__version__.startswith("1.") else 64


def no_memory(error: BaseException) -> RuntimeError:
    """Return torch's error for NumPy's, Python's or MindSpore's out-of-memory error."""
    if not isinstance(error, MemoryError):
        return OutOfMemoryError(f"{device_type().upper()} out of memory. {error}")
    shape, kind = getattr(error, "shape", None), getattr(error, "dtype", None)
    size = f" you tried to allocate {math.prod(shape) * kind.itemsize} bytes." if shape is not None and kind is not None else ""
    return RuntimeError(f"DefaultCPUAllocator: can't allocate memory:{size} Error code 12 (Cannot allocate memory)")


def lacks_memory(error: BaseException) -> bool:
    """Return whether an error reports exhausted memory and has yet to be converted to torch's OutOfMemoryError."""
    if error.__class__ is OutOfMemoryError or not isinstance(error, (MemoryError, RuntimeError)):
        return False
    return isinstance(error, MemoryError) or meaning(error) is NO_MEMORY


def limit_reached(error: BaseException, *given: Any) -> RuntimeError | None:
    """Return torch's error to raise instead of one about exhausted memory, of a device's runtime, or about NumPy's maximum number of
    dimensions or of bytes; return None for any other error.

    ``given``: the arguments of the failed call. NumPy has no error class for its limits, so the arguments show whether one was exceeded.
    """
    if error.__class__ is AcceleratorError or error.__class__ is OutOfMemoryError:
        return error  # of a call below: no other reading of the arguments helps
    if lacks_memory(error):
        return no_memory(error)
    failure = device_failure(error)
    if failure is not None:
        return failure
    if not isinstance(error, (ValueError, IndexError)) or not foreign(error):
        return None
    if _dimensions(given) < MOST_DIMENSIONS:
        return _overflow(given)
    more = "; with NumPy 2 it has up to 64" if MOST_DIMENSIONS == 32 else ""
    return RuntimeError(f"mstorch: a tensor has at most {MOST_DIMENSIONS} dimensions with NumPy {np.__version__}{more} ({error})")


def _dimensions(given: Sequence[Any]) -> int:
    """Return an upper bound on a result's number of dimensions: the sum of the two largest numbers among the ranks of the arguments and the
    number of arguments."""
    return sum(sorted([len(given), *map(_rank, given)])[-2:])


def _rank(value: Any) -> int:
    """Return the number of dimensions of a tensor, the length of a list of numbers, or for a list of tensors or lists one more than the
    largest value among its items."""
    if value.__class__ in (list, tuple, Size):
        deepest = max(map(_rank, value), default=0)
        return deepest + 1 if deepest else len(value)
    special = getattr(value, "_ms_sparse", False) or getattr(type(value), "_ms_nested", False)  # without a plain shape
    return 0 if special else len(getattr(value, "_ms_shape", ()))


def counted(shape: Sequence[int], itemsize: int = 1) -> int:
    """Return a shape's number of elements; raise torch's error if that number, or their size in bytes, exceeds 63 bits."""
    count = math.prod(shape)
    if count >= 2**63:
        raise RuntimeError("numel: integer multiplication overflow")
    if count * itemsize >= 2**63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
    return count


def _overflow(given: Sequence[Any]) -> RuntimeError | None:
    """Return torch's error if a result of 4-byte elements would exceed 63 bits: one with the largest lengths of the tensors among the
    arguments or, without tensors, with the lengths that an argument lists, or that the arguments are."""
    shapes = [value._ms_shape[::-1] for value in given if hasattr(value, "_ms_shape") and _rank(value)]
    listed = next((value for value in given if isinstance(value, (list, tuple))), given)
    lengths = [item for item in listed if item.__class__ is int and item > 1]
    sizes = [max(column) for column in itertools.zip_longest(*shapes, fillvalue=1)][::-1] if shapes else lengths
    return RuntimeError(f"Storage size calculation overflowed with sizes={sizes}") if math.prod(sizes) >= 2**61 else None


def of_endless_list(value: Any) -> Exception:
    """Return torch's error about data without end: a list that contains itself, behind its first item or as the first."""
    if isinstance(value, list) and any(item is value for item in value[1:]):
        return TypeError("new(): self-referential lists are incompatible")
    return ValueError(f"too many dimensions '{type(value).__name__}'")


def tells_no_memory(function: Function) -> Function:
    """Wrap a function so that it raises torch's error when memory runs out or a tensor would have more dimensions than NumPy allows."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (MemoryError, RuntimeError, ValueError, IndexError) as error:
            told = limit_reached(error, *args, *kwargs.values())
            if told is None:
                raise
            raise told from None

    return call  # type: ignore[return-value]


@tells_no_memory
def zeroed(count: int, kind: np.dtype[Any]) -> Array:
    """Return an array of zeros; raise torch's error for impossible sizes."""
    if count * kind.itemsize >= 2**63:
        raise ValueError("Overflow when unpacking long long")
    if count < 0:
        raise RuntimeError(f"alloc_cpu() seems to have been called with negative number: {2**64 + count * kind.itemsize}")
    return np.zeros(count, kind)

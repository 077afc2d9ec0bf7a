"""torch.ops.profiler: record_function as operators, which graphs can contain."""
from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from .._src.core.overriding import entry
from .._src.core.tensor_base import array_of
from .._src.ops.memory.from_data import made
from ..autograd.profiler import record_function

_HOME = f"{__name__.partition('.')[0]}.ops.profiler"
_numbers = itertools.count(1).__next__
_open: dict[int, record_function] = {}


def _enter(name: str, args: str | None = None) -> Any:
    """Begin a block with this name; return its handle, a byte tensor."""
    number = _numbers()
    _open[number] = record_function(name, args)
    _open[number].__enter__()
    return made(np.frombuffer(number.to_bytes(8, "little"), np.uint8).copy())


def _enter_new(name: str, args: str | None = None) -> Any:
    """Begin a block with this name; return the block as its handle."""
    return record_function(name, args).__enter__()


def _exit(handle: Any) -> None:
    """End the block with this handle."""
    block = handle if isinstance(handle, record_function) else _open.pop(int.from_bytes(array_of(handle).tobytes(), "little"), None)
    if block is not None:
        block.__exit__(None, None, None)


_record_function_enter = entry(_enter, _HOME, "_record_function_enter")
_record_function_enter_new = entry(_enter_new, _HOME, "_record_function_enter_new")
_record_function_exit = entry(_exit, _HOME, "_record_function_exit")

OPERATORS = ("_record_function_enter", "_record_function_enter_new", "_record_function_exit")

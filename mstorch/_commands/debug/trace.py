"""``MSTORCH_DEBUG=trace``: prints operations, their kernels, gradients, and copies to the host to standard error."""
from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from typing import Any

from ..._src.core.tensor_base import TensorBase
from ..._src.tape.node import node_of
from .compare import UNWATCHED
from .oracle import tensors_in
from .places import call_text, described, place_of_call

Function = Callable[..., Any]
_BARE = UNWATCHED - {"numpy", "__array__", "backward"}


class _Depth(threading.local):
    """Thread-local flags: the thread is inside an operation, or is printing a line."""

    inside = False
    writes = False


class Tracer:
    """Prints one line per event."""

    def __init__(self) -> None:
        self.depth = _Depth()

    def line(self, text: str) -> None:
        """Print a line."""
        print(f"mstorch: {text}", file=sys.stderr, flush=True)

    def watched(self, function: Function, name: str) -> Function:
        """Wrap a function to print a line when the user's program calls it."""
        last = name.rpartition(".")[2]
        if last in _BARE:
            return function
        shows_parts = last == "backward"

        @functools.wraps(function)
        def traced(*args: Any, **kwargs: Any) -> Any:
            depth = self.depth
            if depth.inside or depth.writes:
                return function(*args, **kwargs)
            depth.writes = True
            try:
                place = place_of_call()
                self.line(f"{call_text(name, args, kwargs)}  # {place}")
            finally:
                depth.writes = False
            depth.inside = not shows_parts
            try:
                result = function(*args, **kwargs)
            finally:
                depth.inside = False
            self._finish(name, result, args, str(place))
            return result

        return traced

    def _finish(self, name: str, result: Any, args: tuple[Any, ...], place: str) -> None:
        self.depth.writes = True
        try:
            tensors = list(tensors_in(result, TensorBase))
            if tensors:
                self.line(f"  → {described(result)}")
            before = {id(tensor) for tensor in tensors_in(args, TensorBase)}
            nodes = {node_of(tensor): None for tensor in tensors if id(tensor) not in before or name.endswith("_")}
            for node in nodes:
                if node is not None:
                    node.register_prehook(functools.partial(self._gradient, name, place))
        finally:
            self.depth.writes = False

    def _gradient(self, name: str, place: str, given: tuple[Any, ...]) -> None:
        self.line(f"gradient of {name}: {described(given)}  # {place}")

    def traced_kernel(self, op: str, dtype: str, where: str, function: Function) -> Function:
        """Return a kernel of the table, which prints a line per call."""
        code = getattr(function, "__code__", None)
        shown = getattr(function, "__name__", type(function).__name__)
        source = f" ({code.co_filename.rpartition('mstorch/')[2]}:{code.co_firstlineno})" if code is not None else ""

        def traced(*args: Any) -> Any:
            if not self.depth.writes:
                self.line(f"  kernel {op} for {dtype}, {where}: {shown}{source}")
            return function(*args)

        return traced

    def host_copy(self, tensor: Any) -> None:
        """Print a line for a tensor that is copied from a device to the host."""
        if not self.depth.writes:
            self.line(f"  host copy of {described(tensor)}  # {place_of_call()}")

"""torch._dynamo: directives of programs to torch's compiler, as far as they apply to mstorch's graphs."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._src.backend import tape
from .._src.compile import OptimizedModule, compile
from .._src.compile import reset_all as _reset_all
from .._tensor import Tensor
from ..compiler import allow_in_graph, assume_constant_result, disable, is_compiling, list_backends, set_stance
from . import config, eval_frame, exc, utils
from .eval_frame import is_dynamo_supported
from .explaining import explain


def reset() -> None:
    """Clear all compiled graphs."""
    _reset_all()


reset_code_caches = reset


def graph_break(msg: str = "") -> None:
    """Abort the current capture, so that the function runs eagerly; do nothing outside of a capture."""
    tape.refuse_in_trace(f"the function calls torch._dynamo.graph_break(){f': {msg}' if msg else ''}")
    for writer in tape.explained:
        writer.break_(f"Call to `torch._dynamo.graph_break()`\n  Explanation: User-inserted graph break. Message: {msg or None}")


def skip_frame(msg: str = "") -> None:
    """Do what ``graph_break`` does."""
    graph_break(msg)


def disallow_in_graph(fn: Any) -> Any:
    """Return a function that aborts the capture when called."""
    if isinstance(fn, (list, tuple)):
        return [disallow_in_graph(one) for one in fn]
    return disable(fn)


forbid_in_graph = disallow_in_graph


def optimize(
    backend: str | Callable[..., Any] = "inductor", *, nopython: bool = False, guard_export_fn: Any = None, guard_fail_fn: Any = None,
    guard_filter_fn: Any = None, disable: bool = False, dynamic: bool | None = None, package: Any = None,
) -> Callable[[Any], Any]:  # fmt: skip
    """Return a decorator that compiles as ``torch.compile(backend=…, fullgraph=nopython)`` does."""
    return lambda model: compile(model, backend=backend, fullgraph=nopython, dynamic=dynamic, disable=disable)


def optimize_assert(backend: str | Callable[..., Any] = "inductor", **kwargs: Any) -> Callable[[Any], Any]:
    """Return ``optimize`` that raises if the function cannot be captured as a graph."""
    return optimize(backend, nopython=True, **kwargs)


def _check_index(t: Tensor, index: int | Sequence[int] | None) -> None:
    places = [] if index is None else [index] if isinstance(index, int) else list(index)
    for place in places:
        if not -t.dim() <= place < t.dim():
            raise IndexError(f"Dimension out of range (expected to be in range of [{-t.dim()}, {t.dim() - 1}], but got {place})")


def mark_dynamic(
    t: Tensor, index: int | Sequence[int], *, hint_override: int | None = None, min: int | None = None, max: int | None = None,
    specialize_on: list[Any] | None = None,
) -> None:  # fmt: skip
    """Check the dimension. Graphs have static shapes in mstorch: another size gets a graph of its own."""
    _check_index(t, index)


def maybe_mark_dynamic(t: Tensor, index: int | Sequence[int]) -> None:
    """Check that the tensor has the dimension; no other effect, because graphs have static shapes in mstorch (see ``mark_dynamic``)."""
    _check_index(t, index)


def mark_static(t: Any, index: int | Sequence[int] | None = None) -> None:
    """Check the dimension. Graphs always have static shapes in mstorch."""
    if not isinstance(t, type):
        _check_index(t, index)


def mark_static_address(t: Tensor | int, guard: bool = False) -> None:
    """Raise TypeError for a value that is not a tensor. mstorch's graphs do not depend on addresses."""
    if not hasattr(t, "data_ptr"):
        raise TypeError(f"mark_static_address expects a tensor but received {type(t)}")


__all__ = [
    "OptimizedModule", "allow_in_graph", "assume_constant_result", "config", "disable", "disallow_in_graph", "eval_frame", "exc", "explain",
    "forbid_in_graph", "graph_break", "is_compiling", "is_dynamo_supported", "list_backends", "mark_dynamic", "mark_static",
    "mark_static_address", "maybe_mark_dynamic", "optimize", "optimize_assert", "reset", "reset_code_caches", "set_stance",
    "skip_frame", "utils",
]  # fmt: skip

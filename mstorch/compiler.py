"""torch.compiler: what scripts say to torch.compile about themselves."""
from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

from ._backend import tape, trace
from ._compile import compile as _compile
from ._compile import reset_all as _reset_all
from ._compile.compiled import stance as _stance
from ._compile.exporting import state as _export
from ._leaving import Block

_STANCES = ("default", "force_eager", "eager_on_recompile", "fail_on_recompile", "aot_eager_then_compile")


def compile(*args: Any, **kwargs: Any) -> Any:
    """Return the same as ``torch.compile``."""
    return _compile(*args, **kwargs)


def reset() -> None:
    """Forget all compiled graphs; functions are compiled anew when they are called next."""
    _reset_all()


def is_compiling() -> bool:
    """Return whether the code runs to be captured as a graph, or to be exported."""
    return trace.current() is not None or is_exporting()


def is_dynamo_compiling() -> bool:
    """Return whether the code runs to be captured as a graph."""
    return trace.current() is not None


def is_exporting() -> bool:
    """Return whether the code runs to be exported by ``torch.export``."""
    return _export.running


def disable(fn: Callable[..., Any] | None = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Return a function that no graph may hold: what calls it while it is captured runs without a graph."""
    if fn is None:
        return lambda function: disable(function, recursive, reason=reason)

    @functools.wraps(fn)
    def disabled(*args: Any, **kwargs: Any) -> Any:
        tape.refuse_in_trace(f"{getattr(fn, '__qualname__', fn)} is disabled for torch.compile{f': {reason}' if reason else ''}")
        return tape.explained[-1].apart(fn, args, kwargs) if tape.explained else fn(*args, **kwargs)

    return disabled


def _disable_dynamo(fn: Callable[..., Any] | None = None, recursive: bool = True) -> Callable[..., Any]:
    return disable(fn, recursive)


def allow_in_graph(fn: Any) -> Any:
    """Return the function itself: whatever it calls is captured."""
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(one) for one in fn]
    assert callable(fn), "allow_in_graph expects a callable"
    return fn


def assume_constant_result(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose result in the captured run stands for those of all runs."""
    assert callable(fn), "assume_constant_result expects a callable"

    @functools.wraps(fn)
    def constant(*args: Any, **kwargs: Any) -> Any:
        context = trace.current()
        if context is None:
            return fn(*args, **kwargs)
        context.watching, before = False, context.watching
        try:
            return fn(*args, **kwargs)
        finally:
            context.watching = before

    return constant


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """Return the names that ``torch.compile(backend=…)`` takes for MindSpore's graphs."""
    return ["inductor", "mindspore"]


def cudagraph_mark_step_begin() -> None:
    """Says that a step begins. There are no CUDA graphs here that would have to know."""


class set_stance(Block):
    """How compiled functions run from now on, or in a ``with`` block: ``default`` or ``force_eager`` (without graphs)."""

    def __init__(self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None) -> None:
        if stance not in _STANCES:
            raise RuntimeError(f"invalid torch.compile stance '{stance}'")
        if stance not in ("default", "force_eager") or force_backend is not None or skip_guard_eval_unsafe:
            raise NotImplementedError("mstorch: torch.compiler.set_stance knows 'default' and 'force_eager' only")
        self._before = _stance[0]
        self._stance = stance
        _stance[0] = stance

    def __enter__(self) -> set_stance:
        self.at_end(functools.partial(operator.setitem, _stance, 0, self._before))
        _stance[0] = self._stance
        return self

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        _stance[0] = self._before

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with set_stance(self._stance):
                return function(*args, **kwargs)

        return inside


__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "is_compiling",
    "is_dynamo_compiling", "is_exporting", "list_backends", "reset", "set_stance",
]  # fmt: skip

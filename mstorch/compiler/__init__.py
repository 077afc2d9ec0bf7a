"""torch.compiler: directives of scripts to torch.compile."""
from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .._src.backend import tape, trace
from .._src.compile import DEFAULT as _DEFAULT
from .._src.compile import compile as _compile
from .._src.compile import reset_all as _reset_all
from .._src.compile.compiled import stance as _stance
from .._src.compile.exporting import state as _export
from .._src.core.trees import tree_map
from .._src.hook import missing as _missing
from .._src.hook import not_yet as _not_yet
from .._src.leaving import Block
from .._src.ops.memory.from_data import from_numpy
from .._tensor import Tensor
from . import config as config

_STANCES = ("default", "force_eager", "eager_on_recompile", "fail_on_recompile", "aot_eager_then_compile")


def compile(*args: Any, **kwargs: Any) -> Any:
    """Compile as ``torch.compile`` does."""
    return _compile(*args, **kwargs)


def set_default_backend(backend: str | Callable[..., Any] | None) -> None:
    """Set the backend of ``torch.compile`` where none is given; None sets "inductor" again."""
    _DEFAULT.backend = "inductor" if backend is None else backend


def get_default_backend() -> str | Callable[..., Any]:
    """Return the backend of ``torch.compile`` where none is given."""
    return _DEFAULT.backend


def save_cache_artifacts() -> None:
    """Return None, as torch where nothing has been cached: MindSpore's graphs are kept in no cache that could be passed on."""


def precompile(*args: Any, **kwargs: Any) -> Any:
    """Raise NotImplementedError: a MindSpore graph is compiled where it runs (torch 2.14)."""
    raise NotImplementedError(f"torch.compiler.precompile: a MindSpore graph is compiled where it runs {_not_yet()}")


class PrecompileError(RuntimeError):
    """An error of ``precompile`` (torch 2.14)."""


def reset() -> None:
    """Clear all compiled graphs; functions are recompiled on their next call."""
    _reset_all()


def is_compiling() -> bool:
    """Return whether the code is being captured as a graph, or exported."""
    return trace.current() is not None or is_exporting()


def is_dynamo_compiling() -> bool:
    """Return whether the code is being captured as a graph."""
    return trace.current() is not None


def is_exporting() -> bool:
    """Return whether the code is being exported by ``torch.export``."""
    return _export.running


def disable(fn: Callable[..., Any] | None = None, recursive: bool = True, *, reason: str | None = None) -> Callable[..., Any]:
    """Return a function that causes a graph break: a captured function that calls it runs eagerly."""
    if fn is None:
        return lambda function: disable(function, recursive, reason=reason)

    @functools.wraps(fn)
    def disabled(*args: Any, **kwargs: Any) -> Any:
        tape.refuse_in_trace(f"{getattr(fn, '__qualname__', fn)} is disabled for torch.compile{f': {reason}' if reason else ''}")
        return tape.explained[-1].apart(fn, args, kwargs) if tape.explained else fn(*args, **kwargs)

    return disabled


def _disable_dynamo(fn: Callable[..., Any] | None = None, recursive: bool = True) -> Callable[..., Any]:
    return disable(fn, recursive)


def allow_in_graph(fn: Callable[..., Any] | list[Any] | tuple[Any, ...]) -> Any:
    """Return the function unchanged: its callees are captured anyway."""
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(one) for one in fn]
    assert callable(fn), "allow_in_graph expects a callable"
    return fn


def nonstrict_trace(traceable_fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function unchanged: its callees are captured anyway (torch 2.14)."""
    assert callable(traceable_fn), "nonstrict_trace expects a callable"
    return traceable_fn


def nested_compile_region(fn: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Return the function unchanged: a region that is called several times is captured each time."""
    return nested_compile_region if fn is None else fn


def wrap_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of tensors for one of NumPy arrays: its arguments are passed as arrays, its results are tensors."""

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        given, named = tree_map(lambda leaf: leaf.numpy() if isinstance(leaf, Tensor) else leaf, (args, kwargs))
        return tree_map(lambda leaf: from_numpy(leaf) if isinstance(leaf, np.ndarray) else leaf, fn(*given, **named))

    return wrapped


def cudagraph_mark_warmup_incomplete() -> None:
    """Do nothing, as torch where no CUDA graph is warmed up (2.14)."""


def assume_constant_result(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose result in the captured run is a constant of the graph."""
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
    """Return the names that ``torch.compile(backend=…)`` accepts for MindSpore's graphs."""
    return ["inductor", "mindspore"]


def cudagraph_mark_step_begin() -> None:
    """Do nothing: mstorch has no CUDA graphs."""


class set_stance(Block):
    """Set how compiled functions run, permanently or as a context manager: ``default`` or ``force_eager`` (without graphs)."""

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
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin",
    "cudagraph_mark_warmup_incomplete", "disable", "is_compiling",
    "is_dynamo_compiling", "is_exporting", "list_backends", "reset", "set_stance",
]  # fmt: skip

__getattr__ = _missing(__name__)

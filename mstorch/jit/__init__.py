"""torch.jit: scripting and tracing of functions and modules, which run as Python in mstorch."""
import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Final

from .._jit_internal import (
    _isinstance,
    _overload,
    _overload_method,
    export,
    ignore,
    is_scripting,
    unused,
)
from .._src.hook import missing as _missing
from ..futures import Future
from . import annotations
from ._files import freeze, load, optimize_for_inference, save
from ._script import (
    Attribute,
    CompilationUnit,
    RecursiveScriptModule,
    ScriptFunction,
    ScriptModule,
    annotate,
    interface,
    script,
    script_method,
)
from ._script import deprecated as _deprecated
from ._torchscript.errors import Error
from ._trace import (
    TopLevelTracedModule,
    TracedModule,
    TracerWarning,
    TracingCheckError,
    is_tracing,
    script_if_tracing,
    trace,
    trace_module,
)
from ._trace import _get_trace_graph as _get_trace_graph

isinstance = _isinstance
_script_if_tracing = script_if_tracing


class ScriptWarning(Warning):
    """Warning about scripted code."""


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
    """Run a function at once, in this thread; return a future of its result."""
    _deprecated("fork", "use `torch.compile` instead")
    future: Future[Any] = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future[Any]) -> Any:
    """Return a future's result."""
    _deprecated("wait", "use `torch.compile` instead")
    if type(future) is not Future:
        raise TypeError("wait(): incompatible function arguments. The following argument types are supported:\n    1. (arg0: Future)")
    return future.wait()


_fork, _wait = fork, wait


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return torch's default fusion strategy; mstorch has no fuser to which another one could apply."""
    for kind, _ in strategy:
        if kind not in ("STATIC", "DYNAMIC"):
            raise RuntimeError(f"FusionBehavior only supported 'STATIC' or 'DYNAMIC', got: {kind}")
    return [("STATIC", 2), ("DYNAMIC", 10)]


def enable_onednn_fusion(enabled: bool) -> None:
    """Raise RuntimeError for True: mstorch has no fuser."""
    if enabled:
        raise RuntimeError("mstorch: torch.jit runs Python and has no fuser")


def onednn_fusion_enabled() -> bool:
    """Return False: mstorch has no fuser."""
    return False


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Context manager without effect: mstorch does not optimize scripted functions."""
    yield


@contextlib.contextmanager
def fuser(name: str) -> Iterator[None]:
    """Context manager without effect: mstorch has no fuser."""
    if name not in ("fuser0", "fuser1", "fuser2", "fuser3", "none"):
        raise Exception(f"unrecognized fuser option (name: {name})")
    yield


class strict_fusion(contextlib.AbstractContextManager):  # type: ignore[type-arg]
    """Context manager without effect; in torch, it refuses scripted code that cannot be fused."""

    def __exit__(self, *error: Any) -> None:
        return None


def export_opnames(m: ScriptModule) -> list[str]:
    """Raise NotImplementedError: scripted modules have no graph in mstorch whose operations could be listed."""
    raise NotImplementedError("mstorch: torch.jit runs Python and has no graph whose operations could be listed")


__all__ = [
    "Attribute", "CompilationUnit", "Error", "Final", "Future", "RecursiveScriptModule", "ScriptFunction", "ScriptModule",
    "ScriptWarning", "TopLevelTracedModule", "TracedModule", "TracerWarning", "TracingCheckError", "_overload",
    "_overload_method", "annotate", "annotations", "enable_onednn_fusion", "export", "export_opnames", "fork", "freeze", "fuser",
    "ignore", "interface", "is_scripting", "is_tracing", "isinstance", "load", "onednn_fusion_enabled", "optimize_for_inference",
    "optimized_execution", "save", "script", "script_if_tracing", "script_method", "set_fusion_strategy", "strict_fusion",
    "trace", "trace_module", "unused", "wait",
]  # fmt: skip

__getattr__ = _missing(__name__)

"""torch.compile: functions and modules executed as MindSpore graphs."""
from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from ...nn.modules.module import Module
from ..backend.runtime import DEVICE_TARGET
from ..backend.trace import GraphBreak
from ..core.above import above
from .compiled import Compiled, bind, inside, reset_all

_MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
_GRAPH_BACKENDS = ("inductor", "aot_eager", "mindspore", "cudagraphs")


class DEFAULT:
    """The backend of calls that name none (``torch.compiler.set_default_backend``)."""

    backend: str | Callable[..., Any] = "inductor"


def compile(
    model: Callable[..., Any] | None = None, *, fullgraph: bool = False, dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None, mode: str | None = None, options: Mapping[str, Any] | None = None,
    name: str | None = None, disable: bool = False, recompile_limit: int | None = None, isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> OptimizedModule | Callable[..., Any]:  # fmt: skip
    """Return a function or module that runs as one MindSpore graph per shape, dtype and mode of its arguments.

    A graph break (control flow on values, ``.item()``) makes it run eagerly, with one warning that names the line; with ``fullgraph`` it
    raises, except for kernels that MindSpore's graphs lack. The first call runs the function up to three times (captured, verified, and
    once more if there is no graph): its prints then appear more than once. Differences from torch: shapes are always static, and
    ``dynamic``, ``mode`` and ``options`` have no effect; on a CPU the default backend makes no graphs (eager is faster there),
    ``fullgraph`` and ``backend="mindspore"`` do; a graph break makes the whole function eager, except where it computes gradients, so that
    the modules that it calls stay graphs; gradients of a graph cannot be differentiated again. After ``recompile_limit`` graphs (64), other
    arguments run eagerly. Raise RuntimeError for an unknown mode or backend.
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    backend = DEFAULT.backend if backend is None else backend
    if not isinstance(backend, str):
        raise NotImplementedError("mstorch: torch.compile has no FX graphs to give to a backend of your own")
    if backend not in (*_GRAPH_BACKENDS, "eager"):
        raise RuntimeError(f"Invalid backend: {backend!r}, see `torch.compiler.list_backends()` for available backends.")
    if shapes_spec is not None:
        raise NotImplementedError("mstorch: torch.compile has static shapes only: shapes_spec has no meaning")
    if model is None:

        def decorator(function: Callable[..., Any]) -> Any:
            return compile(
                function, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, name=name,
                disable=disable, recompile_limit=recompile_limit, isolate_recompiles=isolate_recompiles,
            )  # fmt: skip

        return decorator
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    if disable:
        return model
    if backend == "eager":
        return OptimizedModule(model, graphs=False) if isinstance(model, Module) else model
    # On a CPU MindSpore's graphs take 2.5 to 10 times as long as eager kernels, and seconds to compile.
    graphs = fullgraph or backend != "inductor" or DEVICE_TARGET != "CPU"
    if isinstance(model, Module):
        return OptimizedModule(model, fullgraph, recompile_limit, graphs)
    title = name or str(getattr(model, "__qualname__", type(model).__qualname__))
    return bind(Compiled(model, title, fullgraph, recompile_limit, graphs), model)


def compiled_call(module: Module, fullgraph: bool = False, limit: int | None = None, graphs: bool = True) -> Compiled:
    """Return the ``Compiled`` object for a module's calls."""
    return Compiled(module._call_impl, type(module).__qualname__, fullgraph, limit, graphs)


def graph_mode_call(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a module in MindSpore's graph mode: the outermost module is captured, inner ones become parts of its graph."""
    if inside.active:
        return module._call_impl(*args, **kwargs)
    graphs = module.__dict__.get("_graphs")
    if graphs is None:
        graphs = module.__dict__["_graphs"] = compiled_call(module)
    return graphs(args, kwargs)


class OptimizedModule(Module):
    """Module that ``torch.compile`` returns; ``_orig_mod`` is the original module."""

    _orig_mod: Module

    def __init__(self, mod: Module, fullgraph: bool = False, limit: int | None = None, graphs: bool = True) -> None:
        super().__init__()
        self._orig_mod = mod
        self.__dict__["_compiled"] = compiled_call(mod, fullgraph, limit, graphs)

    @property
    def training(self) -> bool:
        """True if the original module is in training mode."""
        return self._orig_mod.training

    @training.setter
    def training(self, value: bool) -> None:
        if "_orig_mod" in self.__dict__.get("_modules", {}):  # Cell's constructor sets attributes before it exists
            self._orig_mod.training = value

    @property
    def dynamo_ctx(self) -> Any:
        """The object that runs the graphs; programs look for it to recognize a compiled module."""
        return self.__dict__["_compiled"]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the original module through its graphs."""
        return self.__dict__["_compiled"](args, kwargs)

    def __getattr__(self, name: str) -> Any:
        modules = self.__dict__.get("_modules", {})
        if name in modules or "_orig_mod" not in modules:
            return super().__getattr__(name)
        return getattr(modules["_orig_mod"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_orig_mod" or "_orig_mod" not in self.__dict__.get("_modules", {}):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __len__(self) -> int:
        return len(self._orig_mod)  # type: ignore[arg-type]

    def __reduce__(self) -> tuple[Any, ...]:
        compiled = self.dynamo_ctx
        return OptimizedModule, (self._orig_mod, compiled.fullgraph, compiled.limit, compiled.graphs)


__all__ = ["Compiled", "GraphBreak", "OptimizedModule", "compile", "compiled_call", "graph_mode_call", "reset_all"]

above.compiler = sys.modules[__name__]

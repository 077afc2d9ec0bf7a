"""Traced functions and modules: run once with the example inputs, and as Python afterwards."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .._jit_internal import mode, running
from .._tensor import Tensor
from ..nn.modules.module import Module
from ._script import RecursiveScriptModule, ScriptFunction, ScriptModule, _Callable, deprecated, wrapped
from ._state import _enabled
from ._trace_graph import _get_trace_graph as _get_trace_graph


class TracerWarning(Warning):
    """Warning about values that a trace may not preserve."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Do nothing: mstorch does not issue these warnings."""


class TracingCheckError(Exception):
    """Raised when a traced function gives another result when run again."""

    def __init__(self, graph_diff_error: Any, tensor_compare_error: Any, extra_msg: Any = None) -> None:
        self.message = "Tracing failed sanity checks!\n" + "".join(
            f"{part}\n" for part in (extra_msg, graph_diff_error, tensor_compare_error) if part is not None
        )
        super().__init__(self.message)


class TracedModule(RecursiveScriptModule):
    """A submodule of a traced module."""

    _scripted = False

    def _get_name(self) -> str:
        return self.original_name

    def train(self, mode: bool = True) -> TracedModule:
        """Set the training flag; the traced module keeps running in the mode in which it was traced."""
        return super(RecursiveScriptModule, self).train(mode)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "training":
            self.__dict__["training"] = value
        else:
            super().__setattr__(name, value)


class TopLevelTracedModule(TracedModule):
    """Module returned by ``trace``, at the top of a traced hierarchy."""


def is_tracing() -> bool:
    """Return whether a function is being traced."""
    return running.traced


def _check_output(value: Tensor | dict[Any, Any] | Sequence[Tensor | Sequence[Tensor]], strict: bool) -> None:
    if isinstance(value, Tensor):
        return
    if isinstance(value, (tuple, list)):
        for item in value:
            _check_output(item, strict)
        return
    if isinstance(value, dict):
        if strict:
            raise RuntimeError(
                "Encountering a dict at the output of the tracer might cause the trace to be incorrect, this is only valid if "
                "the container structure does not change based on the module's inputs. Consider using a constant container "
                "instead (e.g. for `list`, use a `tuple` instead. for `dict`, use a `NamedTuple` instead). If you absolutely "
                "need this and know the side effects, pass strict=False to trace() to allow this behavior."
            )
        for item in value.values():
            _check_output(item, strict)
        return
    if value is not None:
        raise RuntimeError("Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced functions")


def _run(function: Callable[..., Any], args: tuple[Tensor, ...], kwargs: dict[Any, Any], strict: bool) -> None:
    with mode(traced=True):
        _check_output(function(*args, **kwargs), strict)


def _arguments(example: Tensor) -> tuple[Any, ...]:
    return tuple(example) if isinstance(example, (tuple, list)) else (example,)


def _with_example(traced: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return a traced module or function, which keeps its example inputs: ``save`` runs it once more."""
    traced.__dict__["_ms_example"] = args, kwargs
    return traced


def trace(
    func: Any, example_inputs: Tensor | None = None, optimize: Any = None, check_trace: bool = True, check_inputs: Any = None,
    check_tolerance: float = 1e-5, strict: bool = True, _force_outplace: bool = False, _module_class: Any = None,
    _compilation_unit: Any = None, example_kwarg_inputs: dict[str, Any] | None = None, _store_inputs: bool = True,
) -> _Callable:
    """Run a function or module once with the example inputs, while ``is_tracing()`` is True, and return its traced form.

    Raise RuntimeError for results that a trace cannot hold. A module's copy shares parameters and buffers with the module. Differs from
    torch: later calls run Python again, so that value-dependent branches are taken anew; ``check_trace`` checks nothing.
    """
    deprecated("trace")
    if not _enabled or isinstance(func, (ScriptModule, ScriptFunction)):
        return func
    if example_inputs is None:
        if not isinstance(example_kwarg_inputs, dict):
            raise RuntimeError("example_kwarg_inputs should be a dict")
        args, kwargs = (), example_kwarg_inputs
    else:
        args, kwargs = _arguments(example_inputs), {}
    if isinstance(func, Module):
        deprecated("trace_method")
        _run(func, args, kwargs, strict)
        return _with_example(wrapped(func, TracedModule, TopLevelTracedModule), args, kwargs)
    owner = getattr(func, "__self__", None)
    if isinstance(owner, Module) and func.__name__ == "forward":
        return trace(owner, example_inputs, strict=strict, example_kwarg_inputs=example_kwarg_inputs)
    _run(func, args, kwargs, strict)
    return _with_example(ScriptFunction(func, scripted=False), args, kwargs)


def trace_module(
    mod: Module, inputs: dict[str, Any], optimize: Any = None, check_trace: bool = True, check_inputs: Any = None,
    check_tolerance: float = 1e-5, strict: bool = True, _force_outplace: bool = False, _module_class: Any = None,
    _compilation_unit: Any = None, example_inputs_is_kwarg: bool = False, _store_inputs: bool = True,
) -> Any:
    """Trace several methods of a module, the keys of ``inputs``, with their example inputs (see ``trace``)."""
    deprecated("trace_method")
    if not _enabled:
        return mod
    if not isinstance(mod, Module):
        raise AttributeError("expected torch.nn.Module as the first argument")
    if not isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    for name, example in inputs.items():
        function = mod if name == "forward" else getattr(mod, name)
        if example_inputs_is_kwarg:
            _run(function, (), example, strict)
        else:
            _run(function, _arguments(example), {}, strict)
    made = wrapped(mod, TracedModule, TopLevelTracedModule)
    if inputs.keys() == {"forward"}:
        example = inputs["forward"]
        _with_example(made, *(((), example) if example_inputs_is_kwarg else (_arguments(example), {})))
    return made


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function to be scripted when called during tracing, and plain Python otherwise."""

    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return (ScriptFunction(fn) if is_tracing() else fn)(*args, **kwargs)

    wrapper.__original_fn = fn  # type: ignore[attr-defined]
    wrapper.__script_if_tracing_wrapper = True  # type: ignore[attr-defined]
    return wrapper


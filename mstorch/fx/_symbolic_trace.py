"""torch.fx._symbolic_trace: the graph of a module or function, recorded by running it on proxies."""
from __future__ import annotations

import builtins
import functools as functools
import inspect
import math
import os
import sys
import types
from collections.abc import Callable
from pathlib import Path
from types import FunctionType as FunctionType
from typing import Any

from .._src.core.above import above
from .._src.quantized.packed import ScriptObject as ScriptObject
from .._tensor import Tensor
from ..nn.modules.container import Sequential
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ._compatibility import compatibility as compatibility
from ._entry import Patches, wrapped
from .graph import Graph
from .graph_module import GraphModule
from .node import Node, map_aggregate
from .proxy import Proxy, TracerBase

_wrapped_names: dict[tuple[int, str], dict[str, Any]] = {}  # the global names registered by `wrap`, with their namespaces
_HOME = __name__.partition(".")[0]
_FOLDER = str(Path(__file__).parents[1]) + os.sep  # a folder, not module names: if `import torch` imports mstorch, these are torch's
PH = type("PHBase", (), {"__repr__": lambda self: "PH", "__doc__": "Marks a leaf of a concrete argument that stays an input."})()


def _ours(function: Any) -> bool:
    """Return whether a function is defined in this library. Its annotations are left out of traced code: torch's forward methods have none.
    """
    code = getattr(function, "__code__", None)
    return code is not None and code.co_filename.startswith(_FOLDER)


def wrap(fn_or_name: str | Callable[..., Any]) -> str | Callable[..., Any]:
    """Make calls of a function in the calling module be recorded instead of traced into; also a decorator."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped_names[(id(frame.f_globals), name)] = frame.f_globals
    return fn_or_name


def _assert_is_none(value: Any, msg: str) -> None:
    if value is not None:
        raise AssertionError(msg)


class Tracer(TracerBase):
    """Records graphs. Subclasses define which modules are leaves, and how calls and arguments are handled."""

    graph: Graph

    def __init__(
        self, autowrap_modules: tuple[Any, ...] = (math,), autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self._autowrap_search = list(autowrap_modules)
        self._autowrap_function_ids = {
            id(value) for module in autowrap_modules for name, value in vars(module).items()
            if not name.startswith("_") and callable(value)
        } | {id(function) for function in autowrap_functions}  # fmt: skip
        self.param_shapes_constant = param_shapes_constant
        self.root: Module = Module()
        self.submodule_paths: dict[Module, str] | None = None
        self.tensor_attrs: dict[Tensor, str] = {}
        self.module_stack: dict[str, Any] = {}

    # Methods that subclasses override

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Return whether a module is recorded as one node: those of torch.nn are, except Sequential."""
        return m.__module__.startswith(("torch.nn", f"{_HOME}.nn", "torch.ao.nn")) and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """Return the dotted name of a module relative to the root. Raise NameError if the root does not contain the module."""
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
            if path is not None:
                return path
        for name, module in self.root.named_modules():
            if module is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Proxy:
        """Return the result of a module call: a node for a leaf module, else ``forward``'s result."""
        path = self.path_of_module(m)
        if self.is_leaf_module(m, path):
            return self.create_proxy("call_module", path, args, kwargs)
        return forward(*args, **kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """Return the result of reading a module's attribute: a node for the root's parameters, else the value."""
        return self._getattr(attr, attr_val, parameter_proxy_cache)

    def _getattr(self, attr: str, value: Any, cache: dict[str, Any]) -> Tensor | Module | Proxy:
        if isinstance(value, Parameter):
            named: Any = self.root.named_parameters()
        elif self.proxy_buffer_attributes and isinstance(value, Tensor):
            named = self.root.named_buffers()
        else:
            return value
        for name, known in named:
            if known is value:
                if name not in cache:
                    cache[name] = self.create_proxy("get_attr", name, (), {})
                return cache[name]
        return value

    def create_arg(self, a: Any) -> Any:
        """Convert an argument for a node; tensors become attributes of the root."""
        if isinstance(a, Tensor):
            return self._tensor_node(a)
        if isinstance(a, Module):
            for name, module in self.root.named_modules():
                if module is a:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("module is not installed as a submodule")
        return super().create_arg(a)

    def _tensor_node(self, tensor: Tensor) -> Node:
        for named in (self.root.named_parameters(), self.root.named_buffers()):
            for name, known in named:
                if known is tensor:
                    return self.create_node("get_attr", name, (), {})
        if isinstance(tensor, Parameter):
            raise NameError("parameter is not a member of this module")
        if tensor not in self.tensor_attrs:
            number = 0
            while hasattr(self.root, f"_tensor_constant{number}"):
                number += 1
            self.tensor_attrs[tensor] = f"_tensor_constant{number}"
            setattr(self.root, f"_tensor_constant{number}", tensor)
        return self.create_node("get_attr", self.tensor_attrs[tensor], (), {})

    # Tracing

    def create_args_for_root(
        self, root_fn: Callable[..., Any], is_module: bool, concrete_args: dict[str, Any] | tuple[Any, ...] | None = None
    ) -> tuple[Callable[..., Any], list[Any]]:
        """Return the function, and its inputs as proxies, except for concrete arguments."""
        function = inspect.unwrap(root_fn)
        code = function.__code__
        count = code.co_argcount + code.co_kwonlyargcount
        names = list(code.co_varnames[:count])
        args: list[Any] = []
        if is_module:
            if not names:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            args.append(self.root)
            names = names[1:]
        if isinstance(concrete_args, tuple):
            if len(concrete_args) != len(names):
                raise RuntimeError(f"Tracing expected {len(names)} arguments but got {len(concrete_args)} concrete arguments")
            concrete_args = dict(zip(names, concrete_args))
        parameters = dict(inspect.signature(function).parameters)
        if _ours(function):
            parameters = {name: parameter.replace(annotation=inspect.Parameter.empty) for name, parameter in parameters.items()}
        keywords = names[len(names) - code.co_kwonlyargcount :] if code.co_kwonlyargcount else []
        values = {name: self._input(name, parameters[name], concrete_args or {}) for name in names}
        args += [values[name] for name in names if name not in keywords]
        if code.co_flags & inspect.CO_VARARGS:
            args.append(self.create_proxy("placeholder", f"*{code.co_varnames[count]}", (), {}))
        starred = bool(code.co_flags & inspect.CO_VARARGS)
        named = {name: values[name] for name in keywords}
        double = None
        if code.co_flags & inspect.CO_VARKEYWORDS:
            double = self.create_proxy("placeholder", f"**{code.co_varnames[count + starred]}", (), {})
        if not (starred or named or double is not None):
            return root_fn, args
        return _calling(function, starred, named, double), args

    def _input(self, name: str, parameter: inspect.Parameter, concrete: dict[str, Any]) -> Any:
        default = () if parameter.default is inspect.Parameter.empty else (parameter.default,)
        if name not in concrete:
            kind = None if parameter.annotation is inspect.Parameter.empty else parameter.annotation
            return self.create_proxy("placeholder", name, default, {}, type_expr=kind)
        value = concrete[name]
        if isinstance(value, (tuple, list, dict)) or value is PH:
            raise NotImplementedError("mstorch: torch.fx takes numbers, strings and None as concrete arguments, no containers")
        # The input remains, and a call with another value raises.
        made = self.create_proxy("placeholder", name, default, {}, name=f"{name}_1")
        message = f"{name} has been specialized to have value {value} but got another value"
        if value is None:
            self.create_proxy("call_function", _assert_is_none, (made, message), {})
        else:
            self.create_proxy("call_function", sys.modules[_HOME]._assert, (made == value, message), {})
        return value

    def trace(self, root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> Graph:
        """Return the graph of a module or function. Raise TraceError for value-dependent control flow."""
        if isinstance(root, Module):
            self.root = root
            function = getattr(type(root), self.traced_func_name)
            self.submodule_paths = {module: name for name, module in root.named_modules()}
        else:
            self.root = Module()
            function = root
        self.graph = Graph(tracer_cls=type(self))
        self.tensor_attrs = {
            value: f"{prefix}.{name}" if prefix else name
            for prefix, module in self.root.named_modules() for name, value in vars(module).items() if isinstance(value, Tensor)
        }  # fmt: skip
        written = inspect.unwrap(function)
        kind = None if _ours(written) else getattr(written, "__annotations__", {}).get("return")
        function, args = self.create_args_for_root(function, isinstance(root, Module), concrete_args)
        with Patches() as patches:
            self._patch(patches, function)
            result = function(*args)
            self.create_node("output", "output", (self.create_arg(result),), {}, None, kind)
        self.submodule_paths = None
        return self.graph

    def _patch(self, patches: Patches, function: Callable[..., Any]) -> None:
        call, read = Module.__call__, Module.__getattr__
        cache: dict[str, Any] = {}

        def traced_call(module: Module, *args: Any, **kwargs: Any) -> Proxy:
            return self.call_module(module, lambda *a, **k: call(module, *a, **k), args, kwargs)

        def traced_read(module: Module, name: str) -> Tensor | Module | Proxy:
            return self.getattr(name, read(module, name), cache)

        patches.attribute(Module, "__call__", traced_call)
        patches.attribute(Module, "__getattr__", traced_read)
        for space in [vars(module) for module in self._autowrap_search] + [getattr(inspect.unwrap(function), "__globals__", {})]:
            _autowrap_check(patches, space, self._autowrap_function_ids)
        _patch_wrapped_functions(patches)


# Names that packages with their own tracer import, as in torch.
_Patcher = Patches
_orig_module_call, _orig_module_getattr = Module.__call__, Module.__getattr__


def _autowrap_check(patcher: Patches, frame_dict: dict[str, Any], function_ids: set[int]) -> None:
    """Make the functions of a module that are in ``function_ids`` be recorded."""
    if patcher.visit_once(frame_dict):
        for name, value in list(frame_dict.items()):
            if not name.startswith("_") and callable(value) and id(value) in function_ids:
                patcher.patch(frame_dict, name, wrapped(value))


def _patch_wrapped_functions(patcher: Patches) -> None:
    """Make the functions registered by ``wrap`` be recorded. Raise KeyError for a name that its module lacks."""
    for (_, name), space in _wrapped_names.items():
        found = getattr(builtins, name) if name not in space and hasattr(builtins, name) else space[name]
        patcher.patch(space, name, wrapped(found))


above.tracer = Tracer


def _calling(function: Callable[..., Any], starred: bool, named: dict[str, Any], double: Proxy | None) -> Callable[..., Any]:
    """Return a function of the positional inputs that calls ``function`` with the given keyword arguments, and with one proxy each for
    ``*args`` and ``**kwargs``.

    A proxy cannot be unpacked, so a copy of the function is called that has ``args`` and ``kwargs`` as ordinary parameters."""
    code = function.__code__
    flags = code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    names = list(code.co_varnames)
    first, keywords = code.co_argcount, code.co_kwonlyargcount
    count = first + keywords + starred + (double is not None)
    plain = types.FunctionType(
        code.replace(co_flags=flags, co_argcount=count, co_kwonlyargcount=0, co_posonlyargcount=0),
        function.__globals__, function.__name__, None, function.__closure__,
    )  # fmt: skip

    def call(*args: Any) -> Any:
        positional, star = (args[:-1], args[-1:]) if starred else (args, ())
        values = [*positional, *(named[name] for name in names[first : first + keywords]), *star]
        return plain(*values, *(() if double is None else (double,)))

    return call


def symbolic_trace(root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """Return a GraphModule of a module or function, traced by ``Tracer``."""
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


class ProxyableClassMeta(type):
    """Metaclass of classes whose construction from proxies is a call in the graph: ``Pair(x, y)`` in a traced function is a node that
    makes the object when the graph runs."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return an instance, or the proxy of one if an argument is, or holds, a proxy."""
        made: Any = cls.__new__(cls)  # type: ignore[call-overload]
        found: list[Proxy] = []

        def note(value: Any) -> Any:
            if isinstance(value, Proxy):
                found.append(value)
            return value

        map_aggregate((args, kwargs), note)
        if found:
            return found[0].tracer.create_proxy("call_function", cls, args, kwargs)
        cls.__init__(made, *args, **kwargs)
        return made


__all__ = ["PH", "Proxy", "ProxyableClassMeta", "Tracer", "symbolic_trace", "wrap"]

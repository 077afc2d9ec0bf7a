"""torch.fx.proxy: proxies, which record the operations on them."""
from __future__ import annotations

import dis
import operator
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from .._src.core.device import device
from .._src.core.dtype import dtype
from .._src.core.formats import layout, memory_format
from .._src.core.generator import Generator
from .._src.hook import missing as _missing
from ..overrides import is_tensor_method_or_property
from ._code import BINARY, COMPARISONS, UNARY
from .node import Node, NodesOfGraph, map_arg

_PLAIN = (str, int, float, bool, complex, type(None), type(Ellipsis), range, dtype, device, layout, memory_format, Generator, bytes)


class TraceError(ValueError):
    """Raised for code that cannot be traced."""


class Scope:
    """A module on the path to the current one."""

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path = module_path
        self.module_type = module_type


class TracerBase:
    """Base of tracers, which record nodes in ``graph``."""

    graph: NodesOfGraph
    record_stack_traces = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"

    def create_node(
        self, kind: str, target: Callable[..., Any] | str, args: tuple[Any, ...], kwargs: dict[str, Any], name: str | None = None,
        type_expr: Any | None = None
    ) -> Node:
        """Create a node in the graph."""
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node: Node) -> Proxy:
        """Return the proxy of a node."""
        return Proxy(node, self)

    def create_proxy(
        self, kind: str, target: Callable[..., Any] | str, args: tuple[Any, ...], kwargs: dict[str, Any], name: str | None = None,
        type_expr: Any | None = None, proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:  # fmt: skip
        """Create a node from arguments with proxies, and return its proxy."""
        node = self.create_node(kind, target, self.create_arg(args), self.create_arg(kwargs), name, type_expr)
        if self.record_stack_traces:
            node.stack_trace = "".join(traceback.format_stack(limit=8)[:-2])
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a: Any) -> Any:
        """Convert an argument for a node. Raise NotImplementedError for a value that a graph cannot hold."""
        if isinstance(a, Proxy):
            return a.node
        if isinstance(a, (Node, *_PLAIN)):
            return a
        if isinstance(a, tuple):
            items = [self.create_arg(item) for item in a]
            return type(a)(*items) if hasattr(a, "_fields") else type(a)(items)
        if isinstance(a, list):
            return [self.create_arg(item) for item in a]
        if isinstance(a, dict):
            made = {}
            for key, value in a.items():
                if isinstance(key, Proxy):
                    raise RuntimeError(f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {key.node}")
                made[key] = self.create_arg(value)
            return made
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, type) or callable(a):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def to_bool(self, obj: Proxy) -> bool:
        """Raise TraceError: a proxy has no truth value."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Return a proxy's items if code unpacks it to a fixed number of names. Raise TraceError otherwise."""
        frame = sys._getframe(2)
        code = frame.f_code
        unpacked = next((i for i in dis.get_instructions(code) if i.offset >= frame.f_lasti), None)
        if unpacked is not None and unpacked.opname == "UNPACK_SEQUENCE":
            assert unpacked.argval is not None
            return (obj[i] for i in range(unpacked.argval))
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or **kwargs "
            "function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what types of control "
            "flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy iteration errors"
        )

    def keys(self, obj: Proxy) -> Proxy:
        """Return a proxy's keys, for ``**`` unpacking."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """Records nodes in an existing graph."""

    def __init__(self, graph: NodesOfGraph) -> None:
        self.graph = graph


# Python's operators, those with a reflected method separately: the module operator does not tell them apart.
_TWO_SIDED = [name for name in BINARY if name not in COMPARISONS]
# Operators without a reflected method; hash and bool are not recorded.
_ONE_SIDED = (*COMPARISONS, *UNARY, "getitem", "abs")


def _recorded(function: Callable[..., Any], reflected: bool) -> Callable[..., Any]:
    if reflected:
        return lambda self, other: self.tracer.create_proxy("call_function", function, (other, self), {})
    return lambda self, *args: self.tracer.create_proxy("call_function", function, (self, *args), {})


def _operators() -> dict[str, Any]:
    names = {f"__{name.rstrip('_')}__": _recorded(getattr(operator, name), False) for name in (*_TWO_SIDED, *_ONE_SIDED)}
    names |= {f"__r{name.rstrip('_')}__": _recorded(getattr(operator, name), True) for name in _TWO_SIDED}
    return names | {"__hash__": object.__hash__}  # a class that defines __eq__ does not inherit __hash__


_Operators: Any = type("_Operators", (), _operators())


class Proxy(_Operators):
    """A stand-in for a value: operators, methods, attributes and torch functions on it are recorded as nodes."""

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Any:
        if k in ("node", "tracer"):  # while a copy is being made
            raise AttributeError(k)
        return Attribute(self, k)

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    def keys(self) -> Proxy:
        """Return the keys, for ``**`` unpacking."""
        return self.tracer.keys(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        return self

    @classmethod
    def __torch_function__(
        cls, orig_method: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return record(orig_method, args, kwargs or {})


def proxy_in(values: Any) -> Proxy | None:
    """Return the first proxy in nested values."""
    for value in values:
        if isinstance(value, Proxy):
            return value
        if isinstance(value, (tuple, list)):
            found = proxy_in(value)
        elif isinstance(value, dict):
            found = proxy_in(value.values())
        elif isinstance(value, slice):
            found = proxy_in((value.start, value.stop, value.step))
        else:
            continue
        if found is not None:
            return found
    return None


def record(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record a call with a proxy among its arguments; as a method call, if the function is a method of tensors."""
    proxy = proxy_in((*args, *kwargs.values()))
    assert proxy is not None
    name = function.__name__
    if is_tensor_method_or_property(function):
        if name == "__getitem__":
            return proxy.tracer.create_proxy("call_function", operator.getitem, args, kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)
    return proxy.tracer.create_proxy("call_function", function, args, kwargs)


class Attribute(Proxy):
    """An attribute of a proxy: recorded as a node if used as a value; a call of it is a method call."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:
        """The node of the attribute, recorded on first access."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


__all__ = ["Attribute", "GraphAppendingTracer", "Proxy", "Scope", "TraceError", "TracerBase", "map_arg"]

__getattr__ = _missing(__name__)

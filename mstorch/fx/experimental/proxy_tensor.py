"""torch.fx.experimental.proxy_tensor: a function's ``torch.ops.aten`` calls as a graph, forward and backward.

The function runs once with its arguments, under a mode that intercepts every call. Differs from torch: the function computes values in
every ``tracing_mode``, because mstorch does not trace with fake tensors, and sizes are ints (``symbolic`` raises); ``detach`` calls that
autograd makes internally are not intercepted.
"""
from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ... import ops
from ..._src.core import tangents
from ..._src.core.overriding import state
from ..._src.core.tensor_base import to_meta
from ..._src.hook import missing as _missing
from ..._src.hook import not_yet
from ..._src.leaving import END, Undo, undoing, values_again
from ..._src.namespace.symbolic import SymBool, SymFloat, SymInt
from ..._tensor import Tensor
from ...nn.modules.module import Module
from ...nn.parameter import Parameter
from ...utils._python_dispatch import TorchDispatchMode
from ...utils._pytree import tree_flatten, tree_map, tree_unflatten
from .._code import PyTreeCodeGen
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node
from ..passes.shape_prop import _extract_tensor_metadata

_READ = (
    "It appears that you're trying to get value out of a tracing tensor with {} - erroring out! It's likely that this is caused by "
    "data-dependent control flow or similar."
)



def _describe(node: Node, tensor: Tensor) -> None:
    """Write a tensor's metadata to a node."""
    node.meta["val"], node.meta["tensor_meta"] = to_meta(tensor), _extract_tensor_metadata(tensor)


class ProxyTorchDispatchMode(TorchDispatchMode):
    """Records calls in a graph. A tensor is identified by its view of memory, which detached aliases share."""

    def __init__(self, graph: Graph, decompositions: Mapping[Any, Callable[..., Any]]) -> None:
        super().__init__()
        self.graph, self.decompositions = graph, decompositions
        self.constants: dict[str, Tensor] = {}
        self._nodes: dict[Any, Node] = {}
        self._names: dict[Any, str] = {}
        self.has_read = False  # whether the program read a value of a traced tensor, which ends the trace
        self._alive: list[Tensor] = []  # keeps the tensors alive, so that their ids stay unique

    def enter(self, tensor: Tensor, node: Node) -> None:
        """Associate a node with a tensor."""
        self._nodes[id(tensor)] = self._nodes[_place(tensor)] = node  # by identity first: two views may have one place
        self._alive.append(tensor)
        _describe(node, tensor)

    def is_traced(self, tensor: Tensor) -> bool:
        """Return whether a tensor has a node."""
        return _place(tensor) in self._nodes

    def node_of(self, value: Any) -> Any:
        """Return a tensor's node; a tensor without one becomes an attribute of the graph module; other values are returned unchanged."""
        if not isinstance(value, Tensor):
            return value
        place = _place(value)
        found = self._nodes.get(id(value)) or self._nodes.get(place)
        if found is None:
            name = self._names.get(place)
            if name is None:
                kind = "_param_constant" if isinstance(value, Parameter) else "_tensor_constant"
                name = self._names[place] = f"{kind}{sum(known.startswith(kind) for known in self.constants)}"
                self.constants[name] = value
                self._alive.append(value)
            found = self.graph.get_attr(name)
            _describe(found, value)
        return found

    def __torch_dispatch__(self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        """Run the call and record it as a node; return its result."""
        kwargs = kwargs or {}
        if tangents.LEVELS:  # tangents are computed together with the values, below the mode
            words = "derivatives by forward mode (jvp, jacfwd, hessian) are"
            raise NotImplementedError(f"mstorch: {words} not known in the terms of torch.ops.aten")
        decomposition = self.decompositions.get(func)
        if decomposition is not None:
            with self:
                return decomposition(*args, **kwargs)
        if func is ops.aten._local_scalar_dense.default:
            if self.is_traced(args[0]):
                self.has_read = True
                raise RuntimeError(_READ.format(func))
            return func(*args, **kwargs)
        given, named = tree_map(self.node_of, args), tree_map(self.node_of, _in_order(func, kwargs))
        result = func(*args, **kwargs)
        node = self.graph.create_node("call_function", func, tuple(given), named, name=func.overloadpacket.__name__)
        if isinstance(result, Tensor):
            self.enter(result, node)
        elif isinstance(result, (tuple, list)):
            for number, part in enumerate(result):
                if isinstance(part, Tensor):
                    self.enter(part, self.graph.create_node("call_function", operator.getitem, (node, number), {}, name="getitem"))
        return result


def _in_order(func: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return named arguments in the order of the operator's schema, in which torch passes them."""
    if len(kwargs) < 2 or getattr(func, "_known", None) is None:
        return kwargs
    names = [argument.name for argument in func._known.arguments]
    return dict(sorted(kwargs.items(), key=lambda item: names.index(item[0]) if item[0] in names else len(names)))


def _place(tensor: Tensor) -> tuple[Any, ...]:
    return id(tensor._ms_storage), tensor._ms_offset, tensor._ms_shape, tensor._ms_stride, tensor._ms_dtype


def get_proxy_mode() -> ProxyTorchDispatchMode | None:
    """Return the active tracing mode; None outside ``make_fx``."""
    return next((mode for mode in reversed(state.dispatchers) if isinstance(mode, ProxyTorchDispatchMode)), None)


@undoing
def disable_proxy_modes_tracing(undo: Undo) -> None:
    """Context manager in which calls do not become nodes of the graph."""
    before = state.dispatchers
    undo[END:] = (values_again(state, "dispatchers"),)
    state.dispatchers = [mode for mode in before if not isinstance(mode, ProxyTorchDispatchMode)]


def _names_of(function: Callable[..., Any], args: tuple[Any, ...]) -> list[str]:
    """Return the names of positional parameters; ``arg0`` and so on if the function has none."""
    plain = inspect.unwrap(function)
    code = getattr(plain, "__code__", None)
    if code is None or code.co_flags & inspect.CO_VARARGS:
        return [f"arg{number}" for number in range(len(args))]
    own = code.co_varnames[: code.co_argcount]
    return list(own[1:] if inspect.ismethod(plain) else own)[: len(args)]


def make_fx(
    f: Callable[..., Any], decomposition_table: Mapping[Any, Callable[..., Any]] | None = None, tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False, *, pre_dispatch: bool = False, record_module_stack: bool = False,
    _allow_fake_constant: bool = False, _error_on_data_dependent_ops: bool = True, record_stack_traces: bool = False,
    proxy_module_inputs: bool = False, _disable_torch_fn_metadata_mode: bool = False,
) -> Callable[..., GraphModule]:  # fmt: skip
    """Return a function that runs ``f`` and returns a GraphModule of its ``torch.ops.aten`` calls.

    ``decomposition_table`` maps overloads to functions that are traced in their place. Tensors that are not arguments become attributes of
    the module. Raise RuntimeError if ``f`` reads a value of a traced tensor, NotImplementedError for ``tracing_mode="symbolic"`` and
    ``pre_dispatch``.
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(f"tracing_mode must be real/fake/symbolic, got {tracing_mode}")
    if tracing_mode == "symbolic" or pre_dispatch:
        raise NotImplementedError(f"mstorch: make_fx traces sizes as numbers, and calls below autograd {not_yet()}")

    @functools.wraps(f)
    def wrapped(*args: Any) -> GraphModule:
        return _traced(f, args, decomposition_table or {})

    return wrapped


def _traced(function: Callable[..., Any], args: tuple[Any, ...], decompositions: Mapping[Any, Callable[..., Any]]) -> GraphModule:
    graph, names = Graph(), _names_of(function, args)
    mode = ProxyTorchDispatchMode(graph, decompositions)
    leaves, form = tree_flatten(list(args))
    nested = len(leaves) != len(args) or any(leaf is not arg for leaf, arg in zip(leaves, args))
    wanted = [name for name, arg in zip(names, args) for _ in tree_flatten(arg)[0]]
    for leaf, name in zip(leaves, wanted):
        node = graph.placeholder(f"{name}_1")
        if isinstance(leaf, Tensor):
            mode.enter(leaf, node)
    with mode:
        result = function(*args)
    found, shape = tree_flatten(result)
    outputs = [mode.node_of(value) for value in found]
    returned = None if isinstance(function, Module) else getattr(function, "__annotations__", {}).get("return")
    graph.output(outputs if nested else tree_unflatten(outputs, shape), returned)
    if nested:
        graph.set_codegen(PyTreeCodeGen(names, form, shape))
    name = type(function).__name__ if isinstance(function, Module) else getattr(function, "__name__", type(function).__name__)
    return GraphModule(mode.constants, graph, name)


py_sym_types = (SymInt, SymFloat, SymBool)

__all__ = ["ProxyTorchDispatchMode", "disable_proxy_modes_tracing", "get_proxy_mode", "make_fx", "py_sym_types"]

__getattr__ = _missing(__name__)

"""The graph of an exported module: its inputs are parameters and buffers, then the user inputs."""
from __future__ import annotations

import builtins
import contextlib
import copy
import inspect
from collections.abc import Iterator
from typing import Any

from .._src.compile.exporting import exporting
from ..fx.experimental.proxy_tensor import ProxyTorchDispatchMode
from ..fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import Node
from ..nn.modules.module import Module
from ..utils._pytree import tree_flatten, tree_flatten_with_path
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)


def _inputs_of(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the leaves of a call's arguments, with torch's names of their inputs: ``x``, ``pair_0``, ``table_key``."""
    names: list[str] = []
    for name, parameter in inspect.signature(module.forward).parameters.items():
        several = parameter.kind is inspect.Parameter.VAR_POSITIONAL
        names += [f"{name}_{number}" for number in range(len(args) - len(names))] if several else [name]
    found = []
    for name, value in [*zip(names, args), *kwargs.items()]:
        for path, leaf in tree_flatten_with_path({name: value})[0]:
            parts = [getattr(step, "key", getattr(step, "idx", getattr(step, "name", None))) for step in path]
            found.append(("_".join(map(str, parts)), leaf))
    return found


def _is_builtin(name: str) -> bool:
    """Return whether a name is one of Python's own functions, such as ``input``."""
    return hasattr(builtins, name)


def _argument(name: str, value: Any) -> Any:
    return TensorArgument(name) if isinstance(value, Node) else ConstantArgument(name, value)


@contextlib.contextmanager
def reads_refused(mode: ProxyTorchDispatchMode, reader: str) -> Iterator[None]:
    """Context manager that raises GuardOnDataDependentSymNode, which names the reader, if a value is read while the mode traces."""
    try:
        yield
    except RuntimeError as error:
        if not mode.has_read:
            raise
        raise GuardOnDataDependentSymNode(
            f"Could not guard on data-dependent expression: {reader} reads a value of a tensor, which a graph cannot."
        ) from error


def traced(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[GraphModule, ExportGraphSignature, Any]:
    """Return the graph of a call, its signature and the TreeSpec of its result.

    Raise NotImplementedError for an operation without ``torch.ops.aten`` equivalent, GuardOnDataDependentSymNode if the module reads a
    value.
    """
    module, args, kwargs = copy.deepcopy((module, args, kwargs))
    graph, specs = Graph(), []
    mode = ProxyTorchDispatchMode(graph, {})
    for name, parameter in module.named_parameters(remove_duplicate=False):
        node = graph.placeholder(f"p_{name.replace('.', '_')}")
        mode.enter(parameter, node)
        specs.append(InputSpec(InputKind.PARAMETER, TensorArgument(node.name), name))
    kept = module.state_dict()
    for name, buffer in module.named_buffers(remove_duplicate=False):
        node = graph.placeholder(f"b_{name.replace('.', '_')}")
        mode.enter(buffer, node)
        specs.append(InputSpec(InputKind.BUFFER, TensorArgument(node.name), name, name in kept))
    for name, leaf in _inputs_of(module, args, kwargs):
        node = graph.placeholder(name)
        if _is_builtin(name):
            node.name = name  # as in torch, whose graphs rename an input only if the name is taken
        is_tensor = hasattr(leaf, "dtype") and hasattr(leaf, "requires_grad")
        if is_tensor:
            mode.enter(leaf, node)
        specs.append(InputSpec(InputKind.USER_INPUT, TensorArgument(node.name) if is_tensor else ConstantArgument(node.name, leaf), None))
    with reads_refused(mode, type(module).__name__), exporting(), mode:
        result = module(*args, **kwargs)
    leaves, form = tree_flatten(result)
    outputs = tuple(mode.node_of(leaf) for leaf in leaves)
    graph.output(outputs)
    told = [OutputSpec(OutputKind.USER_OUTPUT, _argument(getattr(value, "name", ""), value)) for value in outputs]
    return GraphModule(mode.constants, graph), ExportGraphSignature(specs, told), form

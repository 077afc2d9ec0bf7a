"""``ExportedProgram.run_decompositions``: a program's graph traced again, with functions in the place of some of its operations."""
from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..fx.experimental.proxy_tensor import ProxyTorchDispatchMode
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import Node
from ._trace import reads_refused
from .graph_signature import ConstantArgument, ExportGraphSignature, InputSpec, OutputSpec, TensorArgument


def decomposed(
    program: GraphModule, signature: ExportGraphSignature, values: Sequence[Any], table: Mapping[Any, Callable[..., Any]]
) -> tuple[GraphModule, ExportGraphSignature]:
    """Return the graph for inputs like ``values`` (those of its placeholders), and its signature.

    An operation in ``table`` is traced as its function. Raise GuardOnDataDependentSymNode if a function in the table reads a value.
    """
    graph, own = Graph(), copy.deepcopy(list(values))
    mode = ProxyTorchDispatchMode(graph, table)
    inputs, places = [], [node for node in program.graph.nodes if node.op == "placeholder"]
    for node, value, spec in zip(places, own, signature.input_specs, strict=True):
        placeholder = graph.placeholder(node.name)
        placeholder.name = node.name
        is_tensor = hasattr(value, "dtype") and hasattr(value, "requires_grad")
        if is_tensor:
            mode.enter(value, placeholder)
        argument = TensorArgument(node.name) if is_tensor else ConstantArgument(node.name, value)
        inputs.append(InputSpec(spec.kind, argument, spec.target, spec.persistent))
    with reads_refused(mode, "a decomposition"), mode:
        results = list(program(*own))
    outputs = tuple(map(mode.node_of, results))
    graph.output(outputs)
    told = [
        OutputSpec(spec.kind, TensorArgument(node.name) if isinstance(node, Node) else spec.arg, spec.target)
        for spec, node in zip(signature.output_specs, outputs, strict=True)
    ]
    return GraphModule(mode.constants, graph), ExportGraphSignature(inputs, told)

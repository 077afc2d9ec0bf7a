"""torch.fx: graphs of modules and functions, recorded by running them on proxies."""
from .._src.hook import missing as _missing
from . import (
    graph,
    graph_module,
    immutable_collections,
    interpreter,
    node,
    passes,
    proxy,
    subgraph_rewriter,
    tensor_type,
)
from ._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from .graph import CodeGen, Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy
from .subgraph_rewriter import replace_pattern

__all__ = [
    "CodeGen", "Graph", "GraphModule", "Interpreter", "Node", "PH", "Proxy", "ProxyableClassMeta", "Tracer", "Transformer", "graph",
    "graph_module", "has_side_effect", "immutable_collections", "interpreter", "map_arg", "node", "passes", "proxy", "replace_pattern",
    "subgraph_rewriter", "symbolic_trace", "tensor_type", "wrap",
]  # fmt: skip

__getattr__ = _missing(__name__)

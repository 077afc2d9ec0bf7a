"""torch.fx.graph: an ordered list of nodes, and its code generation."""
from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from .._tensor import Tensor
from ..nn.modules.module import Module
from ._code import CodeGen, Namespace, PythonCode
from .immutable_collections import immutable_dict
from .node import Argument as Argument
from .node import Node, NodesOfGraph, map_arg


class Graph(NodesOfGraph):
    """A list of nodes. New ones are appended, or inserted at the insertion point."""

    def __init__(
        self, owning_module: Module | None = None, tracer_cls: type | None = None, tracer_extras: dict[str, Any] | None = None
    ) -> None:
        super().__init__(Namespace().create_name, owning_module)
        self._codegen = CodeGen()
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras

    # Copies

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Copy another graph's nodes to the insertion point; return the value of its output."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        copied = Graph(tracer_cls=self._tracer_cls)
        copied._codegen = copy.deepcopy(self._codegen)
        values: dict[Node, Node] = {}
        result = copied.graph_copy(self, values, return_output_node=True)
        if result is not None:
            value, old = result
            copied.output(value, old.type).meta = copy.copy(old.meta)
        if memo is not None:
            memo[id(self)] = copied
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("mstorch: a torch.fx.Graph is pickled as part of its GraphModule only")

    # Upkeep

    def lint(self) -> None:
        """Raise RuntimeError if the graph is inconsistent."""
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            for used in node.all_input_nodes:
                if used.graph is not self:
                    raise RuntimeError(
                        f"Argument '{used}' of Node '{node}' does not belong to this Graph, but was used as an argument!"
                    )
                if used not in seen:
                    raise RuntimeError(
                        f"Argument '{used}' of Node '{node}' was used before it has been defined! Please check that Nodes in the "
                        f"graph are topologically ordered\n{self}"
                    )
            seen.add(node)
            names.add(node.name)
            if self.owning_module is not None and node.op in ("get_attr", "call_module"):
                self._lint_target(node)

    def _lint_target(self, node: Node) -> None:
        place = self.owning_module
        for part in node.target.split("."):
            if not hasattr(place, part):
                raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute {part} of {place}")
            place = getattr(place, part)

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Remove pure nodes whose value is not used; return whether there were any."""
        impure = is_impure_node or Node.is_impure
        before = self._length
        for node in reversed(self.nodes):
            if not node.users and node.op not in ("placeholder", "output") and not impure(node):
                self.erase_node(node)
        return self._length < before

    # Text

    def set_codegen(self, codegen: CodeGen) -> None:
        """Set the code generator."""
        self._codegen = codegen

    def process_inputs(self, *args: Any) -> tuple[Any, ...]:
        """Convert the inputs to the values of the placeholders."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Tensor | immutable_dict:
        """Convert the outputs to the return value of the function."""
        return self._codegen.process_outputs(out)

    def python_code(self, root_module: str, *, verbose: bool = False, **unused: Any) -> PythonCode:
        """Return the source of ``forward``, in which the module is called ``root_module``."""
        return self._codegen.write(list(self.nodes), root_module)

    def __str__(self) -> str:
        lines = [line for line in (node.format_node() for node in self.nodes) if line is not None]
        return "graph():" + "".join(f"\n    {line}" for line in lines)

    def print_tabular(self) -> None:
        """Print the nodes as a table."""
        rows = [("opcode", "name", "target", "args", "kwargs")]
        rows += [(n.op, n.name, str(n.target), str(n.args), str(n.kwargs)) for n in self.nodes]
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        rows.insert(1, tuple("-" * width for width in widths))  # type: ignore[arg-type]
        for row in rows:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


__all__ = ["CodeGen", "Graph", "PythonCode"]

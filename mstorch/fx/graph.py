"""torch.fx.graph: an ordered list of nodes, and its code generation."""
from __future__ import annotations

import copy
import functools
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .._src.leaving import Block
from .._tensor import Tensor
from ._code import CodeGen, Namespace, PythonCode
from .immutable_collections import immutable_dict
from .node import Argument as Argument
from .node import Node, Target, map_arg

if TYPE_CHECKING:
    from .graph_module import GraphModule


class _NodeList:
    """The nodes of a graph, iterated forwards or backwards. The current node may be erased during iteration."""

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        self.graph = graph
        self.direction = direction

    def __len__(self) -> int:
        return self.graph._length

    def __iter__(self) -> Iterator[Node]:
        node = getattr(self.graph._root, self.direction)
        while node is not self.graph._root:
            following = getattr(node, self.direction)
            if not node._erased:
                yield node
                # Nodes that were appended to the node in the meantime are included.
                following = getattr(node, self.direction) if not node._erased else following
            node = following

    def __reversed__(self) -> _NodeList:
        return _NodeList(self.graph, "_prev" if self.direction == "_next" else "_next")


def _snake_case(text: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", text).lower()


class Graph:
    """A list of nodes. New ones are appended, or inserted at the insertion point."""

    def __init__(
        self, owning_module: GraphModule | None = None, tracer_cls: type | None = None, tracer_extras: dict[str, Any] | None = None
    ) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._place: Callable[[Node], None] = self._root.prepend
        self._length = 0
        self._names = Namespace()
        self._codegen = CodeGen()
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self.owning_module = owning_module

    @property
    def nodes(self) -> _NodeList:
        """The nodes, in order."""
        return _NodeList(self)

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """Return the nodes with this op and, for calls, this target."""
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    def output_node(self) -> Node:
        """Return the output node."""
        return next(node for node in reversed(self.nodes) if node.op == "output")

    # New nodes

    def create_node(
        self, op: str, target: Target, args: tuple[Any, ...] | None = None, kwargs: dict[str, Any] | None = None,
        name: str | None = None, type_expr: Any | None = None,
    ) -> Node:  # fmt: skip
        """Create a node at the insertion point."""
        wanted = name if name is not None else self._target_to_str(target)
        if name is None:
            wanted = _snake_case(wanted)
        node = Node(self, self._names.create_name(wanted, None), op, target, args or (), kwargs or {}, type_expr)
        self._place(node)
        self._length += 1
        return node

    @staticmethod
    def _target_to_str(target: Target) -> str:
        if not callable(target):
            text = str(target)
            return text.strip("_") if text.startswith("__") and text.endswith("__") else text.lstrip("*")
        return getattr(target, "__name__", type(target).__name__)

    def placeholder(self, name: str, type_expr: Any | None = None, default_value: Any = ...) -> Node:
        """Create an input node."""
        return self.create_node("placeholder", name, () if default_value is ... else (default_value,), type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any | None = None) -> Node:
        """Create a node that reads a module's attribute by dotted name."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self, module_name: str, args: tuple[Any, ...] | None = None, kwargs: dict[str, Any] | None = None, type_expr: Any | None = None
    ) -> Node:
        """Create a node that calls a child module by dotted name."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self, method_name: str, args: tuple[Any, ...] | None = None, kwargs: dict[str, Any] | None = None, type_expr: Any | None = None
    ) -> Node:
        """Create a node that calls a method of its first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self, the_function: Callable[..., Any], args: tuple[Any, ...] | None = None, kwargs: dict[str, Any] | None = None,
        type_expr: Any | None = None, name: str | None = None,
    ) -> Node:  # fmt: skip
        """Create a node that calls a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result: Any, type_expr: Any | None = None) -> Node:
        """Create the output node."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def inserting_before(self, n: Node | None = None) -> _Back:
        """Set the insertion point before a node, permanently or as a context manager; by default at the graph's beginning."""
        return self._inserting(self._root.append if n is None else n.prepend, n)

    def inserting_after(self, n: Node | None = None) -> _Back:
        """Set the insertion point after a node, permanently or as a context manager; by default at the end."""
        return self._inserting(self._root.prepend if n is None else n.append, n)

    def _inserting(self, place: Callable[[Node], None], node: Node | None) -> _Back:
        if node is not None and node.graph is not self:
            raise AssertionError("Node to insert at is not in graph.")
        before, self._place = self._place, place
        return _Back(self, before)

    def erase_node(self, to_erase: Node) -> None:
        """Remove a node. Raise RuntimeError if other nodes use it."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            return
        # The node keeps its links, so that an iteration over the nodes can continue.
        to_erase._prev._next, to_erase._next._prev = to_erase._next, to_erase._prev
        to_erase._erased = True
        to_erase._set_arguments((), {})
        self._length -= 1

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda x: x) -> Node:
        """Copy another graph's node to the insertion point, with arguments mapped by ``arg_transform``."""
        made = self.create_node(
            node.op, node.target, map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform), node.name, node.type
        )
        made.meta = copy.copy(node.meta)
        return made

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


class _Back(Block):
    """Restores the insertion point when the block ends."""

    def __init__(self, graph: Graph, before: Callable[[Node], None]) -> None:
        self._again = functools.partial(setattr, graph, "_place", before)

    def __enter__(self) -> None:
        self.at_end(self._again)  # the insertion point has changed since the call that returned this


__all__ = ["CodeGen", "Graph", "PythonCode"]

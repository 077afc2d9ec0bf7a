"""torch.fx.node: one node of a graph, and the nodes of a graph in order."""
from __future__ import annotations

import builtins
import copy
import functools
import importlib
import re
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .._src.hook import theirs
from .._src.leaving import Block
from ..nn.modules.module import Module
from ..ops import OpOverload
from .immutable_collections import immutable_dict, immutable_list

Target = Any
Argument = Any
OPERATIONS = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root")

_side_effects: set[Callable[..., Any]] = set()


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function as having side effects, so that unused calls of it are kept; return the function."""
    _side_effects.add(fn)
    return fn


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """Return nested tuples, lists, dicts and slices with every leaf replaced by ``fn(leaf)``; lists and dicts become immutable."""
    if isinstance(a, tuple):
        items = [map_aggregate(item, fn) for item in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return immutable_list([map_aggregate(item, fn) for item in a])
    if isinstance(a, dict):
        return immutable_dict((key, map_aggregate(value, fn)) for key, value in a.items())
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """Return nested arguments with every Node ``n`` replaced by ``fn(n)``."""
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda value: fn(value) if isinstance(value, Node) else value)


# Names of functions


def _homes() -> list[types.ModuleType]:
    package = sys.modules[__name__.partition(".")[0]]
    return [package, *(importlib.import_module(f"{package.__spec__.name}.{part}") for part in (  # type: ignore[union-attr]
        "nn.functional", "linalg", "special", "fft"))]  # fmt: skip


def _get_qualified_name(func: OpOverload | Callable[..., Any]) -> str:
    """Return the dotted name by which code refers to a function: ``torch.relu``, ``operator.add``, ``package.module.function``."""
    name = getattr(func, "__name__", None)
    if name is None:
        return repr(func)
    if getattr(builtins, name, None) is func:
        return name
    module = getattr(func, "__module__", None) or ""
    if module == "_operator":
        return f"operator.{name}"
    if module.partition(".")[0] in (__name__.partition(".")[0], "torch"):
        for home in _homes():
            if getattr(home, name, None) is func:
                assert home.__spec__ is not None
                return f"{theirs(home.__spec__.name)}.{name}"
        module = module.replace("torch._ops", "torch.ops") if module.startswith("torch._ops") else theirs(module)
    return f"{module}.{getattr(func, '__qualname__', name)}"


def _shown(argument: Any) -> str:
    """Format an argument as the text of a graph shows it."""
    if isinstance(argument, (list, tuple)) and not hasattr(argument, "_fields"):
        inner = ", ".join(map(_shown, argument))
        return f"[{inner}]" if isinstance(argument, list) else f"({inner}{',' if len(argument) == 1 else ''})"
    if isinstance(argument, dict):
        return "{" + ", ".join(f"{key}: {_shown(value)}" for key, value in argument.items()) + "}"
    return f"%{argument}" if isinstance(argument, Node) else str(argument)


def _wrong_target(graph: Any, name: str, target: Any, word: str) -> str:
    return f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} but a {word} is expected"


class Node:
    """One operation: an input (``placeholder``), an attribute of the module (``get_attr``), a call of a function, a method or a child
    module, or the ``output``. ``args`` and ``kwargs`` hold other nodes and plain values, ``users`` the nodes that use it.
    """

    def __init__(
        self, graph: NodesOfGraph, name: str, op: str, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any],
        return_type: Any | None = None,
    ) -> None:  # fmt: skip
        if op not in OPERATIONS:
            raise AssertionError(f"op '{op}' is not one of {OPERATIONS}")
        if op == "call_function":
            if not callable(target):
                raise ValueError(_wrong_target(graph, name, target, "Callable"))
        elif not isinstance(target, str):
            raise ValueError(_wrong_target(graph, name, target, "str"))
        self.graph = graph
        self.name = name
        self.op = op
        self.target = target
        self.users: dict[Node, None] = {}
        self.type = return_type
        self.meta: dict[str, Any] = {}
        self._input_nodes: dict[Node, None] = {}
        self._prev = self._next = self
        self._erased = False
        self._repr_fn: Callable[[Node], str] | None = None
        self._args: tuple[Any, ...] = ()
        self._kwargs: dict[str, Any] = {}
        self._set_arguments(args, kwargs)

    # Arguments

    def _set_arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        for used in self._input_nodes:
            used.users.pop(self, None)
        self._input_nodes = {}

        def use(node: Node) -> Node:
            self._input_nodes.setdefault(node)
            node.users.setdefault(self)
            return node

        self._args = map_arg(tuple(args), use)
        self._kwargs = map_arg(dict(kwargs), use)

    @property
    def args(self) -> tuple[Any, ...]:
        """The positional arguments; assign a new tuple to change them."""
        return self._args

    @args.setter
    def args(self, a: tuple[Any, ...]) -> None:
        self._set_arguments(a, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """The keyword arguments; assign a new dict to change them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k: dict[str, Any]) -> None:
        self._set_arguments(self._args, k)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The unique nodes among the arguments."""
        return list(self._input_nodes)

    def update_arg(self, idx: int, arg: Any) -> None:
        """Replace one positional argument."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Any) -> None:
        """Insert a positional argument at an index."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Replace one keyword argument."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Replace one node among the arguments by another."""

        def other(node: Node) -> Node:
            return new_input if node is old_input else node

        self._set_arguments(map_arg(self._args, other), map_arg(self._kwargs, other))

    def replace_all_uses_with(
        self, replace_with: Node, delete_user_cb: Callable[[Node], bool] = lambda user: True, *, propagate_meta: bool = False
    ) -> list[Node]:
        """Replace this node by another one in all nodes that use it; return the nodes that were changed."""
        if propagate_meta:
            replace_with.meta.update(self.meta)
        chosen = [user for user in self.users if delete_user_cb(user)]
        for user in chosen:
            user.replace_input_with(self, replace_with)
        return chosen

    # Position in the graph

    @property
    def prev(self) -> Node:
        """The previous node."""
        return self._prev

    @property
    def next(self) -> Node:
        """The next node."""
        return self._next

    def prepend(self, x: Node) -> None:
        """Move a node of this graph before this one."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            return
        x._unlink()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x

    def append(self, x: Node) -> None:
        """Move a node of this graph after this one."""
        if self is not x:
            self._next.prepend(x)

    def _unlink(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev
        self._prev = self._next = self

    _remove_from_list = _unlink

    # Properties

    def is_impure(self, impure_random: bool = True) -> bool:
        """Return whether the node has side effects, so that it is kept even if unused."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            name = getattr(self.target, "__name__", "")
            random = impure_random and name in _RANDOM
            return self.target in _side_effects or name in ("_assert", "_assert_async", "setitem") or random
        if self.op == "call_method":
            return self.target.endswith("_") and not self.target.endswith("__")
        if self.op == "call_module":
            owner = self.graph.owning_module
            if owner is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            return getattr(owner.get_submodule(self.target), "_is_impure", False)
        return False

    @property
    def stack_trace(self) -> str | None:
        """The stack trace of the call, if it was recorded."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def _pretty_print_target(self, target: str | Callable[..., Any]) -> str:
        if isinstance(target, str):
            return target
        name = _get_qualified_name(target)
        return f"builtins.{name}" if getattr(builtins, name, None) is target else name

    def format_node(
        self, placeholder_names: list[str] | None = None, maybe_return_typename: list[str] | None = None, *,
        include_tensor_metadata: bool = False,
    ) -> str | None:  # fmt: skip
        """Return the node's line of the graph's text; None for nodes without a line."""
        users = f"[num_users={len(self.users)}]"
        if self.op == "placeholder":
            if placeholder_names is not None:
                placeholder_names.append(str(self.target))
                return None
            default = f"(default={self.args[0]})" if self.args else ""
            return f"%{self.name} : {users} = {self.op}[target={self.target}]{default}"
        if self.op == "get_attr":
            return f"%{self.name} : {users} = {self.op}[target={self.target}]"
        if self.op == "output":
            return f"return {self.args[0]}"
        return (
            f"%{self.name} : {users} = {self.op}[target={self._pretty_print_target(self.target)}]"
            f"(args = {_shown(self.args)}, kwargs = {_shown(self.kwargs)})"
        )

    def __repr__(self) -> str:
        return self.name if self._repr_fn is None else self._repr_fn(self)


# torch's own list of random functions; others are removed if unused.
_RANDOM = frozenset("rand randn randint randperm rand_like randn_like randint_like normal bernoulli multinomial poisson".split())

__all__ = ["Argument", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]


class _NodeList:
    """The nodes of a graph, iterated forwards or backwards. The current node may be erased during iteration."""

    def __init__(self, graph: NodesOfGraph, direction: str = "_next") -> None:
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


class NodesOfGraph:
    """The part of a Graph that makes its nodes and holds them in order."""

    def __init__(self, name_for: Callable[[str, Any], str], owning_module: Module | None) -> None:
        self._name_for = name_for
        self._root = Node(self, "", "root", "", (), {})
        self._place: Callable[[Node], None] = self._root.prepend
        self._length = 0
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
        node = Node(self, self._name_for(wanted, None), op, target, args or (), kwargs or {}, type_expr)
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


class _Back(Block):
    """Restores the insertion point when the block ends."""

    def __init__(self, graph: NodesOfGraph, before: Callable[[Node], None]) -> None:
        self._again = functools.partial(setattr, graph, "_place", before)

    def __enter__(self) -> None:
        self.at_end(self._again)  # the insertion point has changed since the call that returned this

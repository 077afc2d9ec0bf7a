"""``torch._dynamo.explain``: which graphs torch's compiler would make of a function, and where they would break.

The function runs once, eagerly, while its calls are recorded: an operation that torch's compiler cannot capture (the truth value or number
of a tensor, data-dependent sizes, ``print``) ends a graph, and the next call begins another. As in torch, a function of the user's that
contains a break gets graphs of its own. MindSpore's graphs are different: they capture a function entirely or not at all
(``torch.compile(backend="mindspore")`` names the first reason in its warning).
"""
from __future__ import annotations

import builtins
import contextlib
import dataclasses
import dis
import inspect
import keyword
import operator
import os
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from .._src.backend import tape
from .._src.compile import OptimizedModule
from .._src.core.second_names import OF_PYTHON
from .._src.core.trees import tree_flatten, tree_unflatten
from .._tensor import Tensor
from ..fx import Graph, GraphModule
from ..nn import Module
from ..overrides import TorchFunctionMode

_OURS = str(Path(__file__).parents[1]) + os.sep
_JUMP = "generic_jump TensorVariable()"
_ITEM = (
    "Unsupported Tensor.item() call with capture_scalar_outputs=False\n  Explanation: a number that a tensor holds is known when the "
    "graph runs, not when it is made."
)
_READS = {
    "__bool__": _JUMP, "item": _ITEM, "__int__": _ITEM, "__float__": _ITEM, "__index__": _ITEM, "__complex__": _ITEM,
    "tolist": "Tensor.tolist() with non-integer tensor\n  Explanation: the numbers are known when the graph runs, not when it is made.",
}  # fmt: skip
_SIZES = "Dynamic shape operator\n  Explanation: the size of what `{}` gives depends on the values of its input."
_SIZED = frozenset("nonzero argwhere masked_select unique unique_consecutive bincount".split())
_BUILTINS = (builtins.print, builtins.input, builtins.open)
_PRINTS = "Failed to trace builtin operator\n  Explanation: `{}` does something when it is called, which a graph would not repeat."
_OPERATORS = {
    name: getattr(operator, name)
    for name in (
        "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift lt le gt ge eq ne neg invert getitem setitem"
    ).split()
}  # fmt: skip
# Python's names, in the module operator, of functions that torch calls otherwise
_NAMED = {
    **{name: f"{word}_" if keyword.iskeyword(word) else word for word, name in OF_PYTHON.items() if word not in ("div", "pos")},
    "true_divide": "truediv", "negative": "neg",
}  # fmt: skip


@dataclasses.dataclass
class GraphCompileReason:
    """The reason why a graph ended, and the user's stack there."""

    reason: str
    user_stack: list[traceback.FrameSummary]
    graph_break: bool = True


@dataclasses.dataclass
class Guard:
    """Condition for the reuse of a graph."""

    name: str
    source: str
    create_fn_name: str
    guard_types: list[str] | None = None
    code_list: list[str] | None = None

    def __str__(self) -> str:
        return (
            f"    Name: {self.name!r}\n    Source: {self.source}\n    Create Function: {self.create_fn_name}\n"
            f"    Guard Types: {self.guard_types}\n    Code List: {self.code_list}\n    Object Weakref: None\n"
            "    Guarded Class Weakref: None\n"
        )


@dataclasses.dataclass
class ExplainOutput:
    """Result of ``explain``: graphs, the calls in each, break reasons, and guards."""

    graphs: list[GraphModule]
    graph_count: int
    graph_break_count: int
    break_reasons: list[GraphCompileReason]
    op_count: int
    ops_per_graph: list[list[Any]] | None = None
    out_guards: list[Guard] | None = None
    compile_times: str | None = None

    def __str__(self) -> str:
        lines = [f"Graph Count: {self.graph_count}", f"Graph Break Count: {self.graph_break_count}", f"Op Count: {self.op_count}"]
        lines.append("Break Reasons:")
        for number, reason in enumerate(self.break_reasons, 1):
            lines += [f"  Break Reason {number}:", f"    Reason: {reason.reason}", "    User Stack:"]
            lines += [f"      {frame}" for frame in reason.user_stack]
        if self.ops_per_graph is not None:
            lines.append("Ops per Graph:")
            for number, ops in enumerate(self.ops_per_graph, 1):
                lines += [f"  Ops {number}:", *(f"    {op}" for op in ops)]
        text = "\n".join(lines) + "\n"
        if self.out_guards is not None:
            text += "Out Guards:\n" + "".join(f"  Guard {number}:\n{guard}" for number, guard in enumerate(self.out_guards, 1))
        return text if self.compile_times is None else f"{text}Compile Times: {self.compile_times}\n"


class _Call:
    """A call in a captured graph: its kind ("call_function", …), target, arguments, result, and the user's stack frames."""

    __slots__ = ("kind", "target", "args", "kwargs", "result", "frames", "part")

    def __init__(
        self, kind: str, target: Any, args: Any, kwargs: Any, result: Any, frames: tuple[FrameType, ...], part: bool = False
    ) -> None:  # fmt: skip
        self.kind, self.target, self.args, self.kwargs, self.result, self.frames = kind, target, args, kwargs, result, frames
        self.part = part  # one of the results of the previous call


class _Break:
    """Break between two graphs: the reason, and the user's frames with their lines."""

    __slots__ = ("reason", "frames", "places")

    def __init__(self, reason: str, frames: tuple[FrameType, ...]) -> None:
        self.reason, self.frames = reason, frames
        self.places = [
            traceback.FrameSummary(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name, lookup_line=False) for frame in frames
        ]


def _frames(bottom: FrameType) -> tuple[FrameType, ...]:
    """Return the frames of the user's code that ``bottom`` called, outermost first."""
    found, frame = [], sys._getframe(1)
    while frame is not None and frame is not bottom:
        if not frame.f_code.co_filename.startswith(_OURS):
            found.append(frame)
        frame = frame.f_back  # type: ignore[assignment]  # it ends at the bottom
    return tuple(reversed(found))


def _written_as_operator(frame: FrameType | None) -> bool:
    """Return whether the current instruction of the user's frame is an operator rather than a call."""
    if frame is None:
        return False
    name = dis.opname[frame.f_code.co_code[frame.f_lasti]]
    return name.startswith(("BINARY_", "COMPARE_OP", "UNARY_", "INPLACE_", "STORE_SUBSCR"))


class _Writer(TorchFunctionMode):
    """Records the calls of a run, and the graph breaks."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[_Call | _Break] = []
        self.bottom: FrameType | None = None
        self.off = 0

    def break_(self, reason: str) -> None:
        """Record a graph break."""
        assert self.bottom is not None
        if not self.off:
            self.steps.append(_Break(reason, _frames(self.bottom)))

    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        method = getattr(Tensor, name, None) is func
        if name in _READS and method and not (name == "tolist" and not args[0].is_floating_point() and not args[0].is_complex()):
            self.break_(_READS[name])
        elif self._sized(name, args):
            self.break_(_SIZES.format("nonzero" if name == "__getitem__" else name))
        elif name != "__get__" and not self.off:
            given = tree_flatten((args, kwargs))
            result = func(*args, **kwargs)
            self._write(func, name, method, given, args, result)
            return result
        return func(*args, **kwargs)

    def _sized(self, name: str, args: Any) -> bool:
        if name in ("__getitem__", "index"):
            return any(isinstance(item, Tensor) and str(item.dtype) in ("torch.bool", "torch.uint8") for item in tree_flatten(args[1:])[0])
        return name in _SIZED or name == "where" and len(args) == 1 or (
            name == "repeat_interleave" and any(isinstance(item, Tensor) for item in args[1:])
        )  # fmt: skip

    def _write(self, func: Any, name: str, method: bool, given: Any, args: Any, result: Any) -> None:
        leaves = [leaf for leaf in tree_flatten(result)[0] if isinstance(leaf, Tensor)]
        if not leaves and name != "__setitem__":
            return  # a query of metadata, such as a size or dtype
        assert self.bottom is not None
        frames = _frames(self.bottom)
        whole_args, whole_kwargs = tree_unflatten(*given)
        kind, target = "call_function", func
        if method:
            kind, target, whole_args = _as_method(name, whole_args, frames[-1] if frames else None)
        self.steps.append(_Call(kind, target, whole_args, whole_kwargs, result, frames))
        if isinstance(result, (tuple, list)):
            for place, part in enumerate(result):
                if isinstance(part, Tensor):
                    self.steps.append(_Call("call_function", operator.getitem, (result, place), {}, part, frames, True))

    def apart(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call a function that a graph cannot contain: record a graph break, and none of the operations that the function calls."""
        self.break_(
            "Skip calling `torch.compiler.disable()`d function\n  Explanation: "
            f"`{getattr(function, '__qualname__', function)}` is one that no graph holds."
        )
        self.off += 1
        try:
            return function(*args, **kwargs)
        finally:
            self.off -= 1

    def watch(self, frame: FrameType, event: str, given: Any) -> None:
        """Record a graph break if a built-in function with a side effect is called. Called by Python's profiler."""
        if event == "c_call" and not self.off and given in _BUILTINS and not frame.f_code.co_filename.startswith(_OURS):
            self.break_(_PRINTS.format(given.__name__))


def _as_method(name: str, args: Any, frame: FrameType | None) -> tuple[str, Any, Any]:
    """Return a method of Tensor as a node of torch's graphs shows it: the function for an operator, also in-place, else the method's name.
    """
    plain = name.strip("_")
    if name.startswith("__r") and plain[1:] in _OPERATORS:
        return "call_function", _OPERATORS[plain[1:]], (args[1], args[0], *args[2:])
    found = _OPERATORS.get(_NAMED.get(plain, plain))
    if name.startswith("__"):
        return ("call_function", found, args) if found is not None else ("call_method", name, args)
    if found is not None and _written_as_operator(frame):
        return "call_function", getattr(operator, f"i{found.__name__}") if name.endswith("_") else found, args
    return "call_method", name, args


class _Part:
    """The calls of one graph, and the reason why the graph ended."""

    def __init__(self) -> None:
        self.calls: list[_Call] = []
        self.reason: GraphCompileReason | None = None


def _level(frames: tuple[FrameType, ...], broken: set[FrameType]) -> tuple[FrameType, ...]:
    return tuple(frame for frame in frames if frame in broken)


def _parts(steps: list[_Call | _Break]) -> list[_Part]:
    """Return the graphs of a run. A function that contains a break has graphs of its own, so that its caller's graph ends before the call
    and another begins after it.
    """
    broken = {frame for step in steps if isinstance(step, _Break) for frame in step.frames[1:]}
    found, part, level = [], _Part(), None

    def ended(cause: _Break | None, depth: int) -> None:
        nonlocal part
        if part.calls:
            if cause is not None:
                part.reason = GraphCompileReason(cause.reason, cause.places[depth:])
            found.append(part)
        part = _Part()

    def depth_of(frames: tuple[FrameType, ...], own: tuple[FrameType, ...] | None) -> int:
        return frames.index(own[-1]) if own and own[-1] in frames else 0

    for number, step in enumerate(steps):
        own = _level(step.frames, broken)
        if isinstance(step, _Break):
            ended(step, depth_of(step.frames, level))
            level = None
            continue
        if level is not None and own != level:
            entered = len(own) > len(level) and own[: len(level)] == level
            cause = next((later for later in steps[number:] if isinstance(later, _Break)), None) if entered else None
            ended(cause, depth_of(cause.frames, level) if cause is not None else 0)
        level = own
        part.calls.append(step)
    ended(None, 0)
    return found


class _Names:
    """torch's names for a graph's inputs: by argument, or by position in a module."""

    def __init__(self, function: Any, args: Any, kwargs: Any) -> None:
        self._known: dict[int, tuple[str, str]] = {}
        call = function.forward if isinstance(function, Module) else function
        try:
            given = inspect.signature(call).bind(*args, **kwargs).arguments
        except (TypeError, ValueError):
            given = {f"args_{place}": value for place, value in enumerate(args)}
        for name, value in given.items():
            leaves = tree_flatten(value)[0]
            for place, leaf in enumerate(leaves):
                text = f"L['{name}']" if len(leaves) == 1 else f"L['{name}'][{place}]"
                self._known[id(leaf)] = (f"L_{name}_" if len(leaves) == 1 else f"L_{name}_{place}_", text)
        if isinstance(function, Module):
            for name, value in [*function.named_parameters(), *function.named_buffers()]:
                *path, last = name.split(".")
                word = "".join(f"modules_{step}_" for step in path)
                self._known[id(value)] = (f"L_self_{word}parameters_{last}_", f"L['self'].{name}")

    def of(self, tensor: Any) -> tuple[str, str]:
        """Return the name of a placeholder, and the text of its guard."""
        return self._known.get(id(tensor), ("L_stack0_", "L['___stack0']"))


_GLOBAL_GUARDS = (
    ("shape_env", "SHAPE_ENV"), ("global", "DETERMINISTIC_ALGORITHMS"), ("global", "GRAD_MODE"), ("global", "DEFAULT_DEVICE"),
    ("global", "GLOBAL_STATE"), ("global", "TORCH_FUNCTION_STATE"), ("global", "AUTOGRAD_SAVED_TENSORS_HOOKS"),
)  # fmt: skip


def _graph_of(part: _Part, names: _Names, wanted: set[int], guards: list[Guard]) -> GraphModule:
    """Return the calls as a graph, whose inputs are values from outside and whose outputs are values used later."""
    graph, made = Graph(), []
    nodes: dict[int, Any] = {}
    guards += [Guard("", source, kind) for source, kind in _GLOBAL_GUARDS]

    def node_of(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        found = nodes.get(id(value))
        if found is None:
            word, text = names.of(value)
            check = f"check_tensor({text}, {value.dtype}, {list(value.shape)})"
            guards.append(Guard(text, "local", "TENSOR_MATCH", ["TENSOR_MATCH"], [check]))
            with graph.inserting_before(first[0]) if first else contextlib.nullcontext():
                found = nodes[id(value)] = graph.placeholder(word)
        return found

    def mapped(value: Any) -> Any:
        whole = nodes.get(id(value)) if isinstance(value, (tuple, list)) else None
        if whole is not None:
            return whole
        leaves, form = tree_flatten(value)
        return tree_unflatten([node_of(leaf) for leaf in leaves], form)

    first: list[Any] = []
    read = wanted | {id(leaf) for call in part.calls if not call.part for leaf in tree_flatten((call.args, call.kwargs))[0]}
    for call in part.calls:
        if call.part and id(call.result) not in read:
            continue  # an unused one of several results
        args = tuple(map(mapped, call.args))
        kwargs = {key: mapped(value) for key, value in call.kwargs.items()}
        node = graph.create_node(call.kind, call.target, args, kwargs)
        first = first or [node]
        nodes[id(call.result)] = node
        made += [call.result] if isinstance(call.result, Tensor) else []
    results = [nodes[id(value)] for value in made if id(value) in wanted] or [node]
    graph.output(tuple(dict.fromkeys(results)))
    return GraphModule(Module(), graph)


def _told(function: Any, args: Any, kwargs: Any) -> ExplainOutput:
    """Run a function once, and return the graphs of its calls."""
    writer, began = _Writer(), time.perf_counter()
    before = sys.getprofile()
    writer.bottom = sys._getframe()
    tape.explained.append(writer)
    sys.setprofile(writer.watch)
    try:
        with writer:
            result = function(*args, **kwargs)
    finally:
        sys.setprofile(before)
        tape.explained.pop()
    parts, names = _parts(writer.steps), _Names(function, args, kwargs)
    guards: list[Guard] = []
    graphs = []
    for number, part in enumerate(parts):
        used = [leaf for later in parts[number + 1 :] for call in later.calls for leaf in tree_flatten((call.args, call.kwargs))[0]]
        wanted = {id(leaf) for leaf in [*used, *tree_flatten(result)[0]]}
        graphs.append(_graph_of(part, names, wanted, guards))
    ops = [[node.target for node in graph.graph.nodes if node.op == "call_function"] for graph in graphs]
    seconds = time.perf_counter() - began
    return ExplainOutput(
        graphs, len(graphs), len(graphs) - 1, [part.reason for part in parts if part.reason is not None], sum(map(len, ops)), ops, guards,
        f"TorchDynamo compilation metrics:\nFunction, Runtimes (s)\nexplain, {seconds:.4f}",
    )  # fmt: skip


def explain(f: Callable[..., Any], *extra_args: Any, **extra_kwargs: Any) -> Any:
    """Explain ``f``: ``explain(f)(*args)`` returns the graphs that torch's compiler would make for these arguments, and their breaks."""

    def inner(*args: Any, **kwargs: Any) -> ExplainOutput:
        function = f._orig_mod if isinstance(f, OptimizedModule) else f
        return _told(function, args, kwargs)

    if extra_args or extra_kwargs:
        warnings.warn(
            "explain(f, *args, **kwargs) is deprecated, use explain(f)(*args, **kwargs) instead.", FutureWarning, stacklevel=2,
        )  # fmt: skip
        return inner(*extra_args, **extra_kwargs)
    return inner

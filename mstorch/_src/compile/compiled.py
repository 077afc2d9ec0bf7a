"""A function that runs as MindSpore graphs: captured for each combination of argument types and shapes, cached, and verified against eager.
"""
from __future__ import annotations

import functools
import gc
import logging
import operator
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ..._tensor import Tensor
from ..backend import tape, trace
from ..backend.cell import capturing_modules, is_parameter, keeps_statistics
from ..backend.raw import ON_CPU, Raw
from ..backend.table import LOCK
from ..backend.tape import native_set_to
from ..backend.trace import Graph, GraphBreak, KernelBreak, StepBreak
from ..core.generator import put_states, states_of_streams, streams_aside
from ..core.mirrors import TENSORS
from ..core.modes import modes
from ..core.nested_parts import is_nested
from ..core.no_memory import limit_reached
from ..core.overriding import mode_is_on
from ..core.raised import foreign
from ..core.storage import DeviceMemory, Storage, Value
from ..core.tangents import on as forward_mode
from ..core.tensor_base import (
    TensorBase,
    is_tracked,
    strides_of,
)
from ..core.warned import warn
from ..leaving import Block, values_again
from ..ops._dispatch import write
from ..progress import Progress
from ..tape.node import USED_UP, edge_of, is_leaf
from . import backward, verify
from .functional import Plan, delivered, exchanged, plan, replaced, stand_in
from .graph_node import GraphNode
from .guards import Guards
from .memory import (
    graphs_read_windows,
    has_memory,
    input_of,
    put_state,
    refuse_cpu,
    result_of,
    state_value,
    stays_behind,
)
from .settings import setting_key
from .trees import check_result, flatten, flatten_call, leaves, unflatten
from .watch import Again, Watch

_LIMIT = 64
_lock = threading.RLock()  # MindSpore has one recorder per process


class Entry:
    """A captured graph, or the reason why the function has none, with the conditions under which it may be used."""

    def __init__(self) -> None:
        self.guards: Guards | None = None
        self.reason: GraphBreak | None = None
        self.graph: Graph | None = None
        self.plan = Plan()
        self.numbers: list[int] = []  # which arguments are inputs of the graph
        self.identical: list[tuple[int, Any]] = []  # arguments that are known tensors
        self.states: list[Any] = []  # one known tensor for each storage that the function can reach
        self.known: list[Any] = []
        self.depends: list[int] = []  # for each output of the graph, the inputs that it depends on, as bits
        self.natives: list[Raw] = []
        self.draws: list[Callable[[], Raw]] = []
        self.drawn: list[Raw] = []
        self.cut: list[bool] = []  # inputs that need no gradient
        self.follows = False  # whether the gradients are to be captured as a graph of their own, and are not MindSpore's
        self.backward: backward.Backward | None = None
        self.lasting: list[bool] = []  # for each output of the graph, whether it is a new tensor or an argument's value

    def settle(self) -> None:
        """Set ``lasting`` and ``cut``: an input of the graph gets no gradient if none of the outputs that require grad depends on it."""
        self.lasting = self.plan.kept()
        wanted = 0
        for bits, tracked in zip(self.depends, self.plan.tracked):
            wanted |= bits if tracked else 0
        self.cut = [not (wanted >> i) & 1 for i in range(len(self.numbers) + len(self.states))]

    def fits(self, arguments: Sequence[Any]) -> bool:
        """Return True if the entry's guards hold for these arguments, whose signature already matches."""
        for i, tensor in self.identical:
            if arguments[i] is not tensor:
                return False
        return self.guards is None or isinstance(self.reason, StepBreak) or self.guards.holds()

    def run(self, arguments: Sequence[Any]) -> Any:
        """Return the function's result, computed by the graph."""
        used = list(map(arguments.__getitem__, self.numbers))
        drawn = [make() for make in self.draws] if self.draws else []
        tensors: list[Any] = []
        if self.graph is not None:
            inputs = [*map(input_of, used), *map(state_value, self.states)]
            follow = modes.grad and True in self.plan.tracked
            tensors = self._recorded(used, inputs, drawn) if follow else self._computed(inputs, drawn)
        return self._deliver(tensors, used)

    def _computed(self, inputs: list[Raw], drawn: list[Raw]) -> list[Any]:
        with LOCK, native_set_to(False):
            raws = self.graph(inputs + self.natives + drawn)
        return [*map(result_of, raws, self.lasting)]

    def _recorded(self, used: list[Any], inputs: list[Raw], drawn: list[Raw]) -> list[Any]:
        """Return the graph's outputs, connected to the autograd graph where the eager function's results require grad."""
        owners = [*used, *self.states]
        edges = [
            edge_of(owner) if not cut and is_tracked(owner) and not owner._ms_dtype.is_integral else None
            for owner, cut in zip(owners, self.cut)
        ]
        places = [i for i, edge in enumerate(edges) if edge is not None]
        if not places:
            return self._computed(inputs, drawn)
        if self.backward is not None:
            return self._with_backward(edges, inputs + self.natives + drawn)
        with LOCK, native_set_to(True):
            for place in places:
                inputs[place] = tape.detached(inputs[place])
                tape.mark_leaf(inputs[place])
            tape.start_recording()
            try:
                raws = list(self.graph(inputs + self.natives + drawn))
            finally:
                tape.stop_recording()  # the following operations are not part of the graph
        with native_set_to(False):
            tensors = [*map(result_of, raws, self.lasting)]
        node: Any = GraphNode(edges)
        node.saved = USED_UP
        node.results, node.ends, node.places = raws, [inputs[place] for place in places], places
        node.saved, node.backward = (True,), None
        for number, (tensor, raw, tracked) in enumerate(zip(tensors, raws, self.plan.tracked)):
            if tracked and raw._requires_grad:
                tensor._ms_node, tensor._ms_number = node, number
        return tensors

    def _with_backward(self, edges: list[Any], inputs: list[Raw]) -> list[Any]:
        """Return the graph's outputs, connected to the graph of their gradients."""
        assert self.graph is not None and self.backward is not None
        with LOCK, native_set_to(False):
            raws = self.graph(inputs)
            tensors = [*map(result_of, raws, self.lasting)]
        node: Any = GraphNode(edges)
        node.backward, node.saved = self.backward, (True,)
        node.results = self.backward.kept(inputs, raws)
        for number, (tensor, tracked) in enumerate(zip(tensors, self.plan.tracked)):
            if tracked and number in self.backward.numbers:
                tensor._ms_node, tensor._ms_number = node, number
        return tensors

    def _deliver(self, tensors: Sequence[Any], used: Sequence[Any]) -> Any:
        """Apply the function's writes, and return its result, rebuilt from the graph's outputs."""
        made = self.plan
        fresh = [delivered(number, tensors) for number in made.fresh]
        for tensor, number in made.states:
            put_state(tensor, delivered(number, tensors))
        for i, number in made.arguments:
            write(used[i], delivered(number, tensors))
        found = []
        for recipe in made.recipes:
            if recipe.owner == "fresh":
                found.append(recipe.make(fresh[recipe.number]))
            elif recipe.owner == "same":
                found.append(used[recipe.number])
            elif recipe.owner == "known":
                found.append(recipe.number)
            elif recipe.owner == "state":
                found.append(recipe.make(recipe.number))
            else:
                found.append(recipe.make(used[recipe.number]))
        return unflatten(made.form, iter(found))


# torch's names of the artifacts; torch._logging enables them.
_RECOMPILES = [logging.getLogger(f"torch._dynamo.guards.__recompiles{verbose}") for verbose in ("", "_verbose")]
_BREAKS = logging.getLogger("torch._dynamo.symbolic_convert.__graph_breaks")


class _Inside(threading.local, Block):
    """Thread-local flag: whether a compiled function is running, so that functions that it calls are part of its graph."""

    def __init__(self) -> None:
        self.active = 0

    def __enter__(self) -> None:
        self.at_end(values_again(self, "active"))
        self.active += 1


inside = _Inside()


class Compiled:
    """Cache of a function's graphs by the types and shapes of its arguments; with ``graphs=False`` the function runs eagerly."""

    def __init__(
        self, function: Callable[..., Any], name: str, fullgraph: bool = False, limit: int | None = None, graphs: bool = True
    ) -> None:
        self.function = function
        self.graphs = graphs
        self.limit = _LIMIT if limit is None else limit
        self.name = name
        self.fullgraph = fullgraph
        self.entries: dict[Any, list[Entry]] = {}
        self._warned = False
        _all.add(self)

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not self.graphs or stance[0] == "force_eager" or inside.active or tape.tracing() is not None or mode_is_on():
            return self._plainly(args, kwargs)
        if modes.saved_hooks or (modes.levels and forward_mode()):
            return self._plainly(args, kwargs)  # a graph has no tangents, and does not pack saved tensors
        arguments: list[Any] = []
        form = flatten_call(args, kwargs, arguments)
        for argument in arguments:
            if argument.__class__ not in TENSORS and is_nested(argument):
                return self._plainly(args, kwargs)  # in a graph, each tensor has one shape
        key = (form, tuple(map(_signature, arguments)), _sharing(arguments), setting_key())
        for entry in self.entries.get(key, ()):
            if entry.fits(arguments):
                break
        else:
            if sum(map(len, self.entries.values())) >= self.limit:
                return self._give_up(GraphBreak(f"more than {self.limit} graphs would be needed", self.name), args, kwargs)
            with _lock, inside:
                found = self._compile(form, arguments)
            if found is None:
                return self._plainly(args, kwargs)  # which raises the function's error
            entry = found
            self._log(entry)
            self.entries.setdefault(key, []).insert(0, entry)
        if entry.reason is None:
            try:
                return entry.run(arguments)
            except RuntimeError as error:
                failure = limit_reached(error)
                if failure is None:
                    raise
                raise failure from None
        return self._give_up(entry.reason, args, kwargs)

    def _log(self, entry: Entry) -> None:
        """Report to torch's loggers that a graph was captured, or why none was."""
        if self.entries:
            for logger in _RECOMPILES:
                logger.debug("Recompiling function %s: no graph of it fits these arguments", self.name)
        if entry.reason is not None:
            _BREAKS.debug("Graph break in user code at %s\nGraph Break Reason: %s", entry.reason.place, entry.reason.reason)

    def _plainly(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with inside:
            return self.function(*args, **kwargs)

    def _give_up(self, reason: GraphBreak, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        """Run eagerly after warning once."""
        if self.fullgraph and not isinstance(reason, KernelBreak):
            raise reason
        if not self._warned:
            self._warned = True
            parts = "; the modules that it calls are graphs" if isinstance(reason, StepBreak) else ""
            warn(f"torch.compile: {self.name} runs without a graph: {reason.reason}, at {reason.place}{parts}", UserWarning)
        if isinstance(reason, StepBreak):
            with capturing_modules:
                return self.function(*args, **kwargs)
        return self._plainly(args, kwargs)

    def reset(self) -> None:
        """Clear all graphs."""
        self.entries.clear()
        self._warned = False

    # Capturing

    def _compile(self, form: tuple[type, tuple[tuple[Any, ...], tuple[Any, ...]]], arguments: list[Any]) -> Entry | None:
        """Return a new entry for these arguments, with a graph or the reason why there is none. Return None if the function raises an error
        of its own."""
        with streams_aside():
            # On the CPU gradients have kernels of the host, which no graph takes.
            entry = self._compiled_aside(form, arguments, modes.grad and not ON_CPU)
            if entry is not None and entry.follows and entry.reason is not None and not isinstance(entry.reason, StepBreak):
                # MindSpore may have gradients of what mstorch's autograd can't capture.
                entry = self._compiled_aside(form, arguments, False)
            return entry

    def _compiled_aside(
        self, form: tuple[type, tuple[tuple[Any, ...], tuple[Any, ...]]], arguments: list[Any], follows: bool
    ) -> Entry | None:  # fmt: skip
        graphs_read_windows()  # determined before the recorder is active
        stream = states_of_streams()
        enabled = modes.grad
        entry = Entry()
        entry.follows = follows
        progress = Progress(f"capturing {self.name}")
        try:
            entry.guards = Guards(self.function, (*leaves(form), *{type(tensor) for tensor in arguments}))
            self._capture(entry, form, arguments)
            entry.guards.finish()
            put_states(stream)
            verify.compare(entry, self.function, form, arguments)
            entry.settle()
        except GraphBreak as reason:
            entry.reason = reason
        except Exception as error:  # noqa: BLE001 - whether it is the function's own error, a run without a graph tells
            modes.grad = enabled
            put_states(stream)
            failure = limit_reached(error)
            if failure is not None and self.fullgraph:
                raise failure from None
            if entry.guards is None or verify.fails(self.function, form, arguments, entry.states):
                return None
            entry.reason = _reason_of(error, self.name)
        finally:
            modes.grad = enabled
            if entry.guards is not None:
                try:
                    entry.guards.restore()
                except BaseException:  # an interrupt; a second one is not expected
                    entry.guards.restore()
                    raise
            put_states(stream)
            progress.end()
        return entry

    def _capture(self, entry: Entry, form: tuple[type, tuple[tuple[Any, ...], tuple[Any, ...]]], arguments: list[Any]) -> None:
        guards: Any = entry.guards
        while True:
            self._prepare(entry, arguments)
            stream = states_of_streams()
            try:
                context = self._run(entry, form, arguments)
            except Again:
                guards.restore()
                put_states(stream)
                continue
            changed = guards.restore()
            if changed:
                raise GraphBreak(f"the function changes {changed}", place=self.name)
            natives = [raw for raw in context.foreign.values() if is_parameter(raw)]
            if len(context.draws) == len(entry.draws) and not natives:
                if states_of_streams() != stream:
                    raise GraphBreak("random numbers are drawn in a way that no graph can repeat", place=self.name)
                if "grad" in guards.names and any(tensor._ms_auto is not None and tensor._ms_auto.grad is not None for tensor in arguments):
                    raise KernelBreak("an argument has a gradient that the function may read", place=self.name)
                return
            entry.draws, entry.drawn = context.draws, context.drawn
            entry.natives += natives

    def _prepare(self, entry: Entry, arguments: list[Any]) -> None:
        """Before the function runs, find the tensors that it can reach (the entry's states), and those of them that are arguments. Raise
        GraphBreak for a tensor or a Cell that a graph does not support."""
        guards: Any = entry.guards
        entry.states = _states(guards)
        entry.known = [tensor for tensor, *_ in guards.tensors]
        entry.identical.clear()
        entry.numbers.clear()
        for cell in guards.natives:
            if keeps_statistics(cell):
                raise GraphBreak(f"MindSpore's {type(cell).__name__} changes its running statistics", place=self.name)
        own = {id(tensor._ms_storage) for tensor in entry.states}
        for i, tensor in enumerate(arguments):
            if stays_behind(tensor):
                refuse_cpu("a tensor of the CPU is an argument", self.name)
            if tensor._ms_dtype.ms is None:
                raise GraphBreak(f"an argument is of {tensor._ms_dtype!r}, of which MindSpore has no tensors", place=self.name)
            if id(tensor._ms_storage) in own:
                if not any(tensor is state for state in entry.known):
                    raise KernelBreak("an argument is a view of a parameter or of another known tensor", place=self.name)
                entry.identical.append((i, tensor))
            elif getattr(tensor, "__dict__", None):
                raise KernelBreak("an argument has attributes of its own", place=self.name)
            elif not any(arguments[j] is tensor for j in entry.numbers):
                entry.numbers.append(i)

    def _run(self, entry: Entry, form: tuple[type, tuple[tuple[Any, ...], tuple[Any, ...]]], arguments: list[Any]) -> trace.Capture:
        """Run the function once under capture; find the plan, the graph, and inputs that the guards did not reveal."""
        numbers, states = entry.numbers, entry.states
        argument_raws = [tape.detached(input_of(arguments[i])) for i in numbers]
        state_raws = [tape.detached(state_value(tensor)) for tensor in states]
        known = {id(tensor): tensor for tensor in entry.known}
        parts: dict[str, Any] = {}

        def body(context: trace.Capture) -> Sequence[Raw]:
            with exchanged(states, state_raws, entry.follows) as block:
                stand_ins = [stand_in(arguments[i], raw) for i, raw in zip(numbers, argument_raws)]
                if entry.follows:
                    for made, i in zip(stand_ins, numbers):
                        backward.follow(made, arguments[i])
                    ends = backward.ends_of(stand_ins, states)
                given = replaced(arguments, numbers, stand_ins)
                args, kwargs = unflatten(form, iter(given))
                outputs: list[Any] = []
                result = Watch(entry.guards, context.stop).called(self.function, args, kwargs)  # type: ignore[arg-type]
                result_form = flatten(result, outputs)
                check_result(result_form)
                context.watching = False
                _check_arguments(form, given, (args, kwargs))
                entry.plan = plan(
                    result_form, outputs, stand_ins, argument_raws, states, block, state_raws, known,
                    lambda raw: id(raw) in context.depends,
                    [strides_of(made) != strides_of(arguments[i]) for made, i in zip(stand_ins, numbers)],
                )  # fmt: skip
                del args, kwargs, result
                if entry.follows:
                    raws = entry.plan.raws
                    roots = backward.roots_of(raws, [*outputs, *stand_ins])
                    saved = backward.needed(context, roots, raws, ends) if roots else []
                    parts.update(block=block, first=context, roots=roots, raws=list(raws), ends=ends, saved=saved)
                held = backward.held_by(parts["roots"]) if entry.follows else []
                _check_escapes(context, [*outputs, *held], stand_ins, states, block)
            _check_shared(arguments, [numbers[i] for i, _ in entry.plan.arguments])
            every = [*argument_raws, *state_raws, *entry.natives, *context.drawn]
            return [*entry.plan.raws, *(backward.beside(entry.plan.raws, parts["saved"], every) if entry.follows else ())]

        every = [*argument_raws, *state_raws, *entry.natives]
        graph, context = trace.capture(body, every, self.name, entry.drawn, not entry.follows)
        entry.graph = graph
        if entry.follows and parts["roots"]:
            changed = {id(tensor) for tensor, _ in entry.plan.states}
            written = sum(1 << i for i, _ in entry.plan.arguments)
            written |= sum(1 << i for i, tensor in enumerate(states, len(numbers)) if id(tensor) in changed)
            entry.backward = backward.capture(self.name, inputs=[*every, *context.drawn], written=written, **parts)
        entry.depends = [context.depends[id(raw)] for raw in entry.plan.raws]
        entry.settle()
        return context


def _reason_of(error: Exception, name: str) -> GraphBreak:
    """Convert a MindSpore error during a capture to a GraphBreak that quotes the error's first line without headings."""
    lines = [line.strip() for line in str(error).splitlines()]
    said = next((line for line in lines if line.strip("- ") and not line.startswith("- ")), "")
    kind = KernelBreak if foreign(error) else GraphBreak
    return kind(f"{type(error).__name__}: {said}", place=name)


def _states(guards: Guards) -> list[Any]:
    found: dict[int, Any] = {}
    for tensor, *_ in guards.tensors:
        if not has_memory(tensor):
            raise GraphBreak("a tensor of MindSpore's side is used")
        if stays_behind(tensor):
            continue  # using it ends the capture
        held = found.get(id(tensor._ms_storage))
        if held is None or (is_tracked(tensor) and not is_tracked(held)):
            found[id(tensor._ms_storage)] = tensor
        elif is_tracked(tensor) and tensor._ms_shape != held._ms_shape:
            raise GraphBreak("a view of a parameter is used that has a history of its own")
    return list(found.values())


def _check_arguments(form: Any, given: Sequence[Any], after: Any) -> None:
    """Raise GraphBreak if the function modified a list or dictionary among its arguments."""
    tensors: list[Any] = []
    if flatten(after, tensors) != form or len(tensors) != len(given) or any(map(operator.is_not, tensors, given)):
        raise GraphBreak("the function changes an argument that is no tensor")


def _check_shared(arguments: Sequence[Any], written: Sequence[int]) -> None:
    """Raise GraphBreak if one of several arguments that share memory is modified."""
    for i in written:
        storage = arguments[i]._ms_storage
        if any(other is not arguments[i] and other._ms_storage is storage for other in arguments):
            raise GraphBreak("an argument is written to that shares its memory with another")


def _tensor_classes(cls: type = TensorBase) -> set[type]:
    found = {cls}
    sub: type
    for sub in cls.__subclasses__():
        found |= _tensor_classes(sub)
    return found


def _check_escapes(
    context: trace.Capture, outputs: Sequence[Any], stand_ins: Sequence[Any], states: Sequence[Any], block: Any
) -> None:
    """Raise GraphBreak if the function stored a tensor elsewhere, or used a tensor that the guards do not cover."""
    allowed = {id(t) for t in (*outputs, *stand_ins)}
    known = {id(tensor._ms_storage) for tensor in states}
    used = block.storages()
    classes = _tensor_classes()
    gc.collect()
    for tensor in [found for found in gc.get_objects() if type(found) in classes and hasattr(type(found), "_ms_raw")]:
        if id(tensor) in allowed:
            continue
        storage = _storage_of(tensor)
        if storage is None or id(storage) in known:
            continue
        if isinstance(storage, (Storage, DeviceMemory)):
            if id(storage) in used:
                raise GraphBreak(f"a tensor is used that is no argument, parameter or variable of the function{_holder(tensor)}")
            continue
        if not isinstance(storage, Value):
            continue
        for seen in (storage.raw, tensor._ms_raw):
            if seen is None or context.known.get(id(seen)) is not seen or id(seen) in context.inputs:
                continue
            if id(seen) in context.depends:
                raise GraphBreak(f"a tensor that the function makes is kept{_holder(tensor)}")


def _storage_of(tensor: Any) -> Any:
    """Return a tensor's storage; None for one without memory of its own: a sparse tensor, or one of vmap, which may outlive its vmap."""
    try:
        return getattr(tensor, "_ms_storage", None)
    except NotImplementedError:
        return None


def _holder(tensor: Any) -> str:
    """Return the name under which a dict (an object's attributes, a module) holds a tensor, as text for a message; "" if there is none."""
    for holder in gc.get_referrers(tensor):
        if isinstance(holder, dict):
            for key, value in holder.items():
                if value is tensor and isinstance(key, str) and not key.startswith("__"):
                    return f" ('{key}')"
    return ""


def _signature(tensor: Tensor) -> tuple[Any, ...]:
    tracked, leaf = False, True
    if tensor._ms_node is not None or tensor._ms_auto is not None:
        tracked, leaf = is_tracked(tensor), is_leaf(tensor)
    return (
        tensor._ms_storage.__class__, tensor._ms_shape, tensor._ms_dtype, None if tensor._ms_stride is None else strides_of(tensor),
        tracked, leaf, type(tensor), bool(getattr(tensor, "__dict__", None)),
        tensor._ms_auto is not None and (tensor._ms_auto.inference, tensor._ms_auto.grad is not None),
    )  # fmt: skip


_storage = operator.attrgetter("_ms_storage")


def _sharing(arguments: Sequence[Any]) -> Any:
    """Return which arguments are identical, and which share memory."""
    if len(arguments) < 2:
        return None
    memory = list(map(_storage, arguments))
    if len(set(map(id, memory))) == len(memory):
        return None
    tensors, memory = list(map(id, arguments)), list(map(id, memory))
    return tuple(map(tensors.index, tensors)), tuple(map(memory.index, memory))


_all: weakref.WeakSet[Compiled] = weakref.WeakSet()
stance = ["default"]


def reset_all() -> None:
    """Reset the graphs of all functions."""
    for compiled in list(_all):
        compiled.reset()


def bind(compiled: Compiled, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that runs compiled, with the name and documentation of the original."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return compiled(args, kwargs)

    return call

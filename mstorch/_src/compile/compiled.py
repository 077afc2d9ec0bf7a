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
from contextlib import nullcontext
from typing import Any

from ..._tensor import Tensor
from ..backend import tape, trace
from ..backend.cell import capturing_modules, is_parameter, keeps_statistics
from ..backend.raw import ON_CPU, Raw
from ..backend.trace import GraphBreak, KernelBreak, StepBreak
from ..core.generator import put_states, states_of_streams, streams_aside
from ..core.mirrors import TENSORS
from ..core.modes import modes
from ..core.nested_parts import is_nested
from ..core.no_memory import limit_reached
from ..core.overriding import mode_is_on
from ..core.postponed import calls_wait
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
from ..progress import Progress
from ..tape.node import is_leaf
from . import backward, steps, verify
from .entry import Entry
from .functional import exchanged, plan, replaced, stand_in
from .guards import Guards
from .memory import (
    graphs_read_windows,
    has_memory,
    input_of,
    refuse_cpu,
    state_value,
    stays_behind,
)
from .settings import setting_key
from .trees import check_result, flatten, flatten_call, leaves, unflatten
from .watch import Again, Watch

_LIMIT = 64
_lock = threading.RLock()  # MindSpore has one recorder per process


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
            if entry is not None and entry.follows and isinstance(entry.reason, StepBreak):
                return self._whole_step(entry, form, arguments)
            if entry is not None and entry.follows and entry.reason is not None and not isinstance(entry.reason, StepBreak):
                # MindSpore may have gradients of what mstorch's autograd can't capture.
                entry = self._compiled_aside(form, arguments, False)
            return entry

    def _whole_step(self, parts: Entry, form: Any, arguments: list[Any]) -> Entry:
        """Return an entry with the graph of a whole training step; ``parts``, by which only its modules are graphs, if there is none."""
        entry = self._compiled_aside(form, arguments, True, True)
        if entry is not None and entry.reason is None and entry.step is not None:
            entry.step.settle()
            return entry
        assert parts.reason is not None
        if entry is not None and entry.reason is not None and entry.reason.reason != parts.reason.reason:
            why = f"{parts.reason.reason}, and there is no graph of the whole step: {entry.reason.reason}"
            parts.reason = StepBreak(why, parts.reason.place)
        return parts

    def _compiled_aside(
        self, form: tuple[type, tuple[tuple[Any, ...], tuple[Any, ...]]], arguments: list[Any], follows: bool, whole: bool = False
    ) -> Entry | None:  # fmt: skip
        graphs_read_windows()  # determined before the recorder is active
        stream = states_of_streams()
        enabled = modes.grad
        entry = Entry()
        entry.follows = follows
        entry.step = steps.Step() if whole else None
        progress = Progress(f"capturing {self.name}")
        try:
            entry.guards = Guards(self.function, (*leaves(form), *{type(tensor) for tensor in arguments}), steps=whole)
            self._capture(entry, form, arguments)
            entry.guards.finish()
            put_states(stream)
            if entry.step is None:
                verify.compare(entry, self.function, form, arguments)
            else:
                with calls_wait():
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
            if entry.guards is None or (entry.step is None and verify.fails(self.function, form, arguments, entry.states)):
                return None
            entry.reason = _reason_of(error, self.name)
        finally:
            modes.grad = enabled
            if entry.step is not None:
                entry.step.restore()
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
                if entry.step is not None:
                    entry.step.restore()
                guards.restore()
                put_states(stream)
                continue
            if entry.step is not None:
                entry.step.restore()
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
        if entry.step is not None:
            entry.step.begin(entry.known, arguments)
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
        step = entry.step
        held = [] if step is None else step.gradients()
        held_raws = [tape.detached(state_value(gradient)) for gradient in held]
        known = {id(tensor): tensor for tensor in entry.known}
        parts: dict[str, Any] = {}
        waiting = None if step is None else calls_wait()

        def body(context: trace.Capture) -> Sequence[Raw]:
            with exchanged([*states, *held], [*state_raws, *held_raws], entry.follows, step is not None) as block:
                stand_ins = [stand_in(arguments[i], raw) for i, raw in zip(numbers, argument_raws)]
                if entry.follows:
                    for made, i in zip(stand_ins, numbers):
                        backward.follow(made, arguments[i])
                    ends = backward.ends_of(stand_ins, states)
                given = replaced(arguments, numbers, stand_ins)
                args, kwargs = unflatten(form, iter(given))
                outputs: list[Any] = []
                with waiting or nullcontext():
                    result = Watch(entry.guards, context.stop).called(self.function, args, kwargs)  # type: ignore[arg-type]
                context.closed.clear()
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
                if step is not None:
                    step.calls = waiting.calls  # type: ignore[union-attr]
                    lasting = step.take(context, block, held_raws)
                    if lasting is None:
                        context.stop(Again("gradients are added to"))
                    outputs += lasting  # type: ignore[arg-type]
                    steps.check_used_up(outputs)
                elif entry.follows:
                    raws = entry.plan.raws
                    roots = backward.roots_of(raws, [*outputs, *stand_ins])
                    saved = backward.needed(context, roots, raws, ends) if roots else []
                    parts.update(block=block, first=context, roots=roots, raws=list(raws), ends=ends, saved=saved)
                kept = backward.held_by(parts["roots"]) if parts else []
                _check_escapes(context, [*outputs, *kept], stand_ins, [*states, *held], block)
            _check_shared(arguments, [numbers[i] for i, _ in entry.plan.arguments])
            if step is not None:
                return [*entry.plan.raws, *step.raws]
            every = [*argument_raws, *state_raws, *entry.natives, *context.drawn]
            return [*entry.plan.raws, *(backward.beside(entry.plan.raws, parts["saved"], every) if entry.follows else ())]

        every = [*argument_raws, *state_raws, *held_raws, *entry.natives]
        graph, context = trace.capture(body, every, self.name, entry.drawn, not entry.follows)
        entry.graph = graph
        if step is None and entry.follows and parts["roots"]:
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

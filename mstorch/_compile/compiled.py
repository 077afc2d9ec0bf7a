"""A function that runs as a MindSpore graph: captured for each kind of arguments, kept, checked against eager."""
from __future__ import annotations

import functools
import gc
import threading
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from .._backend import tape, trace
from .._backend.cell import is_parameter, keeps_statistics
from .._backend.raw import Raw
from .._backend.trace import Graph, GraphBreak
from .._core.generator import default_generator
from .._core.modes import modes
from .._core.storage import Storage
from .._core.tensor_base import TensorBase, is_tracked, strides_of, value_of
from .._ops._dispatch import write
from .._tape.node import is_leaf
from . import verify
from .functional import Plan, detached, exchanged, plan, source, stand_ins_for, storages
from .guards import Guards, setting_key
from .trees import check_result, flatten, leaves, unflatten

_LIMIT = 64
_lock = threading.RLock()  # MindSpore's recorder is one for the process


def _gate_forward(ctx: Any, *raws: Raw) -> Any:
    ctx.like = raws
    same = tuple(tape.detached(raw) for raw in raws)
    return same[0] if len(same) == 1 else same


def _gate_backward(ctx: Any, *gradients: Any) -> Any:
    if modes.grad:
        # MindSpore's second derivative of a captured graph lacks terms, without a word (2.7.2 to 2.10).
        raise RuntimeError("torch.compile with aot_autograd does not currently support double backward")
    return gradients[0] if len(gradients) == 1 else gradients


_gate = tape.function_node("CompiledFunctionBackward", _gate_forward, _gate_backward)


class Entry:
    """One captured graph, or the reason why there is none, with what it was captured for."""

    def __init__(self) -> None:
        self.guards: Guards | None = None
        self.reason: GraphBreak | None = None
        self.graph: Graph | None = None
        self.plan = Plan()
        self.numbers: list[int] = []  # which arguments are inputs of the graph
        self.identical: list[tuple[int, Any]] = []  # arguments that are known tensors
        self.states: list[Storage] = []
        self.natives: list[Raw] = []
        self.draws: list[Callable[[], Raw]] = []
        self.drawn: list[Raw] = []
        self.cut: list[bool] = []  # inputs from which no gradient is wanted

    def fits(self, arguments: Sequence[Any]) -> bool:
        """Whether the entry is right for these arguments, of its signature, now."""
        for i, tensor in self.identical:
            if arguments[i] is not tensor:
                return False
        return self.guards is None or self.guards.holds()

    def run(self, arguments: Sequence[Any]) -> Any:
        """The function's result by way of the graph."""
        used = [arguments[i] for i in self.numbers]
        drawn = [make() for make in self.draws]
        raws: Sequence[Raw] = ()
        if self.graph is not None:
            inputs = [value_of(tensor) for tensor in used]
            inputs += [storage.value for storage in self.states]
            if modes.grad:
                tape.start_recording()
                for tensor in used:
                    tensor._storage.owned = False
                for storage in self.states:
                    storage.owned = False
                inputs = [detached(raw) if cut else raw for raw, cut in zip(inputs, self.cut)]
            raws = self._followed(self.graph(inputs + self.natives + drawn))
        return self._deliver(raws, used)

    def _followed(self, raws: Sequence[Raw]) -> list[Raw]:
        """The graph's outputs, with a history only where the function's results have one."""
        chosen = [wanted and raw._requires_grad for raw, wanted in zip(raws, self.plan.tracked)]
        if True not in chosen:
            return [detached(raw) for raw in raws]
        passed = _gate(*(raw for raw, follow in zip(raws, chosen) if follow))
        rest = iter(passed if isinstance(passed, tuple) else (passed,))
        return [next(rest) if follow else detached(raw) for raw, follow in zip(raws, chosen)]

    def _deliver(self, raws: Sequence[Raw], used: Sequence[Any]) -> Any:
        """Write what the function writes, and put its result together."""
        made = self.plan
        fresh = storages(made, raws)
        for storage, number, tracked in made.states:
            storage.rebind(source(number, raws), tracked)
        for i, number, tracked in made.arguments:
            write(used[i], source(number, raws), tracked)
        tensors = []
        for recipe in made.recipes:
            if recipe.owner == "fresh":
                tensors.append(recipe.make(fresh[recipe.number]))
            elif recipe.owner == "same":
                tensors.append(used[recipe.number])
            elif recipe.owner == "known":
                tensors.append(recipe.number)
            elif recipe.owner == "state":
                tensors.append(recipe.make(recipe.number))
            else:
                tensors.append(recipe.make(used[recipe.number]._storage, used[recipe.number]))
        return unflatten(made.form, iter(tensors))


class _Inside(threading.local):
    """Whether a compiled function is at work in this thread: what it calls is a part of it."""

    def __init__(self) -> None:
        self.active = 0

    def __enter__(self) -> None:
        self.active += 1

    def __exit__(self, *exc: Any) -> None:
        self.active -= 1


inside = _Inside()


class Compiled:
    """The graphs of one function, by the kind of its arguments."""

    def __init__(self, function: Callable[..., Any], name: str, fullgraph: bool = False, limit: int | None = None) -> None:
        self.function = function
        self.limit = _LIMIT if limit is None else limit
        self.name = name
        self.fullgraph = fullgraph
        self.entries: dict[Any, list[Entry]] = {}
        self._warned = False
        _all.add(self)

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if stance[0] == "force_eager" or inside.active or tape.tracing() is not None:
            return self._plainly(args, kwargs)
        arguments: list[Any] = []
        form = flatten((args, kwargs), arguments)
        key = (form, tuple([_signature(t) for t in arguments]), _sharing(arguments), setting_key())
        for entry in self.entries.get(key, ()):
            if entry.fits(arguments):
                break
        else:
            if sum(map(len, self.entries.values())) >= self.limit:
                return self._give_up(GraphBreak(f"more than {self.limit} graphs would be needed", self.name), args, kwargs)
            with _lock, inside:
                found = self._compile(form, arguments)
            if found is None:
                return self._plainly(args, kwargs)  # which raises
            entry = found
            self.entries.setdefault(key, []).insert(0, entry)
        if entry.reason is None:
            return entry.run(arguments)
        return self._give_up(entry.reason, args, kwargs)

    def _plainly(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with inside:
            return self.function(*args, **kwargs)

    def _give_up(self, reason: GraphBreak, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result without a graph, after one warning in all."""
        if self.fullgraph:
            raise reason
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"torch.compile: {self.name} runs without a graph: {reason.reason}, at {reason.place}", UserWarning, stacklevel=4
            )
        return self._plainly(args, kwargs)

    def reset(self) -> None:
        """Forget all graphs."""
        self.entries.clear()
        self._warned = False

    # Capturing

    def _compile(self, form: Any, arguments: list[Any]) -> Entry | None:
        """An entry for these arguments; None if the function raises, with or without a graph."""
        stream = default_generator.engine.get_state()
        enabled = modes.grad
        entry = Entry()
        try:
            entry.guards = Guards(self.function, leaves(form))
            entry.states = _states(entry.guards)
            self._capture(entry, form, arguments)
            default_generator.engine.set_state(stream)
            verify.compare(entry, self.function, form, arguments)
        except GraphBreak as reason:
            entry.reason = reason
        except Exception as error:  # noqa: BLE001 - whether it is the function's own error, a run without a graph tells
            tape.set_grad_enabled(enabled)
            default_generator.engine.set_state(stream)
            if entry.guards is None or verify.fails(self.function, form, arguments, entry.states):
                return None
            text = str(error).strip().splitlines()
            entry.reason = GraphBreak(f"{type(error).__name__}: {text[0] if text else ''}", place=self.name)
        finally:
            if entry.guards is not None:
                entry.guards.restore()
            tape.set_grad_enabled(enabled)
            default_generator.engine.set_state(stream)
        return entry

    def _capture(self, entry: Entry, form: Any, arguments: list[Any]) -> None:
        for cell in entry.guards.natives:  # type: ignore[union-attr]
            if keeps_statistics(cell):
                raise GraphBreak(f"MindSpore's {type(cell).__name__} changes its running statistics", place=self.name)
        own = {id(storage) for storage in entry.states}
        for i, tensor in enumerate(arguments):
            if id(tensor._storage) in own:
                if tensor._view is not None:
                    raise GraphBreak("an argument is a view of a parameter or of another known tensor", place=self.name)
                entry.identical.append((i, tensor))
            elif not any(arguments[j] is tensor for j in entry.numbers):
                entry.numbers.append(i)
        while True:
            stream = default_generator.engine.get_state()
            context = self._run(entry, form, arguments)
            changed = entry.guards.restore()  # type: ignore[union-attr]
            if changed:
                raise GraphBreak(f"the function changes {changed}", place=self.name)
            natives = [raw for raw in context.foreign.values() if is_parameter(raw)]
            if len(context.draws) == len(entry.draws) and not natives:
                if default_generator.engine.get_state() != stream:
                    raise GraphBreak("random numbers are drawn in a way that no graph can repeat", place=self.name)
                return
            entry.draws, entry.drawn = context.draws, context.drawn
            entry.natives += natives

    def _run(self, entry: Entry, form: Any, arguments: list[Any]) -> trace.Capture:
        """One capture: finds the plan and the graph, and inputs that are still unknown."""
        numbers, states = entry.numbers, entry.states
        argument_raws = [tape.detached(value_of(arguments[i])) for i in numbers]
        state_raws = [tape.detached(storage.value) for storage in states]
        known = {id(tensor): tensor for tensor, *_ in entry.guards.tensors}  # type: ignore[union-attr]

        def body(context: trace.Capture) -> Sequence[Raw]:
            with exchanged(states, state_raws):
                stand_ins = stand_ins_for(arguments, numbers, argument_raws)
                args, kwargs = unflatten(form, iter(stand_ins))
                outputs: list[Any] = []
                result_form = flatten(self.function(*args, **kwargs), outputs)
                check_result(result_form)
                context.watching = False
                entry.plan = plan(
                    result_form, outputs, [stand_ins[i] for i in numbers], argument_raws, states, state_raws, known,
                    lambda raw: id(raw) in context.depends,
                    [strides_of(stand_ins[i]) != strides_of(arguments[i]) for i in numbers],
                )  # fmt: skip
                del args, kwargs
                _check_escapes(context, outputs, stand_ins, states)
            _check_shared(arguments, [numbers[i] for i, *_ in entry.plan.arguments])
            return entry.plan.raws

        graph, context = trace.capture(body, [*argument_raws, *state_raws, *entry.natives], self.name, entry.drawn)
        entry.graph = graph
        wanted = 0
        for raw, tracked in zip(entry.plan.raws, entry.plan.tracked):
            if tracked:
                wanted |= context.depends[id(raw)]
        entry.cut = [not (wanted >> i) & 1 for i in range(len(argument_raws) + len(states))]
        return context


def _states(guards: Guards) -> list[Storage]:
    found: dict[int, Storage] = {}
    for tensor, storage, *_ in guards.tensors:
        view = tensor._view
        if view is not None and (view.leaf or view.own):
            raise GraphBreak("a view with a history of its own is used")
        found[id(storage)] = storage
    return list(found.values())


def _check_shared(arguments: Sequence[Any], written: Sequence[int]) -> None:
    """Raise GraphBreak if one of several arguments that share memory is written to."""
    for i in written:
        storage = arguments[i]._storage
        if any(other is not arguments[i] and other._storage is storage for other in arguments):
            raise GraphBreak("an argument is written to that shares its memory with another")


def _tensor_classes(cls: type = TensorBase) -> set[type]:
    found = {cls}
    sub: type
    for sub in cls.__subclasses__():
        found |= _tensor_classes(sub)
    return found


def _check_escapes(
    context: trace.Capture, outputs: Sequence[Any], stand_ins: Sequence[Any], states: Sequence[Storage]
) -> None:
    """Raise GraphBreak if the function kept a tensor, or used one that the guards do not know."""
    allowed = {id(t) for t in (*outputs, *stand_ins)}
    known = {id(storage) for storage in states}
    classes = _tensor_classes()
    gc.collect()
    for tensor in [found for found in gc.get_objects() if type(found) in classes]:
        raw = tensor._storage.value
        if id(tensor) in allowed or id(tensor._storage) in known or id(raw) in context.inputs:
            continue
        view = tensor._view
        for seen in (raw, None if view is None else view.value):
            if seen is None or context.known.get(id(seen)) is not seen:
                continue
            if id(seen) in context.depends:
                raise GraphBreak(f"a tensor that the function makes is kept{_holder(tensor)}")
            if id(seen) in context.foreign:
                raise GraphBreak(f"a tensor is used that is no argument, parameter or variable of the function{_holder(tensor)}")


def _holder(tensor: Any) -> str:
    """Where a tensor is kept, for a message."""
    for holder in gc.get_referrers(tensor):
        if isinstance(holder, dict):
            for key, value in holder.items():
                if value is tensor and isinstance(key, str) and not key.startswith("__"):
                    return f" ('{key}')"
    return ""


def _signature(tensor: Any) -> tuple[Any, ...]:
    raw = value_of(tensor)
    return (
        tuple(raw.shape), tensor._dtype, None if tensor._stride is None else strides_of(tensor), is_tracked(tensor),
        is_leaf(tensor), type(tensor),
    )  # fmt: skip


def _sharing(arguments: Sequence[Any]) -> Any:
    """Which arguments are the same tensor, and which share memory."""
    if len(arguments) < 2:
        return None
    tensors = [id(t) for t in arguments]
    memory = [id(t._storage) for t in arguments]
    if len(set(memory)) == len(memory):
        return None
    return tuple(map(tensors.index, tensors)), tuple(map(memory.index, memory))


_all: weakref.WeakSet[Compiled] = weakref.WeakSet()
stance = ["default"]


def reset_all() -> None:
    """Forget the graphs of all functions."""
    for compiled in list(_all):
        compiled.reset()


def bind(compiled: Compiled, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with the name and the documentation of another, that runs compiled."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return compiled(args, kwargs)

    return call

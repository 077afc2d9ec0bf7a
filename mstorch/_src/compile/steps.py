"""A training step as one graph: the function calls ``backward()``, and what arrives in ``.grad`` are further results of the graph.

mstorch's autograd runs inside the capture. Calls of optimizers, learning rate schedulers and gradient scalers wait until the graph has run
(``core/postponed.py``) and are made as they are: their state stays theirs, and learning rates and counters are no constants of a graph.
Gradients are returned in the memory order in which optimizers update many parameters by one kernel (``ops/memory/together.py``).
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from sys import getrefcount
from typing import Any
from weakref import getweakrefcount

import numpy as np

from ..._tensor import Tensor
from ..backend import device_memory
from ..backend.arrays import Array
from ..backend.raw import NAME_OF, Raw, from_numpy, raw_dtype, raw_shape
from ..backend.trace import Capture, StepBreak
from ..core.above import above
from ..core.device import current
from ..core.postponed import Call
from ..core.storage import DeviceMemory, NativeBlock, Value, is_all_of_device_memory
from ..core.tensor_base import TensorBase, array_of, is_tracked, value_of, window, wrap
from ..ops.memory.together import LAYS_OUT, parts_of
from ..tape.node import Node, edge_of, is_leaf
from .memory import copy_of, state_value
from .unchanged import gradient_of


class _UsedUp(Node):
    """The node of a result whose backward was part of the step."""

    __slots__ = ()

    label = "CompiledFunctionBackward"


class Step:
    """The gradients that a captured training step reads and writes, and the calls that it makes after its graph.

    ``leaves`` are the leaves that the function can reach, ``held`` their gradients before it, ``had`` whether there were any. ``inputs``
    are the leaves whose gradients are inputs of the graph, because the function adds to them. ``written`` are those whose gradient stays
    the same tensor, with the number of its new value, ``cleared`` those that have none in the end, ``alone`` and ``constant`` those with a
    new one, with the output's number or the value, ``together`` lists of leaves whose new gradients are one output. Numbers count the
    outputs after those of the function.
    """

    def __init__(self) -> None:
        self.leaves: list[Any] = []
        self.held: list[Any] = []
        self.had: list[bool] = []
        self.inputs: list[Any] = []
        self.calls: list[Call] = []
        self._forget()

    def _forget(self) -> None:
        self.raws: list[Raw] = []
        self.written: list[tuple[Any, int]] = []
        self.cleared: list[Any] = []
        self.alone: list[tuple[Any, int]] = []
        self.constant: list[tuple[Any, Array]] = []
        self.together: list[tuple[list[Any], int]] = []
        self.flats: list[Gradients] = []

    def begin(self, tensors: Sequence[Any], arguments: Sequence[Any]) -> None:
        """Take the tensors that the function can reach. Raise StepBreak where gradients would go elsewhere than to leaves."""
        if any(map(is_tracked, arguments)):
            raise StepBreak("an argument requires grad")
        self.leaves = []
        for tensor in tensors:
            if tensor._ms_dtype.is_integral or not is_tracked(tensor) or any(tensor is leaf for leaf in self.leaves):
                continue
            edge = edge_of(tensor)
            if not is_leaf(tensor) or edge is None or edge[0].marks is not None or tensor._ms_auto.post:
                raise StepBreak("a tensor has a history or hooks")
            self.leaves.append(tensor)
        self.held = [gradient_of(leaf) for leaf in self.leaves]
        self.had = [gradient is not None for gradient in self.held]
        if not all(gradient is None or _is_plain(gradient, leaf) for leaf, gradient in zip(self.leaves, self.held)):
            raise StepBreak("a gradient is no tensor of its own in the leaf's memory order")

    def restore(self) -> None:
        """Give the leaves the gradients that they had."""
        for leaf, gradient in zip(self.leaves, self.held):
            if gradient is not gradient_of(leaf):
                leaf._ms_auto.grad = gradient

    def settle(self) -> None:
        """Let go of the gradients that the leaves had when the step was captured."""
        self.held = []

    def fits(self) -> bool:
        """Return whether the leaves have gradients as they had when the step was captured."""
        for leaf, had in zip(self.leaves, self.had):
            now = gradient_of(leaf)
            if (now is not None) is not had or (had and not _is_plain(now, leaf)):
                return False
        return True

    def gradients(self) -> list[Any]:
        """Return the gradients that are inputs of the graph."""
        return [leaf._ms_auto.grad for leaf in self.inputs]

    def take(self, context: Capture, block: NativeBlock, input_raws: Sequence[Raw]) -> list[Any] | None:
        """Note what has become of the gradients when the function has run. Return the tensors that outlive it, or None if it has to be
        captured again, because it read gradients that were no inputs."""
        self._forget()
        used = block.storages()
        missing = [leaf for leaf, gradient in zip(self.leaves, self.held) if gradient is not None and id(gradient._ms_storage) in used]
        if len(missing) != len(self.inputs):
            self.inputs = missing
            return None
        new: list[tuple[Any, Any]] = []
        before = dict(zip(map(id, self.inputs), input_raws))
        for leaf, gradient in zip(self.leaves, self.held):
            now = gradient_of(leaf)
            if now is None and gradient is not None:
                self.cleared.append(leaf)
            elif now is not gradient:
                _check_new(now, leaf)
                new.append((leaf, now))
            elif now is not None and id(leaf) in before:
                raw = block.cell(now._ms_storage, now._ms_dtype.np).raw
                if raw is not before[id(leaf)]:
                    self.written.append((leaf, self._output(raw, context)))
        self._arrange(new, context)
        handed = self._take_handed(context)
        return [*handed, *(gradient for _, gradient in new)]

    def _take_handed(self, context: Capture) -> list[Any]:
        """Let tensors among the arguments of the calls be results of the graph, and return them."""
        tensors: list[Any] = []

        def taken(value: Any) -> Any:
            if not isinstance(value, TensorBase):
                return value
            tensors.append(value)
            return _Handed(self._output(value_of(value), context), is_tracked(value))

        self.calls = [
            (function, tuple(map(taken, args)), {name: taken(value) for name, value in kwargs.items()})
            for function, args, kwargs in self.calls
        ]
        return tensors

    def _output(self, raw: Raw, context: Capture) -> int:
        if id(raw) not in context.depends:
            raise StepBreak("a gradient does not depend on what the graph computes")
        self.raws.append(raw)
        return len(self.raws) - 1

    def _arrange(self, new: Sequence[tuple[Any, Any]], context: Capture) -> None:
        """Let new gradients be results of the graph: those that an optimizer takes together as one."""
        raws = {id(leaf): value_of(gradient) for leaf, gradient in new}
        known = {id(leaf): leaf for leaf, _ in new}
        fits_in = {
            key for key, raw in raws.items()
            if LAYS_OUT and id(raw) in context.depends and known[key]._ms_stride is None and raw_shape(raw) and 0 not in raw_shape(raw)
        }  # fmt: skip
        for params in _groups(self.calls):
            kinds: dict[str, list[int]] = {}
            params = [param for param in params if id(param) in known]
            sizes = [math.prod(param._ms_shape) for param in params]
            for place, param in enumerate(params):
                if id(param) in fits_in:
                    kinds.setdefault(NAME_OF[raw_dtype(raws[id(param)])], []).append(place)
            for places in kinds.values():
                for part in parts_of(places, sizes):
                    leaves = [params[place] for place in part]
                    if len(leaves) > 1:
                        flat = device_memory.laid_out([raws[id(leaf)] for leaf in leaves])
                        self.together.append((leaves, self._output(flat, context)))
                        for leaf in leaves:
                            del raws[id(leaf)]
                            fits_in.discard(id(leaf))
        self.flats = [Gradients(leaves) for leaves, _ in self.together]
        for key, raw in raws.items():
            if id(raw) in context.depends:
                self.alone.append((known[key], self._output(raw, context)))
            else:
                self.constant.append((known[key], np.array(raw.asnumpy())))

    def expect(self) -> list[tuple[Any, Array | None]]:
        """Return the leaves whose gradients the graph changes, with those that the eager function has left; None where it left none."""
        leaves = [leaf for leaf, _ in (*self.written, *self.alone, *self.constant)] + [leaf for part, _ in self.together for leaf in part]
        changed = {id(leaf) for leaf in leaves}
        expected: list[tuple[Any, Array | None]] = []
        for leaf, gradient in zip(self.leaves, self.held):
            now = gradient_of(leaf)
            if (now is not None and now is not gradient) and id(leaf) not in changed:
                raise StepBreak("the function does not do the same every time")
            if id(leaf) in changed:
                expected.append((leaf, None if now is None else np.array(array_of(now))))
        return expected

    def results(self, raws: Sequence[Raw]) -> dict[int, Array]:
        """Return by the id of the leaf the gradients that a run of the graph gives; ``raws`` are its outputs for ``self.raws``."""
        values = {id(leaf): raws[number].asnumpy().reshape(leaf._ms_shape) for leaf, number in (*self.written, *self.alone)}
        values.update((id(leaf), constant) for leaf, constant in self.constant)
        for leaves, number in self.together:
            flat = raws[number]
            for leaf, part in zip(leaves, device_memory.parts(flat, [leaf._ms_shape for leaf in leaves])):
                values[id(leaf)] = part.asnumpy()
        return values

    def deliver(self, raws: Sequence[Raw]) -> None:
        """Put the gradients in place after a run."""
        for leaf in self.cleared:
            leaf._ms_auto.grad = None
        for leaf, number in self.written:
            gradient = leaf._ms_auto.grad
            gradient._ms_storage.write(copy_of(raws[number]), gradient._ms_shape, None, 0, True)
            gradient._ms_counter.version += 1
        for leaf, number in self.alone:
            leaf._ms_auto.grad = wrap(copy_of(raws[number]), leaf._ms_stride)
        for leaf, values in self.constant:
            leaf._ms_auto.grad = wrap(from_numpy(values.copy()), leaf._ms_stride)
        for flat, (leaves, number) in zip(self.flats, self.together):
            for leaf, gradient in zip(leaves, flat.filled(raws[number])):
                leaf._ms_auto.grad = gradient

    def make_calls(self, raws: Sequence[Raw]) -> None:
        """Make the calls that waited."""

        def given(value: Any) -> Any:
            return value.made(raws) if value.__class__ is _Handed else value

        for function, args, kwargs in self.calls:
            function(*map(given, args), **{name: given(value) for name, value in kwargs.items()})

    def handed(self) -> list[int]:
        """Return the numbers of the outputs that the calls are given."""
        values = [value for _, args, kwargs in self.calls for value in (*args, *kwargs.values())]
        return [value.number for value in values if value.__class__ is _Handed]


class _Handed:
    """Place of an argument of a call that is a result of the graph, with its number among those of the step."""

    def __init__(self, number: int, tracked: bool) -> None:
        self.number, self.tracked = number, tracked

    def made(self, raws: Sequence[Raw]) -> Any:
        tensor = wrap(copy_of(raws[self.number]))
        if self.tracked:
            use_up(tensor)
        return tensor


class Gradients:
    """New gradients of leaves, which lie beside each other in memory.

    A small step would spend a tenth of its time on views of that memory. So small gradients of the last run are used again, with their
    memory, if nothing but the leaves refers to them.
    """

    def __init__(self, leaves: Sequence[Any]) -> None:
        self.leaves = leaves
        self.shapes = [leaf._ms_shape for leaf in leaves]
        self.small = sum(map(math.prod, self.shapes)) <= _SMALL
        self.last: list[Any] = []
        self.memory: Any = None
        self.references: list[int] = []

    def filled(self, values: Raw) -> list[Any]:
        """Return the gradients with these values."""
        if self.last and self._are_free():
            device_memory.put(self.memory, raw_shape(values), (1,), 0, values)
            return self.last
        tensors = self._over(values)
        self.last, self.memory = (tensors, values) if self.small else ([], None)
        self.references = self._count_references()
        return tensors

    def _over(self, values: Raw) -> list[Any]:
        """Return new tensors over the memory of the values, which is not copied, as other results are: a concatenation is neither an input
        of the graph nor another result."""
        values._of_storage = False  # so that writes to its parts are visible in its memory
        parts = device_memory.parts(values, self.shapes)
        return [
            window(DeviceMemory.over(part), leaf._ms_dtype, shape, None, 0) for leaf, part, shape in zip(self.leaves, parts, self.shapes)
        ]

    def _count_references(self) -> list[int]:
        """Return how many references there are to the last gradients, their storages and their memory. Python's releases count those of the
        asking code differently, so that a count is compared with that of new gradients only."""
        counts: list[int] = []
        for place in range(len(self.last)):
            tensor = self.last[place]
            tensor._ms_raw = tensor._ms_at = None
            storage = tensor._ms_storage
            counts += getrefcount(tensor), getrefcount(storage), getrefcount(storage.base)
        return counts

    def _are_free(self) -> bool:
        """Take the last gradients from their leaves; return whether nothing else refers to them or their memory, and make them as new."""
        for place, leaf in enumerate(self.leaves):
            if leaf._ms_auto.grad is self.last[place]:
                leaf._ms_auto.grad = None
        if self._count_references() != self.references:
            return False
        for tensor in self.last:  # has it kept its class and memory, and has it no history, attributes or weak references?
            storage = tensor._ms_storage
            if (
                tensor.__class__ is not Tensor or tensor._ms_node is not None or tensor.__dict__ or getweakrefcount(tensor)
                or tensor._ms_counter is not storage or storage.exchanges or storage.lent or storage.parameter is not None
            ):  # fmt: skip
                return False
        for tensor in self.last:
            tensor._ms_auto = None
            tensor._ms_storage.version = 0
            tensor._ms_storage.forget()
        return True


_SMALL = 1 << 18
"""Elements up to which gradients are used again: their memory stays taken between steps."""


def _is_plain(gradient: Any, leaf: Any) -> bool:
    """Return whether a gradient is a plain tensor of its own in device memory, like the leaf."""
    return (
        gradient._ms_node is None and (gradient._ms_auto is None or not is_tracked(gradient)) and not gradient._ms_sparse
        and gradient._ms_shape == leaf._ms_shape and gradient._ms_dtype is leaf._ms_dtype and is_all_of_device_memory(gradient)
    )  # fmt: skip


def _check_new(gradient: Any, leaf: Any) -> None:
    """Raise StepBreak for a gradient that is no plain result of the capture."""
    if gradient._ms_sparse or is_tracked(gradient) or gradient._ms_storage.__class__ is not Value or (
        gradient._ms_dtype is not leaf._ms_dtype or gradient._ms_shape != leaf._ms_shape
    ):
        raise StepBreak("a gradient is sparse, has a history, or is no result of the function")


def _groups(calls: Sequence[Call]) -> list[list[Any]]:
    """Return the parameters of the optimizers whose calls wait, by group."""
    owners = [value for _, args, _ in calls for value in args if hasattr(value, "param_groups")]
    return [list(group["params"]) for owner in owners for group in owner.param_groups]


def check_used_up(tensors: Sequence[Any]) -> None:
    """Raise StepBreak unless backward has run through the graph of each tensor: what remained of it would be lost."""
    for tensor in tensors:
        edge = edge_of(tensor) if is_tracked(tensor) and tensor._ms_storage.__class__ is Value else None
        if edge is None:
            continue
        waiting, seen, used = [edge[0]], {edge[0]}, False
        while waiting and not used:
            node = waiting.pop()
            used = node.saved is None
            for below in node.edges:
                if below is not None and below[0] not in seen:
                    seen.add(below[0])
                    waiting.append(below[0])
        if not used:
            raise StepBreak("a result is returned whose gradients are not computed")


def use_up(tensor: Any) -> None:
    """Give a result the node of a graph through which backward has run."""
    node = _UsedUp(())
    node.saved = None
    tensor._ms_node, tensor._ms_number = node, 0


def input_values(leaves: Sequence[Any]) -> list[Raw]:
    """Return the gradients of leaves as inputs of a graph."""
    return [state_value(leaf._ms_auto.grad) for leaf in leaves]


_WAIT = frozenset(("step", "zero_grad", "update", "scale", "unscale_", "is_enabled"))
"""Methods of optimizers, schedulers and scalers that wait for the end of the graph, or read nothing but what is guarded."""


def steppers() -> tuple[type, ...]:
    """Return the classes of objects that a training step changes after its gradients are known."""
    torch = above.torch
    return torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler, torch.amp.GradScaler


def guarded_of(stepper: Any) -> list[str]:
    """Return the names of the attributes of such an object that a run of the graph depends on."""
    if getattr(stepper, "_scale", stepper) is None and stepper._enabled:  # the first call of `scale` makes it, which no graph repeats
        stepper._lazy_init_scale_growth_tracker(current())
    patched = [name for name in _WAIT if name in vars(stepper)]  # methods that a program, or a scheduler, has put in the object itself
    return [*patched, *(name for name in ("_scale", "_enabled") if hasattr(stepper, name))]


def insights_into(stepper: Any, attributes: set[str]) -> set[str]:
    """Return which of the names of attributes that a program uses show the state of such an object, which is not guarded."""
    own = {name for name in dir(stepper) if not name.startswith("__") or name == "__dict__"}
    return own & attributes - _WAIT

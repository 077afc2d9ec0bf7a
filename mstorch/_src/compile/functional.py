"""Run a function with its tensors replaced, and undo all of its side effects."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._tensor import Tensor
from ..backend.arrays import Array
from ..backend.geometry import contiguous_strides
from ..backend.raw import ON_CPU, Raw
from ..backend.trace import GraphBreak
from ..core.modes import grad_set_to
from ..core.storage import DeviceMemory, NativeBlock, Value
from ..core.strides import dense_order
from ..core.tensor_base import array_of, is_tracked, laid_out, strides_of, value_of, window, wrap
from ..leaving import Block, each
from ..tape.node import is_leaf
from ..tape.windows import window_on
from .memory import constant, copy_of


def packed_strides(tensor: Any) -> tuple[int, ...] | None:
    """Return dense strides that keep the order of the dimensions in memory; None if these are row-major."""
    shape, strides = tensor._ms_shape, tensor._ms_stride
    if strides is not None and dense_order(shape, strides) is None:
        order = sorted(range(len(shape)), key=lambda i: (strides[i], shape[i] != 1), reverse=True)
        packed = contiguous_strides(tuple(shape[i] for i in order))
        strides = tuple(packed[order.index(i)] for i in range(len(shape)))
        if strides == contiguous_strides(shape):
            strides = None
    return strides


def stand_in(tensor: Tensor, raw: Raw) -> Tensor:
    """Return a tensor that replaces an argument within a capture, over the MindSpore tensor ``raw``."""
    made = wrap(raw, packed_strides(tensor))
    made.__class__ = type(tensor)
    return made


def copied(tensor: Tensor) -> Tensor:
    """Return a replacement for an argument, over a copy of the argument's values."""
    strides = packed_strides(tensor)
    made = laid_out(np.array(array_of(tensor), order="C"), strides) if ON_CPU else wrap(copy_of(value_of(tensor)), strides)
    made.__class__ = type(tensor)
    if is_tracked(tensor):
        made.requires_grad_()
        if not is_leaf(tensor):
            made = made.view_as(made)
    return made


def replaced(arguments: Sequence[Any], numbers: Sequence[int], made: Sequence[Any]) -> list[Any]:
    """Return the arguments with those at ``numbers`` replaced by ``made``, wherever the same object is an argument."""
    found = {id(arguments[i]): other for i, other in zip(numbers, made)}
    return [found.get(id(argument), argument) for argument in arguments]


def exchanged(states: Sequence[Any], raws: Sequence[Raw], follows: bool = False, steps: bool = False) -> NativeBlock:
    """Return a capture block in which the values ``raws`` replace the storages of the tensors ``states``; for the others see it."""
    block = NativeBlock(captured=True, follows=follows, steps=steps)
    for tensor, raw in zip(states, raws):
        block.put(tensor._ms_storage, raw)
    return block


class copied_memory(Block):
    """Context manager in which the storages of known tensors hold copies of their memory; writes are discarded."""

    def __init__(self, states: Sequence[Any]) -> None:
        self._storages: list[Any] = [tensor._ms_storage for tensor in states]

    def __enter__(self) -> None:
        copies = [storage.copied().base if storage.__class__ is DeviceMemory else storage.memory.copy() for storage in self._storages]
        again = each(*[
            functools.partial(setattr, storage, name, value) for storage in self._storages for name, value in _storage_state(storage)
        ])
        self.at_end(again)
        try:
            for storage, copy in zip(self._storages, copies):
                storage.parameter = None
                storage.exchange(copy)
        except BaseException:
            again()
            raise


_OF_STORAGES = ("_source", "_memory", "moved", "parameter", "version")
_OF_DEVICES = ("base", "lent", "shadow", "derived", "parameter", "version")
_MANY = 1 << 32  # larger than any number of exchanges in a function: no cached window of a copy is taken for one of the original


def _storage_state(storage: Any) -> list[tuple[str, Any]]:
    """Return the attributes of a storage with their values, from which it is restored after a run on a copy of its memory."""
    if storage.__class__ is DeviceMemory:
        return [("exchanges", storage.exchanges + _MANY), *[(name, getattr(storage, name)) for name in _OF_DEVICES]]
    return [(name, getattr(storage, name)) for name in _OF_STORAGES]


class Recipe:
    """Class, dtype and geometry from which an output tensor is rebuilt on its storage."""

    __slots__ = ("owner", "number", "kind", "cls", "shape", "stride", "offset", "tracked")

    def __init__(self, owner: str, number: Any, tensor: Tensor) -> None:
        self.owner = owner
        self.number = number
        self.kind = tensor._ms_dtype
        self.cls = type(tensor)
        self.shape = tensor._ms_shape
        self.stride = strides_of(tensor)
        self.offset = tensor._ms_offset
        self.tracked = False

    def make(self, base: Any) -> Any:
        """Return the tensor as a view of its base, or the base itself if shape, strides and offset are equal."""
        if base._ms_shape == self.shape and strides_of(base) == self.stride and base._ms_offset == self.offset and (
            base._ms_dtype is self.kind and self.owner == "fresh"
        ):
            made = base
        elif base._ms_dtype is self.kind:
            with grad_set_to(self.tracked):
                made = window_on(base, self.shape, self.stride, self.offset, "AsStridedBackward0")
        else:
            made = window(base._ms_storage, self.kind, self.shape, self.stride, self.offset)
        if self.cls is not type(made):
            made.__class__ = self.cls
        return made


class Plan:
    """Plan for a graph's outputs: results to build, states and arguments to write."""

    def __init__(self) -> None:
        self.form: Any = None
        self.recipes: list[Recipe] = []
        self.raws: list[Raw] = []  # outputs of the graph
        self.tracked: list[bool] = []  # whether each of them has a gradient; known after an eager run
        self.fresh: list[Any] = []  # the output's number, or the values of a constant
        self.states: list[tuple[Any, Any]] = []  # (known tensor, output number or values of its whole storage)
        self.arguments: list[tuple[int, Any]] = []

    def kept(self) -> list[bool]:
        """Return for each output of the graph True if it becomes a new tensor or an argument's value; other outputs are copied into known
        tensors."""
        lasting = {number for number in [*self.fresh, *[number for _, number in self.arguments]] if isinstance(number, int)}
        return [number in lasting for number in range(len(self.raws))]

    def output(self, raw: Raw) -> int:
        """Return the number of a raw tensor among the outputs of the graph, added if new."""
        for number, known in enumerate(self.raws):
            if known is raw:
                return number
        self.raws.append(raw)
        self.tracked.append(False)
        return len(self.raws) - 1


def plan(
    form: str, outputs: Sequence[Any], arguments: Sequence[Any], argument_raws: Sequence[Raw], states: Sequence[Any],
    block: NativeBlock, state_raws: Sequence[Raw], known: dict[int, Any], depends: Callable[[Raw], bool], packed: Sequence[bool],
) -> Plan:  # fmt: skip
    """Return the plan of a run that has just ended: its outputs, and its writes to arguments and states.

    ``packed``: which replacements of arguments are dense although the arguments are not.
    """
    made = Plan()
    made.form = form
    by_storage = {id(a._ms_storage): i for i, a in enumerate(arguments)}
    state_numbers = {id(tensor._ms_storage): tensor for tensor in states}
    fresh: dict[int, int] = {}
    for tensor in outputs:
        storage = tensor._ms_storage
        key = id(storage)
        same = next((i for i, a in enumerate(arguments) if a is tensor), None)
        if same is not None:
            made.recipes.append(Recipe("same", same, tensor))
        elif id(tensor) in known:
            made.recipes.append(Recipe("known", tensor, tensor))
        elif key in by_storage:
            if packed[by_storage[key]]:
                raise GraphBreak("a view of an argument whose memory is not in order is returned")
            made.recipes.append(Recipe("argument", by_storage[key], tensor))
        elif key in state_numbers:
            made.recipes.append(Recipe("state", state_numbers[key], tensor))
        elif not isinstance(storage, Value):
            raise GraphBreak("a tensor that is no argument, parameter or variable of the function is returned")
        else:
            if key not in fresh:
                fresh[key] = len(made.fresh)
                made.fresh.append(_source(made, storage.raw, depends))
            made.recipes.append(Recipe("fresh", fresh[key], tensor))
    for tensor, raw in zip(states, state_raws):
        now = block.cell(tensor._ms_storage, tensor._ms_dtype.np).raw
        if now is not raw:
            made.states.append((tensor, _source(made, now, depends)))
    for i, (argument, raw) in enumerate(zip(arguments, argument_raws)):
        if argument._ms_stride is None:
            if argument._ms_storage.raw is not raw:
                made.arguments.append((i, _source(made, argument._ms_storage.raw, depends)))
        elif argument._ms_storage.version:
            raise GraphBreak("an argument whose memory is not in order is written to")
    return made


def _source(made: Plan, raw: Raw, depends: Callable[[Raw], bool]) -> int:
    return made.output(raw) if depends(raw) else raw.asnumpy().copy()


def delivered(number: Any, tensors: Sequence[Any]) -> Any:
    """Return an output of the graph, given by its number, or a copy of a constant, as a tensor."""
    return tensors[number] if isinstance(number, int) else constant(number)


def array_source(number: Any, raws: Sequence[Raw]) -> Array:
    """Return the array of a graph output, given by its number, or of a constant."""
    return raws[number].asnumpy() if isinstance(number, int) else number

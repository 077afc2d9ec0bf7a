"""One run of a function with its tensors exchanged for others: nothing that it changes stays changed afterwards."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .._backend import tape
from .._backend.raw import Raw, from_numpy
from .._backend.trace import GraphBreak
from .._core.storage import Storage
from .._core.strides import contiguous_strides, dense_order
from .._core.tensor_base import _make, is_tracked, wrap
from .._tape.node import is_leaf


def stand_in(tensor: Any, raw: Raw) -> Any:
    """A tensor like an argument, over another raw tensor of the argument's shape.

    Differs from the argument where that has gaps in its memory or starts inside its storage: the stand-in has none.
    """
    shape, strides = tuple(raw.shape), tensor._stride
    if strides is not None and dense_order(shape, strides) is None:
        # Dimensions in the same order in memory, without the gaps.
        order = sorted(range(len(shape)), key=lambda i: (strides[i], shape[i] != 1), reverse=True)
        packed = contiguous_strides(tuple(shape[i] for i in order))
        strides = tuple(packed[order.index(i)] for i in range(len(shape)))
        if strides == contiguous_strides(shape):
            strides = None
    tracked = is_tracked(tensor)
    made = wrap(raw, tracked) if strides is None else wrap_strided(raw, tracked, strides)
    made._storage.leaf = tracked and is_leaf(tensor)
    made.__class__ = type(tensor)
    return made


def stand_ins_for(arguments: Sequence[Any], numbers: Sequence[int], raws: Sequence[Raw]) -> list[Any]:
    """The arguments, those at ``numbers`` and all that are the same tensors exchanged for stand-ins."""
    made = {id(arguments[i]): stand_in(arguments[i], raw) for i, raw in zip(numbers, raws)}
    return [made.get(id(argument), argument) for argument in arguments]


@contextmanager
def exchanged(storages: Sequence[Storage], raws: Sequence[Raw]) -> Iterator[None]:
    """The storages hold other values for a while; what is written to them in the meantime is forgotten."""
    before = []
    for storage, raw in zip(storages, raws):
        before.append((storage, storage.value, storage.owned, storage.shared, storage.tracked, storage.leaf))
        storage.value = raw
        storage.owned = storage.shared = False
        storage.version += 1
    try:
        yield
    finally:
        for storage, value, owned, shared, tracked, leaf in before:
            storage.value, storage.owned, storage.shared = value, owned, shared
            storage.tracked, storage.leaf = tracked, leaf
            storage.version += 1  # views that were read in the meantime read again


class Recipe:
    """How to make an output tensor again from the storage that it shows."""

    __slots__ = ("owner", "number", "links", "kind", "cls", "stride", "offset", "leaf")

    def __init__(self, owner: str, number: Any, tensor: Any, depends: Callable[[Raw], bool], base: View | None = None) -> None:
        self.owner = owner
        self.number = number
        self.links = _links(tensor, depends, base) if owner != "same" else ()
        self.kind = tensor._dtype
        self.cls = type(tensor)
        self.stride = tensor._stride
        self.offset = tensor._offset
        self.leaf = tensor._storage.leaf

    def make(self, storage: Storage, base: Any = None) -> Any:
        """The tensor over a storage, as a view of ``base`` if that is given."""
        view = None if base is None else base._view
        for read, detached, space in self.links:
            view = View(view, read, storage.value, -1, detached, space)
        offset = self.offset
        if base is not None and base._offset:
            offset = base._offset + (offset or 0)
        made = _make(storage, self.kind, view, self.stride, offset)
        if self.cls is not type(made):
            made.__class__ = self.cls
        return made


def _links(tensor: Any, depends: Callable[[Raw], bool], base: View | None) -> tuple[Any, ...]:
    """How the tensor's view is read, step by step from the view ``base`` or the storage."""
    links = []
    view = tensor._view
    while view is not base:
        if view is None:
            raise GraphBreak("a view of the memory of an argument is returned")
        if view.leaf or view.own:
            raise GraphBreak("a view with a history of its own is returned")
        for cell in view.read.__closure__ or ():
            if isinstance(cell.cell_contents, Storage) or (
                isinstance(cell.cell_contents, Raw) and depends(cell.cell_contents)
            ):
                raise GraphBreak("a view that reads several tensors is returned")
        links.append((view.read, view.detached, view.space))
        view = view.parent
    return tuple(reversed(links))


class Plan:
    """What becomes of the outputs of a graph: results to make, states and arguments to write."""

    def __init__(self) -> None:
        self.form: Any = None
        self.recipes: list[Recipe] = []
        self.raws: list[Raw] = []  # outputs of the graph
        self.tracked: list[bool] = []
        self.fresh: list[tuple[Any, Any, bool]] = []  # number of the output or a constant's values, dtype, tracked
        self.states: list[tuple[Storage, Any, bool]] = []
        self.arguments: list[tuple[int, Any, bool]] = []

    def output(self, raw: Raw, tracked: bool) -> int:
        """The number of a raw tensor among the outputs of the graph."""
        for number, known in enumerate(self.raws):
            if known is raw:
                self.tracked[number] = self.tracked[number] or tracked
                return number
        self.raws.append(raw)
        self.tracked.append(tracked)
        return len(self.raws) - 1


def plan(
    form: Any, outputs: Sequence[Any], arguments: Sequence[Any], argument_raws: Sequence[Raw], states: Sequence[Storage],
    state_raws: Sequence[Raw], known: dict[int, Any], depends: Callable[[Raw], bool], packed: Sequence[bool],
) -> Plan:  # fmt: skip
    """The plan of a run that has just ended: its outputs, and what it wrote to arguments and states.

    ``packed`` says which stand-ins have no gaps in memory where their arguments have.
    """
    made = Plan()
    made.form = form
    by_storage = {id(a._storage): i for i, a in enumerate(arguments)}
    state_numbers = {id(storage) for storage in states}
    fresh: dict[int, int] = {}
    for tensor in outputs:
        storage = tensor._storage
        key = id(storage)
        same = next((i for i, a in enumerate(arguments) if a is tensor), None)
        if same is not None:
            made.recipes.append(Recipe("same", same, tensor, depends))
        elif id(tensor) in known:
            made.recipes.append(Recipe("known", tensor, tensor, depends))
        elif key in by_storage:
            if packed[by_storage[key]]:
                raise GraphBreak("a view of an argument whose memory is not in order is returned")
            made.recipes.append(Recipe("argument", by_storage[key], tensor, depends, arguments[by_storage[key]]._view))
        elif key in state_numbers:
            made.recipes.append(Recipe("state", storage, tensor, depends))
        else:
            if key not in fresh:
                fresh[key] = len(made.fresh)
                made.fresh.append(_fresh(made, storage, depends))
            made.recipes.append(Recipe("fresh", fresh[key], tensor, depends))
    for storage, raw in zip(states, state_raws):
        if storage.value is not raw:
            made.states.append((storage, _written(made, storage, depends), storage.tracked))
    for i, (argument, raw) in enumerate(zip(arguments, argument_raws)):
        if argument._view is None and argument._storage.value is not raw:
            made.arguments.append((i, _written(made, argument._storage, depends), argument._storage.tracked))
        elif argument._view is not None and argument._storage.version:
            raise GraphBreak("an argument whose memory is not in order is written to")
    return made


def _fresh(made: Plan, storage: Storage, depends: Callable[[Raw], bool]) -> tuple[Any, Any, bool]:
    if not depends(storage.value):
        return storage.value.asnumpy().copy(), storage.dtype, storage.tracked
    if storage.leaf:
        raise GraphBreak("a tensor that was made a leaf is returned")
    return made.output(storage.value, storage.tracked), storage.dtype, storage.tracked


def _written(made: Plan, storage: Storage, depends: Callable[[Raw], bool]) -> Any:
    if depends(storage.value):
        return made.output(storage.value, storage.tracked)
    return storage.value.asnumpy().copy()


def source(number: Any, raws: Sequence[Raw]) -> Raw:
    """An output of the graph by its number, or a copy of a constant."""
    return raws[number] if isinstance(number, int) else from_numpy(number.copy())


def storages(made: Plan, raws: Sequence[Raw]) -> list[Storage]:
    """The fresh storages of a run, from the outputs of the graph."""
    found = []
    for number, kind, tracked in made.fresh:
        constant = not isinstance(number, int)
        found.append(Storage(source(number, raws), kind, tracked and not constant, owned=constant))
    return found


def detached(raw: Raw) -> Raw:
    """The raw tensor itself if the tape does not follow it, else one over the same memory that it does not."""
    return tape.detached(raw) if raw._requires_grad else raw


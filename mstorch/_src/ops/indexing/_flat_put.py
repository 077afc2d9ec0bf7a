"""Writes at flat indices of a device tensor, and the flat indices of a key."""
from __future__ import annotations

from typing import Any

from ...backend.arrays import Number
from ...backend.device_memory import full
from ...backend.geometry import flat_index
from ...backend.raw import Raw, number_in
from ...backend.table import kernel
from ...core.dtype import int64
from ...core.modes import modes
from ...core.strides import may_share_places
from ...core.tangents import LEVELS
from ...core.tensor_base import (
    TensorBase,
    is_tracked,
    on_device,
    put_raw,
    recording,
    strides_of,
    tensor_of,
    touch,
    value_of,
    whole_storage,
)
from ...core.writable import change_raw, check_view, check_writable
from ...tape.bare import bare, bare_twin, dressed
from ...tape.moving import beside
from ...tape.node import Node, edge_of
from ...tape.saved_values import watch
from ...tape.ways import ways
from ...tape.writes import settle, snapshot
from .._dispatch import call, contiguous_copy, is_number
from ..shape import views
from ._values_put import fitted, number_as

_linear, _index = kernel("linear_index"), kernel("index")
_scatter = kernel("storage_scatter")
_take = kernel("take")


def _made_there(value: TensorBase | Number, current: TensorBase, shape: tuple[int, ...]) -> TensorBase | None:
    return on_device(full(shape, number_in(number_as(value, current)), current._ms_dtype.name)) if is_number(value) else None


@ways(at=1, device=_made_there)
def filling(value: TensorBase | Number, current: TensorBase, shape: tuple[int, ...]) -> TensorBase:
    """Return ``value`` as a tensor of the dtype of ``current``, expanded to ``shape``, the shape of the part to be written."""
    return fitted(value, current, shape)


def flat_positions(
    shape: tuple[int, ...], dims: tuple[int, ...], indices: tuple[Any, ...], common: tuple[int, ...], adjacent: bool, beside_: TensorBase
) -> TensorBase:
    """Return the flat indices of the elements that index tensors select in a row-major tensor of ``shape``, on the device of ``beside_``.
    """
    indices = tuple(beside(index, beside_) for index in indices)
    return call(_linear, (indices[0],), shape, dims, indices, common, adjacent, dtype=int64)


def _put_by_one_kernel(
    target: TensorBase, dims: tuple[int, ...], indices: tuple[Any, ...], common: tuple[int, ...], adjacent: bool, source: TensorBase,
    adding: bool
) -> bool:
    storage, lead, width = target._ms_storage, dims[0] if adjacent else 0, len(common)
    if LEVELS or may_share_places(target._ms_shape, strides_of(target)):
        return False
    check_writable(target, uniform=True)
    indices = tuple(beside(index, target) for index in indices)
    made = None
    if recording((target, source)):
        if is_tracked(source):
            check_view(target)
        plan = (dims, indices, common, adjacent)
        made = watch(_IndexPut.recorded(snapshot(target), source, plan=plan, shape=source._ms_shape, adding=adding), *indices)
    order = (*dims, *(d for d in range(len(target._ms_shape)) if d not in dims))
    shape, strides = target._ms_shape, strides_of(target)
    turned = (*range(lead, lead + width), *range(lead), *range(lead + width, len(source._ms_shape)))
    given = value_of(views.permute(source, turned))
    places = tuple(map(value_of, indices))
    window = tuple(shape[d] for d in order), tuple(strides[d] for d in order), target._ms_offset
    args = (given, places, adding)
    if not storage.changes("index_put", args, target._ms_dtype.name):
        return False
    storage.change("index_put", args, *window)
    touch(target)
    if modes.grad:
        settle(target, made, "IndexPutBackward0")
    return True


@ways(device=_put_by_one_kernel)
def put_by_one_kernel(target: Any, dims: Any, indices: tuple[Any, ...], common: Any, adjacent: bool, source: Any, adding: bool) -> bool:
    """Write ``source`` (or add it, if ``adding``) at index tensors by one device kernel. Return False, and write nothing, if the kernel is
    not applicable.

    The kernel indexes leading dimensions, so that it receives a view with the indexed dimensions first."""
    return False


def put_on_device(target: TensorBase, positions: TensorBase, source: TensorBase, watched: tuple[Any, ...] = ()) -> None:
    """Put the elements of ``source`` at flat indices of a device tensor; ``watched`` as in ``put_at``."""
    check_writable(target, uniform=True)  # torch only warns if elements share memory
    source = beside(source, target)
    source = source if source._ms_stride is None else contiguous_copy(source)
    made = None
    if modes.grad and (is_tracked(target) or is_tracked(source)):
        if is_tracked(source):
            check_view(target)
        made = watch(_FlatPut.recorded(snapshot(target), source, positions=positions), *watched)
    written = target
    if may_share_places(target._ms_shape, strides_of(target)):  # the elements of a window would all be written back
        places = beside(tensor_of(flat_index(target._ms_shape, strides_of(target), target._ms_offset)), target)
        written, positions = whole_storage(target), call(_take, (places,), positions)
    if not change_raw(written, "put", value_of(source), value_of(positions), False):
        put_raw(written, _scatter[target._ms_dtype.name](value_of(written), value_of(positions), value_of(source)))
    if modes.grad:
        settle(target, made, "IndexPutBackward0")


class Put(Node):
    """The autograd node of a write at indices: its edges lead to the tensor before the write, and to the source."""

    __slots__ = ()
    label = "IndexPutBackward0"

    @classmethod
    def recorded(cls, before: TensorBase, source: TensorBase, **members: Any) -> TensorBase:
        """Return an alias of the written tensor ``before`` whose autograd node is of this class, with ``members`` as the node's attributes.
        """
        made = bare_twin(before)
        node = cls((edge_of(before), edge_of(source)))
        for name, value in members.items():
            setattr(node, name, value)
        made._ms_node = node
        return made


class _FlatPut(Put):
    """The node of a write at flat indices on a device."""

    __slots__ = ("positions",)
    positions: Any

    def run(self, gradients: list[Raw], recorded: bool) -> tuple[Raw | None, ...]:
        """Return the gradient of the tensor before the write, which is 0 at the written indices, and the gradient of the source: the
        elements at these indices. None stands for a gradient that is not needed."""
        gradient, raw = gradients[0], value_of(self.positions)
        whole = dressed(gradient)
        rest = part = None
        if self.edges[0] is not None:
            rest = contiguous_copy(whole)
            put_on_device(rest, self.positions, on_device(full(tuple(raw.shape), 0, whole._ms_dtype.name)))
        if self.edges[1] is not None:
            part = call(_take, (whole,), self.positions)
        return tuple(item if item is None or recorded else bare(item) for item in (rest, part))


class _IndexPut(Put):
    """The node of a write at index tensors on a device, or of an addition (``adding``). ``plan``: the arguments of ``index``; ``shape``:
    that of the elements at these indices."""

    __slots__ = ("adding", "plan", "shape")
    plan: Any
    shape: Any
    adding: Any

    def run(self, gradients: list[Raw], recorded: bool) -> tuple[Raw | None, ...]:
        """Return the gradient of the tensor before the write, which is 0 at the written indices, and that of the source."""
        whole = dressed(gradients[0])
        rest = part = None
        if self.edges[0] is not None:
            rest = whole if self.adding else contiguous_copy(whole)
        if rest is not None and not self.adding:
            nothing = views.expand(on_device(full((), 0, whole._ms_dtype.name)), self.shape)
            if not put_by_one_kernel(rest, *self.plan, nothing, False):
                dims, indices, common, adjacent = self.plan
                put_on_device(rest, flat_positions(rest._ms_shape, dims, indices, common, adjacent, rest), nothing)
        if self.edges[1] is not None:
            part = call(_index, (whole,), *self.plan)
        return tuple(item if item is None or recorded else bare(item) for item in (rest, part))

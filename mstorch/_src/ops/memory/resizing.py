"""Methods that replace or resize a tensor's memory."""
from __future__ import annotations

from typing import Any

from ...backend.geometry import contiguous_strides
from ...core.above import above
from ...core.formats import channels_last, channels_last_3d, contiguous_format, memory_format, preserve_format
from ...core.modes import modes
from ...core.resized import resize
from ...core.storage import refuse_growth
from ...core.strides import beyond_storage, channels_last_strides, normalize, suggests_channels_last
from ...core.tangents import LEVELS, is_dual
from ...core.tensor_base import TensorBase, auto_of, is_tracked, strides_of, touch, turn_into
from ...core.writable import check_history, check_view, refuse_inference
from ...tape.bare import bare_twin
from ...tape.composite import refuse
from ...tape.node import edge_of
from ...tape.refitted import refit
from .._dispatch import cpp_word, shape_args
from .._forms import SIZE, Forms
from .._operation import operation
from ..shape import views


@operation(forms=SIZE)
def resize_(self: TensorBase, *sizes: Any, memory_format: memory_format | None = None) -> TensorBase:
    """Resize in place; a larger size gets new memory that starts with the old elements. Return the tensor."""
    refuse_inference(self)
    if is_tracked(self) and not modes.inference:
        raise RuntimeError("cannot resize variables that require grad")
    if LEVELS and is_dual(self):
        raise RuntimeError("cannot resize variables that has a forward grad")
    shape = shape_args(sizes)
    if shape and min(shape) < 0:
        raise RuntimeError("numel: integer multiplication overflow")
    if memory_format is not None and memory_format is not contiguous_format:
        steps = _strides_of_format(shape, memory_format)
        resize_(self, shape)
        self._ms_stride, self._ms_array = normalize(shape, steps), None
        return self
    if shape == self._ms_shape:
        return self
    resize(self, shape)
    touch(self)
    return self


_RANKS = {channels_last: 4, channels_last_3d: 5}


def _strides_of_format(shape: tuple[int, ...], memory_format: memory_format) -> tuple[int, ...]:
    rank = _RANKS.get(memory_format)
    if rank is None:
        raise RuntimeError("Unsupported memory formatPreserve")
    if len(shape) != rank:
        raise RuntimeError(f"required rank {rank} tensor to use {memory_format.name} format")
    return channels_last_strides(shape)


@operation(forms=Forms({"input": "self"}))
def resize_as_(self: TensorBase, the_template: TensorBase, *, memory_format: memory_format | None = None) -> TensorBase:
    """Resize in place to another tensor's size, in a format (that of the other tensor with ``preserve_format``); return the tensor."""
    shape = the_template._ms_shape
    if memory_format is preserve_format:
        last = suggests_channels_last(shape, strides_of(the_template))
        memory_format = (channels_last if len(shape) == 4 else channels_last_3d) if last else None
    return resize_(self, shape, memory_format=memory_format)


def set_(
    self: Any, source: Any = None, storage_offset: int = 0, size: tuple[int, ...] | None = None, stride: tuple[int, ...] | None = None
) -> TensorBase:
    """Make the tensor a view of the storage of ``source``, in place, with the given size, strides and offset; a storage that is too small
    grows. Return the tensor."""
    check_history(self)
    refuse_inference(self)
    if modes.grad and isinstance(source, TensorBase) and is_tracked(source):
        check_view(self)
    if self._ms_auto is not None:
        self._ms_auto.accumulator = None  # existing graphs still end at the old tensor's node
    if source is None:
        turn_into(self, self.new_empty((0,)))
        return self
    if not isinstance(source, TensorBase):
        source = above.storages.tensor_over(source, self._ms_dtype)
    if source._ms_dtype is not self._ms_dtype:
        raise RuntimeError(
            f"Could not set tensor of type {cpp_word(source._ms_dtype)} to a tensor of type {cpp_word(self._ms_dtype)}"
        )
    if LEVELS and (is_dual(self) or is_dual(source)):
        raise NotImplementedError("Trying to use forward AD with set_ that does not support it because it has not been implemented yet.")
    # Read now: ``source`` may be a view of the tensor, whose ``grad_fn`` must not be read later.
    edge = edge_of(source) or edge_of(self)
    tracked = bare_twin(source)
    if edge is not None:
        tracked._ms_node, tracked._ms_number = edge
    elif is_tracked(source):
        auto_of(tracked).leaf = True  # a view made in no-grad mode, which has no node
    before = self._ms_shape
    if size is None:
        turn_into(self, views.alias(source))
    else:
        shape = shape_args((size,)) if not isinstance(size, int) else (size,)
        steps = contiguous_strides(shape) if stride is None else stride
        if source._ms_storage.has_elements and 0 not in shape:
            _hold(self, source, shape, steps, storage_offset)
        turn_into(self, views.as_strided(source, shape, steps, storage_offset))
    if not modes.grad:
        refit(self, before, self._ms_dtype)  # autograd is not notified, and keeps the old shape
    _refuse_gradient(self, tracked)
    return self


def _hold(self: TensorBase, source: TensorBase, shape: tuple[int, ...], steps: tuple[int, ...], offset: int) -> None:
    """Let the storage of ``source`` grow to hold a view of this shape."""
    storage, itemsize = source._ms_storage, source._ms_dtype.itemsize
    need = (offset + sum([(length - 1) * step for length, step in zip(shape, steps)]) + 1) * itemsize
    if need > storage.nbytes:
        if shape == self._ms_shape and tuple(steps) == strides_of(self):  # torch sees no change, and does not grow the memory
            raise beyond_storage(shape, steps, offset, itemsize, storage.nbytes)
        refuse_growth(storage)
        storage.resize(need)


def _refuse_gradient(self: Any, tracked: TensorBase) -> None:
    """Give the tensor, and the base of which it was a view, a node that raises in backward: ``set_`` has no derivative."""
    error = RuntimeError("derivative for set_ is not implemented")
    refuse("NotImplemented", "set_", tracked, self, error)
    base = None if self._ms_auto is None else self._ms_auto.base
    if base is not None and self._ms_node is not None and modes.grad and is_tracked(tracked):
        refuse("CopySlices", "set_", tracked, base, error)  # as for any write to a view, the base gets a node too
        self._ms_auto.seen = -1
        if base._ms_auto is not None:
            base._ms_auto.leaf = False

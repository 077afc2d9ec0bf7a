"""allow_mutation_on_saved_tensors: saved tensors are copied just before they are written."""
from __future__ import annotations

import weakref
from typing import Any

from .._src.core.modes import grad_set_to, modes
from .._src.core.tensor_base import strides_of
from .._src.leaving import END, Block, each, length_again, values_again
from .._tensor import Tensor

_OUTSIDE = (
    "Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin which the graph was originally recorded."
)


class _Handle:
    """A handle for a saved tensor in a graph."""

    __slots__ = ("__weakref__",)


class _AllowedMutations:
    """Tensors saved for backward within a block, by handle: the tensor itself, or a clone made before its memory was written to."""

    def __init__(self) -> None:
        self.cloned: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self.original: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self.tid_to_weakhandle: weakref.WeakValueDictionary[Any, Any] = weakref.WeakValueDictionary()
        self.sid_to_tid: dict[Any, set[Any]] = {}

    def clear(self) -> None:
        """Drop all saved tensors: backward can no longer run through graphs made in the block."""
        for kept in (self.cloned, self.original, self.tid_to_weakhandle, self.sid_to_tid):
            kept.clear()

    def pack(self, tensor: Tensor) -> _Handle:
        """Return the handle of a tensor; tensors with the same elements and version share one."""
        place = _place(tensor)
        key = (*place, tensor._ms_shape, strides_of(tensor), tensor._ms_offset, tensor._ms_dtype)
        self.sid_to_tid.setdefault(place, set()).add(key)
        handle = self.tid_to_weakhandle.get(key)
        if handle is None:
            handle = self.tid_to_weakhandle[key] = _Handle()
            self.original[handle] = tensor
        return handle

    def unpack(self, handle: Any) -> Any:
        """Return the tensor with the values that it was saved with."""
        found = self.cloned.get(handle)
        if found is None:
            found = self.original.get(handle)
        if found is None:
            raise AssertionError(_OUTSIDE)
        return found

    def keep(self, tensor: Tensor) -> None:
        """Clone the saved tensors that share memory with ``tensor``, which is about to be written to."""
        for key in self.sid_to_tid.get(_place(tensor), ()):
            handle = self.tid_to_weakhandle.get(key)
            if handle is not None and handle not in self.cloned:
                with grad_set_to(False):
                    self.cloned[handle] = self.original.pop(handle).clone()


def _place(tensor: Tensor) -> tuple[int, int]:
    return id(tensor._ms_storage), tensor._ms_counter.version


class allow_mutation_on_saved_tensors(Block):
    """A context manager in which saved tensors may be written: they are copied just before. Raises RuntimeError when nested."""

    def __enter__(self) -> _AllowedMutations:
        if modes.before_write is not None:
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        if modes.saved_hooks_refused is not None:
            raise RuntimeError(modes.saved_hooks_refused)
        kept, hooks = _AllowedMutations(), modes.saved_hooks
        pair, keep = (kept.pack, kept.unpack), kept.keep
        self.at_end(each(length_again(hooks), values_again(modes, "before_write"), kept.clear))
        hooks[END:] = (pair,)
        modes.before_write = keep
        return kept

"""The cell that tensors and their views share: one value, a version, and who else knows its memory."""
from __future__ import annotations

from typing import Any

import numpy as np

from .._backend import tape
from .._backend.raw import Raw, from_numpy
from .dtype import dtype as Dtype


class Storage:
    """The current value of a base tensor. Its elements in row-major order are the storage that strides speak of.

    ``owned`` means that the value's memory belongs to this cell alone and no recorded operation has used it, so that a
    write may go into the memory. ``shared`` means that NumPy or DLPack see the memory, so that a write must go there.
    ``tracked`` means that the value takes part in autograd, ``leaf`` that it is where a gradient ends.
    """

    __slots__ = ("value", "dtype", "version", "owned", "shared", "tracked", "leaf", "__weakref__")
    value: Raw
    dtype: Dtype

    def __init__(self, value: Raw, kind: Dtype, tracked: bool = False, owned: bool = False) -> None:
        self.value = value
        self.dtype = kind
        self.version = 0
        self.owned = owned
        self.shared = False
        self.tracked = tracked
        self.leaf = False

    def own(self) -> None:
        """Make the value's memory this cell's alone: kernels may have left it shared with another raw tensor."""
        if not (self.owned or self.shared or self.leaf or self.tracked):
            self.value = from_numpy(np.array(self.value.asnumpy(), order="C", copy=True))
            self.owned = True

    def array(self) -> Any:
        """The value's memory as a row-major NumPy array."""
        if not self.value.is_contiguous():
            self.own()
        return self.value.asnumpy()

    def share(self) -> Any:
        """The memory as a NumPy array that the outside keeps: every later write goes into it."""
        self.own()
        self.shared = True
        return self.value.asnumpy()

    def rebind(self, value: Raw, tracked: bool) -> None:
        """Make ``value`` (same shape and dtype) the current one, in the way that this cell's readers need."""
        self.version += 1
        if self.leaf:
            # A leaf keeps its raw tensor, which the tape and MindSpore's optimisers know; its memory is written, and a
            # graph that saved the old values refuses to run backward, as in torch. A trace only names the new value.
            if tape.tracing() is None:
                tape.write_memory(self.value, value)
            else:
                self.value = value
            return
        if self.shared:
            tape.write_memory(self.value, value)
            if not tracked:
                return
        self.value = value
        self.tracked = tracked
        self.owned = False

"""The layout of a tensor: a storage cell, for a view the way to read it, strides. Methods come in ``_tensor.py``."""
from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._backend import tape
from .._backend.raw import ON_CPU, Raw, from_numpy
from .._backend.table import kernel
from .dtype import OF_MS, dtype
from .storage import Storage
from .strides import Strides, contiguous_strides, dense_order, flat_index, normalize, overlaps

grad_mode = tape.grad_mode
_permute = kernel("permute")
_scatter = kernel("storage_scatter")
_replace = kernel("replace_value")

Read = Callable[[Raw], Raw]


class Space:
    """A storage seen in another dtype: ``read`` makes the flat elements from the storage's value, ``write`` undoes it."""

    __slots__ = ("read", "write", "dtype")

    def __init__(self, read: Read, write: Callable[[Raw, Raw], Raw], kind: dtype) -> None:
        self.read = read
        self.write = write
        self.dtype = kind


class View:
    """How a tensor shows a part of its storage: ``read`` makes its value from the parent's value.

    The value is kept with the version of the storage that it was read at. A ``detached`` view takes no part in
    autograd. A ``leaf`` view is one that ``requires_grad_()`` was called on: its raw tensor stays the same. An ``own``
    view has a history apart from its storage's: a detached tensor that a recorded value was written to.
    """

    __slots__ = ("parent", "read", "value", "version", "detached", "leaf", "own", "of_leaf", "space")

    def __init__(self, parent: View | None, read: Read, value: Raw, version: int, detached: bool, space: Space | None) -> None:
        self.parent = parent
        self.read = read
        self.value = value
        self.version = version
        self.detached = detached
        self.leaf = False
        self.own = False
        self.of_leaf = False
        self.space = space

    def tracked(self, storage: Storage) -> bool:
        """Whether the view takes part in autograd."""
        if self.leaf or self.own:
            return True
        if self.detached:
            return False
        if storage.leaf and not self.of_leaf:
            return False  # made before its base became a leaf
        return storage.tracked if self.parent is None else self.parent.tracked(storage)

    def current(self, storage: Storage) -> Raw:
        """The view's value now."""
        if self.version == storage.version:
            return self.value
        # What is read again must be recorded as the view was when it was made, whatever the mode is now.
        before = grad_mode.enabled
        follow = not (self.detached or self.leaf)
        if follow and storage.tracked:
            tape.start_recording()
        tape.set_grad_enabled(follow)
        try:
            value = self.read(storage.value if self.parent is None else self.parent.current(storage))
        finally:
            tape.set_grad_enabled(before)
        if self.leaf:
            tape.write_memory(self.value, value)
        elif self.own:
            self.value = _replaced(storage.dtype.name, self.value, value, passes=True)
        else:
            self.value = tape.detached(value) if self.detached else value
        self.version = storage.version
        return self.value


class SparseOperand(NotImplementedError):
    """A strided operation was given a sparse tensor."""


class TensorBase:
    """Data members of a tensor. ``_stride`` is None for row-major strides."""

    __slots__ = ("_storage", "_dtype", "_view", "_stride", "_offset", "__dict__", "__weakref__")
    _storage: Storage
    _dtype: dtype
    _view: View | None
    _stride: Strides | None
    _offset: int

    if TYPE_CHECKING:  # what ``_methods`` generates
        __getitem__: Any
        __add__: Any
        __radd__: Any
        __sub__: Any
        __rsub__: Any
        __mul__: Any
        __rmul__: Any
        __truediv__: Any
        __rtruediv__: Any
        __floordiv__: Any
        __mod__: Any
        __pow__: Any
        __rpow__: Any
        __matmul__: Any
        __neg__: Any
        __invert__: Any
        __and__: Any
        __or__: Any
        __lt__: Any
        __le__: Any
        __gt__: Any
        __ge__: Any

        def __getattr__(self, name: str) -> Any: ...


_new = object.__new__
_class: list[type] = [TensorBase]


def set_tensor_class(cls: type) -> None:
    """Let ``wrap`` make instances of the finished class."""
    _class[0] = cls


def _make(storage: Storage, kind: dtype, view: View | None, stride: Strides | None, offset: int) -> Any:
    tensor: Any = _new(_class[0])
    tensor._storage = storage
    tensor._dtype = kind
    tensor._view = view
    tensor._stride = stride
    tensor._offset = offset
    return tensor


def wrap(raw: Raw, tracked: bool = False, owned: bool = False) -> Any:
    """A base tensor of row-major strides over ``raw``."""
    tensor: Any = _new(_class[0])
    tensor._dtype = kind = OF_MS[raw.dtype]
    # Storage(…) written out: every operation ends here, and the call alone costs 0.2 µs.
    tensor._storage = storage = _new(Storage)
    storage.value = raw
    storage.dtype = kind
    storage.version = 0
    storage.owned = owned
    storage.shared = False
    storage.tracked = tracked
    storage.leaf = False
    tensor._view = None
    tensor._stride = None
    tensor._offset = 0
    return tensor


def wrap_strided(raw: Raw, tracked: bool, strides: Strides | None) -> Any:
    """A tensor over fresh values whose memory order is ``strides``, which leave no gaps."""
    if strides is None:
        return wrap(raw, tracked)
    order = dense_order(raw.shape, strides)
    assert order is not None, "the result of an operation is dense"
    inverse = tuple(int(i) for i in np.argsort(order))
    kind = OF_MS[raw.dtype]
    permute = _permute[kind.name]
    storage = Storage(permute(raw, tuple(order)), kind, tracked)
    view = View(None, lambda value: permute(value, inverse), raw, 0, False, None)
    return _make(storage, kind, view, normalize(raw.shape, strides), 0)


def value_of(tensor: Any) -> Raw:
    """The tensor's current raw value, in its own shape."""
    view = tensor._view
    return tensor._storage.value if view is None else view.current(tensor._storage)


def is_tracked(tensor: Any) -> bool:
    """Whether the tensor takes part in autograd (torch's ``requires_grad``)."""
    view = tensor._view
    return tensor._storage.tracked if view is None else view.tracked(tensor._storage)


def is_leaf(tensor: Any) -> bool:
    """Whether no recorded operation made the tensor."""
    if not is_tracked(tensor):
        return True
    view = tensor._view
    return tensor._storage.leaf if view is None else view.leaf


def strides_of(tensor: Any) -> Strides:
    """Strides in elements."""
    return tensor._stride if tensor._stride is not None else contiguous_strides(value_of(tensor).shape)


def make_view(
    source: Any, read: Read, shape: Sequence[int], strides: Strides, offset: int, detached: bool = False
) -> Any:
    """A tensor that shows a part of ``source``'s storage; ``read`` makes its value from the value of ``source``."""
    storage = source._storage
    tracked = is_tracked(source)
    detached = detached or (tracked and not grad_mode.enabled)
    if tracked and not detached:
        tape.start_recording()
    value = read(value_of(source))
    if tracked and detached:
        # MindSpore's view ops keep the history even where recording is off.
        value = tape.detached(value)
    parent = source._view
    view = View(parent, read, value, storage.version, detached, None if parent is None else parent.space)
    view.of_leaf = storage.leaf
    return _make(storage, source._dtype, view, normalize(shape, strides), offset)


def make_space_view(source: Any, space: Space, read: Read, shape: Sequence[int], strides: Strides, offset: int) -> Any:
    """A tensor of another dtype over the storage of ``source``; strides and offset count elements of that dtype."""
    storage = source._storage
    tracked = is_tracked(source)
    detached = tracked and not grad_mode.enabled
    if tracked and not detached:
        tape.start_recording()
    value = read(storage.value)
    view = View(None, read, tape.detached(value) if detached else value, storage.version, detached, space)
    view.of_leaf = storage.leaf
    return _make(storage, space.dtype, view, normalize(shape, strides), offset)


def _leaf_above(view: View | None) -> bool:
    while view is not None and not view.detached:
        if view.leaf:
            return True
        view = view.parent
    return False


def check_writable(tensor: Any, uniform: bool = False) -> None:
    """Raise torch's error if an in-place write to the tensor is not allowed now.

    A ``uniform`` write, of one value, may go to elements that share memory.
    """
    storage, view = tensor._storage, tensor._view
    if grad_mode.enabled and is_tracked(tensor):
        if is_leaf(tensor):
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        if storage.leaf or _leaf_above(view):
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    if not uniform and tensor._stride is not None and overlaps(value_of(tensor).shape, tensor._stride):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )


def write(tensor: Any, new: Raw, tracked: bool, uniform: bool = False) -> None:
    """Make ``new`` (the tensor's shape and dtype, in memory of its own) its value, seen by all who share its storage.

    ``tracked`` says whether ``new`` takes part in autograd. Memory itself is written where NumPy shares it, where a
    leaf is changed outside of autograd, and where nothing else can have kept the old value.
    """
    check_writable(tensor, uniform)
    storage, view = tensor._storage, tensor._view
    if view is None:
        if storage.tracked and not storage.leaf and not tracked:
            # Under no_grad the value changes and the history stays; in grad mode a constant ends the old history.
            passes = not grad_mode.enabled
            new, tracked = _replaced(storage.dtype.name, storage.value, new, passes), True
        storage.rebind(new, tracked)
        return
    if not tracked and not storage.tracked and ON_CPU and tape.tracing() is None:
        _write_memory(tensor, new)
        return
    apart = tracked and storage.tracked and (view.detached or view.own)
    silent = apart or not grad_mode.enabled or (storage.tracked and not view.tracked(storage))
    base = tape.detached(storage.value) if silent and storage.tracked else storage.value
    before = grad_mode.enabled
    if not silent:
        tape.start_recording()
    tape.set_grad_enabled(not silent)
    try:
        value = _written(tensor, base, new)
    finally:
        tape.set_grad_enabled(before)
    if storage.tracked and not storage.leaf:
        if silent:
            value = _replaced(storage.dtype.name, storage.value, value, passes=True)
        elif not tape.is_recorded(value):
            value = _replaced(storage.dtype.name, storage.value, value, passes=False)
    storage.rebind(value, storage.tracked or (tracked and not apart))
    if apart:
        view.own = True
    if tracked and (apart or not silent) and not storage.leaf and not storage.shared:
        view.value = new
        view.version = storage.version


def _written(tensor: Any, base: Raw, new: Raw) -> Raw:
    """The storage's value with the tensor's part replaced."""
    space = tensor._view.space
    storage = tensor._storage
    if space is None and tensor._stride is None and tensor._offset == 0 and base.size == new.size:
        return new if base.shape == new.shape else _reshape[storage.dtype.name](new, base.shape)
    index = from_numpy(flat_index(new.shape, strides_of(tensor), tensor._offset))
    if space is None:
        return _scatter[storage.dtype.name](base, index, new)
    return space.write(base, _scatter[space.dtype.name](space.read(base), index, new))


_reshape = kernel("reshape")


def _replaced(name: str, old: Raw, new: Raw, passes: bool) -> Raw:
    """``new`` in place of the value ``old``, with its history (``passes``) or with the gradient ending here."""
    before = grad_mode.enabled
    tape.set_grad_enabled(True)
    tape.start_recording()
    try:
        return _replace[name](old, new, passes)
    finally:
        tape.set_grad_enabled(before)


def _write_memory(tensor: Any, new: Raw) -> None:
    """Write a part of the storage in place; the first write copies a value that others may have kept."""
    storage = tensor._storage
    storage.own()
    values = new.asnumpy()
    np.copyto(strided_array(tensor), values)
    storage.version += 1
    if storage.shared:
        tape.bump_versions([storage.value])


def strided_array(tensor: Any) -> np.ndarray:
    """The tensor's elements as a NumPy view of its storage's memory."""
    array = tensor._storage.array()
    shape = tuple(value_of(tensor).shape)
    kind = tensor._dtype
    if array.size == 0:
        return np.empty(shape, kind.np)
    flat = array.reshape(-1)
    if kind is not tensor._storage.dtype:
        flat = flat.view(kind.np)
    strides = tuple(stride * kind.itemsize for stride in strides_of(tensor))
    return np.lib.stride_tricks.as_strided(flat[tensor._offset :], shape, strides)


# The tensors alive at which gradients end, by id: a WeakSet would compare tensors elementwise.
_LEAVES: dict[int, weakref.ref[Any]] = {}


def leaves() -> list[Any]:
    """The tensors alive at which gradients end."""
    found = [reference() for reference in list(_LEAVES.values())]
    return [tensor for tensor in found if tensor is not None and is_tracked(tensor) and is_leaf(tensor)]


def register_leaf(tensor: Any) -> None:
    """Let backward accumulate a gradient into the tensor."""
    key = id(tensor)
    _LEAVES[key] = weakref.ref(tensor, lambda _: _LEAVES.pop(key, None))


def require_grad(tensor: Any, requires_grad: bool) -> None:
    """Make a tensor a leaf of the tape, or no longer one."""
    if requires_grad:
        tape.refuse_in_trace("a tensor is made a leaf")
        register_leaf(tensor)
    else:
        _LEAVES.pop(id(tensor), None)
    storage, view = tensor._storage, tensor._view
    if view is None:
        if requires_grad:
            # The raw tensor may be part of another cell's reads; a leaf has one of its own over the same memory.
            storage.own()
        tape.mark_leaf(storage.value, requires_grad)
        storage.tracked = storage.leaf = requires_grad
        storage.owned = False
        return
    if requires_grad:
        view.value = from_numpy(np.array(view.current(storage).asnumpy(), order="C", copy=True))
    tape.mark_leaf(view.value, requires_grad)
    view.leaf = requires_grad


def recording(tensors: Sequence[Any]) -> bool:
    """Whether an operation on these tensors is to be recorded; if so, prepare them: the tape may keep their values."""
    if not grad_mode.enabled:
        return False
    for tensor in tensors:
        if is_tracked(tensor):
            tape.start_recording()
            for used in tensors:
                used._storage.owned = False
            return True
    return False


def take_over(tensor: Any) -> None:
    """Let another tensor be the base of this base tensor's storage: this one becomes a detached view of it."""
    storage = tensor._storage
    tensor._view = View(None, _same, storage.value, storage.version, True, None)


def _same(raw: Raw) -> Raw:
    return raw


def whole_storage(tensor: Any) -> Any:
    """A tensor that shows all of a tensor's storage, in the storage's shape."""
    storage = tensor._storage
    return _make(storage, storage.dtype, None, None, 0)

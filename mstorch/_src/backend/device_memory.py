"""Device memory: strided views of a MindSpore tensor, and writes into them, by MindSpore's view and in-place primitives.

A strided view (AsStrided) shares the base's memory. A write is InplaceCopy, InplaceFillScalar or InplaceZero on a view. MindSpore documents
that such a write changes the base, and its in-place kernels on Ascend support strides; on the CPU a write into a part of a base is silently
lost (2.10). The first write therefore tests whether it changes the base. If not, the stand-in device writes to the same bytes through
NumPy, and any other device reassembles the base. Never run on an Ascend.

GPUs have the views and not the writes. What kernels read there is a contiguous copy of the view, made on the GPU, because the older
primitives do not all heed strides (Tanh of a view is wrong on MindSpore's CPU, 2.10). A write to a part replaces the base, at positions
that are computed on the GPU; a write to the whole sends nothing. Never run on a GPU.
"""
from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from . import binding, runtime
from .arrays import Array, Number
from .constants import kept, number_of, table_of
from .forked import forked
from .geometry import contiguous_strides, flat_index, may_overlap
from .primitives import run
from .raw import (
    MS_DTYPE,
    NAME_OF,
    NP_DTYPE,
    ON_CPU,
    Raw,
    from_numpy,
    is_contiguous,
    raw_dtype,
    raw_shape,
    raw_size,
    scalar,
    storage_offset,
)
from .streams import memory_info
from .table import CHANGES, TAKEN, kernel
from .tape import wait_for_launches
from .turns import LOCK

Sizes = tuple[int, ...]

stand_in: list[Any] = []
"""Emulation of factories and writes on the stand-in device (`fake.py`)."""

HAS_WINDOWS = runtime.DEVICE_TARGET in ("Ascend", "GPU")
"""True if the device has primitives for strided views."""
HAS_WRITES = runtime.DEVICE_TARGET == "Ascend"
"""True if the device also has in-place primitives, which write to such views."""

_gather, _scatter, _reshape, _clone = kernel("storage_gather"), kernel("storage_scatter"), kernel("reshape"), kernel("clone")
_join = kernel("cat")
_reaches_base: list[bool] = []  # whether a write to a window changes its base, once tested


_LARGE = 1 << 28  # bytes from which a new tensor is checked against the device's memory: a hundredth of it or more
_total: list[int] = []  # bytes of the device, once asked for


def check_room(shape: Sizes, name: str) -> bool:
    """Raise RuntimeError if the bytes of a tensor exceed 63 bits or the device's memory. Return whether it is large, so that the call
    should wait until it is allocated: the allocation fails within MindSpore's queue, and the error appears in a later call.
    """
    size = math.prod(shape) * NP_DTYPE[name].itemsize
    if size < _LARGE:
        return False
    if size >= 2**63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
    if runtime.FAKE_DEVICE or ON_CPU:
        return False
    if not _total:
        _total.append(memory_info()[1])
    if size > _total[0]:
        kind, index = runtime.device_type(), binding.index()
        raise RuntimeError(
            f"Tried to allocate {size / 2**30:.2f} GiB. {kind.upper()} {index} has a total capacity of {_total[0] / 2**30:.2f} GiB"
        )
    return True


def window(base: Raw, shape: Sizes, strides: Sizes, offset: int) -> Raw:
    """Return a strided view of ``base``, with offset and strides in elements. It shares the memory, or is a copy on a device without such
    views.
    """
    if 0 in shape:
        return from_numpy(np.empty(shape, NP_DTYPE[NAME_OF[raw_dtype(base)]]))
    if not HAS_WINDOWS or not HAS_WRITES and NAME_OF[raw_dtype(base)] == "bfloat16":  # which not even Contiguous takes on a GPU
        return _gather[NAME_OF[raw_dtype(base)]](base, _places(base, shape, strides, offset))
    shown = primitive_window(base, shape, strides, offset)
    return shown if HAS_WRITES or is_contiguous(shown) else run("Contiguous", shown)


def primitive_window(base: Raw, shape: Sizes, strides: Sizes, offset: int) -> Raw:
    """Return a strided view that is not empty, by AsStrided. The offset counts from the base's first element, even if the base is a view.

    Raise RuntimeError if a kernel could not allocate as many elements (an expanded tensor).
    """
    if 0 in strides and math.prod(shape) >= 2**61:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
    return run("AsStrided", base, shape, strides, offset + storage_offset(base))  # AsStrided's offset counts from the start of the memory


def is_dense(raw: Raw) -> bool:
    """Return whether a tensor is row-major and starts at the beginning of its memory."""
    return is_contiguous(raw) and not storage_offset(raw)


def dense(raw: Raw) -> Raw:
    """Return the tensor if it is row-major and starts at the beginning of its memory, else a copy that is."""
    return raw if is_dense(raw) else _clone[NAME_OF[raw_dtype(raw)]](raw)


def shows_others(raw: Raw) -> bool:
    """Return whether a MindSpore tensor is a storage's base, or a view of memory that has other owners."""
    if getattr(raw, "_of_storage", False):
        return True
    while True:
        base = getattr(raw, "_shown", None)
        if base is None:
            return False
        if sys.getrefcount(base) > 3:  # references: the view, the name, the argument of getrefcount
            return True
        raw = base


# Parameters that a step updates together are adjacent in memory; each starts at a multiple of this many elements.
APART = 128


def _aligned_offsets(shapes: Sequence[Sizes], apart: int) -> list[int]:
    """Return the aligned offsets of several tensors placed consecutively, and the end of the last."""
    found = [0]
    for shape in shapes:
        found.append(found[-1] + -(-math.prod(shape) // apart) * apart)
    return found


@lru_cache(512)
def _gap(length: int, name: str) -> Raw:
    return zeros((length,), name)


def laid_out(raws: Sequence[Raw], apart: int = APART) -> Raw:
    """Return tensors packed into one flat tensor: the tensor that all of them are ``parts`` of, else a copy by one kernel."""
    starts = _aligned_offsets([raw_shape(raw) for raw in raws], apart)
    flat = getattr(raws[0], "_part", (None, 0))[0]
    if flat is not None and flat.size == starts[-1]:
        for raw, start in zip(raws, starts):
            whole, own = getattr(raw, "_part", (None, 0))
            if whole is not flat or own != start:  # `is`: MindSpore's `==` compares elements
                break
        else:
            return flat
    name, pieces = NAME_OF[raw_dtype(raws[0])], []
    for raw, start, end in zip(raws, starts, starts[1:]):
        rows = raw if is_contiguous(raw) else dense(raw)  # it may begin anywhere in its memory
        pieces.append(run("Reshape", rows, (-1,)))
        if raw_size(raw) != end - start:
            pieces.append(_gap(end - start - raw_size(raw), name))
    return _join[name](tuple(pieces), 0)


def parts(flat: Raw, shapes: Sequence[Sizes], apart: int = APART) -> list[Raw]:
    """Return tensors of these shapes as consecutive views of ``flat``."""
    found = []
    for shape, start in zip(shapes, _aligned_offsets(shapes, apart)):
        part = primitive_window(flat, shape, contiguous_strides(shape), start)
        part._part = (flat, start)
        found.append(part)
    return found


def owned(raw: Raw) -> Raw:
    """Return a kernel's result as the row-major base of a storage that owns its memory; it is copied if necessary."""
    marks = raw.__dict__  # the two questions written out, because every result of a kernel comes here
    if not is_contiguous(raw) or storage_offset(raw) or (("_of_storage" in marks or "_shown" in marks) and shows_others(raw)):
        raw = _clone[NAME_OF[raw_dtype(raw)]](raw)
    raw._of_storage = True
    return raw


def released(raw: Raw) -> Raw:
    """Return the base of a storage that is about to end: the next storage owns its memory without a copy."""
    raw._of_storage = False
    return raw


def loses_digits(value: Number, name: str) -> bool:
    """Return whether a number for a tensor in double precision would be rounded: MindSpore passes Python's floats to kernels in single
    precision. A 0-d tensor keeps it."""
    return name == "float64" and value.__class__ is float and float(np.float32(value)) != value and value == value


def zeros(shape: Sizes, name: str) -> Raw:
    """Return zeros in new memory."""
    return full(shape, 0, name)


def full(shape: Sizes, value: Number, name: str) -> Raw:
    """Return new memory filled with a Python number."""
    if not HAS_WRITES and not ON_CPU and name != "bfloat16":  # of which the plugin for GPUs has no kernel
        return run("Contiguous", run("BroadcastTo", number_of(value, name), at=(tuple(shape),)))
    if ON_CPU or not HAS_WRITES or value.__class__ is complex:
        return from_numpy(np.full(shape, value, NP_DTYPE[name]))  # FillScalar does not support it
    if value == 0 and str(value)[0] != "-":
        return _allocated("Zeros", (shape, MS_DTYPE[name]), shape, name, lambda: np.zeros(shape, NP_DTYPE[name]))
    if loses_digits(value, name):
        filling = (shape, scalar(value, name), MS_DTYPE[name])
        return _allocated("FillTensor", filling, shape, name, lambda: np.full(shape, value, NP_DTYPE[name]))
    return _allocated("FillScalar", (shape, value, MS_DTYPE[name]), shape, name, lambda: np.full(shape, value, NP_DTYPE[name]))


def arange(start: Any, end: Any, step: Any, name: str, host: Callable[[], Array]) -> Raw:
    """Return the range from ``start`` to ``end`` in new memory; ``host`` computes it if the stand-in device has no kernel."""
    length = (max(math.ceil((end - start) / step), 0),)
    return _allocated("Arange", (start, end, step, MS_DTYPE[name]), length, name, host)


def allocated(shape: Sizes, name: str, make: Callable[[], Raw]) -> Raw:
    """Return a new tensor of a device, made by a kernel; raise RuntimeError here, not in a later call, if there is no memory for it."""
    large = check_room(shape, name)
    raw = make()
    if large:
        wait_for_launches()
    return raw


def _allocated(name: str, args: tuple[Any, ...], shape: Sizes, kind: str, host: Callable[[], Array]) -> Raw:
    if not HAS_WRITES:
        return from_numpy(host())
    if stand_in:
        return stand_in[0].factory(name, args, host)
    return allocated(shape, kind, lambda: run(name, *args))


def _probe() -> bool:
    """Return whether a write to a strided view reaches its base in MindSpore on this device, by a trial with a small tensor."""
    base = from_numpy(np.zeros(6, np.float32))
    try:
        run("InplaceCopy", primitive_window(base, (2,), (2,), 1), from_numpy(np.ones(2, np.float32)))
    except (RuntimeError, TypeError, ValueError, NotImplementedError):
        return False
    return base.asnumpy().tolist() == [0, 1, 0, 1, 0, 0]


def writes_reach_base() -> bool:
    """Return whether a write to a part of a base changes the base; tested once, with a warning on a device where it does not."""
    if not _reaches_base:
        _reaches_base.append(_probe())
        if not _reaches_base[0]:
            warnings.warn(
                "mstorch: writes to views do not reach the memory of this device (MindSpore's InplaceCopy), so that each write to a part "
                "of a tensor makes the whole anew", stacklevel=2,
            )  # fmt: skip
    return _reaches_base[0]


def _without_overlap(value: Any, base: Raw, shape: Sizes, strides: Sizes, offset: int) -> Any:
    """Return an operand for a kernel that writes to a strided view: a copy if the two overlap in memory."""
    if isinstance(value, (tuple, list)):
        return type(value)(_without_overlap(item, base, shape, strides, offset) for item in value)
    if not isinstance(value, Raw) or not value.size or memory_of(value) is not memory_of(base):
        return value
    first, begin = storage_offset(base) + offset, storage_offset(value)
    if begin > first + _reach(shape, strides) or first > begin + _reach(value.shape, value.stride()):
        return value
    return _clone[NAME_OF[raw_dtype(value)]](value)


def memory_of(raw: Raw) -> Raw:
    """Return the tensor whose memory a view shows, or the tensor itself if it is not a view."""
    while getattr(raw, "_shown", None) is not None:
        raw = raw._shown
    return raw


def _reach(shape: Sizes, strides: Sizes) -> int:
    """Return the offset of the last element from the first."""
    return sum((length - 1) * step for length, step in zip(shape, strides))


def _last_of_repeated(new: Raw, shape: Sizes, strides: Sizes) -> tuple[Raw, Sizes]:
    """Return what remains in an expanded view after its elements have been written in order: the last along each expanded dimension."""
    for dim, (length, step) in enumerate(zip(shape, strides)):
        if step == 0 and length > 1:
            new = run("SliceExt", new, dim, length - 1, length, 1)
    return new, _not_expanded(shape, strides)


def _not_expanded(shape: Sizes, strides: Sizes) -> Sizes:
    return tuple([1 if step == 0 else length for length, step in zip(shape, strides)])


def put(base: Raw, shape: Sizes, strides: Sizes, offset: int, new: Raw) -> Raw:
    """Write ``new``, which has the base's dtype and the view's shape, to a strided view of the base; return the base, or its replacement.
    """
    if 0 in shape:
        return base
    new = _without_overlap(new, base, shape, strides, offset)
    if stand_in:
        return stand_in[0].write("InplaceCopy", base, shape, strides, offset, new)
    if 0 in strides and HAS_WRITES:
        new, shape = _last_of_repeated(new, shape, strides)
    whole = _is_whole(base, shape, strides, offset)
    if whole and runtime.DEVICE_TARGET == "CPU":
        base.asnumpy()[...] = new.asnumpy()
        return base
    if not HAS_WRITES:
        name = NAME_OF[raw_dtype(base)]
        if whole:
            return _reshape[name](_clone[name](new), tuple(base.shape))
        return _scatter[name](base, _places(base, shape, strides, offset), new)
    if whole or writes_reach_base() and not may_overlap(shape, strides):
        run("InplaceCopy", base if whole and raw_shape(base) == shape else primitive_window(base, shape, strides, offset), new)
        return base
    return _scatter[NAME_OF[raw_dtype(base)]](base, _places(base, shape, strides, offset), new)


def fill(base: Raw, shape: Sizes, strides: Sizes, offset: int, value: Number) -> Raw:
    """Fill a strided view of a base with a Python number. Return the base, or the tensor that replaces it where MindSpore cannot write to
    the view."""
    if 0 in shape:
        return base
    name = "InplaceZero" if value == 0 else "InplaceFillScalar"
    if stand_in:
        return stand_in[0].write(name, base, shape, strides, offset, value)
    shape = _not_expanded(shape, strides)
    if HAS_WRITES and writes_reach_base() and not may_overlap(shape, strides):
        shown = primitive_window(base, shape, strides, offset)
        if value.__class__ is complex:
            run("InplaceCopy", shown, run("BroadcastTo", scalar(value, NAME_OF[raw_dtype(base)]), at=(shape,)))  # the other two refuse it
        elif loses_digits(value, NAME_OF[raw_dtype(base)]):
            run("InplaceFillTensor", shown, scalar(value, "float64"))
        else:
            run(name, *((shown,) if name == "InplaceZero" else (shown, value)))
        return base
    name = NAME_OF[raw_dtype(base)]
    if _is_whole(base, shape, strides, offset):
        return full(tuple(base.shape), value, name)
    return _scatter[name](base, _places(base, shape, strides, offset), full(shape, value, name))


def change(base: Raw, shape: Sizes, strides: Sizes, offset: int, op: str, args: tuple[Any, ...]) -> Raw:
    """Run an operation in place on a strided view, its first operand; return the base, or its replacement."""
    if 0 in shape:
        return base
    if forked.here:
        forked.refuse_device()
    args = tuple(_without_overlap(arg, base, shape, strides, offset) for arg in args)
    if stand_in:
        return stand_in[0].change(base, shape, strides, offset, op, args)
    with LOCK:  # as kernels do, so that no other thread's capture records it
        if writes_reach_base() and not may_overlap(shape, strides):
            CHANGES[op](primitive_window(base, shape, strides, offset), *args)
            return base
        copy = _clone[NAME_OF[raw_dtype(base)]](primitive_window(base, shape, strides, offset))
        CHANGES[op](copy, *args)
        return put(base, shape, strides, offset, copy)


def changes(op: str, kind: str, args: tuple[Any, ...]) -> bool:
    """Return True if the device has an in-place kernel for an operation on a tensor of a dtype, with further arguments."""
    if not HAS_WRITES or op not in CHANGES:
        return False
    takes = TAKEN.get(op)
    return takes is None or takes(kind, *[arg for arg in args if not isinstance(arg, Raw)])


def _is_whole(base: Raw, shape: Sizes, strides: Sizes, offset: int) -> bool:
    """Return whether a view shows all elements of a base in row-major order."""
    return not offset and math.prod(shape) == base.size and strides == contiguous_strides(shape)


def _places(base: Raw, shape: Sizes, strides: Sizes, offset: int) -> Raw:
    """Return the positions of a view's elements: on a GPU computed there, so that a line for each dimension is sent, and once."""
    if ON_CPU or not HAS_WINDOWS or not shape or NAME_OF[raw_dtype(base)] == "bfloat16":  # which the CPU computes for a GPU
        return from_numpy(flat_index(shape, strides, offset))
    places = None
    for dim, (length, step) in enumerate(zip(shape, strides)):
        line = table_of(_line(length, step, 0 if dim else offset, len(shape) - dim - 1), "int64")
        places = line if places is None else run("Add", places, line)
    return places


@kept
def _line(length: int, step: int, offset: int, behind: int) -> Array:
    """Return the positions along one dimension that has further ones behind it."""
    return (np.arange(length, dtype=np.int64) * step + offset).reshape(length, *(1,) * behind)

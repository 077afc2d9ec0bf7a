"""Primitives: kernels that oneDNN creates for one set of shapes. They are cached per thread, and called with arrays.

Each thread has its own primitives, because a primitive's scratch memory belongs to the thread that created it. The default dtype is
float32.
"""
from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from ..geometry import contiguous_strides
from .library import ENGINE, FOUND, LIBRARY, NO_MEMORY, POINTER, Argument, Refused, made, sizes, stream
from .signals import HandlersStack

FLOAT32, BFLOAT16 = 3, 2
ANY = 1  # the layout that the kernel prefers

# Numbers of the queries of descriptors, and of arguments.
QUERY = {"source": 129, "by_source": 130, "weights": 131, "by_weights": 132, "result": 133, "by_result": 134, "places": 135}
_KERNELS_NAME, _BY_NUMBER = 8, 255
_OF_THE_CALL = 1  # the mode of scratch memory
SOURCE, SECOND, WEIGHTS, BIAS, RESULT = 1, 2, 33, 41, 17
BY_SOURCE, BY_WEIGHTS, BY_RESULT = 129, 161, 145
MEAN, VARIANCE, SCALE, SHIFT, BY_SCALE, BY_SHIFT = 49, 50, 51, 52, 255, 256
WORKSPACE, _SCRATCH = 64, 80
TRAINING, INFERENCE, BACKWARD = 64, 96, 128
_WRITTEN_FORWARD = frozenset((RESULT, MEAN, VARIANCE))
_WRITTEN_BACKWARD = frozenset((BY_SOURCE, BY_WEIGHTS, BY_SCALE, BY_SHIFT))


class Layout:
    """Memory descriptor: sizes and strides in elements, or the layout that the kernel prefers.

    ``in_rows``: the elements are row-major and dense, whatever the strides of an array that is passed.
    """

    __slots__ = ("handle", "in_rows")

    def __init__(
        self, shape: Sequence[int], strides: Sequence[int] | None = None, in_rows: bool = False, kind: int = FLOAT32
    ) -> None:  # fmt: skip
        self.handle: Any = None
        self.in_rows = in_rows
        if strides is None:
            self.handle = made("memory_desc_create_with_tag", len(shape), sizes(shape), kind, ANY)
        else:
            self.handle = made("memory_desc_create_with_strides", len(shape), sizes(shape), kind, sizes(strides))

    def __del__(self) -> None:
        if LIBRARY is not None:
            LIBRARY.dnnl_memory_desc_destroy(self.handle)  # does nothing if the handle is None


def rows(shape: Sequence[int], kind: int = FLOAT32) -> Layout:
    """Return a dense row-major layout."""
    return Layout(shape, contiguous_strides(shape), in_rows=True, kind=kind)


def attributes_of_a_kernel() -> Any:
    """Return attributes of a kernel that gets its scratch memory with each call.

    Otherwise each kernel has memory of its own, which programs with inputs of many sizes would have many times: 800 MB for max pooling of
    a hundred sizes."""
    handle = made("primitive_attr_create")
    if LIBRARY.dnnl_primitive_attr_set_scratchpad_mode(handle, _OF_THE_CALL):
        raise Refused("scratchpad_mode")
    return handle


_USUAL: Any = attributes_of_a_kernel() if FOUND else None


class Descriptor:
    """Handle of a primitive descriptor. The last argument of ``function``, the attributes, may be None."""

    __slots__ = ("handle",)

    def __init__(self, function: str, *arguments: Any) -> None:
        self.handle: Any = None  # if creation fails, there is nothing to free
        given = [argument.handle if isinstance(argument, (Layout, Descriptor)) else argument for argument in arguments[:-1]]
        given.append(_USUAL if arguments[-1] is None else arguments[-1])
        self.handle = made(function + "_primitive_desc_create", *given)

    def layout(self, name: str) -> Any:
        """Return the layout that the kernel expects for an argument; valid as long as the primitive's descriptor."""
        return POINTER(LIBRARY.dnnl_primitive_desc_query_md(self.handle, QUERY[name], 0))

    def argument(self, place: int) -> Any:
        """Return the layout that the kernel expects for the argument with a number."""
        return POINTER(LIBRARY.dnnl_primitive_desc_query_md(self.handle, _BY_NUMBER, place))

    @staticmethod
    def bytes_of(layout: Any) -> int:
        """Return the size in bytes of an array in a layout."""
        return int(LIBRARY.dnnl_memory_desc_get_size(layout))

    def bytes(self, name: str) -> int:
        """Return the size in bytes of an argument in the kernel's layout."""
        return self.bytes_of(self.layout(name))

    def kernel(self) -> str:
        """Return the library's name of the kernel, such as "jit_dw:avx512_core"."""
        found = ctypes.c_char_p()
        LIBRARY.dnnl_primitive_desc_query(self.handle, _KERNELS_NAME, 0, ctypes.byref(found))
        return (found.value or b"").decode()

    def size(self, name: str) -> int:
        """Return the size in float32 elements of an argument in the kernel's layout."""
        return self.bytes(name) // 4

    def takes(self, name: str, layout: Layout) -> bool:
        """Return whether an argument in this layout needs no reorder."""
        return bool(LIBRARY.dnnl_memory_desc_equal(self.layout(name), layout.handle))

    def __del__(self) -> None:
        if LIBRARY is not None and self.handle is not None:
            LIBRARY.dnnl_primitive_desc_destroy(self.handle)


class Primitive:
    """A kernel with a slot per argument, called with the arrays in slot order.

    A slot whose layout has strides accepts an array with the same strides, or an address. In a row-major slot, other arrays are copied, or
    rejected if the kernel writes to them, because the kernel receives addresses without strides."""

    __slots__ = ("handle", "memories", "arguments", "count", "places", "scratch", "size")

    def __init__(self, descriptor: Descriptor, places: Sequence[tuple[int, Any]]) -> None:
        self.memories: list[Any] = []
        self.handle: Any = None
        self.handle = made("primitive_create", descriptor.handle)
        layout = descriptor.argument(_SCRATCH)
        self.size = descriptor.bytes_of(layout)
        self.scratch: Any = None
        self.count = len(places) + bool(self.size)
        self.arguments = (Argument * self.count)()
        if self.size:
            self.scratch = made("memory_create", layout, ENGINE, None)
            self.memories.append(self.scratch)
            self.arguments[len(places)] = Argument(_SCRATCH, self.scratch.value)
        self.places: list[tuple[Any, bool, bool]] = []  # memory, whether it is row-major, whether it is written
        written = _WRITTEN_BACKWARD if any(place == BY_RESULT for place, _ in places) else _WRITTEN_FORWARD
        for number, (place, layout) in enumerate(places):
            own = isinstance(layout, Layout)
            memory = made("memory_create", layout.handle if own else layout, ENGINE, None)
            self.memories.append(memory)
            self.arguments[number] = Argument(place, memory.value)
            self.places.append((memory, own and layout.in_rows, place in written))

    def __call__(self, *given: Any) -> None:
        copies = []
        for (memory, in_rows, written), one in zip(self.places, given):
            if one.__class__ is int:
                _SET(memory, _WORD(one))
                continue
            if in_rows and not one.flags.c_contiguous:
                expect(not written, "a result does not lie in rows")
                one = np.ascontiguousarray(one)
                copies.append(one)
            _SET(memory, _at(id(one) + _POINTER) if _IS_DIRECT else _WORD(address(one)))
        if self.size:
            room = _room(self.size)  # a reference, because a finalizer may call a kernel that needs more
            _SET(self.scratch, _WORD(address(room)))
        status = _EXECUTE(self.handle, _own.stream, self.count, self.arguments)
        if status == NO_MEMORY:
            raise MemoryError
        if status:
            raise RuntimeError(f"oneDNN: a kernel failed with status {status}")

    def __del__(self) -> None:
        if LIBRARY is not None:
            LIBRARY.dnnl_primitive_destroy(self.handle)
            for memory in self.memories:
                LIBRARY.dnnl_memory_destroy(memory)


_MOST = 1000  # number of kernels that a thread caches; the cache is cleared when a program keeps using new shapes


class _Own(threading.local):
    def __init__(self) -> None:
        self.handlers = HandlersStack()
        self.stream = stream() if FOUND else None
        self.kept: dict[Hashable, Any] = {}
        self.room = np.empty(0, np.uint8)


_own = _Own()
_SET: Any = LIBRARY.dnnl_memory_set_data_handle if FOUND else None
_EXECUTE: Any = LIBRARY.dnnl_primitive_execute if FOUND else None
# These two have no declared arguments, whose conversion takes half a microsecond: they get ctypes' objects, and ``count``, an int of C's.
_WORD = ctypes.c_size_t


def _room(size: int) -> Array:
    """Return the scratch memory of this thread's kernels, of at least ``size`` bytes."""
    room = _own.room
    if room.nbytes < size:
        whole = np.empty(size + _LINE, np.uint8)
        start = -whole.ctypes.data % _LINE
        room = _own.room = whole[start : start + size]
    return room


_LINE = 64  # bytes of a line of the cache, to whose bounds kernels align their memory


def begin() -> None:
    """Prepare this thread for a kernel that is not a primitive (40 ns after the first time)."""
    _own.stream  # noqa: B018


def prepared(make: Callable[..., Any], *key: Any) -> Any:
    """Return ``make(*key)``, cached per thread."""
    kept = _own.kept
    found = kept.get((make, key))
    if found is None:
        if len(kept) >= _MOST:
            kept.clear()
        found = kept[make, key] = make(*key)
    return found


_POINTER = object.__basicsize__  # in NumPy's C interface the data's address follows the object header
_at = ctypes.c_size_t.from_address
_probe = np.zeros(1)


def _address_of(array: Array) -> int:
    """Return the address of an array, read directly: ``ctypes.data`` takes as long as a small kernel."""
    return _at(id(array) + _POINTER).value


def _address_by_name(array: Array) -> int:
    return array.ctypes.data


_IS_DIRECT = sys.implementation.name == "cpython" and _address_of(_probe) == _probe.ctypes.data
address = _address_of if _IS_DIRECT else _address_by_name


def copier(source: Any, target: Any) -> Primitive:
    """Return a reorder from one layout to another."""
    descriptor = Descriptor("reorder", source, ENGINE, target, ENGINE, None)
    return Primitive(descriptor, ((SOURCE, source), (RESULT, target)))


def none() -> Any:
    """Return the empty layout."""
    return ctypes.c_void_p()


def expect(fits: bool, otherwise: str = "a tensor that backward needs was given another shape or dtype since it was saved") -> None:
    """Raise RuntimeError unless ``fits``: the kernel would read beyond the end of an array of a wrong size."""
    if not fits:
        raise RuntimeError(otherwise)

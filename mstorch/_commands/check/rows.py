"""Each row of the table on its sample call, in all of its dtypes, compared with the host's row.

With contiguous, transposed, strided, 0-d and empty tensors.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ..._src.backend import runtime
from ..._src.backend.arrays import Array
from ..._src.backend.device_memory import HAS_WINDOWS, primitive_window
from ..._src.backend.geometry import contiguous_strides
from ..._src.backend.raw import NAME_OF_NP, NP_DTYPE, Raw, from_numpy
from ..._src.backend.samples import samples
from ..._src.backend.table import HOST, ROWS, kernel
from ..._src.quiet import quiet
from . import Item
from .counterparts import COUNTERPARTS

KINDS = ("float32", "float16", "bfloat16", "float64", "int64", "int32", "uint8", "bool")
CLOSE = {"float16": (1e-2, 1e-2), "bfloat16": (5e-2, 5e-2)}

OF_THE_DEVICE = ("batch_norm_train", "batch_norm_grad", "layer_norm_parts", "group_norm_parts")
"""Rows whose further results are in the dtype in which a device computes: only the gradient's row and the running averages read them, and
the host's gradients of parameters become the parameters' dtype afterwards."""
ALONE = "alone: it ran, with nothing on the host beside it"
PICKED = ("kth_index",)
"""Rows whose result is an index of one of equal elements, any of which serves: the elements are compared."""


def transposed(array: Array) -> Raw:
    """Return a tensor with the same elements in transposed memory order."""
    base = from_numpy(np.ascontiguousarray(array.T))
    return primitive_window(base, array.shape, contiguous_strides(array.T.shape)[::-1], 0)


def sliced(array: Array) -> Raw:
    """Return a tensor with the same elements and a stride of 2, from the second element of a longer memory."""
    memory = np.full((*array.shape[:-1], 2 * array.shape[-1]), 7).astype(array.dtype)
    memory[..., 1::2] = array
    strides = contiguous_strides(memory.shape)
    return primitive_window(from_numpy(memory), array.shape, (*strides[:-1], 2), 1)


def _contiguous_raw(array: Array) -> Raw:
    return from_numpy(np.ascontiguousarray(array).reshape(array.shape).copy())


def _given(value: Any, lay: Callable[[Array], Raw]) -> Any:
    if isinstance(value, np.ndarray):
        return lay(value) if value.ndim > 1 and value.size and value.dtype.kind not in "iub" else _contiguous_raw(value)
    return type(value)(_given(item, lay) for item in value) if isinstance(value, (list, tuple)) else value


def _arrays(values: Any) -> Iterator[Array]:
    for value in values if isinstance(values, (list, tuple)) else (values,):
        if isinstance(value, (list, tuple)):
            yield from _arrays(value)
        elif isinstance(value, Raw):
            yield value.asnumpy()
        elif isinstance(value, (np.ndarray, np.generic)):
            yield np.asarray(value)


def difference(found: Any, wanted: Any, close: tuple[float, float] = (1e-3, 1e-4)) -> str:
    """Describe how two results differ in shape, in dtype, or by more than rounding; return an empty string if they agree."""
    mine, theirs = list(_arrays(found)), list(_arrays(wanted))
    if [(item.shape, item.dtype) for item in mine] != [(item.shape, item.dtype) for item in theirs]:
        return "other shapes or dtypes: " + ", ".join(f"{item.dtype}{list(item.shape)}" for item in mine)
    for one, other in zip(mine, theirs):
        mine_, theirs_ = (item.astype(np.complex128 if item.dtype.kind == "c" else np.float64) for item in (one, other))
        if not np.allclose(mine_, theirs_, *close, equal_nan=True):
            return f"other values, by {np.nanmax(np.abs(mine_ - theirs_)):.1g}"
    return ""


def _in_kind(value: Any, first: np.dtype[Any], kind: np.dtype[Any]) -> Any:
    """Return the arguments with the arrays of dtype ``first`` cast to dtype ``kind``, also inside lists and tuples."""
    if first == kind:
        return value
    if isinstance(value, np.ndarray) and value.dtype == first:
        return np.asarray((value * 10 if kind.kind in "iu" else value > 0.5 if kind.kind == "b" else value).astype(kind))
    return type(value)(_in_kind(item, first, kind) for item in value) if isinstance(value, (list, tuple)) else value


def _compared(op: str, name: str, args: list[Any], lay: Callable[[Array], Raw]) -> str:
    found = kernel(op)[name](*(_given(item, lay) for item in args))
    list(_arrays(found))  # waits for the kernel
    copies = [np.copy(item) if isinstance(item, np.ndarray) else item for item in args]
    if op not in HOST or (name not in HOST[op].dtypes and name not in HOST[op].via):
        return difference(found, COUNTERPARTS[op](*copies), CLOSE.get(name, (1e-3, 1e-4))) if op in COUNTERPARTS else ALONE
    try:
        wanted = kernel(op).host[name](*copies)
    except NotImplementedError:
        return ALONE
    if op in PICKED:
        _, _, dim = args
        size = args[0].shape[dim]
        if any(index.min() < 0 or index.max() >= size for index in _arrays(found) if index.size):
            return f"other values, beyond the {size} elements"
        found, wanted = (np.take_along_axis(args[0], next(_arrays(item)), dim) for item in (found, wanted))
    elif op in OF_THE_DEVICE:
        kinds = [item.dtype for item in _arrays(wanted)]
        found = [next(_arrays(found)), *(item.astype(kind) for item, kind in list(zip(_arrays(found), kinds))[1:])]
    return difference(found, wanted, CLOSE.get(name, (1e-3, 1e-4)))


def _takes(op: str, name: str) -> bool:
    host = HOST.get(op)
    return name in ROWS[op].dtypes.get(runtime.DEVICE_TARGET, ()) and host is not None and (name in host.dtypes or name in host.via)


def _calls() -> Iterator[tuple[str, list[Any], np.dtype[Any]]]:
    for op, args in sorted(samples().items()):
        first = next(_arrays(args), None)
        if op in ROWS and first is not None:
            yield op, args, first.dtype


def _kinds(op: str, first: np.dtype[Any]) -> list[str]:
    """Return the dtype of a row's sample, and all others that the row and the host's row support."""
    own = NAME_OF_NP[first]
    return [own, *(name for name in KINDS if name != own and first.kind == "f" and _takes(op, name))]


def rows() -> list[Item]:
    """Return checks of every row in each dtype, on contiguous tensors."""
    return [
        (f"{op}, {name}", partial(_compared, op, name, _in_kind(args, first, NP_DTYPE[name]), _contiguous_raw))
        for op, args, first in _calls() for name in _kinds(op, first)
    ]  # fmt: skip


def layouts() -> list[Item]:
    """Return checks of every row in each dtype, on transposed and strided tensors."""
    if not HAS_WINDOWS:
        return []
    return [
        (f"{op}, {name}, {lay.__name__}", partial(_compared, op, name, _in_kind(args, first, NP_DTYPE[name]), lay))
        for op, args, first in _calls() for name in _kinds(op, first) for lay in (transposed, sliced)
        if runtime.DEVICE_TARGET in ROWS[op].functions and any(item.ndim > 1 and item.dtype.kind == "f" for item in _arrays(args))
    ]  # fmt: skip


def _single(array: Array) -> Array:
    return np.asarray(array.reshape(-1)[0])


def _nothing(array: Array) -> Array:
    return array[:0]


def _names_dimensions(args: list[Any]) -> bool:
    """Return True if the arguments contain ints: they may be dimensions, which 0-d tensors do not have."""
    return any(arg.__class__ is int or (isinstance(arg, (list, tuple)) and _names_dimensions(list(arg))) for arg in args)


def _of_size(value: Any, shape: tuple[int, ...], change: Callable[[Array], Array]) -> Any:
    """Return the arguments with ``change`` applied to each non-empty array of the given shape, also inside lists and tuples."""
    if isinstance(value, np.ndarray) and value.shape == shape and value.size:
        return change(value)
    return type(value)(_of_size(item, shape, change) for item in value) if isinstance(value, (list, tuple)) else value


def _serves(op: str, name: str, args: list[Any], shape: tuple[int, ...]) -> bool:
    """Return True if the host has a kernel for the operation, accepts these arguments, and returns an array of this shape."""
    if op not in HOST:
        return False
    try:
        with quiet():
            found = next(_arrays(kernel(op).host[name](*(np.copy(item) if isinstance(item, np.ndarray) else item for item in args))), None)
    except Exception:  # noqa: BLE001 - what makes no sense fails in many ways
        return False
    return found is not None and found.shape == shape


def sizes() -> list[Item]:
    """Return checks of rows whose result has their operand's shape, in each dtype, on 0-d and empty tensors."""
    found: list[Item] = []
    for op, args, first in _calls():
        shape = next(_arrays(args)).shape
        if not shape:
            continue
        for word, change in (("0-d", _single), ("empty", _nothing)):
            if word == "0-d" and _names_dimensions(args):
                continue
            for name in _kinds(op, first):
                given = _of_size(_in_kind(args, first, NP_DTYPE[name]), shape, change)
                if runtime.DEVICE_TARGET in ROWS[op].functions and _serves(op, name, given, next(_arrays(given)).shape):
                    found.append((f"{op}, {name}, {word}", partial(_compared, op, name, given, _contiguous_raw)))
    return found

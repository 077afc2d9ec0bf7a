"""Each row of the table on its sample call: in the dtypes that it takes, and of tensors with steps, beside the host's row."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ..._backend import runtime
from ..._backend.device_memory import HAS_WINDOWS, primitive_window
from ..._backend.geometry import contiguous_strides
from ..._backend.raw import NAME_OF_NP, NP_DTYPE, Raw, from_numpy
from ..._backend.samples import samples
from ..._backend.table import HOST, ROWS, kernel
from . import Item

KINDS = ("float32", "float16", "bfloat16", "float64", "int64", "int32", "uint8", "bool")
CLOSE = {"float16": (1e-2, 1e-2), "bfloat16": (5e-2, 5e-2)}


def transposed(array: np.ndarray) -> Raw:
    """The same elements, which lie in the other order of dimensions."""
    base = from_numpy(np.ascontiguousarray(array.T))
    return primitive_window(base, array.shape, contiguous_strides(array.T.shape)[::-1], 0)


def sliced(array: np.ndarray) -> Raw:
    """The same elements, every other one of a longer memory, from its second one on."""
    memory = np.full((*array.shape[:-1], 2 * array.shape[-1]), 7).astype(array.dtype)
    memory[..., 1::2] = array
    strides = contiguous_strides(memory.shape)
    return primitive_window(from_numpy(memory), array.shape, (*strides[:-1], 2), 1)


def _plain(array: np.ndarray) -> Raw:
    return from_numpy(np.ascontiguousarray(array).reshape(array.shape).copy())


def _given(value: Any, lay: Callable[[np.ndarray], Raw]) -> Any:
    if isinstance(value, np.ndarray):
        return lay(value) if value.ndim > 1 and value.size and value.dtype.kind == "f" else _plain(value)
    return type(value)(_given(item, lay) for item in value) if isinstance(value, (list, tuple)) else value


def _arrays(values: Any) -> Iterator[np.ndarray]:
    for value in values if isinstance(values, (list, tuple)) else (values,):
        if isinstance(value, (list, tuple)):
            yield from _arrays(value)
        elif isinstance(value, Raw):
            yield value.asnumpy()
        elif isinstance(value, (np.ndarray, np.generic)):
            yield np.asarray(value)


def difference(found: Any, wanted: Any, close: tuple[float, float] = (1e-3, 1e-4)) -> str:
    """How two results differ in shape, dtype, or by more than rounding; an empty text if they agree."""
    mine, theirs = list(_arrays(found)), list(_arrays(wanted))
    if [(item.shape, item.dtype) for item in mine] != [(item.shape, item.dtype) for item in theirs]:
        return "other shapes or dtypes: " + ", ".join(f"{item.dtype}{list(item.shape)}" for item in mine)
    for one, other in zip(mine, theirs):
        mine_, theirs_ = (item.astype(np.complex128 if item.dtype.kind == "c" else np.float64) for item in (one, other))
        if not np.allclose(mine_, theirs_, *close, equal_nan=True):
            return f"other values, by {np.nanmax(np.abs(mine_ - theirs_)):.1g}"
    return ""


def _in_kind(value: Any, first: np.dtype, kind: np.dtype) -> Any:
    """A sample's arguments with another dtype for that of the first."""
    if isinstance(value, np.ndarray) and value.dtype == first:
        return (value * 10 if kind.kind in "iu" else value > 0.5 if kind.kind == "b" else value).astype(kind)
    return type(value)(_in_kind(item, first, kind) for item in value) if isinstance(value, (list, tuple)) else value


def _compared(op: str, name: str, args: list[Any], lay: Callable[[np.ndarray], Raw]) -> str:
    found = kernel(op)[name](*(_given(item, lay) for item in args))
    list(_arrays(found))  # waits for the kernel
    if op not in HOST or (name not in HOST[op].dtypes and name not in HOST[op].via):
        return "alone: it ran, with nothing on the host beside it"
    try:
        wanted = kernel(op).host[name](*(np.copy(item) if isinstance(item, np.ndarray) else item for item in args))
    except NotImplementedError:
        return "alone: it ran, with nothing on the host beside it"
    return difference(found, wanted, CLOSE.get(name, (1e-3, 1e-4)))


def _takes(op: str, name: str) -> bool:
    host = HOST.get(op)
    return name in ROWS[op].dtypes.get(runtime.DEVICE_TARGET, ()) and host is not None and (name in host.dtypes or name in host.via)


def _calls() -> Iterator[tuple[str, list[Any], np.dtype]]:
    for op, args in sorted(samples().items()):
        first = next(_arrays(args), None)
        if op in ROWS and first is not None:
            yield op, args, first.dtype


def rows() -> list[Item]:
    """Every row in the dtype of its sample, and in each other floating or integer dtype that it and the host's row take."""
    found: list[Item] = []
    for op, args, first in _calls():
        own = NAME_OF_NP[first]
        others = [name for name in KINDS if name != own and first.kind == "f" and _takes(op, name)]
        for name in (own, *others):
            given = args if name == own else _in_kind(args, first, NP_DTYPE[name])
            found.append((f"{op}, {name}", partial(_compared, op, name, given, _plain)))
    return found


def layouts() -> list[Item]:
    """Rows of floating matrices, which lie transposed, or with steps."""
    if not HAS_WINDOWS:
        return []
    return [
        (f"{op}, {lay.__name__}", partial(_compared, op, NAME_OF_NP[first], args, lay))
        for op, args, first in _calls() for lay in (transposed, sliced)
        if runtime.DEVICE_TARGET in ROWS[op].functions and any(item.ndim > 1 and item.dtype.kind == "f" for item in _arrays(args))
    ]  # fmt: skip

"""Tensors of a device that are concatenated in memory, so that one kernel can operate on all of them."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ...backend import device_memory
from ...backend.raw import NAME_OF, raw_dtype, raw_shape
from ...core.modes import modes
from ...core.storage import DeviceMemory, home
from ...core.tangents import LEVELS
from ...core.tensor_base import TensorBase, array_of, is_tracked, on_device, touch_all, value_of, values_of
from ...tape.ways import is_known, ways

APART = device_memory.APART
LAYS_OUT = device_memory.HAS_WRITES
"""True if this process can concatenate tensors in device memory."""


_LEAST, _MOST, _PARTS = 1 << 21, 1 << 25, 24
"""An update needs about two copies of the elements that it updates at once. So they are a 24th of all, which keeps a step within 1.1 of
torch's memory; but not fewer than 2 million, below which the time of launches counts more than 16 MB, nor more than 33 million."""


def parts_of(places: Iterable[int], sizes: Sequence[int]) -> Iterator[list[int]]:
    """Yield the places of the tensors that one update processes together, in order, up to a number of elements; ``sizes`` are the numbers
    of elements of all tensors."""
    most = min(_MOST, max(_LEAST, sum(sizes) // _PARTS))
    part: list[int] = []
    size = 0
    for place in places:
        if part and size + sizes[place] > most:
            yield part
            part, size = [], 0
        part.append(place)
        size += sizes[place]
    yield part


def memories_differ(tensors: Sequence[Any]) -> bool:
    """Return whether no two of the tensors share memory, so that what is written to one changes no other."""
    return len({id(tensor._ms_storage) for tensor in tensors}) == len(tensors)


def can_be_laid_out(tensors: Sequence[Any]) -> bool:
    """Return whether each tensor covers all of a device allocation that is not shared, and is not tracked by autograd."""
    if not LAYS_OUT or LEVELS or modes.native is not None:
        return False
    storages: set[Any] = set()  # `memories_differ` written out, as `is_free` is below
    for tensor in tensors:
        storage, shape = tensor._ms_storage, tensor._ms_shape
        if not shape or 0 in shape or storage in storages:
            return False
        storages.add(storage)
        # `is_free` written out for the usual case: an optimizer asks this of each parameter and each of its states at every step.
        if storage.__class__ is not DeviceMemory or tensor._ms_stride is not None or tensor._ms_offset or storage.lent or (
            raw_shape(storage.base) != shape or storage.parameter is not None or NAME_OF[raw_dtype(storage.base)] != tensor._ms_dtype._held
        ):
            if not storage.is_free(tensor):
                return False
    return True


def laid_out(tensors: Sequence[Any], apart: int = APART) -> Any:
    """Return one flat tensor with the elements of all tensors, each from a multiple of ``apart`` elements on. No copy is made if they
    already are parts of one such tensor, to which ``put_back`` moved them."""
    raw = device_memory.laid_out(values_of(tensors), apart)
    raw._of_storage = False  # so that writes to its parts are visible in its memory
    return on_device(raw)


def known_number(tensor: Any) -> float | None:
    """Return the number in a 0-d tensor of a device that is alone in its memory, if it is known without a read; else None."""
    return float(array_of(tensor)) if is_known(tensor) and home(tensor).is_free(tensor) and not tensor._ms_shape else None


def _set_on_host(tensors: list[Any], number: float) -> bool | None:
    if LEVELS or modes.grad and any(map(is_tracked, tensors)):
        return None
    for tensor in tensors:
        array_of(tensor)[...] = number
    touch_all(tensors)
    return True


@ways(at=0, host=_set_on_host, device=lambda tensors, number: _set_on_device(tensors, number))
def set_together(tensors: list[Any], number: float) -> None:
    """Write a number into 0-d tensors. On a device it is one kernel from the second time on, and the number stays known."""
    for tensor in tensors:
        tensor.fill_(number)


def _set_on_device(tensors: list[Any], number: float) -> bool:
    flat = laid_out(tensors)
    flat.fill_(number)
    put_back(flat, tensors, False)
    for tensor in tensors:
        tensor._ms_storage.shadow = np.full((), number, tensor._ms_dtype.np)
    return True


def has_clean_gaps(flat: TensorBase) -> bool:
    """Return whether the gaps between the tensors in ``laid_out``'s memory are still zeros."""
    return not getattr(value_of(flat), "_spoiled", False)


def put_back(flat: TensorBase, tensors: Sequence[Any], clean: bool = True, apart: int = APART) -> None:
    """Copy the elements of the result of ``laid_out`` back to the tensors; ``clean``: whether the gaps between them are still zeros."""
    raw, writes = value_of(flat), flat._ms_counter.version
    if not writes:
        return
    raw._spoiled = not clean or not has_clean_gaps(flat)
    for tensor in tensors:
        storage = tensor._ms_storage
        tensor._ms_counter.version += writes
        storage.shadow = storage.derived = None  # `forget` written out
    if getattr(tensors[0]._ms_storage.base, "_part", (None, 0))[0] is not raw:  # otherwise kernels wrote to the parts' memory directly
        for tensor, part in zip(tensors, device_memory.parts(raw, [tensor._ms_shape for tensor in tensors], apart)):
            tensor._ms_storage.exchange(part)

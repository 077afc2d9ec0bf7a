"""In-place operations that write a part of an expanded tensor."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.modes import modes
from .._core.storage import Storage
from .._core.strides import flat_index, may_overlap
from .._core.tensor_base import array_of, is_tracked
from ._in_place import in_place_form


def _spread(before: Any, result: Any) -> None:
    """Give what one index of a place in memory has changed to all indices of that place."""
    old, new = array_of(before), array_of(result)
    if old.dtype != new.dtype or old.shape != new.shape:
        return  # the write itself is refused
    # Bits are compared: a NaN that stays is no change.
    bits = [np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(array.size, -1) for array in (old, new)]
    changed = np.flatnonzero((bits[0] != bits[1]).any(1))
    places = flat_index(before._shape, before._stride, 0).reshape(-1)
    values = new.reshape(-1)
    source = np.full(places.max() + 1, -1, np.int64)
    source[places[changed]] = changed
    origin = source[places]
    new[...] = np.where(origin >= 0, values[origin], values).reshape(new.shape)


def form_for_shared_places(function: Callable[..., Any], name: str, lenient: bool = False) -> Callable[..., Any]:
    """The method ``name`` that writes a part of its tensor, which may be an expanded one.

    A place in memory that several indices name is written if one of them is. Not ``lenient``: torch's error if the tensor is expanded
    and autograd follows it.
    """
    run = getattr(function, "outside_autocast", function)

    def spreading(input: Any, *args: Any, **kwargs: Any) -> Any:
        result = run(input, *args, **kwargs)
        if result is not input:
            _spread(input, result)
        return result

    spreading.__name__ = run.__name__
    whole, shared = in_place_form(function, name, uniform=lenient), in_place_form(spreading, name, uniform=True)

    def method(input: Any, *args: Any, **kwargs: Any) -> Any:
        if input._stride is None or 0 in input._shape or not may_overlap(input._shape, input._stride):
            return whole(input, *args, **kwargs)
        on_host = input._storage.__class__ is Storage and modes.native is None
        return (shared if on_host and (lenient or not (modes.grad and is_tracked(input))) else whole)(input, *args, **kwargs)

    method.__name__, method.__qualname__, method.__doc__ = whole.__name__, whole.__qualname__, whole.__doc__
    return method

"""Indexing of nested tensors: ints, slices, ``None`` and the ellipsis."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..._src.core.nested_parts import is_nested
from ..._tensor import Tensor

_WHOLE = object()  # a dimension that the Ellipsis covers


def read(input: Tensor, key: int | Sequence[slice[Any, Any, Any]], sliced: Callable[[Any, int, slice], Any]) -> Any:
    """Return the indexed part; ``sliced`` implements a slice along a dimension."""
    keys = list(key) if isinstance(key, tuple) else [key]
    taken = sum(item is not None and item is not Ellipsis for item in keys)
    at = next((i for i, item in enumerate(keys) if item is Ellipsis), None)
    if at is not None:
        keys[at : at + 1] = [_WHOLE] * (input.dim() - taken)
    found, dim = input, 0
    for number, item in enumerate(keys):
        if not is_nested(found):
            return found[tuple(slice(None) if one is _WHOLE else one for one in keys[number:])]
        if item is None:
            found, dim = found.unsqueeze(dim), dim + 1
        elif item is _WHOLE:
            dim += 1
        elif isinstance(item, int):
            found = found.select(dim, item)
        elif isinstance(item, slice):
            found, dim = sliced(found, dim, item), dim + 1
        else:
            raise NotImplementedError("aten.index.Tensor: a nested tensor takes numbers, slices, None and the dots as an index")
    return found

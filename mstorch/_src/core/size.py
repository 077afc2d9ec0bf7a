"""torch.Size: the shape of a tensor."""
from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, SupportsIndex, overload

from typing_extensions import Self


def is_symbol(value: Any) -> bool:
    """Return whether a length is symbolic (``torch.SymInt``), like that of a ragged dimension."""
    return type(value) is not int and getattr(type(value), "is_symbolic_number", False)


class Size(tuple[int, ...]):
    """Shape of a tensor: a tuple whose slices, sums and products are again a Size."""

    __slots__ = ()

    def __new__(cls, sizes: Iterable[SupportsIndex] = ()) -> Self:
        values = tuple(sizes)
        for position, value in enumerate(values):
            if type(value) is not int and not hasattr(value, "__index__") and not is_symbol(value):
                raise TypeError(f"torch.Size() takes an iterable of 'int' (item {position} is '{type(value).__name__}')")
        return tuple.__new__(cls, [value if is_symbol(value) else value.__index__() for value in values])

    def numel(self) -> int:
        """Return the product of the lengths."""
        return math.prod(self)

    @overload
    def __getitem__(self, key: SupportsIndex) -> int: ...

    @overload
    def __getitem__(self, key: slice) -> Size: ...

    def __getitem__(self, key: Any) -> Any:
        item = tuple.__getitem__(self, key)
        return Size(item) if isinstance(key, slice) else item

    def __add__(self, other: tuple[int, ...]) -> Size:
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: tuple[int, ...]) -> Size:
        return Size(tuple.__add__(tuple(other), tuple(self)))

    def __mul__(self, times: SupportsIndex) -> Size:
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __reduce__(self) -> tuple[Any, ...]:
        return Size, (tuple(self),)

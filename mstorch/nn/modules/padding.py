"""Padding layers."""
from __future__ import annotations

from ..._tensor import Tensor
from .. import functional as F
from ._own_init import own_init
from .module import Module


def _sides(padding: int | tuple[int, ...], rank: int) -> tuple[int, ...]:
    return tuple(padding) if isinstance(padding, (tuple, list)) else (padding,) * (2 * rank)


class _PadNd(Module):
    """Base of layers that pad the last ``_rank`` dimensions; an int pads all sides."""

    __constants__ = ["padding"]
    _rank: int
    _mode: str

    def __init__(self, padding: int | tuple[int, ...]) -> None:
        super().__init__()
        self.padding = _sides(padding, self._rank)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer: (N, C, *) → (N, C, *), or unbatched."""
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return f"{self.padding}"


class _ConstantPadNd(_PadNd):
    __constants__ = ["padding", "value"]
    _mode = "constant"

    def __init__(self, padding: int | tuple[int, ...], value: float) -> None:
        Module.__init__(self)
        self.value = value
        self.padding = _sides(padding, self._rank)

    def forward(self, input: Tensor) -> Tensor:
        """Return the padded input."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return f"padding={self.padding}, value={self.value}"


@own_init
class ConstantPad1d(_ConstantPadNd):
    """Pads (N, C, W) or (C, W) with a constant."""

    _rank = 1
    padding: tuple[int, int]


@own_init
class ConstantPad2d(_ConstantPadNd):
    """Pads (N, C, H, W) or (C, H, W) with a constant."""

    _rank = 2
    padding: tuple[int, int, int, int]


@own_init
class ConstantPad3d(_ConstantPadNd):
    """Pads (N, C, D, H, W) or (C, D, H, W) with a constant."""

    _rank = 3
    padding: tuple[int, int, int, int, int, int]


class _ZeroPadNd(_ConstantPadNd):
    def __init__(self, padding: int | tuple[int, ...]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return f"{self.padding}"


@own_init
class ZeroPad1d(_ZeroPadNd, ConstantPad1d):
    """Pads (N, C, W) or (C, W) with zeros."""


@own_init
class ZeroPad2d(_ZeroPadNd, ConstantPad2d):
    """Pads (N, C, H, W) or (C, H, W) with zeros."""


@own_init
class ZeroPad3d(_ZeroPadNd, ConstantPad3d):
    """Pads (N, C, D, H, W) or (C, D, H, W) with zeros."""


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


@own_init
class ReflectionPad1d(_ReflectionPadNd):
    """Pads (N, C, W) or (C, W) with its reflection."""

    _rank = 1
    padding: tuple[int, int]


@own_init
class ReflectionPad2d(_ReflectionPadNd):
    """Pads (N, C, H, W) or (C, H, W) with its reflection."""

    _rank = 2
    padding: tuple[int, int, int, int]


@own_init
class ReflectionPad3d(_ReflectionPadNd):
    """Pads (N, C, D, H, W) or (C, D, H, W) with its reflection."""

    _rank = 3
    padding: tuple[int, int, int, int, int, int]


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


@own_init
class ReplicationPad1d(_ReplicationPadNd):
    """Pads (N, C, W) or (C, W) with its edge values."""

    _rank = 1
    padding: tuple[int, int]


@own_init
class ReplicationPad2d(_ReplicationPadNd):
    """Pads (N, C, H, W) or (C, H, W) with its edge values."""

    _rank = 2
    padding: tuple[int, int, int, int]


@own_init
class ReplicationPad3d(_ReplicationPadNd):
    """Pads (N, C, D, H, W) or (C, D, H, W) with its edge values."""

    _rank = 3
    padding: tuple[int, int, int, int, int, int]


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def _check_input_dim(self, input: Tensor) -> None:
        low, high = self._rank + 1, self._rank + 2
        if input.dim() not in (low, high):
            raise ValueError(f"expected {low}D or {high}D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer: (N, C, *) → (N, C, *), or unbatched."""
        self._check_input_dim(input)
        return F.pad(input, self.padding, "circular")


@own_init
class CircularPad1d(_CircularPadNd):
    """Pads (N, C, W) or (C, W) circularly, with values from the opposite side."""

    _rank = 1
    padding: tuple[int, int]


@own_init
class CircularPad2d(_CircularPadNd):
    """Pads (N, C, H, W) or (C, H, W) circularly, with values from the opposite side."""

    _rank = 2
    padding: tuple[int, int, int, int]


@own_init
class CircularPad3d(_CircularPadNd):
    """Pads (N, C, D, H, W) or (C, D, H, W) circularly, with values from the opposite side."""

    _rank = 3
    padding: tuple[int, int, int, int, int, int]


__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d", "ReflectionPad1d",
    "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d",
    "ZeroPad3d",
]  # fmt: skip

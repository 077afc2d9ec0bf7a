"""torch._subclasses.fake_tensor: tensors without values. There are none here."""
from __future__ import annotations

from typing import Any

from .._hook import missing as _missing
from .._hook import not_yet


class FakeTensor:
    """A tensor without values. None can be made here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"mstorch: there are no fake tensors {not_yet()}")


class FakeTensorMode(FakeTensor):
    """A block in which tensors have no values. None can be made here."""


def is_fake(x: object) -> bool:
    """Whether a value is a tensor without values: never."""
    return False


__all__ = ["FakeTensor", "FakeTensorMode", "is_fake"]

__getattr__ = _missing(__name__)

"""torch._guards: queries about a running trace; mstorch never traces with fake tensors."""
from __future__ import annotations

from collections.abc import Sequence

from ._src.hook import missing as _missing
from ._tensor import Tensor


def active_fake_mode() -> None:
    """Return None: a FakeTensorMode is never active."""
    return None


def detect_fake_mode(inputs: Sequence[Tensor] | None = None) -> None:
    """Return None: no inputs are fake tensors."""
    return None


class TracingContext:
    """Context of a trace by torch's compiler; mstorch never creates one."""

    @staticmethod
    def try_get() -> None:
        """Return None: nothing is traced."""
        return None

    @staticmethod
    def get() -> TracingContext:
        """Raise RuntimeError: nothing is traced."""
        raise RuntimeError("TracingContext.get() must be called within an ongoing trace.")


__getattr__ = _missing(__name__)

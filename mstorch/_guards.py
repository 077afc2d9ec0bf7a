"""torch._guards: what programs ask about the tracing that goes on. Nothing is traced with tensors without values here."""
from __future__ import annotations

from collections.abc import Sequence

from ._hook import missing as _missing
from ._tensor import Tensor


def active_fake_mode() -> None:
    """The mode in which tensors have no values: there is none."""
    return None


def detect_fake_mode(inputs: Sequence[Tensor] | None = None) -> None:
    """The same, of these inputs."""
    return None


class TracingContext:
    """The context of a trace by torch's compiler. There never is one."""

    @staticmethod
    def try_get() -> None:
        """The one of the trace that goes on."""
        return None

    @staticmethod
    def get() -> TracingContext:
        """The same; raises RuntimeError where nothing is traced."""
        raise RuntimeError("TracingContext.get() must be called within an ongoing trace.")


__getattr__ = _missing(__name__)

"""torch.autograd.forward_ad: the names of forward mode. There is none here: what would enter it raises NotImplementedError.

``torch.func.jvp`` and ``torch.autograd.functional.jvp`` compute the same products by reverse mode.
"""
from __future__ import annotations

from typing import Any, NamedTuple, NoReturn


class UnpackedDualTensor(NamedTuple):
    """A value with its tangent."""

    primal: Any
    tangent: Any


def _missing(name: str) -> NoReturn:
    raise NotImplementedError(
        f"mstorch has no forward mode: torch.autograd.forward_ad.{name}; torch.func.jvp and torch.autograd.functional.jvp give "
        "the same products"
    )


def enter_dual_level() -> int:
    """Raises NotImplementedError."""
    _missing("enter_dual_level")


def exit_dual_level(*, level: int | None = None) -> None:
    """Raises NotImplementedError."""
    _missing("exit_dual_level")


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """Raises NotImplementedError."""
    _missing("make_dual")


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """The tensor, which has no tangent: outside of every level that is torch's answer too."""
    if level is not None and level >= 0:
        _missing("unpack_dual")
    return UnpackedDualTensor(tensor, None)


class dual_level:
    """Raises NotImplementedError where it is entered."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        exit_dual_level()


__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

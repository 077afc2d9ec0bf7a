"""torch.autograd.forward_ad: directional derivatives, computed along with the values.

    with forward_ad.dual_level():
        x = forward_ad.make_dual(primal, tangent)
        value, derivative = forward_ad.unpack_dual(f(x))
"""
from __future__ import annotations

import functools
import sys
from typing import Any, NamedTuple

from typing_extensions import Self

from .._src.core import tangents
from .._src.core.modes import modes
from .._src.core.overriding import state
from .._src.core.tensor_base import TensorBase
from .._src.leaving import END, each, length_again, values_again
from .._src.tape.duals import tangent_of
from . import _dual
from .grad_mode import _Mode

# Tensors store a level by a unique number; users see 0.
_current_level = -1
_entered: list[int] = []


class UnpackedDualTensor(NamedTuple):
    """A primal and its tangent; ``tangent`` is None for a tensor without tangent."""

    primal: Any
    tangent: Any


def _refuse_nested() -> None:
    if tangents.LEVELS:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")


def enter_dual_level() -> int:
    """Enter the dual level and return its number, 0. Raise RuntimeError when nested: use ``torch.func.jvp`` for that."""
    global _current_level
    _refuse_nested()
    _entered.append(tangents.enter())
    _current_level += 1
    return _current_level


def exit_dual_level(*, level: int | None = None) -> None:
    """Exit the dual level: tensors lose their tangents. Raise RuntimeError if there is none, or ``level`` differs."""
    global _current_level
    level = _current_level if level is None else level
    if level != _current_level:
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created. This is not supported.")
    if level < 0:
        raise RuntimeError("Dual level must be a positive number.")
    tangents.leave(_entered.pop())
    _current_level -= 1


def _level(level: int, name: str) -> int:
    if level != _current_level:
        raise RuntimeError(f"Invalid level given to {name}")
    return _entered[-1]


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> TensorBase:
    """Return a view of a floating or complex ``tensor`` (the primal) with ``tangent``, a tensor of the same shape, as its tangent.

    The tangent is the given tensor itself if its strides are the primal's, else a copy. Raise ValueError for integers, RuntimeError for
    another shape, outside a level, and for a tensor that has a tangent.
    """
    level = _current_level if level is None else level
    if level < 0:
        raise RuntimeError("Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first.")
    for what, given in (("primal", tensor), ("tangent", tangent)):
        if not (given.is_floating_point() or given.is_complex()):
            raise ValueError(f"Expected {what} to be floating point or complex, but got: {given.dtype}")
    inner = _level(level, "_make_dual")
    if tangent_of(tensor, inner) is not None:
        raise RuntimeError(
            f"Making a dual Tensor based on a Tensor that already has a forward gradient at the same level {level} is not supported."
        )
    if tangent_of(tangent, inner) is not None:
        raise RuntimeError(f"Setting a forward grad that itself has a forward gradient at the same level{level} is not supported.")
    return (_dual.MAPPED[0] if state.maps else _dual.joined)(tensor, tangent, inner)


def unpack_dual(tensor: TensorBase, *, level: int | None = None) -> UnpackedDualTensor:
    """Return a view of the tensor without its tangent, and the tangent; outside a level the tensor itself, and None."""
    level = _current_level if level is None else level
    if level < 0:
        return UnpackedDualTensor(tensor, None)
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"_unpack_dual(): argument 'dual' (position 1) must be Tensor, not {type(tensor).__name__}")
    return UnpackedDualTensor(*(_dual.MAPPED[1] if state.maps else _dual.apart)(tensor, _level(level, "_unpack_dual")))


class dual_level(_Mode):
    """A context manager or decorator that enters the dual level; its value is the level's number."""

    def __enter__(self) -> int:
        global _current_level
        _refuse_nested()
        level, leave = tangents.new()
        number = values_again(sys.modules[__name__], "_current_level")
        self.at_end(each(values_again(modes, "levels"), length_again(_entered), number, leave))
        modes.levels += 1
        _current_level += 1
        _entered[END:] = (level,)
        tangents.LEVELS[END:] = (level,)
        return _current_level


def _is_fwd_grad_enabled() -> bool:
    """Return whether tangents are computed."""
    return modes.forward


class _set_fwd_grad_enabled(_Mode):
    """Enables or disables tangents from the call on; as a context manager, until its end."""

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self.mode = mode
        self.prev = modes.forward
        modes.forward = mode

    def clone(self) -> Self:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        self.at_end(functools.partial(setattr, modes, "forward", self.prev))


__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

"""State of ``use_deterministic_algorithms``: which operations it refuses, and whether new memory is filled."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..backend.arrays import Array
from ..backend.cast import numpy_cast
from .warned import warn

if TYPE_CHECKING:
    from .dtype import dtype

state = {"mode": False, "warn_only": False, "fill": True}


def refuse(name: str) -> None:
    """Raise or warn, as torch does, for an operation that torch documents as nondeterministic."""
    if not state["mode"]:
        return
    text = f"{name} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True"
    end = " to help us prioritize adding deterministic support for this operation."
    if state["warn_only"]:
        file = "You can file an issue at https://github.com/pytorch/pytorch/issues"
        warn(f"{text}, warn_only=True)'. {file}{end}", UserWarning)
        return
    raise RuntimeError(
        f"{text})'. You can turn off determinism just for this operation, or you can use the 'warn_only=True' option, if that's "
        f"acceptable for your application. You can also file an issue at https://github.com/pytorch/pytorch/issues{end}"
    )


def fills() -> bool:
    """Return whether uninitialized memory is filled, which deterministic algorithms imply."""
    return bool(state["mode"] and state["fill"])


def filler(kind: dtype) -> float:
    """Return the fill value for uninitialized memory: NaN, or the largest integer."""
    return float("nan") if not kind.is_integral else True if kind.category == 0 else int(np.iinfo(kind.np).max)


def fill(array: Array, kind: dtype) -> None:
    """Fill uninitialized memory if deterministic algorithms are on."""
    if fills():
        array[...] = numpy_cast(np.asarray(filler(kind)), array.dtype) if array.dtype.names else filler(kind)

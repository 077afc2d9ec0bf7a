"""Reduction of elementwise losses: the ``reduction`` argument, and the older arguments that it replaced."""
from __future__ import annotations

from ...core.tensor_base import TensorBase
from ...core.warned import warn_shown_once
from ..reduce import reduce as reductions

PUBLIC_IN = "nn.functional"

_ENUM = {"none": 0, "mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """Return torch's code of a reduction."""
    if reduction == "elementwise_mean":
        warn_shown_once("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.")
        return 1
    if not isinstance(reduction, str) or reduction not in _ENUM:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _ENUM[reduction]


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """Return the reduction for the deprecated ``size_average`` and ``reduce``."""
    size_average = True if size_average is None else size_average
    reduce = True if reduce is None else reduce
    found = "mean" if size_average and reduce else "sum" if reduce else "none"
    if emit_warning:
        warn_shown_once(
            f"size_average and reduce args will be deprecated, please use reduction='{found}' instead."
        )
    return found


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """Return torch's code of the reduction for the deprecated ``size_average`` and ``reduce``."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))


def chosen(reduction: str, size_average: bool | None, reduce: bool | None) -> str:
    """Return the reduction selected by a loss's three arguments."""
    if size_average is not None or reduce is not None:
        return legacy_get_string(size_average, reduce)
    return ("none", "mean", "sum")[get_enum(reduction)]


def reduced(loss: TensorBase, reduction: str) -> TensorBase:
    """Return an elementwise loss reduced to its mean or sum, or unchanged."""
    if reduction == "mean":
        return reductions.mean(loss)
    return reductions.sum(loss) if reduction == "sum" else loss

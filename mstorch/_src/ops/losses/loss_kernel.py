"""Losses that are one kernel on a device, forward and backward."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...backend.table import kernel
from ...core.tensor_base import TensorBase
from ...tape import vocabulary as v
from ...tape.primitives import Primitive
from ...tape.whole import by_kernel
from .._memory_order import in_order_of

_NAMES = ("mse_loss", "smooth_l1_loss", "huber_loss", "bce_loss", "bce_logits_loss", "soft_margin_loss")
_OPS = {op: (kernel(op), Primitive(f"{op}_grad")) for op in _NAMES}


def loss_by_kernel(
    op: str, label: str, input: TensorBase, target: TensorBase, args: tuple[Any, ...], composed: Callable[..., Any], direct: bool = False
) -> TensorBase | None:
    """Return the loss of input and target, of one shape, by the kernel ``op`` of their device; None if it has none for them.

    ``args`` are the reduction and the kernel's other arguments. The gradient of the target is minus that of the input; callers whose
    loss has another one call this for targets that do not require grad. For ``composed`` and ``direct`` see ``record``."""
    if input._ms_shape != target._ms_shape or 0 in input._ms_shape:
        return None
    loss, slope = _OPS[op]

    def slopes(wanted: Sequence[bool], g: Any, *rest: Any) -> tuple[Any, Any]:
        found = slope(g, *rest)
        return found, v.neg(found) if wanted[1] else None

    found = by_kernel(loss, slopes, (input, target), args, label, composed, direct)
    return found if found is None or args[0] != "none" else in_order_of(found, input, target)

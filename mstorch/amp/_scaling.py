"""Scaling of gradients: how a gradient is unscaled, and how the scale changes after a step; on a device without a synchronization."""
from __future__ import annotations

from .._src.ops.elementwise.compare import where
from .._tensor import Tensor


def unscale(grad: Tensor, inv_scale: Tensor | None, found_inf: Tensor) -> None:
    """Multiply a gradient by ``inv_scale`` in place, and set ``found_inf`` to 1 if it has an inf or NaN."""
    finite = grad.isfinite().all()
    if grad.device.type != "cpu":
        found_inf.copy_(where(finite, found_inf, 1.0))
    elif not finite:
        found_inf.fill_(1.0)
    if inv_scale is not None:
        grad.mul_(inv_scale.to(device=grad.device))


def update_scale(
    scale: Tensor, growth_tracker: Tensor, found_inf: Tensor, growth_factor: float, backoff_factor: float, growth_interval: int
) -> None:
    """Multiply the scale by ``backoff_factor`` if ``found_inf`` is not 0, else by ``growth_factor`` after every ``growth_interval`` calls,
    but not to infinity; ``growth_tracker`` counts the calls.
    """
    if scale.device.type != "cpu":
        _update_on_device(scale, growth_tracker, found_inf > 0, growth_factor, backoff_factor, growth_interval)
        return
    if found_inf.item():
        scale.mul_(backoff_factor)
        growth_tracker.fill_(0)
        return
    successful = int(growth_tracker.item()) + 1
    if successful == growth_interval:
        grown = scale * growth_factor
        if grown.isfinite():
            scale.copy_(grown)
        successful = 0
    growth_tracker.fill_(successful)


def _update_on_device(
    scale: Tensor, growth_tracker: Tensor, lost: Tensor, growth_factor: float, backoff_factor: float, growth_interval: int
) -> None:
    successful = growth_tracker + 1
    grows = successful == growth_interval
    grown = scale * growth_factor
    grown = where(grows & grown.isfinite(), grown, scale)
    scale.copy_(where(lost, scale * backoff_factor, grown))
    growth_tracker.copy_(where(lost | grows, 0, successful))

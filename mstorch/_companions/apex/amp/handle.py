"""apex.amp.handle: the context in which a scaled loss goes backward."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import mstorch as torch

from .scaling import Pairs, state


@contextmanager
def scale_loss(
    loss: Any,
    optimizers: Any,
    loss_id: int = 0,
    model: Any = None,
    delay_unscale: bool = False,
    delay_overflow_check: bool = False,
) -> Iterator[Any]:
    """Yield the loss times its scale. At the end the optimizers have gradients without the scale, added to those before.

    After an overflow the next step of the optimizers is skipped. With ``delay_unscale`` the gradients stay as they are until the next time.
    """
    if not state.scalers:
        raise RuntimeError("Invoked 'with amp.scale_loss`, but internal Amp state has not been initialized.  "
            "model, optimizer = amp.initialize(model, "
                           "optimizer, opt_level=...) must be called before `with amp.scale_loss`.")  # fmt: skip
    if not state.enabled:
        yield loss
        return
    scaler = state.scalers[loss_id]
    every: list[Pairs] = [
        item._amp_pairs for item in (optimizers if isinstance(optimizers, (list, tuple)) else [optimizers])
    ]
    before = [pairs.set_aside() for pairs in every]
    scale = scaler.scale
    yield loss.float() * scale
    if delay_unscale:
        for pairs, earlier in zip(every, before):
            pairs.delayed = True
            for other, slope in zip(pairs.of_optimizer, earlier):
                if slope is not None:
                    other.grad = slope if other.grad is None else other.grad + slope * scale
        return
    overflow = [pairs.unscale(scale, earlier) for pairs, earlier in zip(every, before)]
    scaler.update(any(overflow))
    if any(overflow) and scaler.dynamic:
        for pairs in every:
            pairs.skip = True


@contextmanager
def disable_casts() -> Iterator[None]:
    """Context without casts (O1)."""
    device = torch.accelerator.current_accelerator()
    with torch.autocast("cpu" if device is None else device.type, enabled=False):
        yield


__all__ = ["disable_casts", "scale_loss"]

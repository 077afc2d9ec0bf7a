"""Random numbers of the device: moments, reproducibility by seed, and non-constancy."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import mstorch as torch

from ..._src.core import device as devices
from . import Item

_COUNT = 100_000


def _kept_weights(p: float, place: str) -> Any:
    """Return attention's weights of keys that are alike, times their number, after dropout."""
    alike = torch.zeros(1, 2, 224, 224, device=place)
    wanted = 224 * torch.eye(224, device=place).expand(1, 2, 224, 224)
    return torch.nn.functional.scaled_dot_product_attention(alike, alike, wanted, dropout_p=p)


DRAWS: dict[str, tuple[Callable[[str], Any], float, float]] = {}
"""Functions that draw numbers on a device, with the mean and the standard deviation of these."""


def _draws(name: str, mean: float, deviation: float, draw: Callable[[str], Any]) -> None:
    DRAWS[name] = draw, mean, deviation


_draws("rand", 0.5, 12**-0.5, lambda place: torch.rand(_COUNT, device=place))
_draws("randn", 0.0, 1.0, lambda place: torch.randn(_COUNT, device=place))
_draws("normal_", 2.0, 3.0, lambda place: torch.empty(_COUNT, device=place).normal_(2.0, 3.0))
_draws("uniform_", 1.0, 4 * 12**-0.5, lambda place: torch.empty(_COUNT, device=place).uniform_(-1, 3))
_draws("randint", 4.5, (99 / 12) ** 0.5, lambda place: torch.randint(0, 10, (_COUNT,), device=place).float())
_draws("bernoulli", 0.3, 0.21**0.5, lambda place: torch.full((_COUNT,), 0.3, device=place).bernoulli())
_draws("dropout", 1.0, 3**-0.5, lambda place: torch.nn.functional.dropout(torch.ones(_COUNT, device=place), 0.25))
_draws("dropout of attention", 1.0, 3**-0.5, lambda place: _kept_weights(0.25, place))
_draws("exponential_", 0.5, 0.5, lambda place: torch.empty(_COUNT, device=place).exponential_(2.0))
_draws("randperm", 0.5, 12**-0.5, lambda place: torch.randperm(_COUNT, device=place).float() / _COUNT)
_draws("multinomial", 0.8, 0.4, lambda place: torch.multinomial(torch.tensor([0.2, 0.8], device=place), _COUNT, True).float())


def _drawn(draw: Callable[[str], Any], mean: float, deviation: float) -> str:
    place = str(devices.current())
    torch.manual_seed(3)
    first, more = draw(place).cpu(), draw(place).cpu()
    torch.manual_seed(3)
    again = draw(place).cpu()
    if not torch.equal(first, again):
        return "a seed does not repeat the numbers"
    if torch.equal(first, more):
        return "two draws are alike"
    near = 6 * deviation / _COUNT**0.5
    if abs(float(first.mean()) - mean) > near or abs(float(first.std()) - deviation) > 3 * near:
        return f"mean {float(first.mean()):.4f} for {mean:.4f}, standard deviation {float(first.std()):.4f} for {deviation:.4f}"
    return ""


def random() -> list[Item]:
    """Return checks of distributions by their moments."""
    return [(name, partial(_drawn, *given)) for name, given in DRAWS.items()]

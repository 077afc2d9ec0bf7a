"""0-d tensors in place of numbers: every third operator of torch's database, and calls of real programs.

``python -m tests.number_tensors`` goes through all operators.
"""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests import number_tensors
from tests.against_torch import both
from tests.known import hold

pytestmark = pytest.mark.sweep

CHECKS = dict(list(number_tensors.items().items())[::3])


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.filterwarnings("ignore")
def test_operators(name: str) -> None:
    hold(name, CHECKS[name], {})


def _one(torch: Any, value: float = 1) -> Any:
    return torch.tensor(value)


CALLS = {
    "clamp": lambda torch, x: torch.clamp(x, 0, _one(torch)),
    "clamp with a number last": lambda torch, x: x.clamp(min=_one(torch), max=2),
    "squeeze": lambda torch, x: x.squeeze(_one(torch)),
    "movedim": lambda torch, x: torch.movedim(x, _one(torch), _one(torch, 0)),
    "fftshift": lambda torch, x: torch.fft.fftshift(x, _one(torch)),
    "normalize": lambda torch, x: torch.nn.functional.normalize(x, dim=_one(torch)),
    "cosine_similarity": lambda torch, x: torch.nn.functional.cosine_similarity(x, x, dim=_one(torch)),
    "linalg.norm": lambda torch, x: torch.linalg.norm(x, dim=_one(torch)),
    "linalg.norm of an order": lambda torch, x: torch.linalg.norm(x, _one(torch, 2), _one(torch)),
    "layer_norm": lambda torch, x: torch.nn.functional.layer_norm(x, (_one(torch, 4),), eps=_one(torch, 0.1)),
    "unfold": lambda torch, x: torch.nn.functional.unfold(x.expand(3, 3, 4)[None], (_one(torch, 2), _one(torch, 2))),
    "pad": lambda torch, x: torch.nn.functional.pad(x, (_one(torch), 0)),
    "reshape": lambda torch, x: x.reshape(_one(torch, 12)),
    "expand": lambda torch, x: x.expand(_one(torch, 3), 2, _one(torch, 4)),
    "quantile": lambda torch, x: x.quantile(_one(torch, 0.5)),
    "group_norm": lambda torch, x: torch.nn.functional.group_norm(x.expand(3, 4, 4), _one(torch, 2)),
    "largest along a dimension": lambda torch, x: torch.max(x, _one(torch, 0), keepdim=True),
    "in place": lambda torch, x: x.clone().clamp_(0, _one(torch)),
    "normal": lambda torch, x: torch.normal(_one(torch, 0.0), 1.0, (2, 3)).shape,
    "a tensor with a history is refused": lambda torch, x: x.squeeze(torch.tensor(1.0, requires_grad=True)),
    "no whole number": lambda torch, x: x.squeeze(_one(torch, 1.5)),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    given = np.random.RandomState(0).randn(3, 1, 4).astype(np.float32)

    def body(torch: Any) -> Any:
        x = torch.tensor(given, requires_grad=True)
        found = CALLS[name](torch, x)
        if getattr(found, "requires_grad", False):
            found.sum().backward()
        return found, x.grad

    both(body, message="")

"""Strides of 1-d convolutions (N, C, L), whatever the strides of dimensions of length 1."""
from __future__ import annotations

from typing import Any

import pytest

MADE = {
    "rows": lambda t, n, c, length: t.ones(n, c, length),
    "channels last": lambda t, n, c, length: t.ones(n, length, c).transpose(1, 2),
    "batch second": lambda t, n, c, length: t.ones(c, n, length).transpose(0, 1),
    "reversed": lambda t, n, c, length: t.ones(length, c, n).permute(2, 1, 0),
    "with gaps": lambda t, n, c, length: t.ones(n, length, c, 2)[..., 0].transpose(1, 2),
}


@pytest.mark.parametrize("name", MADE)
def test_strides(both: Any, name: str) -> None:
    def body(torch: Any) -> Any:
        found = []
        for n in (1, 3):
            for c in (1, 2):
                for length in (3, 10):
                    x = MADE[name](torch, n, c, length)
                    for out in (1, 4):
                        for k in (1, 3):
                            w = torch.ones(out, c, k)
                            found.append(torch.nn.functional.conv1d(x, w).stride())
                            found.append(torch.nn.functional.conv1d(x, w, w[:, 0, 0], padding=1, stride=2).stride())
                            found.append(torch.nn.functional.conv_transpose1d(x, w.transpose(0, 1).contiguous()).stride())
        return found

    both(body)

"""Memory order of pooled (N, C, L): torch treats it as images of height 1, whose memory format the result has."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Both = Callable[..., Any]

INPUTS = {
    "rows": lambda torch: torch.arange(48.0).reshape(2, 4, 6), "channels last": lambda torch: torch.arange(48.0).reshape(2, 6, 4).mT,
    "one of a batch": lambda torch: torch.arange(24.0).reshape(1, 6, 4).mT, "one channel": lambda torch: torch.arange(12.0).reshape(2, 6, 1).mT,
    "batch inside": lambda torch: torch.arange(48.0).reshape(4, 2, 6).transpose(0, 1), "backwards": lambda torch: torch.arange(48.0).reshape(6, 4, 2).permute(2, 1, 0),
    "a part": lambda torch: torch.arange(96.0).reshape(2, 4, 12)[:, :, ::2], "expanded": lambda torch: torch.arange(8.0).reshape(2, 4, 1).expand(2, 4, 6),
    "a part, channels last": lambda torch: torch.arange(96.0).reshape(2, 12, 4)[:, ::2].mT, "no batch": lambda torch: torch.arange(24.0).reshape(6, 4).T,
    "no batch, rows": lambda torch: torch.arange(24.0).reshape(4, 6), "of length 1": lambda torch: torch.arange(8.0).reshape(2, 1, 4).mT,
}  # fmt: skip
POOLS = {
    "max": lambda F, x: F.max_pool1d(x, 3, 1, 1), "max of two": lambda F, x: F.max_pool1d(x, 2, padding=1), "dilated": lambda F, x: F.max_pool1d(x, 2, 1, 1, 2),
    "indices": lambda F, x: F.max_pool1d(x, 3, 1, 1, return_indices=True), "rounded up": lambda F, x: F.max_pool1d(x, 4, 3, 1, ceil_mode=True),
    "mean": lambda F, x: F.avg_pool1d(x, 3, 1, 1), "power": lambda F, x: F.lp_pool1d(x, 2, 1), "adaptive maximum": lambda F, x: F.adaptive_max_pool1d(x, 2),
    "adaptive indices": lambda F, x: F.adaptive_max_pool1d(x, 2, return_indices=True), "adaptive mean": lambda F, x: F.adaptive_avg_pool1d(x, 2),
    "one mean": lambda F, x: F.adaptive_avg_pool1d(x, 1), "one maximum": lambda F, x: F.adaptive_max_pool1d(x, 1),
}  # fmt: skip


@pytest.mark.parametrize("followed", [False, True])
@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("pool", POOLS)
def test_order(both: Both, pool: str, name: str, followed: bool) -> None:
    if (pool, name) == ("dilated", "of length 1"):
        pytest.skip("windows of padding alone, whose gradient torch writes beside the tensor")

    def body(torch: Any) -> Any:
        x = INPUTS[name](torch)
        if followed:
            x.requires_grad_()
        found = POOLS[pool](torch.nn.functional, x)
        if not followed:
            return found
        for part in (found[0] if isinstance(found, tuple) else found).flatten():
            part.backward(retain_graph=True)
        return found, x.grad.tolist()

    both(body)


@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("weighted", [False, True])
def test_root_mean_squares_come_in_rows(both: Both, weighted: bool, kind: str) -> None:
    def body(torch: Any) -> Any:
        found = []
        for make in INPUTS.values():
            x = make(torch).to(getattr(torch, kind)).requires_grad_()
            weight = torch.ones(x.shape[-1], dtype=x.dtype) * 1.5 if weighted else None
            result = torch.nn.functional.rms_norm(x, x.shape[-1:], weight)
            found.append([result, result.is_contiguous()])
        return found

    both(body, rtol=1e-5 if kind.endswith(("32", "64")) else 1e-2)

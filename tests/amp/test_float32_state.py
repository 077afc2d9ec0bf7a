"""Layers with float32 parameters and buffers in autocast regions of half precision: results, gradients, a step and the buffers, compared
with torch."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

Both = Callable[..., Any]
Made = Callable[[Any], Any]

# A layer and the shape of its input.
LAYERS: dict[str, tuple[Made, tuple[int, ...]]] = {
    "BatchNorm1d": (lambda nn: nn.BatchNorm1d(4), (12, 4)),
    "BatchNorm1d of sequences": (lambda nn: nn.BatchNorm1d(4), (6, 4, 5)),
    "BatchNorm2d": (lambda nn: nn.BatchNorm2d(4), (3, 4, 5, 5)),
    "BatchNorm2d, cumulative": (lambda nn: nn.BatchNorm2d(4, momentum=None), (3, 4, 5, 5)),
    "BatchNorm3d": (lambda nn: nn.BatchNorm3d(4), (2, 4, 3, 3, 3)),
    "BatchNorm without parameters": (lambda nn: nn.BatchNorm2d(4, affine=False), (3, 4, 5, 5)),
    "InstanceNorm1d": (lambda nn: nn.InstanceNorm1d(4, affine=True, track_running_stats=True), (3, 4, 9)),
    "InstanceNorm2d": (lambda nn: nn.InstanceNorm2d(4, affine=True, track_running_stats=True), (3, 4, 5, 5)),
    "LayerNorm": (lambda nn: nn.LayerNorm(8), (5, 8)),
    "RMSNorm": (lambda nn: nn.RMSNorm(8), (5, 8)),
    "GroupNorm": (lambda nn: nn.GroupNorm(2, 4), (3, 4, 5, 5)),
    "Linear": (lambda nn: nn.Linear(8, 3), (5, 8)),
    "Conv1d": (lambda nn: nn.Conv1d(4, 3, 3), (2, 4, 9)),
    "Conv2d": (lambda nn: nn.Conv2d(4, 3, 3, padding=1), (2, 4, 5, 5)),
    "Conv3d": (lambda nn: nn.Conv3d(4, 3, 2), (2, 4, 3, 3, 3)),
    "Conv2d, depthwise": (lambda nn: nn.Conv2d(4, 4, 3, groups=4), (2, 4, 5, 5)),
    "ConvTranspose2d": (lambda nn: nn.ConvTranspose2d(4, 3, 3), (2, 4, 5, 5)),
    "PReLU": (lambda nn: nn.PReLU(4), (2, 4, 5)),
    "TransformerEncoderLayer": (lambda nn: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), (2, 5, 8)),
    "convolution, norm, ReLU": (lambda nn: nn.Sequential(nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4), nn.ReLU()), (3, 4, 6, 6)),
}


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", LAYERS)
def test_state_stays_float32(both: Both, name: str, half: str) -> None:
    make, shape = LAYERS[name]
    drawn = (np.random.RandomState(0).randn(*shape) * 2 + 1).astype(np.float32)

    def run(torch: Any) -> list[Any]:
        torch.manual_seed(0)
        layer = make(torch.nn)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9) if list(layer.parameters()) else None
        x, found = torch.tensor(drawn, requires_grad=True), []
        for _ in range(2):
            x.grad = None
            layer.zero_grad()
            with torch.autocast("cpu", dtype=getattr(torch, half)):
                y = layer(x)
            y.float().square().mean().backward()
            if optimizer is not None:
                optimizer.step()
            found.append([y, x.grad, [parameter.grad for parameter in layer.parameters()]])
        state = layer.state_dict()
        assert all(value.dtype in (torch.float32, torch.int64) for value in state.values())
        return [found, state]

    both(run, rtol=3e-2, atol=3e-2, strides=False)


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", [name for name in LAYERS if name.startswith(("BatchNorm", "InstanceNorm"))])
def test_statistics_of_half_precision_are_computed_in_single_precision(both: Both, name: str, half: str) -> None:
    make, shape = LAYERS[name]
    drawn = (np.random.RandomState(1).randn(*shape) * 3 + 7).astype(np.float32)

    def run(torch: Any) -> Any:
        layer = make(torch.nn)
        for scale in (1.0, 0.5):
            layer((torch.tensor(drawn) * scale).to(getattr(torch, half)))
        return dict(layer.named_buffers())

    both(run, rtol=1e-5, atol=1e-5)

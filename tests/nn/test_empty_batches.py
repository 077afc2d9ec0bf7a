"""Layers with empty batches: shapes of results and gradients compared with torch's."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch as real_torch

import mstorch

LAYERS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "RNN": (lambda nn: nn.RNN(3, 4, batch_first=True), (0, 5, 3)), "LSTM": (lambda nn: nn.LSTM(3, 4, batch_first=True), (0, 5, 3)),
    "GRU": (lambda nn: nn.GRU(3, 4, batch_first=True), (0, 5, 3)), "GroupNorm": (lambda nn: nn.GroupNorm(2, 4), (0, 4, 3)),
    "LayerNorm": (lambda nn: nn.LayerNorm(4), (0, 4)), "Linear": (lambda nn: nn.Linear(3, 2), (0, 3)),
    "Encoder": (lambda nn: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), (0, 3, 4)),
}  # fmt: skip
for _rank in (1, 2, 3):
    for _name, _args in {
        "AdaptiveMaxPool": (2,), "AdaptiveAvgPool": (2,), "MaxPool": (2,), "AvgPool": (2,), "LPPool": (2, 2), "Conv": (2, 3, 2),
        "ConvTranspose": (2, 3, 2), "BatchNorm": (2,), "InstanceNorm": (2,), "ReflectionPad": (1,), "ReplicationPad": (1,), "Dropout": (0.5,),
    }.items():  # fmt: skip
        LAYERS[f"{_name}{_rank}d"] = (
            lambda nn, name=f"{_name}{_rank}d", args=_args: getattr(nn, name)(*args), (0, 2) + (5,) * _rank,
        )  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_empty_batches(name: str) -> None:
    make, shape = LAYERS[name]
    found = []
    for torch in (real_torch, mstorch):
        layer, x = make(torch.nn), torch.ones(shape, requires_grad=True)
        try:
            y = layer(x)
            y = y[0] if isinstance(y, tuple) else y
            y.sum().backward()
            slopes = [float(p.grad.sum()) for p in layer.parameters() if p.grad is not None]
            found.append((tuple(y.shape), tuple(x.grad.shape), slopes, [buffer.tolist() for buffer in layer.buffers()]))
        except (RuntimeError, ValueError, IndexError) as error:
            found.append(type(error))
    assert found[0] == found[1]


@pytest.mark.parametrize("shape", [(0, 3), (0, 3, 2), (2, 3, 0), (0, 3, 2, 2), (2, 3, 0, 4), (0, 3, 1, 2, 2)])
@pytest.mark.parametrize("momentum", [0.1, None])
def test_running_statistics_after_an_empty_batch(both: Any, shape: tuple[int, ...], momentum: float | None) -> None:
    """Only the number of batches changes. The functions that return the statistics of the batch raise."""

    def body(torch: Any) -> Any:
        layer = getattr(torch.nn, f"BatchNorm{max(len(shape) - 2, 1)}d")(3, momentum=momentum)
        layer(torch.ones(2, 3, *[4] * (len(shape) - 2)))
        layer(torch.ones(shape))
        return dict(layer.named_buffers())

    both(body)
    both(lambda torch: torch.native_batch_norm(torch.ones(shape), None, None, torch.zeros(3), torch.ones(3), True, 0.1, 1e-5))


_EMPTY = [(2, 0), (0, 2), (0, 0), (2, 3), (0,), (3,)]  # batches and channels, or channels; for the last ones, one side of the image is 0


@pytest.mark.parametrize("kind", ["avg", "max"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_adaptive_pools_of_nothing(both: Any, kind: str, rank: int) -> None:
    def body(torch: Any, shape: tuple[int, ...], size: int, backward: bool) -> Any:
        x = torch.zeros(shape, requires_grad=True)
        y = getattr(torch.nn.functional, f"adaptive_{kind}_pool{rank}d")(x, size)
        if backward:
            y.sum().backward()
        return tuple(y.shape), bool(y.isnan().all()), x.grad

    for lead in _EMPTY:
        for sides in ((4,) * rank, (4,) * (rank - 1) + (0,)):
            for size in (2, 1, 0):
                for backward in (False, True):
                    both(lambda torch: body(torch, lead + sides, size, backward))


@pytest.mark.parametrize("kind", ["avg_pool", "max_pool", "lp_pool"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_pools_of_nothing(both: Any, kind: str, rank: int) -> None:
    def body(torch: Any, shape: tuple[int, ...]) -> Any:
        arguments = (2.0, 2) if kind == "lp_pool" else (2,)
        return tuple(getattr(torch.nn.functional, f"{kind}{rank}d")(torch.zeros(shape), *arguments).shape)

    sides = (6, 5, 4)[:rank]
    for lead in ((0, 4), (2, 0), (0,), (4,)):
        both(lambda torch: body(torch, lead + sides))
    for place in range(rank):
        both(lambda torch: body(torch, (2, 3, *sides[:place], 0, *sides[place + 1 :])))


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_unpooled_batches_of_nothing(both: Any, rank: int) -> None:
    def body(torch: Any) -> Any:
        x = torch.zeros(0, 3, *(8, 6, 4)[:rank], requires_grad=True)
        y, places = getattr(torch.nn, f"MaxPool{rank}d")(2, return_indices=True)(x)
        back = getattr(torch.nn, f"MaxUnpool{rank}d")(2)(y, places)
        back.sum().backward()
        return back, x.grad

    both(body)


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "complex64"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_convolution_of_no_channels(both, rank, dtype):
    """torch's result has no channels, whatever the layer's number, and its gradients are zeros."""

    def body(torch, options):
        layer = getattr(torch.nn, f"Conv{rank}d")(0, 3, 2, dtype=getattr(torch, dtype), **options)
        x = torch.zeros(2, 0, *(9, 7, 5)[:rank], dtype=getattr(torch, dtype), requires_grad=True)
        y = layer(x)
        y.abs().sum().backward()
        return y, x.grad, layer.weight.grad, layer.bias.grad, layer(x[0])

    for options in ({}, {"stride": 2}, {"padding": 1, "dilation": 2}, {"padding": "same"}):
        both(lambda torch: body(torch, options))


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
def test_layers_without_channels() -> None:
    """torch can construct these layers. Its batch norm then fails at an index; mstorch's does not."""
    nn = mstorch.nn
    for torch in (real_torch, mstorch):
        assert tuple(torch.nn.Conv2d(0, 3, 3).weight.shape) == (3, 0, 3, 3) and tuple(torch.nn.BatchNorm1d(0).weight.shape) == (0,)
        with pytest.raises(RuntimeError, match="expected weight to be at least 1 at dimension 0"):
            torch.nn.Conv2d(0, 0, 3)(torch.zeros(1, 0, 5, 5))
    x = mstorch.zeros(3, 0, requires_grad=True)
    nn.BatchNorm1d(0)(x).sum().backward()
    assert x.grad.shape == x.shape

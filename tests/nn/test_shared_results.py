"""Layers that change nothing: the result shares the input's memory, or is a copy, as in torch."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "channel_shuffle": lambda f, x: f.channel_shuffle(x, 1),
    "channel_shuffle of one channel": lambda f, x: f.channel_shuffle(x[:, :1], 1),
    "pixel_shuffle": lambda f, x: f.pixel_shuffle(x, 1),
    "pixel_unshuffle": lambda f, x: f.pixel_unshuffle(x, 1),
    "pixel_shuffle of one pixel": lambda f, x: f.pixel_shuffle(x[:, :4, :1, :1], 2),
    "pad": lambda f, x: f.pad(x, (0, 0)),
    "pad by reflection": lambda f, x: f.pad(x, (0, 0, 0, 0), mode="reflect"),
    "pad by repetition": lambda f, x: f.pad(x, (0, 0, 0, 0), mode="replicate"),
    "pad around": lambda f, x: f.pad(x, (0, 0, 0, 0), mode="circular"),
    "crop": lambda f, x: f.pad(x, (-1, 0)),
    "interpolate nearest": lambda f, x: f.interpolate(x, size=x.shape[2:]),
    "interpolate bilinear": lambda f, x: f.interpolate(x, size=x.shape[2:], mode="bilinear"),
    "interpolate area": lambda f, x: f.interpolate(x, size=x.shape[2:], mode="area"),
    "adaptive_avg_pool2d": lambda f, x: f.adaptive_avg_pool2d(x, x.shape[2:]),
    "adaptive_max_pool2d": lambda f, x: f.adaptive_max_pool2d(x, x.shape[2:]),
    "avg_pool2d": lambda f, x: f.avg_pool2d(x, 1),
    "max_pool2d": lambda f, x: f.max_pool2d(x, 1),
    "lp_pool2d": lambda f, x: f.lp_pool2d(x, 1, 1),
    "unfold": lambda f, x: f.unfold(x, 1),
    "fold": lambda f, x: f.fold(x.flatten(2), x.shape[2:], 1),
    "dropout in evaluation": lambda f, x: f.dropout(x, 0.5, False),
    "dropout of none": lambda f, x: f.dropout(x, 0.0, True),
    "dropout2d in evaluation": lambda f, x: f.dropout2d(x, 0.5, False),
    "dropout2d of none": lambda f, x: f.dropout2d(x, 0.0, True),
    "alpha_dropout in evaluation": lambda f, x: f.alpha_dropout(x, 0.5, False),
    "alpha_dropout of none": lambda f, x: f.alpha_dropout(x, 0.0, True),
    "feature_alpha_dropout of none": lambda f, x: f.feature_alpha_dropout(x, 0.0, True),
    "relu": lambda f, x: f.relu(x),
    "hardtanh": lambda f, x: f.hardtanh(x, -99, 99),
    "leaky_relu": lambda f, x: f.leaky_relu(x, 1.0),
    "threshold": lambda f, x: f.threshold(x, -99, 0),
    "local_response_norm": lambda f, x: f.local_response_norm(x, 1, alpha=0.0),
    "batch_norm": lambda f, x: f.batch_norm(x, x.new_zeros(8), x.new_ones(8), eps=1e-12),
    "softmax of one": lambda f, x: f.softmax(x[:, :1], 1),
    "one step": lambda f, x: f.max_unpool2d(*f.max_pool2d(x, 1, return_indices=True), 1),
}


@pytest.mark.parametrize("layout", ["rows", "channels last", "transposed"])
@pytest.mark.parametrize("name", CALLS)
def test_sharing(both: Any, name: str, layout: str) -> None:
    def body(torch: Any) -> Any:
        x = torch.arange(96.0).view(2, 8, 2, 3)
        if layout == "channels last":
            x = x.contiguous(memory_format=torch.channels_last)
        elif layout == "transposed":
            x = torch.arange(96.0).view(2, 8, 3, 2).transpose(2, 3)
        found = CALLS[name](torch.nn.functional, x)
        shares = found.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
        found.add_(1)
        return found, shares, found is x, x

    both(body)


def test_module_of_parametrized_classes(both: Any) -> None:
    def body(torch: Any) -> Any:
        layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
        return type(layer).__module__.partition(".")[2], type(layer).__qualname__

    both(body)

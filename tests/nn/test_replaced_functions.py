"""Programs that replace functions in ``torch.nn.functional`` (counters of operations, quantizers): layers call the replacements, as torch's
do."""
from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

LAYERS: dict[str, Callable[[Any], tuple[Any, tuple[Any, ...]]]] = {
    **{name: lambda torch, name=name: (getattr(torch.nn, name)(), (torch.ones(2, 4),)) for name in (
        "ReLU ReLU6 GELU SiLU ELU SELU CELU GLU Hardswish Hardtanh Hardsigmoid LeakyReLU LogSigmoid Mish PReLU RReLU Softplus Softshrink Hardshrink "
        "Softsign Tanhshrink Softmax LogSoftmax Softmin Dropout AlphaDropout FeatureAlphaDropout"
    ).split()},
    "Threshold": lambda torch: (torch.nn.Threshold(0.0, 1.0), (torch.ones(2),)),
    "Linear": lambda torch: (torch.nn.Linear(4, 2), (torch.ones(2, 4),)),
    "Embedding": lambda torch: (torch.nn.Embedding(5, 3), (torch.tensor([1, 2]),)),
    "LayerNorm": lambda torch: (torch.nn.LayerNorm(4), (torch.ones(2, 4),)),
    "LPPool1d": lambda torch: (torch.nn.LPPool1d(2, 2), (torch.ones(1, 2, 4),)),
    "MaxUnpool1d": lambda torch: (torch.nn.MaxUnpool1d(2), (torch.ones(1, 1, 2), torch.tensor([[[0, 2]]]))),
    "Conv circular": lambda torch: (torch.nn.Conv1d(2, 2, 3, padding=1, padding_mode="circular"), (torch.ones(1, 2, 4),)),
    **{f"{name}{rank}d": lambda torch, name=name, rank=rank: (getattr(torch.nn, f"{name}{rank}d")(2, 2, 2), (torch.ones(1, 2, *[4] * rank),))
       for name in ("Conv", "ConvTranspose") for rank in (1, 2, 3)},
    **{f"{name}{rank}d": lambda torch, name=name, rank=rank: (getattr(torch.nn, f"{name}{rank}d")(2), (torch.ones(2, 2, *[4] * rank),))
       for name in ("MaxPool", "AvgPool", "AdaptiveAvgPool", "AdaptiveMaxPool", "BatchNorm", "InstanceNorm") for rank in (1, 2, 3)},
    **{f"Dropout{rank}d": lambda torch, rank=rank: (getattr(torch.nn, f"Dropout{rank}d")(), (torch.ones(1, 2, *[4] * rank),)) for rank in (1, 2, 3)},
    **{f"FractionalMaxPool{rank}d": lambda torch, rank=rank: (
        getattr(torch.nn, f"FractionalMaxPool{rank}d")(2, output_size=2), (torch.ones(1, 2, *[5] * rank),)) for rank in (2, 3)},
}  # fmt: skip


@contextmanager
def _counted(torch: Any, seen: list[str]) -> Iterator[None]:
    home = torch.nn.functional
    before = {name: value for name, value in vars(home).items() if callable(value) and not name.startswith("_") and not isinstance(value, type)}

    def watched(name: str, function: Any) -> Any:
        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            seen.append(name)
            return function(*args, **kwargs)

        return called

    try:
        for name, value in before.items():
            setattr(home, name, watched(name, value))
        yield
    finally:
        for name, value in before.items():
            setattr(home, name, value)


@pytest.mark.parametrize("name", LAYERS)
def test_layers_call_what_stands_there(both: Any, name: str) -> None:
    def body(torch: Any) -> Any:
        layer, inputs = LAYERS[name](torch)
        seen: list[str] = []
        with warnings.catch_warnings(), _counted(torch, seen):
            warnings.simplefilter("ignore")
            layer(*inputs)
        return seen[0]  # functions that this one calls are not replaced

    both(body)

"""Programs on a GPU, each run by ``python -m tests.cuda python -m tests.cuda.programs NAME…``: what is computed is not known, but that it runs."""
from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import mstorch as torch
from mstorch import nn
from mstorch.nn import functional as F
from tests.cann import networks

D = "cuda"


def _trains(model: Any, *inputs: Any, optimizer: str = "SGD", half: bool = False, **options: Any) -> None:
    model = model.to(D)
    step = getattr(torch.optim, optimizer)(model.parameters(), lr=0.01, **options)
    scaler = torch.amp.GradScaler(D) if half else None
    for _ in range(2):
        step.zero_grad()
        with torch.autocast(D, torch.float16, enabled=half):
            result = model(*[value.to(D) for value in inputs])
            loss = (result[0] if isinstance(result, tuple) else result).float().square().mean()
        if scaler is None:
            loss.backward()
            step.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(step)
            scaler.update()
    torch.cuda.synchronize()


def _mlp() -> Any:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))


def _convolutional() -> Any:
    return nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 3))


def _places_by_weights() -> None:
    try:
        torch.multinomial(torch.ones(4, device=D), 2)
    except RuntimeError as error:  # the weights are looked at, and the emulated card's memory holds whatever it held before
        if "probability tensor contains" not in str(error) and "invalid multinomial distribution" not in str(error):
            raise


def _random_numbers() -> None:
    x = torch.full((5,), 0.5, device=D)
    for call in (
        lambda: torch.rand(3, device=D), lambda: torch.randn(3, device=D), lambda: torch.randint(2, 9, (3,), device=D),
        lambda: torch.randperm(6, device=D), lambda: torch.bernoulli(x), lambda: torch.normal(0.0, 1.0, (3,), device=D), lambda: torch.rand_like(x),
        lambda: x.clone().uniform_(), lambda: x.clone().normal_(), lambda: x.clone().exponential_(), lambda: x.clone().cauchy_(),
        lambda: x.clone().log_normal_(), lambda: x.clone().geometric_(0.5), lambda: x.clone().random_(), lambda: x.clone().bernoulli_(0.5),
        _places_by_weights, lambda: torch.poisson(x), lambda: F.dropout(x), lambda: F.gumbel_softmax(x, dim=0),
        lambda: nn.init.trunc_normal_(torch.empty(4, device=D)), lambda: nn.init.kaiming_uniform_(torch.empty(4, 4, device=D)),
        lambda: nn.init.orthogonal_(torch.empty(4, 4, device=D)), lambda: nn.init.xavier_normal_(torch.empty(4, 4, device=D)),
        lambda: nn.init.uniform_(torch.empty(4, device=D)), lambda: nn.init.normal_(torch.empty(4, device=D)),
        lambda: nn.init.xavier_uniform_(torch.empty(4, 4, device=D)), lambda: nn.init.kaiming_normal_(torch.empty(4, 4, device=D)),
        lambda: nn.init.sparse_(torch.empty(4, 4, device=D), 0.5), lambda: nn.init.eye_(torch.empty(4, 4, device=D)),
        lambda: nn.init.dirac_(torch.empty(4, 4, 3, device=D)), lambda: torch.binomial(x, x), lambda: torch.randn_like(x),
        lambda: torch.randint_like(x, 9), lambda: torch.rrelu(x, training=True), lambda: F.alpha_dropout(x, 0.3, True),
        lambda: F.dropout2d(torch.ones(2, 3, 4, 4, device=D)), lambda: F.feature_alpha_dropout(torch.ones(2, 3, 4, 4, device=D), 0.3, True),
        lambda: torch.distributions.Normal(x, x, validate_args=False).sample(), lambda: torch._standard_gamma(x), lambda: torch._sample_dirichlet(x),
    ):  # fmt: skip
        call()
        torch.cuda.synchronize()


def _states_of_generators() -> None:
    torch.cuda.manual_seed(3)
    state = torch.cuda.get_rng_state()
    assert state.shape == (16,) and torch.cuda.initial_seed() == 3
    torch.rand(3, device=D)
    assert not torch.equal(torch.cuda.get_rng_state(), state)
    torch.cuda.set_rng_state(state)
    assert torch.equal(torch.cuda.get_rng_state(), state)
    with torch.random.fork_rng([0], device_type="cuda"):
        torch.rand(3, device=D)
    assert torch.equal(torch.cuda.get_rng_state(), state)
    generator = torch.Generator(D).manual_seed(4)
    torch.rand(3, device=D, generator=generator)
    assert generator.initial_seed() == 4 and torch.equal(torch.cuda.get_rng_state(), state)


def _names_of_cuda() -> None:
    first, second = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    stream = torch.cuda.Stream()
    first.record()
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() == stream
        torch.ones(2, device=D).add_(1)
        second.record()
    second.synchronize()
    stream.wait_stream(torch.cuda.default_stream())
    assert first.query() and first.elapsed_time(second) >= 0 and "torch.cuda.Stream" in repr(stream)
    assert torch.cuda.get_device_capability() == (9, 0) and torch.cuda.get_arch_list() == ["sm_90"]
    assert torch.cuda.get_device_properties(0).total_memory == 1 << 30 and torch.cuda.get_device_name() == "emulated"
    assert not torch.cuda.is_bf16_supported() and torch.cuda.is_initialized() and torch.cuda.device_count() == 1
    free, total = torch.cuda.mem_get_info()  # the pool of each stream has reserved more than this device has
    allocated, peak, reserved = torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated(), torch.cuda.memory_reserved()
    assert 0 <= free <= total and allocated <= peak and reserved >= allocated, (free, total, allocated, peak, reserved)
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.empty_cache()
    assert torch.cuda.memory_stats()["allocated_bytes.all.peak"] and isinstance(torch.cuda.memory_summary(), str)
    assert torch.cuda.FloatTensor(3).device.type == "cuda" and isinstance(torch.ones(1, device=D), torch.cuda.FloatTensor)


def _bfloat16() -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        x = torch.ones(2, device=D, dtype=torch.bfloat16)
        for _ in range(3):
            y = x + x
        assert y.dtype is torch.bfloat16 and y.float().dtype is torch.float32 and y.float().bfloat16().dtype is torch.bfloat16
        torch.cuda.synchronize()
    assert len([warning for warning in seen if "torch.add has no kernel" in str(warning.message)]) == 1


PROGRAMS: dict[str, Callable[[], None]] = {
    "random numbers": _random_numbers, "states of generators": _states_of_generators, "names of torch.cuda": _names_of_cuda, "bfloat16": _bfloat16,
    **{f"mlp, {name}": lambda name=name: _trains(_mlp(), torch.ones(2, 4), optimizer=name) for name in (
        "SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "Rprop", "ASGD")},
    "mlp, momentum": lambda: _trains(_mlp(), torch.ones(2, 4), momentum=0.9, nesterov=True),
    "mlp, autocast": lambda: _trains(_mlp(), torch.ones(2, 4), half=True),
    "convolutions": lambda: _trains(_convolutional(), torch.ones(2, 2, 8, 8)),
    "convolutions, autocast": lambda: _trains(_convolutional(), torch.ones(2, 2, 8, 8), half=True),
    "layer norm": lambda: _trains(nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.GELU(), nn.Dropout(0.1)), torch.ones(2, 4), optimizer="AdamW"),
    "group norm": lambda: _trains(nn.Sequential(nn.Conv1d(2, 4, 3), nn.GroupNorm(2, 4), nn.SiLU()), torch.ones(2, 2, 8)),
    "lstm": lambda: _trains(nn.LSTM(4, 3, num_layers=2), torch.ones(5, 2, 4)), "gru": lambda: _trains(nn.GRU(4, 3), torch.ones(5, 2, 4)),
    "encoder": lambda: _trains(nn.TransformerEncoderLayer(8, 2, 16, 0.1), torch.ones(5, 2, 8), optimizer="AdamW"),
    "encoder, autocast": lambda: _trains(nn.TransformerEncoderLayer(8, 2, 16, 0.1), torch.ones(5, 2, 8), half=True),
    "embeddings": lambda: _trains(nn.Sequential(nn.Embedding(10, 4), nn.Linear(4, 3)), torch.tensor([[1, 2], [3, 4]])),
    "transposed convolutions": lambda: _trains(nn.Sequential(nn.ConvTranspose2d(2, 3, 3), nn.Tanh()), torch.ones(1, 2, 5, 5)),
    "interpolation": lambda: _trains(nn.Sequential(nn.Conv2d(2, 2, 1), nn.Upsample(scale_factor=2, mode="bilinear")), torch.ones(1, 2, 4, 4)),
    **{
        f"{name}, {way}": lambda name=name, way=way: networks.run(name, way, D) for name in networks.MADE for way in networks.WAYS
        if (name, way) != ("experts", "autocast")  # in bfloat16 the CPU reads which experts were chosen, and the card chose none
    },
    "adaptive pools": lambda: _trains(nn.Sequential(nn.Conv2d(2, 2, 1), nn.AdaptiveAvgPool2d(2), nn.Flatten()), torch.ones(1, 2, 6, 6)),
}  # fmt: skip


if __name__ == "__main__":
    failed = 0
    for name in sys.argv[1:] or PROGRAMS:
        try:
            PROGRAMS[name]()
        except Exception:  # noqa: BLE001 - each program's failure is printed
            failed += 1
            print(f"{name}\n{traceback.format_exc()}")
    print(f"{failed} failed")
    sys.exit(failed > 0)

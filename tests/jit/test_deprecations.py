"""Deprecation warnings of torch.jit, and of other functions that torch deprecates."""
from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch as real_torch

import mstorch
from mstorch._src.core import warned


def _saved(t: Any) -> Any:
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        t.jit.save(t.jit.script(_twice), file)
    file.seek(0)
    return file


def _twice(x):
    return x * 2


CALLS: dict[str, Callable[[Any], Any]] = {
    "script": lambda t: t.jit.script(_twice),
    "script of a module": lambda t: t.jit.script(t.nn.Linear(2, 2)),
    "trace": lambda t: t.jit.trace(_twice, t.ones(2)),
    "trace of a module": lambda t: t.jit.trace(t.nn.Linear(2, 2), t.ones(1, 2)),
    "trace_module": lambda t: t.jit.trace_module(t.nn.Linear(2, 2), {"forward": t.ones(1, 2)}),
    "freeze": lambda t: t.jit.freeze(t.jit.script(t.nn.Linear(2, 2).eval())),
    "fork": lambda t: t.jit.wait(t.jit.fork(_twice, t.ones(1))),
    "save": lambda t: t.jit.save(t.jit.script(_twice), io.BytesIO()),
    "load": lambda t: t.jit.load(_saved(t)),
    "min_value": lambda t: t.nn.Hardtanh(min_value=-1.0, max_value=2.0),
    "clip_grad_norm": lambda t: t.nn.utils.clip_grad_norm([t.ones(1, requires_grad=True)], 1.0),
}
ONCE: dict[str, Callable[[Any], Any]] = {
    "triangular_solve": lambda t: t.triangular_solve(t.eye(2), t.eye(2)),
    "quantize_per_tensor": lambda t: t.quantize_per_tensor(t.ones(2), 0.1, 0, t.quint8),
    "quantize_per_channel": lambda t: t.quantize_per_channel(t.ones(2, 2), t.ones(2), t.zeros(2), 0, t.qint8),
    "_empty_affine_quantized": lambda t: t._empty_affine_quantized([2], scale=1.0, zero_point=0, dtype=t.quint8),
}


def _given(body: Callable[[Any], Any], torch: Any) -> list[tuple[str, str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        body(torch)
    return [(one.category.__name__, str(one.message).partition(" (Triggered internally")[0]) for one in caught]


@pytest.mark.parametrize("name", CALLS)
def test_warnings(name: str) -> None:
    """Each warning comes once; torch's check of a trace repeats it."""
    assert _given(CALLS[name], mstorch) == list(dict.fromkeys(_given(CALLS[name], real_torch)))


@pytest.mark.parametrize("name", ONCE)
def test_warnings_given_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warned, "_given", set())
    real_torch.set_warn_always(True)
    try:
        wanted = _given(ONCE[name], real_torch)
    finally:
        real_torch.set_warn_always(False)
    assert wanted and _given(ONCE[name], mstorch) == wanted[:1]
    assert not _given(ONCE[name], mstorch)


@pytest.mark.parametrize("given", [(), (0.5,), (0.5, 2.0), (0.5, 2.0, 3.0)])
def test_scales_of_elu(both: Any, given: tuple[float, ...]) -> None:
    def body(torch: Any) -> Any:
        leaf = torch.tensor([-1.5, -0.1, 0.0, 2.0], requires_grad=True)
        x = leaf * 1
        found = torch.nn.functional.elu_(x, *given)
        found.sum().backward()
        return found is x, x, leaf.grad

    both(body)

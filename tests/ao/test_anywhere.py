"""Quantized tensors and layers on the default device, also on the stand-in device: the CPU's integers, or integers that differ by one."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mstorch as torch

from .networks import TOKENS, encoder

NUMBERS = np.random.RandomState(0).randn(6, 40).astype(np.float32)


def _near(got: Any, want: Any) -> None:
    assert np.abs(got.cpu().numpy().astype(int) - want.cpu().numpy().astype(int)).max() <= 1


@pytest.mark.parametrize("kind", [torch.qint8, torch.quint8])
def test_integers(kind: Any) -> None:
    here, there = torch.tensor(NUMBERS), torch.tensor(NUMBERS, device="cpu")
    one, other = (torch.quantize_per_tensor(x, 0.03, 5, kind) for x in (here, there))
    assert one.device == here.device and one.int_repr().device == here.device and one.dequantize().device == here.device
    _near(one.int_repr(), other.int_repr())
    np.testing.assert_array_equal(one.cpu().int_repr().numpy(), one.int_repr().cpu().numpy())
    _near(one[2:].t().relu().int_repr(), other[2:].t().relu().int_repr())
    scales = np.linspace(0.02, 0.05, 6)
    rows = [
        torch.quantize_per_channel(x, torch.tensor(scales, device=x.device), torch.zeros(6, dtype=torch.int64, device=x.device), 0, kind)
        for x in (here, there)
    ]
    _near(rows[0].int_repr(), rows[1].int_repr())
    np.testing.assert_allclose(rows[0].dequantize().cpu().numpy(), rows[1].dequantize().numpy(), atol=0.051)


@pytest.mark.filterwarnings("ignore:torch.ao.quantization is deprecated")
def test_an_encoder_of_quantized_weights() -> None:
    model = encoder(torch)
    small = torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear}, dtype=torch.qint8)
    with torch.no_grad():
        want, got = model(torch.tensor(TOKENS)), small(torch.tensor(TOKENS))
    assert got.device == want.device
    np.testing.assert_allclose(got.cpu().numpy(), want.cpu().numpy(), atol=0.05)
    assert not torch.equal(want, got)

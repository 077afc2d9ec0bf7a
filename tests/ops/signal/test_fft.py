"""torch.fft against torch."""
from __future__ import annotations

import numpy as np
import pytest

REAL = np.random.RandomState(0).randn(3, 5).astype("float32")
LOOSE = {"rtol": 1e-4, "atol": 1e-5, "strides": False}


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("n", [None, 4, 8])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_one_dimension(with_gradients, name, n, norm):
    with_gradients(lambda t, x: getattr(t.fft, name)(x, n, 0, norm).abs(), REAL, **LOOSE)


@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfftn", "fftn", "ihfft2", "hfftn"])
def test_several_dimensions(with_gradients, name):
    with_gradients(lambda t, x: getattr(t.fft, name)(x, (4, 6)).abs(), REAL, **LOOSE)


@pytest.mark.parametrize("n", [1, 4, 5])
def test_frequencies(both, n):
    both(lambda t: (t.fft.fftfreq(n, 0.5), t.fft.rfftfreq(n), t.fft.fftshift(t.arange(n)), t.fft.ifftshift(t.arange(n))))


@pytest.mark.parametrize(
    "body",
    [
        lambda t: t.fft.fft(t.ones(3), 0),
        lambda t: t.fft.fft(t.ones(3), norm="a"),
        lambda t: t.fft.fftn(t.ones(3, 3), (3,), (0, 1)),
        lambda t: t.fft.rfft(t.ones(3) + 0j),
        lambda t: t.fft.irfft(t.ones(1)),
    ],
)
def test_errors(both, body):
    both(body)

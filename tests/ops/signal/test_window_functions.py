"""Window functions against torch."""
from __future__ import annotations

import pytest

NAMES = "bartlett blackman cosine exponential gaussian general_hamming hamming hann kaiser nuttall".split()


@pytest.mark.parametrize("sym", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_signal_windows(both, name, sym):
    both(lambda t: [getattr(t.signal.windows, name)(n, sym=sym, dtype=t.float64) for n in (0, 1, 2, 7)])


@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("name", ["hann", "hamming", "blackman", "bartlett", "kaiser"])
def test_torch_windows(both, name, periodic):
    both(lambda t: [getattr(t, f"{name}_window")(n, periodic) for n in (0, 1, 2, 7)])


def test_errors(both):
    both(lambda t: t.signal.windows.hann(-1))
    both(lambda t: t.signal.windows.general_cosine(5, a=[]))
    both(lambda t: t.signal.windows.gaussian(5, std=-1))
    both(lambda t: t.hann_window(-1))

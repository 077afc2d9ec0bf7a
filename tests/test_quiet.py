"""Blocks that disable NumPy's floating-point warnings restore the previous settings."""
import threading

import numpy as np
import pytest

import mstorch as torch
from mstorch._src.quiet import _MOST, _RESTORES, quiet, silence

_STATES = [{}, {"all": "ignore"}, {"divide": "raise"}, {"all": "raise"}, {"over": "print"}, {"all": "call"}]


def _is_silent():
    with np.errstate(all="raise"):
        with quiet():
            np.divide(1.0, np.zeros(3))
        with pytest.raises(FloatingPointError):
            np.divide(1.0, np.zeros(3))


@pytest.mark.parametrize("state", _STATES, ids=str)
def test_settings_are_restored(state):
    outer = np.geterr()
    for _ in range(3):
        with np.errstate(**state):
            before, handler = np.geterr(), np.geterrcall()
            with quiet():
                assert set(np.geterr().values()) == {"ignore"}
                with np.errstate(all="raise"), quiet():
                    np.log(np.zeros(2))
                assert set(np.geterr().values()) == {"ignore"}
            assert np.geterr() == before and np.geterrcall() is handler
            with pytest.raises(KeyError), quiet():
                raise KeyError
            assert np.geterr() == before
    assert np.geterr() == outer
    _is_silent()


def test_handlers_of_the_program():
    for number in range(2 * _MOST):
        seen = []
        with np.errstate(all="call", call=lambda *args, seen=seen: seen.append(args)):
            handler = np.geterrcall()
            with quiet():
                np.divide(1.0, np.zeros(3))
            assert np.geterrcall() is handler and not seen
            np.divide(1.0, np.zeros(3))
        assert len(seen) == 1, number
    assert len(_RESTORES) <= _MOST
    _is_silent()


def test_threads():
    failures = []

    def work(mode):
        with np.errstate(all=mode):
            for _ in range(5000):
                with quiet():
                    pass
                if set(np.geterr().values()) != {mode}:
                    failures.append(np.geterr())
                    return

    threads = [threading.Thread(target=work, args=(mode,)) for mode in ("ignore", "warn", "raise", "print", "warn")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.skipif(hasattr(np, "seterrobj"), reason="NumPy 1 has no context to be in")
def test_kernels_in_a_finalizer_that_runs_within_a_kernel():
    """The collector may run code of the program while a ufunc of a kernel has the thread's context."""
    x = torch.zeros(4)

    def finalize():
        return x + 1, x.exp(), x / 0, torch.maximum(x, x), x**x, (x * 2).sum(), x.mean()

    with np.errstate(all="raise"):
        want, got = finalize(), silence.run(finalize)
    assert all(torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in zip(want, got))

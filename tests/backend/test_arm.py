"""What ARM processors, the usual hosts of Ascends, do otherwise: casts that saturate, flushed subnormal numbers, oneDNN without vectors.

No ARM processor is at hand here: its answers are put in the place of this one's.
"""
from __future__ import annotations

import platform
import subprocess
import sys

import numpy as np
import pytest
import torch as real_torch

import mstorch
from mstorch._src.backend import cast, processor
from mstorch._src.backend.onednn import library


@pytest.fixture
def arm(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    return lambda names: [monkeypatch.setattr(module, "flags", lambda: frozenset(names)) for module in (processor, library)]


@pytest.mark.parametrize("target", ["uint8", "uint16", "uint32"])
@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
def test_casts_to_unsigned_integers_wrap(monkeypatch, kind, target):
    """With the detour that a processor with saturating instructions needs, they are torch's."""
    monkeypatch.setattr(cast, "SATURATES", True)
    numbers = [float(number) for number in range(-300, 300, 7)] + [-1.5, -0.5, 0.0, 65535.0, -65535.0]
    for arrange in (lambda x: x, lambda x: x[::3], lambda x: x.reshape(-1, 1).expand(-1, 3).t()):
        want, got = (
            arrange(torch.tensor(numbers, dtype=getattr(torch, kind))).to(getattr(torch, target)) for torch in (real_torch, mstorch)
        )
        np.testing.assert_array_equal(got.numpy(), want.numpy())


def test_subnormal_numbers_are_kept():
    """A library that is loaded may set the processor's flag for the whole process."""
    if platform.machine() != "x86_64":
        pytest.skip("the flag is set as on x86-64")
    script = """
import ctypes, numpy
from mstorch._src.backend.runtime import keep_subnormals
environment = (ctypes.c_uint8 * 32)()
library = ctypes.CDLL(None)
library.fegetenv(environment)
environment[29] |= 0x80  # flush to zero
environment[28] |= 0x40  # and take subnormal operands as zeros
library.fesetenv(environment)
assert numpy.multiply(numpy.float32(1e-40), numpy.float32(1)) == 0
keep_subnormals()
assert numpy.multiply(numpy.float32(1e-40), numpy.float32(1)) != 0
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_onednn_without_vectors_is_left(arm):
    arm(["fp", "asimd"])
    assert library._load() is None
    assert mstorch.backends.cpu.get_cpu_capability() == "DEFAULT"


def test_onednn_with_vectors_is_taken(arm):
    arm(["fp", "asimd", "sve"])
    assert (library._load() is None) == (library._path() is None)

"""Peaks of memory of training steps beside torch's: networks with and without checkpoints, and optimizers on the stand-in device."""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import warnings

import pytest
import torch as real_torch

import mstorch

from . import meter, networks

pytestmark = [pytest.mark.sweep, pytest.mark.skipif(meter.ON_DEVICE, reason="measures NumPy's memory")]


@pytest.fixture(autouse=True)
def _one_thread():
    """Compute in one thread: waiting threads would hold what they computed."""
    counts = real_torch.get_num_threads(), mstorch.get_num_threads()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        real_torch.set_num_threads(1)
        mstorch.set_num_threads(1)
        yield
        real_torch.set_num_threads(counts[0])
        mstorch.set_num_threads(counts[1])


@pytest.mark.parametrize("options", [{}, {"checkpointed": True}, {"autocast": True}, {"set_to_none": False}, {"optimizer": "AdamW"}],
                         ids=["plain", "checkpointed", "autocast", "gradients set to zero", "AdamW"])  # fmt: skip
@pytest.mark.parametrize("name", networks.NAMES)
def test_networks(name, options):
    want, got = (meter.peak(library, networks.make(name, **options)) for library in (real_torch, mstorch))
    bar = 1.05 if options.get("checkpointed") else 1.1
    assert got <= bar * want, f"{got / 1e6:.2f} MB, torch {want / 1e6:.2f} MB"


def test_the_meter_sees_what_is_kept():
    """A tensor that is kept too long raises the peak by its size."""
    kept = []

    def make(keeps):
        def build(torch):
            x = torch.ones(1000, 250)

            def run():
                kept.clear()
                for _ in range(5):
                    y = x * 2
                    if keeps:
                        kept.append(y)

            return run, lambda: [x]

        return build

    for library in (real_torch, mstorch):
        low, high = meter.peak(library, make(False)), meter.peak(library, make(True))
        assert high - low >= 2.9e6, library
    kept.clear()


@pytest.mark.slow
def test_optimizers_on_a_device():
    environment = {**os.environ, "MSTORCH_FAKE_DEVICE": "Ascend", "GLOG_v": "3"}
    root = pathlib.Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "tests.memory.on_device"], cwd=root, env=environment, capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    result = json.loads(done.stdout.splitlines()[-1])
    assert not {name: ratio for name, ratio in result["ratios"].items() if ratio > 1.1}
    assert result["replaced"] == [0, 0, 0, 0]

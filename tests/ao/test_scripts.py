"""The scripts of tests/ao/scripts.py, run with both libraries."""
from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as real_torch

import mstorch

from .scripts import SCRIPTS

pytestmark = pytest.mark.on_the_cpu  # files are exchanged with real torch

# Tolerances: one quantization step of the last layer, or the rounding of sums.
STEPS = {"result": 0.03, "logits": 1e-5, "scores": 1e-5, "first loss": 1e-3, "apart": 1e-5, "scales": 1e-7}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__)
def test_script(script: Callable[[Any], dict[str, Any]]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want, got = script(real_torch), script(mstorch)
    assert list(want) == list(got)
    for name, value in want.items():
        if name in STEPS:
            np.testing.assert_allclose(got[name], value, atol=STEPS[name], rtol=0, err_msg=name)
        elif isinstance(value, str):
            assert _rough(value) == _rough(got[name]), name
        else:
            assert value == got[name], name


def _rough(text: str) -> str:
    """Return a text with its numbers rounded to five digits, because scales come from sums."""
    return re.sub(r"\d\.\d{6,}", lambda found: f"{float(found[0]):.5g}", text)

"""A sample of ``python -m tests.onnx.models``, which also exports networks of packages."""
from __future__ import annotations

import numpy as np
import pytest

from tests.onnx import models

SAMPLE = ["unet", "lstm_lm", "GRU"]


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.on_the_cpu
def test_networks_of_the_examples_in_onnxruntime() -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    assert models.run(SAMPLE, []) == {("examples", name): "" for name in SAMPLE}


def test_what_differs_is_told() -> None:
    wanted = [np.array([1.0, -2.0], np.float32)]
    assert models.differs([np.array([1.0, -2.0001], np.float32)], wanted) == ""
    assert "3.0e-04 apart" in models.differs([np.array([1.0, -2.0003], np.float32)], wanted)
    assert "apart" in models.differs([np.array([1.0, np.nan], np.float32)], wanted)
    assert "float64" in models.differs([np.array([1.0, -2.0])], wanted)
    assert "0 arrays" in models.differs([], wanted)
    assert "nothing" in models.differs([np.zeros(2)], [np.zeros(2)])

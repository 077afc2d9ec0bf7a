"""A GPT under fully_shard in two and in four processes: its losses equal those of one process, and its memory is a fraction."""
from __future__ import annotations

import pytest

from tests.distributed import gpt_cases, together

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("size, limit", [(2, 0.65), (4, 0.4)])
def test_curve_and_memory(size, limit):
    for found in together.run("mstorch", gpt_cases.__name__, size):
        want, got, parameters, training = found["case_curve_and_memory"]
        together.same(want, got, "losses", rtol=1e-5, atol=1e-5)
        print(f"{size} processes: {parameters:.3f} of one process's peak for parameters, {training:.3f} of its peak in training")
        assert 1 / size < parameters <= limit and training <= limit

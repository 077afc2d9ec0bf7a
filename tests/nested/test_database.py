"""Each operator that torch has samples for nested tensors of, forward and backward: see tests/nested/database.py."""
from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.nested.database import operators, run

pytestmark = [pytest.mark.sweep, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("op", operators(), ids=lambda op: f"{op.name}{op.variant_test_name and '.' + op.variant_test_name}")
def test_samples(op: Any) -> None:
    torch.manual_seed(0)
    told = run(op)
    if not told["forward"]:
        pytest.skip(f"torch itself raises for all samples of {op.name}")

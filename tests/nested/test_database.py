"""All operators for which torch has samples of nested tensors, forward and backward: see tests/nested/database.py."""
from __future__ import annotations

import importlib

import pytest
import torch

pytestmark = [pytest.mark.sweep, pytest.mark.filterwarnings("ignore")]
SHARES = 8


@pytest.mark.parametrize("share", range(SHARES))
def test_samples(share: int) -> None:
    database = importlib.import_module("tests.nested.database")  # which takes two seconds that a test collection should not spend
    wrong, forward, backward = [], 0, 0
    for op in database.operators()[share::SHARES]:
        torch.manual_seed(0)
        try:
            told = database.run(op)
        except (AssertionError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
            wrong.append(f"{op.name}: {type(error).__name__}: {str(error).strip()[:300]}")
            continue
        forward, backward = forward + told["forward"], backward + told["backward"]
    assert not wrong, "\n".join(wrong)
    assert forward > 150 and backward > 80, f"only {forward} samples forward and {backward} backward were compared"

"""A sample of ``python -m tests.fuzz_checkpoints``: damaged files, all hostile pickles, a few kills."""

import pytest

from tests.fuzz_checkpoints import check_kills, hostile, in_process

pytestmark = pytest.mark.slow


def test_damaged_files():
    found = in_process("--start", 10_000, "--files", 300)
    assert found["failures"] == []
    assert found["refused"] > 200 and found["accepted"] > 5


def test_hostile_pickles():
    assert len(list(hostile())) == 200
    found = in_process("--hostile")
    assert found["failures"] == [] and found["refused"] == 200


def test_kills():
    found = check_kills(3)
    assert found["failures"] == [] and found["accepted"] == 3

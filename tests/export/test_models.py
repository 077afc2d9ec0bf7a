"""A sample of ``python -m tests.export.models``, which also exports networks of packages."""
from __future__ import annotations

import pytest

from tests.export import models

pytestmark = pytest.mark.slow

SAMPLE = ["resnet", "gpt", "lstm_lm"]


@pytest.mark.long
@pytest.mark.on_the_cpu
def test_networks_of_the_examples_are_exported_loaded_traced_and_faked() -> None:
    told = models.run(SAMPLE, [])
    assert [name for _, name in told] == SAMPLE
    for (_, name), said in told.items():
        assert not any(said["torch"].values()), "torch does all of it with these"
        assert set(said["mstorch"]) | set(said["reader"]) == set(models.STEPS)
        assert models.failures(said) == {}, name


def test_a_failing_step_is_reported() -> None:
    good = {"eager": "", "export": "", "make_fx": "", "fake": ""}
    said = {"torch": {**good, "fake": "refused"}, "mstorch": {**good, "make_fx": "other", "fake": "other"}, "reader": {"loaded": "no file"}}
    assert models.failures(said) == {"make_fx": "other", "loaded": "no file"}

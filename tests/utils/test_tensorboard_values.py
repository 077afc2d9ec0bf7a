"""Values that the writer of event files accepts as a number or an array."""
from __future__ import annotations

from typing import Any

import pytest

import mstorch

pytest.importorskip("tensorboard")


@pytest.mark.parametrize("value", [["invalid", "type"], [1.0, 2.0], {"a": 1}, None])
def test_other_values_are_refused(value: Any) -> None:
    from mstorch.utils.tensorboard.summary import make_np

    with pytest.raises(NotImplementedError, match="numpy array or torch tensor are expected"):
        make_np(value)


def test_numbers_and_tensors() -> None:
    from mstorch.utils.tensorboard.summary import make_np

    assert make_np(2).tolist() == [2] and make_np(mstorch.ones(2, dtype=mstorch.bfloat16)).tolist() == [1, 1]

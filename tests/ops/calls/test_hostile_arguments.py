"""Every fourth operator of torch's database with invalid arguments; ``python -m tests.hostile_arguments`` runs all."""
from __future__ import annotations

import warnings

import pytest

import mstorch
from tests import databases, hostile_arguments

pytestmark = [pytest.mark.sweep, pytest.mark.on_the_cpu]


@pytest.mark.parametrize("part", range(4))
def test_errors_are_not_another_librarys(part: int) -> None:
    wrong, seen = [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, check in list(hostile_arguments.items().items())[part * 4 :: 16]:
            seen += 1
            try:
                check()
            except databases.Missing:
                continue
            except AssertionError as error:
                wrong.append(f"{name}: {error}")
    assert not wrong, "\n".join(wrong)
    assert seen > 30


def test_what_is_told_of_them() -> None:
    """An error that arises in another library's code becomes a RuntimeError, like torch's."""
    import numpy as np

    from mstorch._src.core.refusals import from_below

    with pytest.raises(ValueError) as caught:
        np.broadcast_shapes((2,), (3,))
    told = from_below("torch.add", (mstorch.ones(2), 1), {}, caught.value)
    assert str(told) == "add(): these arguments do not fit together: a tensor of shape [2] and torch.float32, 1"
    with pytest.raises(ValueError) as caught:
        raise ValueError("ours")
    assert from_below("torch.add", (), {}, caught.value) is None

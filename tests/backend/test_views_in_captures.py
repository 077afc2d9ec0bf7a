"""What a capture computes in place of MindSpore's views has as many references as it has owners: one too few ended processes much later."""
from __future__ import annotations

import sys

import mindspore
import numpy as np
import pytest

from mstorch._src.backend import trace
from mstorch._src.backend.primitives import run

VIEWS = {
    "SliceExt": lambda raw: run("SliceExt", raw, 1, 0, 2, 1), "NarrowView": lambda raw: run("NarrowView", raw, 1, 0, 2),
    "TransposeView": lambda raw: run("TransposeView", raw, (1, 0)), "SelectExtView": lambda raw: run("SelectExtView", raw, 0, 1),
    "BroadcastToView": lambda raw: run("BroadcastToView", raw, (4, 2, 3)), "AsStrided": lambda raw: run("AsStrided", raw, (2, 2), (3, 1), 1),
    "of MindSpore's functions": lambda raw: mindspore.mint.transpose(raw, 0, 1), "no view": lambda raw: run("Mul", raw, raw),
}  # fmt: skip


@pytest.mark.parametrize("name", VIEWS)
def test_no_reference_is_lost(name):
    counts = []

    def body(context):
        made = VIEWS[name](raw)
        owners = [one for held in (context.known, context.replaced) for one in held.values() if one is made]
        counts.append(sys.getrefcount(made) - 2 * len(owners))  # those of the list, and of what it was made of
        owners.clear()
        return [made]

    raw = mindspore.Tensor(np.ones((2, 3), np.float32)) * 1
    trace.capture(body, [raw])
    assert counts == [2], "the variable, and the argument of getrefcount"

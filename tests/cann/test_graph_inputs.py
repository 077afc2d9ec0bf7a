"""Arguments of a compiled function on MindSpore's Ascend plugin that are windows of a larger tensor at one call and whole at the next."""
from __future__ import annotations

import itertools

import pytest

import mstorch as torch
from tests.cann.plugin import on_plugin

pytestmark = pytest.mark.slow
D = "npu"

KINDS = {
    "whole": lambda rows, turn: rows[turn : turn + 2].clone(),
    "first rows": lambda rows, turn: rows[:2],
    "rows": lambda rows, turn: rows[turn + 1 : turn + 3],
    "columns of wider rows": lambda rows, turn: torch.cat([rows, rows + 1], 1)[turn : turn + 2, 3:7],
    "transposed": lambda rows, turn: rows.t()[:2, turn : turn + 4],
}


@pytest.mark.parametrize("grads", [False, True])
@on_plugin
def test_a_graph_reads_each_argument_as_it_lies(grads):
    rows = torch.arange(48.0, device=D).reshape(12, 4)
    for first, second in itertools.product(KINDS, repeat=2):
        torch.compiler.reset()
        compiled = torch.compile(lambda x, y: (x * 2 + y).sin(), fullgraph=True)
        y = torch.full((2, 4), 0.5, device=D, requires_grad=grads)
        for turn, kind in enumerate((first, second, first, first)):
            x = KINDS[kind](rows, turn)
            result, expected = compiled(x, y), (x * 2 + y).sin()
            torch.testing.assert_close(result, expected)
            if grads:
                torch.testing.assert_close(*(torch.autograd.grad(each.sum(), [y])[0] for each in (result, expected)))

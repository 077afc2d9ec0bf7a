"""What small calls and a step of a small network cost the host, in calls of Python's functions."""
from __future__ import annotations

import pytest

import mstorch as torch
from mstorch import nn

from .calls import calls_of, step_of_llama


def _most(function, limit):
    calls = calls_of(function)
    assert calls.total() <= limit, calls.most_common(20)


def test_a_step_of_a_llama():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        _most(step_of_llama(), 5000)
    finally:
        torch.set_num_threads(threads)


def test_a_write_to_a_row():
    x = torch.randn(4, 5)
    _most(lambda: x[0].add_(1), 30)


def test_a_batch_norm():
    layer, images = nn.BatchNorm2d(8), torch.randn(2, 8, 6, 6)
    _most(lambda: layer(images), 90)


@pytest.mark.parametrize("write", ["add_", "sub_", "mul_", "div_"])
def test_arithmetic_in_place(write):
    x, y = torch.rand(3, 4), torch.rand(3, 4)
    _most(lambda: getattr(x, write)(1.5), 20)
    _most(lambda: getattr(x, write)(y), 20)

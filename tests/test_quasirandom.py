"""torch.quasirandom: Sobol points are torch's, bit for bit."""
from __future__ import annotations

import copy

import numpy as np
import pytest
import torch as real_torch

import mstorch
from tests.against_torch import both as compare


def both(body):
    compare(body, rtol=0, atol=0)


def test_direction_numbers_of_all_dimensions():
    want = real_torch.quasirandom.SobolEngine(21201).sobolstate.numpy()
    np.testing.assert_array_equal(mstorch.quasirandom.SobolEngine(21201).sobolstate.numpy(), want)


@pytest.mark.parametrize("scramble", [False, True])
@pytest.mark.parametrize("dimension", [1, 2, 7, 40, 1111])
def test_points(dimension, scramble):
    def body(torch):
        engine = torch.quasirandom.SobolEngine(dimension, scramble, seed=7)
        parts = [engine.draw(), engine.draw(6), engine.draw(9, dtype=torch.float64), engine.fast_forward(1003).draw(5)]
        twin = copy.deepcopy(engine)
        parts += [engine.draw(3), twin.draw(3), engine.reset().draw_base2(3), engine.fast_forward(0).draw(2), engine.quasi]
        return parts, engine.shift, engine.sobolstate, engine.num_generated, repr(engine), engine.reset().fast_forward(5).draw(3)

    both(body)


def test_scrambling_from_the_default_generator():
    both(lambda torch: [torch.quasirandom.SobolEngine(3, scramble=True).draw(4), torch.rand(2)])


def test_out_and_default_dtype():
    both(lambda torch: torch.quasirandom.SobolEngine(3).draw(4, out=torch.empty(0)))

    def wide(torch):
        torch.set_default_dtype(torch.float64)
        try:
            engine = torch.quasirandom.SobolEngine(3, scramble=True, seed=1)
            return engine.draw(2), engine.draw(1)
        finally:
            torch.set_default_dtype(torch.float32)

    both(wide)


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "int64", "complex64"])
def test_dtypes(kind):
    both(lambda torch: torch.quasirandom.SobolEngine(3).draw(dtype=getattr(torch, kind)))
    both(lambda torch: torch.quasirandom.SobolEngine(3).draw(2, dtype=getattr(torch, kind)))


@pytest.mark.parametrize("call", [
    "SobolEngine(0)", "SobolEngine(21202)", "SobolEngine(2).draw(0)", "SobolEngine(2).draw(-1)", "SobolEngine(2).draw(2.0)",
    "SobolEngine(2).fast_forward(3).draw_base2(2)", "SobolEngine(2).fast_forward(1).draw(0)",
])  # fmt: skip
def test_refusals(call):
    both(lambda torch: eval(f"torch.quasirandom.{call}", {"torch": torch}))

"""Functions that write in place, under pairs of transformations that keep what is written to for a second derivative: equal to torch."""
from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch as real_torch

import mstorch
from tests.against_torch import values
from tests.func.functions_that_read import transformations
from tests.func.functions_that_write import WRITES, writing

pytestmark = pytest.mark.sweep

PAIRS = ("hessian", "hessian_of_vector", "vmap_hvp", "functional_hessian_forward", "jvp_grad", "jacfwd_jacfwd")


def derivative(torch, pair, name):
    """Return a second derivative of a function that writes, or the error that it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return transformations(torch)[pair](writing(torch)[name], torch.tensor([0.7, -0.4, 1.3]))
        except Exception as error:  # noqa: BLE001 - what torch cannot compute is left out
            return error


def apart(pair, name):
    """Return how mstorch's derivative differs from torch's; "" if torch has none, or the values are the same."""
    want = derivative(real_torch, pair, name)
    if isinstance(want, Exception):
        return ""
    got = derivative(mstorch, pair, name)
    if isinstance(got, Exception):
        return f"{pair} of {name}: {got!r}"
    pairs = zip(want, got, strict=True) if isinstance(want, tuple) else [(want, got)]
    same = all(a.shape == b.shape and np.allclose(values(a), values(b), 1e-4, 1e-5) for a, b in pairs)
    return "" if same else f"{pair} of {name}: {want} expected, {got} given"


@pytest.mark.parametrize("name", WRITES)
def test_second_derivatives(name):
    assert not [fault for pair in PAIRS if (fault := apart(pair, name))]


def test_torch_computes_most():
    known = [isinstance(derivative(real_torch, pair, name), Exception) for pair in PAIRS for name in WRITES]
    assert sum(known) < len(known) // 5

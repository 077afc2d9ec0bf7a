"""Functions that read values, under each transformation: equal to torch where torch computes, torch's error where it raises."""
from __future__ import annotations

import os
import warnings

import numpy as np
import pytest
import torch as real_torch

import mstorch
from tests.against_torch import values
from tests.func.functions_that_read import functions, transformations

pytestmark = pytest.mark.sweep

# torch cannot compute these, for reasons of its kernels and not of the functions; mstorch does.
_ONLY_HERE = {
    "jacfwd_jacfwd": {"mask_written_by_tensor": "torch's tangents of zeros cannot be written", "filled_by_values": "the same"},
    "jacrev_jacfwd": {"complex": "torch has no batching rule of _neg_view"},
    "vmap_jvp_of_slices": {"in_place": "torch's tangent, which is not batched, would be written", "argmax": "one_hot reads within a level"},
    "vmap_grad_of_slices": {"argmax": "one_hot reads within a level"},
    "vmap_jacfwd": {"argmax": "one_hot reads within a level"},
    "jacobian_forward": dict.fromkeys(("dropout", "rand_like", "randn", "bernoulli"), "torch's old vmap draws nothing")
    | {"max_pool": "torch's old vmap has no rule for flatten"},
    "functional_hessian_forward": dict.fromkeys(("dropout", "rand_like", "randn", "bernoulli"), "torch's old vmap draws nothing")
    | dict.fromkeys(("mask", "nonzero", "nonzero_rows", "where_alone", "max_of_rows", "topk"), "torch's old vmap has no rule for writes")
    | {"max_pool": "torch's old vmap has no rule for flatten"},
}
# torch's second derivative is not symmetric, or zero, here; that of two backward passes is right, and is mstorch's.
_WRONG_IN_TORCH = {"jacfwd_jacfwd": {"solve", "custom"}, "jacrev_jacfwd": {"solve"}}

# MindSpore's plugin draws the bits of a dropout itself: its values are not compared there, that they are computed is.
_DRAWN = {"dropout"} if os.environ.get("MSTORCH_FAKE_DEVICE") == "plugin" else set()


def _outcome(torch, transform, function, x):
    torch.manual_seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return transform(function, x)
        except Exception as error:  # noqa: BLE001
            return error


def _differences(want, got, length=60):
    if isinstance(want, Exception):
        if type(got).__name__ != type(want).__name__ or str(got)[:length] != str(want)[:length]:
            return f"{type(want).__name__}: {want} expected, {got!r} given"
        return None
    if isinstance(got, Exception):
        return f"a value expected, {got!r} given"
    if isinstance(want, (tuple, list)):
        return next(filter(None, map(_differences, want, got)), None)
    a, b = values(want), values(got)
    if a.shape != b.shape or str(want.dtype) != str(got.dtype) or not np.allclose(a, b, 1e-4, 1e-5, equal_nan=True):
        return f"{a} expected, {b} given"
    return None


@pytest.mark.parametrize("name", transformations(real_torch))
def test_equal(name):
    faults = []
    theirs, ours = functions(real_torch), functions(mstorch)
    for key in theirs:
        for sign in (1, -1):
            given = [0.7 * sign, -0.4 * sign, 1.3 * sign]
            want = _outcome(real_torch, transformations(real_torch)[name], theirs[key], real_torch.tensor(given))
            got = _outcome(mstorch, transformations(mstorch)[name], ours[key], mstorch.tensor(given))
            if key in _ONLY_HERE.get(name, ()):
                if isinstance(got, Exception):
                    faults.append(f"{key}: {got!r}")
            elif key in _WRONG_IN_TORCH.get(name, ()):
                right = _outcome(mstorch, transformations(mstorch)["jacrev_jacrev"], ours[key], mstorch.tensor(given))
                np.testing.assert_allclose(values(got), values(right), 1e-4, 1e-5)
            elif key in _DRAWN and not isinstance(want, Exception):
                if isinstance(got, Exception):
                    faults.append(f"{key}: {got!r}")
            else:
                # torch runs a Function's forward below the levels, and has other words for a read there.
                fault = _differences(want, got, 24 if key == "custom" else 60)
                if fault:
                    faults.append(f"{key}, {sign}: {fault}")
    assert not faults, "\n".join(faults)


def test_a_tensor_with_views_is_not_changed_behind_them():
    def filled(x):
        y = mstorch.zeros(3)
        part = y[:1]
        y[0] = x[1] ** 2
        return y * part

    with pytest.raises(RuntimeError, match="is not possible because"):
        mstorch.func.jacfwd(filled)(mstorch.ones(3))


def test_a_function_runs_once():
    runs = []

    def counted(x):
        runs.append(float(x.sum()))
        return x * x

    mstorch.func.jacfwd(counted)(mstorch.ones(3))
    assert runs == [3.0]


def test_linearize_reads():
    def function(x):
        return x[x > 0] ** 2 if x.sum() > 0 else x

    x = mstorch.tensor([0.7, -0.4, 1.3])
    output, push = mstorch.func.linearize(function, x)
    np.testing.assert_allclose(values(push(mstorch.ones(3))), [1.4, 2.6], rtol=1e-6)
    np.testing.assert_allclose(values(output), [0.49, 1.69], rtol=1e-6)

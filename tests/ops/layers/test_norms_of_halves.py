"""Half precision with float32 weights or statistics: normalised in float32 and rounded once, bit for bit torch's results."""
from __future__ import annotations

import numpy as np
import pytest
import torch as real_torch

import mstorch
from tests.against_torch import both, values

F32 = np.float32
SHAPES = ((3, 6, 5), (8, 6, 64), (2, 6, 7, 9))
KINDS = ("layer", "layer_plain_bias", "batch", "batch_eval", "batch_bare", "instance", "instance_running", "group")


def _parts(t, kind, shape, dtype):
    rng = np.random.default_rng(sum(shape))

    def leaf(*size):
        return t.tensor(rng.standard_normal(size).astype(F32), requires_grad=True)

    x = t.tensor(rng.standard_normal(shape).astype(F32)).to(getattr(t, dtype)).requires_grad_()
    size = shape[-1] if kind.startswith("layer") else 6
    return x, leaf(size), leaf(size), t.tensor(rng.standard_normal(6).astype(F32)), t.tensor(rng.random(6).astype(F32) + 0.5)


def _run(t, kind, shape, dtype):
    f = t.nn.functional
    x, weight, bias, mean, var = _parts(t, kind, shape, dtype)
    y = {
        "layer": lambda: f.layer_norm(x, shape[-1:], weight, bias), "layer_plain_bias": lambda: f.layer_norm(x, shape[-1:], weight),
        "batch": lambda: f.batch_norm(x, mean, var, weight, bias, True), "batch_eval": lambda: f.batch_norm(x, mean, var, weight, bias),
        "batch_bare": lambda: f.batch_norm(x, mean, var, None, None, True), "instance": lambda: f.instance_norm(x, None, None, weight, bias),
        "instance_running": lambda: f.instance_norm(x, mean, var, weight, bias), "group": lambda: f.group_norm(x, 3, weight, bias),
    }[kind]()  # fmt: skip
    y.backward(t.tensor(np.linspace(-1, 2, y.numel()).astype(F32).reshape(shape)).to(y.dtype))
    return y, x.grad, weight.grad, bias.grad, mean, var


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_norm(kind, shape, dtype):
    want, got = _run(real_torch, kind, shape, dtype), _run(mstorch, kind, shape, dtype)
    names = "result, the input's gradient, the weight's, the bias's, mean, variance".split(", ")
    for what, theirs, ours in zip(names, want, got):
        assert (theirs is None) is (ours is None), what
        if theirs is None:
            continue
        assert str(theirs.dtype) == str(ours.dtype), what
        a, b = values(theirs), values(ours)
        if what in ("result", "the input's gradient"):
            # float32 sums in another order: some results are rounded to the other neighbour.
            assert np.mean(a != b) <= 0.02, what
        if kind.startswith("layer") and what.endswith("'s"):
            continue  # torch adds these in half precision; see below
        np.testing.assert_allclose(a, b, rtol=1e-2 if what == "the input's gradient" else 2e-3, atol=2e-4, err_msg=what)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_gradients_of_a_layer_norms_weights_are_float32s(dtype):
    _, _, weight, bias, *_ = _run(mstorch, "layer", (8, 6, 64), dtype)
    x, w, b, *_ = _parts(real_torch, "layer", (8, 6, 64), dtype)
    y = real_torch.nn.functional.layer_norm(x.float(), (64,), w, b)
    y.backward(real_torch.tensor(np.linspace(-1, 2, y.numel()).astype(F32).reshape(y.shape)).to(x.dtype).float())
    np.testing.assert_allclose(values(weight), values(w.grad), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(values(bias), values(b.grad), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind, label", [("layer", "NativeLayerNormBackward0"), ("batch", "NativeBatchNormBackward0")])
def test_nodes(kind, label):
    assert _run(mstorch, kind, (3, 6, 5), "bfloat16")[0].grad_fn.name() == label == _run(real_torch, kind, (3, 6, 5), "bfloat16")[0].grad_fn.name()


def test_elu_at_no_number():
    def body(t):
        x = t.tensor([float("nan"), -1.0, 2.0, float("inf")] * 16, requires_grad=True)  # torch's loop processes eight elements at once
        f = t.nn.functional
        return [t.autograd.grad(function(x).sum(), x)[0] for function in (f.elu, f.selu, f.celu, lambda x: f.elu(x, 0.3))]

    both(body)

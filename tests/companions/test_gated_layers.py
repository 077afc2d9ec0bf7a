"""xformers' gated layer and functions on rows against formulas; flash_attn's second name of a normalization."""
from __future__ import annotations

import pytest

import mstorch as torch
from mstorch import companions
from mstorch._companions.flash_attn import bert_padding
from mstorch._companions.flash_attn.ops.triton import layer_norm

ops, F = companions.xformers.ops, torch.nn.functional


@pytest.mark.parametrize("packed", [False, True])
def test_gated_layer(packed: bool) -> None:
    torch.manual_seed(0)
    layer, x = ops.SwiGLU(6, 8, 5, _pack_weights=packed).double(), torch.randn(2, 3, 6, dtype=torch.float64, requires_grad=True)
    parts = [(p.weight, p.bias) for p in ((layer.w12,) if packed else (layer.w1, layer.w2))]
    (w1, b1), (w2, b2) = [(w, b) for w, b in zip(*(t.chunk(2) for t in parts[0]))] if packed else parts
    want = ((x @ w1.T + b1) * torch.sigmoid(x @ w1.T + b1) * (x @ w2.T + b2)) @ layer.w3.weight.T + layer.w3.bias
    torch.testing.assert_close(layer(x), want)
    torch.testing.assert_close(ops.swiglu(x, w1, b1, w2, b2, layer.w3.weight, layer.w3.bias), want)
    assert torch.autograd.gradcheck(layer, (x,))


def test_rows() -> None:
    x, rows, scale, index = torch.zeros(4, 2, 3, dtype=torch.float64), torch.randn(2, 2, 3, dtype=torch.float64), torch.rand(3), torch.tensor([3, 1])
    want = x.clone()
    want[[3, 1]] += 0.5 * rows * scale
    torch.testing.assert_close(ops.scaled_index_add(x, index, rows, scale, 0.5), want)
    assert torch.equal(ops.index_select_cat([rows, want], [torch.tensor([1]), index]), torch.cat([rows[1].flatten(), want[[3, 1]].flatten()]))
    assert all(torch.equal(one, other) for one, other in zip(ops.unbind(rows, 1), rows.unbind(1)))


def test_normalization() -> None:
    x, y, norm = torch.randn(3, 8), torch.randn(3, 8), ops.RMSNorm(8)
    want = F.rms_norm(x + y, (8,), norm.weight, 1e-5)
    total = x + y
    torch.testing.assert_close(norm.increment_and_forward_(x, y), want)
    assert torch.equal(x, total) and ops.RMSNorm(8, False).weight is None
    torch.testing.assert_close(norm(total), want)


def test_second_names() -> None:
    tokens, places = torch.arange(12.0).view(4, 3), torch.tensor([2, 0])
    assert torch.equal(bert_padding.IndexFirstAxis.apply(tokens, places), tokens[[2, 0]])
    with pytest.raises(AttributeError, match="nothing"):
        _ = bert_padding.nothing
    x = torch.randn(3, 8)
    torch.testing.assert_close(layer_norm.rms_norm_fn(x, torch.ones(8), None, eps=1e-5), F.rms_norm(x, (8,), eps=1e-5))

"""torch.nn.grad: gradients of convolutions as functions."""
from __future__ import annotations

import pytest


@pytest.mark.parametrize("options", [(1, 0, 1, 1), (2, 1, 1, 1), (1, 1, 2, 2)])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_beside_autograd(both, rank, options):
    def body(torch):
        torch.manual_seed(0)
        x = torch.randn(2, 4, *(7,) * rank, dtype=torch.float64)
        weight = torch.randn(6, 4 // options[-1], *(3,) * rank, dtype=torch.float64, requires_grad=True)
        result = getattr(torch.nn.functional, f"conv{rank}d")(x, weight, None, *options)
        gradient = torch.ones_like(result).detach()
        of_input = getattr(torch.nn.functional.grad, f"conv{rank}d_input")(x.shape, weight, gradient, *options)
        of_weight = getattr(torch.nn.grad, f"conv{rank}d_weight")(x, weight.shape, gradient, *options)
        (again,) = torch.autograd.grad(of_input.square().sum(), weight)
        return of_input.detach(), of_input.requires_grad, of_weight, again

    both(body, strides=False)


def test_masks_and_biases_of_attention(both):
    def body(torch):
        attention = torch.nn.MultiheadAttention(4, 2, add_bias_kv=True)
        x = torch.ones(3, 2, 4)
        given = (attention.in_proj_weight, attention.in_proj_bias, attention.bias_k, attention.bias_v, False, 0.0)
        outs = (attention.out_proj.weight, attention.out_proj.bias)
        return torch.nn.functional.multi_head_attention_forward(x, x, x, 4, 2, *given, *outs, static_k=torch.ones(4, 3, 2))

    both(body)

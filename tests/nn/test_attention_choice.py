"""Attention with disabled kernels, and torch's fast path of multi-head attention in inference."""
from __future__ import annotations

import pytest

CALLS = {
    "plain": lambda t, x: (x, x, x), "three": lambda t, x: (x[0],) * 3, "mask": lambda t, x: (x, x, x, t.ones(3, 3).bool()),
    "dropout": lambda t, x: (x, x, x, None, 0.1), "bias": lambda t, x: (x, x, x, t.zeros(3, 3, requires_grad=True)),
    "strides": lambda t, x: (x[..., ::2],) * 3, "wide": lambda t, x: (x, x, x[..., :2]), "empty": lambda t, x: (x[:, :, :0], x, x),
    "heads": lambda t, x: (x, x[:, :1], x[:, :1]), "double": lambda t, x: (x.double(),) * 3,
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("names", ["FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION", "MATH", "", "FLASH_ATTENTION MATH"])
def test_kernels_turned_off(both, names, call):
    def body(torch):
        x = torch.linspace(-1, 1, 24).reshape(1, 2, 3, 4)
        with torch.nn.attention.sdpa_kernel([getattr(torch.nn.attention.SDPBackend, name) for name in names.split()]):
            out = torch.nn.functional.scaled_dot_product_attention(*CALLS[call](torch, x))
        return None if call == "dropout" else out

    both(body, strides=False)


@pytest.mark.parametrize("rank", [3, 4])
@pytest.mark.parametrize("kind", ["bool", "float"])
def test_mask_and_causal(both, kind, rank):
    def body(torch):
        q, k = torch.linspace(-1, 1, 24).reshape(1, 2, 3, 4)[4 - rank :], torch.linspace(1, -2, 32).reshape(1, 2, 4, 4)
        q = (q[0] if rank == 3 else q).requires_grad_()
        k = k[0] if rank == 3 else k
        mask = torch.tensor([[1.0, 0, 1, 1], [0, 1, 1, 0], [1, 1, 0, 1]])
        mask = mask.bool() if kind == "bool" else mask
        out = torch.nn.functional.scaled_dot_product_attention(q, k, k, mask, is_causal=True)
        return out, torch.autograd.grad(out.square().sum(), q)

    both(body, strides=False)


@pytest.mark.parametrize("shapes", [
    ((1, 3, 3, 4), (1, 2, 3, 4)), ((1, 4, 3, 4), (1, 2, 3, 4)), ((1, 2, 3, 4), (1, 4, 3, 4)), ((3, 4), (3, 4)), ((2, 3, 4), (1, 3, 4)), ((4,), (1, 2, 3, 4)),
])  # fmt: skip
def test_groups_of_heads(both, shapes):
    def body(torch):
        q, k = (torch.ones(*shape).cumsum(-1) / 4 for shape in shapes)
        return torch.nn.functional.scaled_dot_product_attention(q, k, k, enable_gqa=True)

    both(body, strides=False)


def test_a_mask_of_another_size(both):
    def body(torch):
        x = torch.ones(1, 2, 3, 4)
        return torch.nn.functional.scaled_dot_product_attention(x, x, x, torch.ones(2, 3).bool())

    both(body, message="at non-singleton dimension 2")


@pytest.mark.parametrize("weights", [True, False])
@pytest.mark.parametrize("how", ["plain", "causal", "padding", "mask", "bias", "other", "train", "grad", "off", "frozen", "odd", "sequence first"])
def test_inference_of_several_heads(both, how, weights):
    def body(torch):
        heads = torch.nn.MultiheadAttention(6, 3 if how == "odd" else 2, batch_first=how != "sequence first").train(how == "train")
        x = torch.linspace(-1, 1, 60).reshape(2, 5, 6)
        hidden = torch.ones(5, 5).triu(1)
        options = {
            "causal": {"is_causal": True}, "padding": {"key_padding_mask": hidden[3:4].repeat(2, 1).bool()}, "mask": {"attn_mask": hidden.bool()},
            "bias": {"attn_mask": hidden},
        }.get(how, {})  # fmt: skip
        if how == "frozen":
            heads.requires_grad_(False)
        torch.backends.mha.set_fastpath_enabled(how != "off")
        try:
            with torch.set_grad_enabled(how in ("grad", "frozen")):
                return heads(x, x.clone() if how == "other" else x, x, need_weights=weights, **options)
        finally:
            torch.backends.mha.set_fastpath_enabled(True)

    both(body)


def test_backends_are_no_numbers(both):
    def body(torch):
        kinds = torch.nn.attention.SDPBackend
        math, flash = kinds.MATH, kinds.FLASH_ATTENTION
        return (
            isinstance(math, int), math == 0, math in (0, 1), int(flash), [0, 1, 2][flash], str(math), repr(flash), hash(flash), kinds(1) == flash,
            list(kinds.__members__), math.value, math.name,
        )  # fmt: skip

    both(body)
    for text in ("kinds.MATH < kinds.FLASH_ATTENTION", "kinds.MATH + 1", "kinds.MATH | 1"):
        both(lambda torch: eval(text, {"kinds": torch.nn.attention.SDPBackend}))


def test_nested_tensors_take_the_plain_way(both):
    def body(torch):
        x = torch.nested.nested_tensor([torch.ones(4, 3, 8), torch.ones(4, 5, 8)]).transpose(1, 2)
        return torch._fused_sdp_choice(x, x, x), torch._fused_sdp_choice(x, x, x, dropout_p=0.5)

    both(body)

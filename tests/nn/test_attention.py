"""torch.nn.attention compared with torch: score functions, block masks, causal biases, the choice of kernels."""
from __future__ import annotations

import importlib
from typing import Any

import pytest
import torch as real_torch

import mstorch

pytestmark = pytest.mark.filterwarnings("ignore")


def flex(torch: Any) -> Any:
    return importlib.import_module(f"{torch.__name__ if torch is real_torch else 'mstorch'}.nn.attention.flex_attention")


def attended(torch: Any, score_mod: Any, mask_mod: Any, heads: int = 2) -> Any:
    """Call torch's attention in its unfused form (its own is compiled), which a debugging flag selects."""
    module = flex(torch)
    if torch is real_torch:
        module._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True
    q, k, v = (torch.tensor(real_torch.randn(2, h, n, 8, generator=real_torch.Generator().manual_seed(n)).numpy())
               for h, n in ((2, 6), (heads, 7), (heads, 7)))  # fmt: skip
    mask = None if mask_mod is None else module.create_block_mask(mask_mod(torch), 2, 2, 6, 7, device="cpu", BLOCK_SIZE=4)
    out, aux = module.flex_attention(
        q, k, v, None if score_mod is None else score_mod(torch), mask, enable_gqa=heads != 2, return_aux=module.AuxRequest(lse=True)
    )
    return out, aux.lse


SCORES = {
    "none": None, "relative": lambda torch: lambda s, b, h, q, k: s + (q - k) * 0.1,
    "alibi": lambda torch: lambda s, b, h, q, k: s - torch.tensor([0.5, 0.25])[h] * (q - k).abs(),
    "causal": lambda torch: lambda s, b, h, q, k: torch.where(q >= k, s, -float("inf")),
    "softcap": lambda torch: lambda s, b, h, q, k: 5 * torch.tanh(s / 5),
    "by_batch": lambda torch: lambda s, b, h, q, k: s * (b + 1),
}
MASKS = {
    "none": None, "causal": lambda torch: lambda b, h, q, k: q >= k, "window": lambda torch: lambda b, h, q, k: (q - k).abs() < 2,
    "empty_rows": lambda torch: lambda b, h, q, k: q > k, "documents": lambda torch: lambda b, h, q, k: torch.tensor([0, 0, 1, 1, 1, 2, 2])[q] == torch.tensor([0, 0, 1, 1, 1, 2, 2])[k],
    "heads": lambda torch: lambda b, h, q, k: (q >= k) | (h == 1),
}  # fmt: skip


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("score", SCORES)
def test_flex_attention(both: Any, score: str, mask: str) -> None:
    both(lambda torch: attended(torch, SCORES[score], MASKS[mask]), strides=False, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("score", SCORES)
def test_gradients(score: str, mask: str) -> None:
    """torch has no gradient here on CPU: gradients are compared with finite differences."""
    module = flex(mstorch)
    q, k, v = (mstorch.randn(1, 2, n, 3, dtype=mstorch.float64, requires_grad=True) for n in (3, 4, 4))
    blocks = None if MASKS[mask] is None else module.create_block_mask(MASKS[mask](mstorch), 1, 2, 3, 4, BLOCK_SIZE=2)
    change = None if SCORES[score] is None else SCORES[score](mstorch)
    assert mstorch.autograd.gradcheck(lambda *args: module.flex_attention(*args, change, blocks), (q, k, v))


def test_grouped_queries(both: Any) -> None:
    both(lambda torch: attended(torch, SCORES["relative"], MASKS["causal"], heads=1), strides=False, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mask", [name for name in MASKS if name != "none"])
def test_block_masks(both: Any, mask: str) -> None:
    def body(torch: Any) -> Any:
        module = flex(torch)
        if mask == "documents":
            blocks = module.create_block_mask(MASKS[mask](torch), None, None, 7, 7, device="cpu", BLOCK_SIZE=2)
        else:
            blocks = module.create_block_mask(MASKS[mask](torch), 2, 2, 37, 50, device="cpu", BLOCK_SIZE=(8, 4))
        part = blocks[0, 0]
        return (blocks.shape, blocks.sparsity(), blocks.to_dense(), str(blocks), blocks.kv_num_blocks, blocks.kv_indices,
                blocks.full_kv_num_blocks, blocks.q_num_blocks, blocks.q_indices, blocks.full_q_indices, part.shape, part.to_dense())  # fmt: skip

    both(body, strides=False)


def test_masks_together(both: Any) -> None:
    def body(torch: Any) -> Any:
        module = flex(torch)
        causal, window = MASKS["causal"](torch), MASKS["window"](torch)
        made = [module.create_mask(mod, 2, 2, 5, 6, device="cpu") for mod in (module.and_masks(causal, window), module.or_masks(causal, window))]
        return made, module.create_mask(SCORES["causal"](torch), 1, 1, 4, 4, device="cpu")

    both(body, strides=False)


def test_refusals(both: Any) -> None:
    def body(torch: Any) -> Any:
        return flex(torch).flex_attention(torch.ones(1, 2, 3, 4), torch.ones(1, 1, 3, 4), torch.ones(1, 1, 3, 4))

    both(body)
    both(lambda torch: flex(torch).create_block_mask(SCORES["causal"](torch), 1, 1, 4, 4, device="cpu"), message="requires a mask_mod")


@pytest.mark.parametrize("name", ["causal_upper_left", "causal_lower_right"])
def test_causal_bias(both: Any, name: str) -> None:
    def body(torch: Any) -> Any:
        bias = importlib.import_module(f"{'torch' if torch is real_torch else 'mstorch'}.nn.attention.bias")
        made = getattr(bias, name)(3, 5)
        q, k, v = (torch.linspace(0, 1, n * 4).reshape(1, 1, n, 4) for n in (3, 5, 5))
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=made)
        return out, repr(made), int(made.variant), made.seq_len_q, made.seq_len_kv, isinstance(made, torch.Tensor)

    both(body, strides=False)


def test_choice_of_kernels(both: Any) -> None:
    def body(torch: Any) -> Any:
        attention = importlib.import_module(f"{'torch' if torch is real_torch else 'mstorch'}.nn.attention")
        names = []
        with attention.sdpa_kernel([attention.SDPBackend.MATH, attention.SDPBackend.FLASH_ATTENTION], set_priority=True):
            names.append([b.name for b in attention._cur_sdpa_kernel_backends(True)])
            with attention.sdpa_kernel(attention.SDPBackend.MATH):
                names.append([b.name for b in attention._cur_sdpa_kernel_backends()])
        names.append([b.name for b in attention._cur_sdpa_kernel_backends()])
        return names, {b: int(getattr(attention.SDPBackend, b)) for b in ("ERROR", "MATH", "FLASH_ATTENTION", "CUDNN_ATTENTION")}

    both(body)
    both(lambda torch: importlib.import_module(
        f"{'torch' if torch is real_torch else 'mstorch'}.nn.attention").sdpa_kernel("math").__enter__())  # fmt: skip


@pytest.mark.parametrize("window", [(-1, -1), (-1, 0), (1, 0)])
def test_packed_sequences(window: tuple[int, int]) -> None:
    """torch has no CPU kernel here: each sequence is computed alone and compared."""
    varlen = importlib.import_module("mstorch.nn.attention.varlen")
    q, k, v = (mstorch.randn(7, 2, 4) for _ in range(3))
    starts = mstorch.tensor([0, 3, 7], dtype=mstorch.int32)
    out, lse = varlen.varlen_attn(q, k, v, starts, starts, 4, 4, window_size=window, return_aux=varlen.AuxRequest(lse=True))
    for first, last in ((0, 3), (3, 7)):
        n = last - first
        place = mstorch.arange(n) - mstorch.arange(n).unsqueeze(-1)
        mask = (place <= (0 if window[1] == 0 else n)) & (place >= (-1 if window[0] == 1 else -n))
        each = [t[first:last].transpose(0, 1) for t in (q, k, v)]
        want = mstorch.nn.functional.scaled_dot_product_attention(*each, attn_mask=mask).transpose(0, 1)
        mstorch.testing.assert_close(out[first:last], want)
    assert tuple(lse.shape) == (2, 7)


def _choice(library, *shapes, mask=None, **options):
    parts = [library.zeros(shape) for shape in shapes]
    return library._fused_sdp_choice(*parts, None if mask is None else library.ones(mask), **options)


def test_the_way_that_torch_would_take():
    for arguments, options in (
        (((2, 2, 4, 8),) * 3, {}), (((2, 2, 4, 8),) * 3, {"dropout_p": 0.5}), (((2, 4, 8),) * 3, {}),
        (((2, 2, 4, 8), (2, 2, 4, 8), (2, 2, 4, 6)), {}), (((2, 4, 4, 8), (2, 2, 4, 8), (2, 2, 4, 8)), {"enable_gqa": True}),
        (((2, 4, 4, 8), (2, 1, 4, 8), (2, 1, 4, 8)), {}), (((2, 2, 0, 8),) * 3, {}), (((2, 2, 4, 8),) * 3, {"mask": (4, 4)}),
        (((2, 2, 4, 8),) * 3, {"mask": (2, 4, 4)}),
    ):  # fmt: skip
        assert _choice(mstorch, *arguments, **options) == _choice(real_torch, *arguments, **options)
    for library in (real_torch, mstorch):
        with library.nn.attention.sdpa_kernel(library.nn.attention.SDPBackend.MATH):
            assert _choice(library, *((2, 2, 4, 8),) * 3) == 0


@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("boolean", [False, True])
def test_rows_that_attend_to_nothing_with_values_of_another_width(both, kind, boolean):
    def body(torch):
        torch.manual_seed(0)
        q, k, v = (torch.randn(2, 3, length, width).to(getattr(torch, kind)).requires_grad_() for length, width in ((4, 8), (5, 8), (5, 6)))
        allowed = torch.ones(4, 5, dtype=torch.bool)
        allowed[1] = False
        mask = allowed if boolean else torch.zeros(4, 5, dtype=q.dtype).masked_fill(~allowed, float("-inf"))
        found = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        found.float().sum().backward()
        return found, q.grad, k.grad, v.grad

    both(body, rtol=0.02 if kind != "float32" else 1e-5, atol=0.02 if kind != "float32" else 1e-6, strides=False)


@pytest.mark.parametrize("corner", ["causal_upper_left", "causal_lower_right"])
@pytest.mark.parametrize("call", [
    "F.scaled_dot_product_attention(q, k, v, mask)", "F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.5)",
    "F.scaled_dot_product_attention(q, k, v, mask, is_causal=True)", "F.scaled_dot_product_attention(q, k, v, mask, 0.0, True)",
])
def test_attention_under_a_causal_bias_is_a_tensor(both, corner, call):
    def body(torch):
        torch.manual_seed(0)
        q, k, v = torch.randn(1, 2, 3, 4, requires_grad=True), torch.randn(1, 2, 5, 4), torch.randn(1, 2, 5, 4)
        mask = getattr(torch.nn.attention.bias, corner)(3, 5)
        found = eval(call, {"F": torch.nn.functional, "q": q, "k": k, "v": v, "mask": mask})
        (slope,) = torch.autograd.grad(found.sum(), q)
        return type(found).__name__, found, type(slope).__name__, slope

    both(body, strides=False)

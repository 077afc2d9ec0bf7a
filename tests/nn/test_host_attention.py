"""Attention as one autograd node, compared with torch: values, gradients, layouts, masks, and second derivatives."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mstorch

pytestmark = pytest.mark.on_the_cpu
LAYOUTS = ("plain", "turned", "packed")
MASKS = ("none", "causal", "rows", "each", "empty", "added", "tail")
SIZES = {"small": (2, 3, 5, 7, 4), "groups": (3, 2, 130, 129, 16), "chunks": (1, 2, 700, 400, 8), "one": (2, 4, 1, 9, 8)}


def inputs(torch: Any, layout: str, mask: str, size: str, dtype: str) -> tuple[list[Any], list[Any], Any, Any]:
    """Return leaves, query, key and value made of them, the mask, and a gradient."""
    random = np.random.RandomState(0)
    batch, heads, length, keys, width = SIZES[size]

    def leaf(count: int) -> Any:
        shapes = {"plain": (batch, heads, count, width), "turned": (batch, count, heads, width), "packed": (batch, count, 2 * heads * width)}
        return torch.from_numpy(random.randn(*shapes[layout]).astype(dtype)).requires_grad_()

    def seen(x: Any) -> Any:
        if layout == "packed":
            x = x[..., : heads * width].view(batch, -1, heads, width)
        return x if layout == "plain" else x.transpose(1, 2)

    leaves = [leaf(length), leaf(keys), leaf(keys)]
    allowed = random.rand(*((batch, 1, length, keys) if mask == "each" else (length, keys))) > 0.4
    allowed[..., 0] = True
    if mask == "empty":
        allowed[length // 2] = False
    given: Any = None
    if mask in ("rows", "each", "empty"):
        given = torch.from_numpy(allowed)
    elif mask == "added":
        given = torch.from_numpy(random.randn(batch, heads, length, keys).astype(dtype))
    elif mask == "tail":
        given = torch.from_numpy(np.zeros((1, 1, 1, keys), dtype))
        given[..., keys // 2 :] = -float("inf")
    return leaves, [seen(leaf) for leaf in leaves], given, torch.from_numpy(random.randn(batch, heads, length, width).astype(dtype))


@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_values_and_gradients(both: Any, layout: str, mask: str, size: str, dtype: str) -> None:
    def program(torch: Any) -> Any:
        leaves, given, bias, g = inputs(torch, layout, mask, size, dtype)
        out = torch.nn.functional.scaled_dot_product_attention(*given, attn_mask=bias, is_causal=mask == "causal", scale=0.4)
        return out, type(out.grad_fn).__name__, out._base is None, torch.autograd.grad(out, leaves, g)

    # A layout is compared unless dimensions of length 1 make it ambiguous.
    both(program, strides=size != "one", rtol=1e-4 if dtype == "float32" else 1e-10, atol=2e-5 if dtype == "float32" else 1e-11)


@pytest.mark.parametrize("value", (float("nan"), float("inf"), -float("inf")))
@pytest.mark.parametrize("mask", ("none", "causal", "rows"))
def test_what_is_not_a_number(both: Any, mask: str, value: float) -> None:
    def program(torch: Any) -> Any:
        with torch.no_grad():
            _, (q, k, v), bias, _ = inputs(torch, "plain", mask, "small", "float32")
            k[0, 0, 3, 1] = value
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias, is_causal=mask == "causal")

    both(program, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mask", MASKS)
def test_second_derivatives(mask: str) -> None:
    _, given, bias, _ = inputs(mstorch, "plain", mask, "small", "float64")
    leaves = [x.detach()[:1, :1, :, :2].requires_grad_() for x in given]
    bias = bias if bias is None or bias.ndim == 2 else bias[:1, :1]

    def attended(*x: Any) -> Any:
        return mstorch.nn.functional.scaled_dot_product_attention(*x, attn_mask=bias, is_causal=mask == "causal")

    assert mstorch.autograd.gradcheck(attended, leaves)
    assert mstorch.autograd.gradgradcheck(attended, leaves)


def test_a_write_to_a_saved_input_is_refused(both: Any) -> None:
    def program(torch: Any) -> Any:
        x = torch.ones(1, 1, 3, 2, requires_grad=True) * 1
        out = torch.nn.functional.scaled_dot_product_attention(x, x, x)
        x.add_(1)
        out.sum().backward()

    both(program)


def test_a_mask_may_change_afterwards(both: Any) -> None:
    def program(torch: Any) -> Any:
        leaves, given, bias, g = inputs(torch, "plain", "rows", "small", "float64")
        out = torch.nn.functional.scaled_dot_product_attention(*given, attn_mask=bias)
        bias.fill_(True)
        return torch.autograd.grad(out, leaves, g)

    both(program, rtol=1e-10, atol=1e-12)


def test_the_math_kernel_has_no_node_of_its_own() -> None:
    x = mstorch.ones(1, 1, 3, 2, requires_grad=True)
    with mstorch.nn.attention.sdpa_kernel(mstorch.nn.attention.SDPBackend.MATH):
        out = mstorch.nn.functional.scaled_dot_product_attention(x, x, x)
    assert "Attention" not in type(out.grad_fn).__name__


@pytest.mark.parametrize("lead", ((), (2,), (2, 3), (1, 2, 3)), ids=str)
@pytest.mark.parametrize("sizes", ((3, 3, 3), (3, 5, 4)), ids=str)
def test_masks_beside_queries_of_any_rank(both: Any, lead: tuple[int, ...], sizes: tuple[int, int, int]) -> None:
    queries, keys, width = sizes
    numbers = np.random.RandomState(0)
    q, k, v = (numbers.randn(*lead, rows, width).astype("f") for rows in (queries, keys, keys))
    masks = [numbers.rand(queries, keys) > 0.4, numbers.rand(1, keys) > 0.4, numbers.randn(queries, keys).astype("f")]
    for mask in (*masks, numbers.rand(*lead, queries, keys) > 0.4):

        def attend(library: Any, mask: Any = mask) -> Any:
            tensors = [library.tensor(array, requires_grad=True) for array in (q, k, v)]
            result = library.nn.functional.scaled_dot_product_attention(*tensors, attn_mask=library.tensor(mask))
            result.square().sum().backward()
            return result, [tensor.grad for tensor in tensors]

        both(attend, rtol=1e-4, atol=1e-5)

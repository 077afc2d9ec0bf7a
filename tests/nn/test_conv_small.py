"""Convolutions with few positions: transposed ones of one small volume, whose sums are computed in two steps, and kernels of one position.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Both = Callable[..., Any]


@pytest.mark.parametrize(("padding", "stride", "dilation", "extra"), [(0, 1, 1, 0), (2, 2, 1, 1), ((1, 0, 2), (3, 2, 1), (1, 2, 3), (2, 1, 0))])
def test_small_volumes(both, padding, stride, dilation, extra):
    def body(torch):
        torch.manual_seed(0)
        x = torch.randn(4, 3, 5, 4, requires_grad=True)
        w, b = torch.randn(4, 3, 2, 3, 2, requires_grad=True), torch.randn(3, requires_grad=True)
        y = torch.nn.functional.conv_transpose3d(x, w, b, stride, padding, extra, 1, dilation)
        y.square().sum().backward()
        return y, x.grad, w.grad, b.grad

    both(body, rtol=2e-5, atol=2e-4)


def test_the_error_of_a_small_volume_is_that_of_short_sums(both):
    def body(torch):
        torch.manual_seed(3)
        x, w = torch.randn(4, 5, 5, 5) * 9, torch.randn(4, 8, 3, 3, 3) * 9
        single = torch.nn.functional.conv_transpose3d(x, w)
        return (single - torch.nn.functional.conv_transpose3d(x.double(), w.double()).float()).abs().max() < 2e-4

    both(body)


SIZES = [(1,), (3,), (1, 1), (2, 2), (1, 5), (5, 5), (8, 8), (9, 9), (1, 1, 1), (2, 1, 2)]


@pytest.mark.parametrize("images", [1, 2, 8])
@pytest.mark.parametrize("sizes", SIZES)
def test_kernels_of_one_position(both: Both, images: int, sizes: tuple[int, ...]) -> None:
    def run(torch: Any) -> list[Any]:
        conv, found = getattr(torch.nn.functional, f"conv{len(sizes)}d"), []
        for channels, out, dtype in ((1, 1, "float32"), (5, 7, "float32"), (48, 20, "float32"), (3, 4, "float64")):
            torch.manual_seed(channels)
            kind = getattr(torch, dtype)
            x = torch.randn(images, channels, *sizes).to(kind).requires_grad_()
            w = torch.randn(out, channels, *[1] * len(sizes)).to(kind).requires_grad_()
            bias = torch.randn(out).to(kind).requires_grad_()
            for y in (conv(x, w, bias), conv(x.transpose(0, 1).contiguous().transpose(0, 1), w)):
                slope = torch.linspace(-1, 1, y.numel(), dtype=kind).reshape(y.shape)
                found += [y, *torch.autograd.grad(y, (x, w), slope)]
        return found

    both(run, rtol=1e-4, atol=1e-4, strides=False)

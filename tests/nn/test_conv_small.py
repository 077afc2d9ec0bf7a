"""Transposed convolutions of one small volume, whose sums are made in two steps."""
from __future__ import annotations

import pytest


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

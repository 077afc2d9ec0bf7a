"""Inference tensors outside of inference mode: views have no history, and in-place writes raise."""
from __future__ import annotations

from typing import Any

import pytest

USES = [
    "x.view(-1)", "x * 2", "x[0]", "x.t()", "x.unbind()[0]", "x.split(1)[0]", "x.detach()", "x.clone()", "x.add_(2)", "x.t_()", "x.transpose_(0, 1)",
    "x.squeeze_(0)", "x.unsqueeze_(0)", "x.swapaxes_(0, 1)", "x.as_strided_((2,), (1,))", "x.resize_(3)", "x.set_(torch.ones(2))",
    "x[0].add_(1)", "x.copy_(x.clone())", "torch.add(x, 1, out=x)", "x.clone().add_(1)",
    "torch.ones(2, 3, requires_grad=True) + x", "x.data", "x.reshape(-1)", "x.real", "x.expand(2, 2, 3)"
]  # fmt: skip


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("use", USES)
def test_uses_in_normal_mode(both: Any, use: str, requires_grad: bool) -> None:
    def body(torch: Any) -> Any:
        with torch.inference_mode():
            x = torch.ones(2, 3, requires_grad=requires_grad)
        found = eval(use, {"x": x, "torch": torch})
        return found, found.requires_grad, found.is_leaf, found.is_inference(), found._is_view()

    both(body)


@pytest.mark.parametrize("use", USES)
def test_uses_in_the_mode(both: Any, use: str) -> None:
    def body(torch: Any) -> Any:
        with torch.inference_mode():
            x = torch.ones(2, 3)
            found = eval(use, {"x": x, "torch": torch})
            return found, found.requires_grad, found.is_inference()

    both(body)

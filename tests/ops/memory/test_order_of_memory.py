"""Strides of results for dimensions of length 1 or 0, strided views, and casts on the way."""

from __future__ import annotations

from typing import Any

import pytest

MADE = {
    "no rows": lambda torch: torch.zeros([0]).unsqueeze(0),
    "no columns": lambda torch: torch.ones([2, 0]).transpose(0, 1),
    "nothing in steps": lambda torch: torch.ones([3])[1:1:3],
    "nothing of some": lambda torch: torch.zeros([0, 2, 2])[:, -1, :1],
    "one of four": lambda torch: torch.arange(12.0).reshape(3, 4)[1:2, -1],
    "a column": lambda torch: torch.arange(12.0).reshape(3, 4)[:, 1:2],
    "unfolded": lambda torch: torch.arange(12.0).reshape(3, 4).unfold(0, 1, 2),
    "unfolded row": lambda torch: torch.arange(36.0).reshape(2, 18).unfold(0, 1, 2),
    "permuted": lambda torch: torch.arange(6.0).reshape(1, 2, 3).permute(2, 0, 1),
    "window": lambda torch: torch.arange(24.0).reshape(2, 3, 4)[1:2, :, 0:1].transpose(0, 2),
    "expanded": lambda torch: torch.ones([3, 1]).expand(3, 4),
    "channels last": lambda torch: torch.arange(24.0).reshape(2, 3, 2, 2).permute(0, 3, 1, 2),
    "one pixel": lambda torch: torch.ones(1, 3, 1, 1).permute(0, 2, 3, 1),
}

COMPUTED = {
    "nan_to_num": lambda torch, x: x.nan_to_num(0),
    "floor": lambda torch, x: [f(x.short()) for f in (torch.floor, torch.ceil, torch.round, torch.trunc)] + [x.round()],
    "of integers": lambda torch, x: [f(x.short()) for f in (torch.exp, torch.reciprocal, torch.sigmoid, torch.isinf, torch.isnan, torch.isreal)],
    "mixed": lambda torch, x: [x.short() + torch.ones(x.shape), torch.ones(x.shape) * x.short(), x.short() / x.short()],
    "powers": lambda torch, x: [2**x, 2 ** x.short(), x.short() ** 2, x.bool() ** 2, x**0.5],
    "told": lambda torch, x: [x.isfinite(), x.isinf(), x.isposinf(), x.isclose(x)],
    "degrees": lambda torch, x: [torch.deg2rad(x), torch.rad2deg(x)],
    "complex": lambda torch, x: [f(torch.complex(x, x)) for f in (torch.abs, torch.angle, torch.conj_physical)],
    "threshold": lambda torch, x: torch.nn.functional.threshold(x.short(), 0, 1),
    "losses": lambda torch, x: [
        f(x, x, reduction="none") for f in (
            torch.nn.functional.mse_loss, torch.nn.functional.smooth_l1_loss, torch.nn.functional.huber_loss,
            torch.nn.functional.binary_cross_entropy_with_logits, torch.nn.functional.soft_margin_loss,
        )
    ],
    "slopes": lambda torch, x: [torch.nn.functional.prelu(x, torch.ones(1)), torch.nn.functional.rrelu(x), x.lerp(x, x), torch.mvlgamma(x + 4, 2)],
    "softmax": lambda torch, x: [x.softmax(0), x.log_softmax(-1), x.softmax(0, dtype=torch.float64)],
    "moved": lambda torch, x: [x.roll(1), x.roll(1, 0), torch.cat([x, x]), torch.stack([x, x]), x.unique()],
}  # fmt: skip


@pytest.mark.parametrize("computed", COMPUTED)
@pytest.mark.parametrize("made", MADE)
def test_strides_of_results(both: Any, made: str, computed: str) -> None:
    both(lambda torch: _strides(COMPUTED[computed](torch, MADE[made](torch))))


def _strides(found: Any) -> Any:
    return [(tuple(t.shape), t.stride()) for t in (found if isinstance(found, list) else [found])]


@pytest.mark.parametrize("made", [name for name in MADE if not name.startswith("no")])
def test_a_part_written_into_a_copy_keeps_gaps(both: Any, made: str) -> None:
    def body(torch: Any) -> Any:
        x = MADE[made](torch)
        found = [x.select_scatter(x.select(0, 0) + 1, 0, 0), x.slice_scatter(x[:1] + 1, 0, 0, 1)]
        return found, [t.storage_offset() for t in found]

    both(body)


def test_a_part_written_into_a_copy_has_gradients(both: Any) -> None:
    def body(torch: Any) -> Any:
        x, part = torch.arange(12.0).reshape(3, 4).requires_grad_(), torch.ones(3, requires_grad=True)
        found = x[:, ::2].select_scatter(part * 2, 1, 0)
        (found * found).sum().backward()
        found.detach().mul_(2)
        return found, x.grad, part.grad

    both(body)


@pytest.mark.parametrize("dim", [0, -1])
def test_reductions_of_nothing(both: Any, dim: int) -> None:
    both(lambda torch: [f(torch.zeros([2, 0, 3]).transpose(0, 1)[:, :, :1], dim, keepdim=True) for f in (torch.amax, torch.argmin)]
         if dim else torch.zeros([1, 0]).min(0, keepdim=True))  # fmt: skip


@pytest.mark.parametrize("kind", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("layout", [
    "torch.zeros(2, 2, 3, dtype=d).diagonal()", "torch.zeros(3, 4, dtype=d).t()", "torch.zeros(5, 8, dtype=d).t()",
    "torch.zeros(4, 6, dtype=d)[:, ::2]", "torch.zeros(2, 3, 8, dtype=d).permute(2, 0, 1)", "torch.zeros(6, 8, dtype=d)[::2, 1:].t()",
    "torch.zeros(40, dtype=d)[::2]", "torch.zeros(2, 3, 4, 5, dtype=d).to(memory_format=torch.channels_last)",
])  # fmt: skip
def test_random_numbers_are_drawn_in_the_order_of_memory(both: Any, layout: str, kind: str) -> None:
    def body(torch: Any) -> Any:
        tensor = eval(layout, {"torch": torch, "d": getattr(torch, kind)})
        torch.manual_seed(3)
        draws = (tensor.normal_, tensor.uniform_, tensor.exponential_, lambda: tensor.random_(100), lambda: tensor.bernoulli_(0.5))
        return [draw().clone() for draw in draws]

    both(body)


@pytest.mark.parametrize("text", ["x.t() + 1", "x.t().exp()", "(x @ x.t()).t() * x.sum()", "x.to(memory_format=torch.channels_last) * 2 if x.dim() == 4 else x.t().clone()"])
def test_results_in_any_order_are_inference_tensors(both, text):
    def body(torch):
        with torch.inference_mode():
            found = eval(text, {"torch": torch, "x": torch.ones(3, 4)})
        return found.is_inference(), found.stride()

    both(body)

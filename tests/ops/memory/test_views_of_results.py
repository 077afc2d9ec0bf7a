"""Results that are views have torch's base, and operations do not change their operands."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Both = Callable[..., Any]

MADE_AFRESH = [
    "F.max_pool2d(x[0], 2)", "F.avg_pool2d(x[0], 2)", "F.max_pool3d(x, 2)", "F.avg_pool3d(x, 2)", "F.adaptive_avg_pool2d(x[0], 2)",
    "F.adaptive_max_pool2d(x[0], 2)", "F.adaptive_avg_pool3d(x, 2)", "F.adaptive_max_pool3d(x, 2)",
    "F.max_pool2d(x[0], 2, return_indices=True)[1]", "F.fold(torch.ones(4, 4), (2, 2), (1, 1))", "F.unfold(x[0], 2)",
    "F.grid_sample(x, torch.zeros(2, 2, 2, 2), align_corners=True)", "F.bilinear(x, x, torch.ones(3, 4, 4), torch.ones(3))",
    "F.nll_loss(x, torch.zeros(2, 4, 4, dtype=torch.int64), reduction='none')",
    "F.cross_entropy(x, torch.zeros(2, 4, 4, dtype=torch.int64), reduction='none')",
    "F.max_unpool2d(x, torch.arange(16).reshape(4, 4).expand(2, 4, 4, 4), 2)", "F.fractional_max_pool2d(x, 2, output_size=2)",
    "torch.stft(x[0, 0], 4, return_complex=True)", "x.to_sparse().to_dense()", "torch.tensor(3.0).unique()",
    "torch.tensor(3.0).unique(return_inverse=True)[1]", "torch.tensor(3.0).unique_consecutive()",
    "torch.empty_strided((2, 2), (1, 2))", "torch.empty_permuted((2, 3), (1, 0))", "torch.kron(x, x)",
    "torch.segment_reduce(x, 'max', lengths=torch.tensor([1, 1]), axis=0)",
]  # fmt: skip


@pytest.mark.parametrize("expression", MADE_AFRESH)
@pytest.mark.parametrize("tracked", [False, True])
def test_results_that_are_not_views(both: Both, expression: str, tracked: bool) -> None:
    def body(torch: Any) -> Any:
        torch.manual_seed(0)
        x = torch.randn(2, 4, 4, 4).requires_grad_(tracked)
        found = eval(expression, {"torch": torch, "x": x, "F": torch.nn.functional})
        found.detach_()
        return found._is_view(), found._base is None, found.stride(), found.shape

    both(body)


@pytest.mark.parametrize("kind", ["int64", "float32"])
def test_results_that_are_views(both: Both, kind: str) -> None:
    def body(torch: Any) -> Any:
        a = torch.ones(3, 2, 2).to(getattr(torch, kind))
        products = [torch.tensordot(a, a, dims)._is_view() for dims in (0, 1, [[0], [0]])]
        return products, torch.nn.functional.bilinear(a.float(), a.float(), torch.ones(3, 2, 2))._is_view()

    both(body)


def test_differences_of_nothing_are_the_input_itself(both: Both) -> None:
    def body(torch: Any) -> Any:
        x = torch.arange(0.0).reshape(3, 3, 0)
        found = x.diff(dim=-1)
        return found is x, x._is_view(), x._base is not None

    both(body)


def test_results_that_share_no_memory_with_the_input(both: Both) -> None:
    def body(torch: Any) -> Any:
        x, m = torch.tensor(3.0, requires_grad=True), torch.ones(2, 2)
        found, chained = torch.masked.prod(x, dim=0, keepdim=True), torch.chain_matmul(m)
        return found is x, found.data_ptr() == x.data_ptr(), found.is_leaf, chained is m, chained.data_ptr() == m.data_ptr()

    both(body)


@pytest.mark.parametrize("turn", ["a", "a.t()", "a[:, :1]", "a.expand(4, 2, 3)", "a[:0]"])
def test_kron_of_strided_operands(both: Both, turn: str) -> None:
    def body(torch: Any) -> Any:
        a = eval(turn, {"a": torch.arange(6.0).reshape(2, 3)})
        return torch.kron(a, torch.ones(2, 2)), torch.kron(torch.arange(2.0), a)

    both(body)


def test_kron_saves_tensors_that_count_their_own_writes(both: Both) -> None:
    def body(torch: Any) -> Any:
        a, b = torch.ones(2, 3, requires_grad=True), torch.ones(2, 2, requires_grad=True)
        made = torch.kron(a, b)
        with torch.no_grad():
            a.mul_(2)
        made.sum().backward()
        return a.grad, b.grad

    both(body)


@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 0), (1, 1), (5,), (2, 1, 3), (0,)])
@pytest.mark.parametrize("inner", ["x.sum()", "x.sum(0).sum()"])
def test_expanded_gradients_are_views(both: Both, shape: tuple[int, ...], inner: str) -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(shape).requires_grad_()
        found, = torch.autograd.grad(eval(inner, {"x": x}), x)
        said = found._is_view(), found._base is None, found.stride(), found._version, found.is_leaf
        beside = found.transpose(0, -1)
        found.requires_grad_()
        (found * 2).sum().backward()
        return said, beside.requires_grad, found.grad.tolist()

    both(body)


@pytest.mark.parametrize("kind", ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32"])
def test_the_median_of_nothing(both: Both, kind: str) -> None:
    both(lambda torch: [getattr(torch, name)(torch.zeros(0, dtype=getattr(torch, kind))) for name in ("median", "nanmedian")])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 2.0])
@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
def test_softmax_of_a_single_number(both: Both, value: float, kind: str) -> None:
    def body(torch: Any) -> Any:
        x = torch.tensor(value, dtype=getattr(torch, kind)).requires_grad_()
        found = [x.softmax(0), x.log_softmax(0), torch.nn.functional.softmin(x, 0)]
        return found, [torch.autograd.grad(item, x)[0] for item in found]

    both(body)

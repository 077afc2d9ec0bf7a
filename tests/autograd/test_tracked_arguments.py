"""Which results require grad when one argument does: torch's database of operators, each floating-point tensor among the arguments in turn.

An argument without a gradient is refused ("is not differentiable with respect to …"), or its result says so in backward; it is not lost.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch as reference

from tests import databases
from tests.databases import _mapped

# Results of mstorch's that require grad where torch's do not, or the other way round.
KNOWN = {
    "special.spherical_bessel_j0": "it has a derivative here", "triangular_solve": "the copy of the matrix, its second result, has no gradient here",
}  # fmt: skip


def _flags(result: Any) -> list[bool]:
    if isinstance(result, (tuple, list)):
        return [flag for item in result for flag in _flags(item)]
    return [bool(result.requires_grad)] if hasattr(result, "requires_grad") else []


def _places(sample: Any) -> Iterator[Any]:
    """Yield the places and keywords of the floating-point tensors among a sample's arguments."""
    for place, value in [*enumerate([sample.input, *sample.args]), *sample.kwargs.items()]:
        if isinstance(value, reference.Tensor) and value.is_floating_point() and value.layout == reference.strided:
            yield place


def _outcome(function: Callable[..., Any], sample: Any, place: Any, convert: Callable[[Any], Any]) -> Any:
    databases._seed()
    args, kwargs = _mapped([[sample.input, *sample.args], sample.kwargs], convert)
    tracked = args[place] if isinstance(place, int) else kwargs[place]
    tracked.requires_grad_()
    try:
        return _flags(function(*args, **kwargs))
    except databases.Missing:
        raise
    except Exception as error:  # noqa: BLE001 - torch's class of error is what is compared
        return type(error).__name__


def _copied(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, reference.Tensor) else value


def _checked(name: str, info: Any, samples: int) -> list[str]:
    function, seen, lines = databases._counterpart(info.name, info.op), set(), []
    for _, sample in zip(range(samples), info.sample_inputs("cpu", reference.float32)):
        for place in _places(sample):
            if place not in seen:
                seen.add(place)
                want = _outcome(info.op, sample, place, _copied)
                got = _outcome(function, sample, place, lambda value: databases.ours(_copied(value), []))
                if want != got:
                    lines.append(f"{name}, argument {place}: torch {want}, mstorch {got}")
    return lines


OPERATORS = [(name, info) for name, info in databases.operators() if reference.float32 in info.dtypes]
FEW = ("geqrf", "histogram", "bincount", "nn.functional.nll_loss", "nn.functional.cross_entropy", "nn.functional.binary_cross_entropy",
       "nn.functional.batch_norm", "nn.functional.multi_margin_loss", "nn.functional.soft_margin_loss", "linalg.ldl_solve", "add", "where")  # fmt: skip


@pytest.mark.parametrize(("name", "info"), [pytest.param(*item, id=item[0], marks=() if item[0] in FEW else pytest.mark.sweep) for item in OPERATORS])
def test_results_require_grad(name: str, info: Any) -> None:
    try:
        differences = _checked(name, info, 8)
    except databases.Missing:
        pytest.skip("absent")
    assert name in KNOWN or differences == []


@pytest.mark.parametrize("name", ["bincount", "histogram", "histogramdd", "linalg.ldl_factor", "linalg.ldl_solve", "geqrf"])
def test_backward_says_that_there_is_no_derivative(both: Any, name: str) -> None:
    def body(torch: Any) -> Any:
        x = torch.tensor([[2.0, 0.5], [0.5, 1.0]], requires_grad=True)
        pivots = torch.tensor([1, 2], dtype=torch.int32)
        calls = {
            "bincount": lambda: torch.bincount(torch.tensor([0, 1]), x[0]), "histogram": lambda: torch.histogram(x, 3)[0],
            "histogramdd": lambda: torch.histogramdd(x, [2, 2])[0], "linalg.ldl_factor": lambda: torch.linalg.ldl_factor(x)[0],
            "linalg.ldl_solve": lambda: torch.linalg.ldl_solve(torch.eye(2), pivots, x), "geqrf": lambda: torch.geqrf(x)[0],
        }  # fmt: skip
        calls[name]().sum().backward()

    both(body)


@pytest.mark.parametrize("name", ["nll_loss", "nll_loss2d", "cross_entropy", "smoothed", "binary_cross_entropy", "multi_margin_loss", "soft_margin_loss",
                                  "batch_norm", "instance_norm", "fractional_max_pool2d"])  # fmt: skip
def test_arguments_without_a_gradient_are_refused(both: Any, name: str) -> None:
    def body(torch: Any) -> Any:
        F, x, w = torch.nn.functional, torch.tensor([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]]), torch.ones(3, requires_grad=True)
        target = torch.tensor([0, 2])
        calls = {
            "nll_loss": lambda: F.nll_loss(x, target, w), "cross_entropy": lambda: F.cross_entropy(x, target, w),
            "nll_loss2d": lambda: F.nll_loss(x[:, :, None], target[:, None], w), "smoothed": lambda: F.cross_entropy(x, target, w, label_smoothing=0.1),
            "binary_cross_entropy": lambda: F.binary_cross_entropy(x, x.round(), w), "multi_margin_loss": lambda: F.multi_margin_loss(x, target, weight=w),
            "soft_margin_loss": lambda: F.soft_margin_loss(x, w.expand(2, 3)), "batch_norm": lambda: F.batch_norm(x, w, torch.ones(3)),
            "instance_norm": lambda: F.instance_norm(x[:, :, None].expand(2, 3, 4), torch.zeros(3), w),
            "fractional_max_pool2d": lambda: F.fractional_max_pool2d(x.expand(1, 1, 2, 3), 1, output_size=1, _random_samples=w[:2].reshape(1, 1, 2)),
        }  # fmt: skip
        with torch.no_grad():
            calls[name]()
        return calls[name]()

    both(body)

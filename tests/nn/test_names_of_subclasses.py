"""A subclass may name its methods as with torch: mstorch uses none of these names."""

from operator import attrgetter
from typing import Any

import pytest
import torch

import mstorch

_MODULE_NAMES = ("_has_extra", "_hooked", "_float_type", "_forget", "_init_hooks", "_taken")


def _own(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("a subclass's own method was called")


def test_modules() -> None:
    kind = type("Own", (mstorch.nn.Linear,), dict.fromkeys(_MODULE_NAMES, _own))
    module = kind(2, 3)
    module.register_buffer("extra", mstorch.ones(1))
    module.weight = mstorch.nn.Parameter(mstorch.ones(3, 2))
    module.load_state_dict(module.state_dict())
    assert module.half().float()(mstorch.ones(1, 2)).shape == (1, 3)


def test_functions() -> None:
    class Double(mstorch.autograd.Function):
        _backward = staticmethod(_own)

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient * 2

    x = mstorch.ones(2, requires_grad=True)
    Double.apply(x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 2.0]


def test_schedulers() -> None:
    kind = type("Own", (mstorch.optim.lr_scheduler.StepLR,), {"_set_lr": _own})
    optimizer = mstorch.optim.SGD([mstorch.nn.Parameter(mstorch.ones(1))], lr=1.0)
    scheduler = kind(optimizer, 1)
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.1)


def test_distributions() -> None:
    kind = type("Own", (mstorch.distributions.Normal,), {"_begin": _own})
    assert kind(0.0, 1.0).sample((2,)).shape == (2,)


def test_print_of_modules() -> None:
    kind = type("Own", (mstorch.nn.Module,), {"__repr__": lambda self: "own words"})
    assert str(kind()) == "own words"
    assert str(mstorch.nn.Linear(1, 2)) == repr(mstorch.nn.Linear(1, 2)) == "Linear(in_features=1, out_features=2, bias=True)"


def test_tensors(both) -> None:
    names = ("_array", "_at", "_auto", "_counter", "_dtype", "_nested", "_node", "_number", "_offset", "_raw", "_shape", "_sparse", "_storage", "_stride")

    def body(torch: Any) -> Any:
        methods = type("Methods", (torch.Tensor,), dict.fromkeys(names, _own))
        given = type("Given", (torch.Tensor,), {})
        results = []
        for kind in (methods, given):
            x = torch.arange(6.0).reshape(2, 3).t().as_subclass(kind).requires_grad_()
            if kind is given:
                for name in names:
                    setattr(x, name, name)
            y = (x * 2)[1:].exp().sum()
            y.backward()
            results += [y.detach().as_subclass(torch.Tensor), x.grad.as_subclass(torch.Tensor), x.shape, x.stride(), x.dtype, x.storage_offset(), x._version]
        return [*results, [getattr(x, name) for name in names]]

    both(body)


_OF_MINDSPORE = {"init_data", "set_data", "slice", "to_mindspore"}
_BASES = (
    "Tensor", "nn.Parameter", "nn.Module", "nn.Linear", "utils.data.IterableDataset", "utils.data.BatchSampler", "optim.SGD",
    "autograd.Function", "optim.Optimizer", "optim.lr_scheduler.LRScheduler", "optim.lr_scheduler.CyclicLR",
    "distributions.Distribution", "distributions.Normal", "distributions.Transform", "distributions.constraints.Constraint",
    "utils.data.Dataset", "utils.data.Sampler", "utils.data.DataLoader",
)  # fmt: skip


@pytest.mark.parametrize("path", _BASES)
def test_no_name_that_torch_leaves_free(path: str) -> None:
    theirs, ours = attrgetter(path)(torch), attrgetter(path)(mstorch)
    found = set(dir(ours)) - set(dir(theirs)) - _OF_MINDSPORE - {"npu", "is_npu"}  # torch_npu defines these on a device
    assert not [name for name in found if not name.startswith(("_mstorch_", "_ms_", "__"))]


def test_forward_need_not_be_a_function(both):
    def body(torch):
        class Abstract(torch.nn.Module):
            forward = NotImplemented

        class Whole(Abstract):
            def forward(self, x):
                return x + 1

        return Whole()(torch.ones(2))

    both(body)

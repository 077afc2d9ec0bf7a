"""The private forms of the optimizers' functions and the helpers of schedulers, which packages import, compared with torch."""
from __future__ import annotations

import importlib
import inspect

import pytest
import torch as real_torch

import mstorch
from tests.against_torch import same

_LISTS = {
    "adadelta": 2, "adagrad": 1, "adam": 3, "adamax": 2, "asgd": 3, "nadam": 3, "radam": 2, "rmsprop": 3, "rprop": 2, "sgd": 1,
}  # fmt: skip
_VALUES = {
    "lr": 0.1, "rho": 0.9, "eps": 1e-6, "weight_decay": 0.01, "maximize": False, "differentiable": False, "capturable": False,
    "has_complex": False, "lr_decay": 0.1, "has_sparse_grad": False, "amsgrad": True, "beta1": 0.9, "beta2": 0.99, "lambd": 1e-4, "t0": 1.0,
    "alpha": 0.7, "decoupled_weight_decay": False, "momentum_decay": 4e-3, "momentum": 0.9, "centered": True, "step_size_min": 1e-6,
    "step_size_max": 50, "etaminus": 0.5, "etaplus": 1.2, "dampening": 0.1, "nesterov": False,
}  # fmt: skip


def _home(torch, name):
    return importlib.import_module(f"{torch.__name__}.optim.{name}")


def _forms():
    for name in (*_LISTS, "_adafactor", "_muon"):
        for kind in ("single_tensor", "multi_tensor", "fused"):
            form = f"_{kind}_{name.strip('_')}"
            if hasattr(_home(real_torch, name), form):
                yield name, form


@pytest.mark.parametrize(("name", "form"), list(_forms()))
def test_signatures(name, form):
    def parameters(torch):
        found = inspect.signature(getattr(_home(torch, name), form)).parameters.values()
        return [(one.name, one.kind) for one in found]

    want, got = parameters(real_torch), parameters(mstorch)
    count = sum(kind == inspect.Parameter.POSITIONAL_OR_KEYWORD for _, kind in want)
    assert got[:count] == want[:count]
    assert sorted(got[count:]) == sorted(want[count:])  # keywords, in any order


@pytest.mark.parametrize(("name", "form"), [pair for pair in _forms() if pair[0] in _LISTS and "fused" not in pair[1]])
def test_a_step(name, form):
    def step(torch):
        function = getattr(_home(torch, name), form)
        torch.manual_seed(0)
        draw = [torch.randn(3) for _ in range(2)]
        lists = [[x.abs() + 0.1 * i for x in draw] for i in range(_LISTS[name])]
        if name == "asgd":
            lists[1:] = [[torch.ones(()) for _ in draw] for _ in range(2)]
        if name == "nadam":
            lists[2] = [torch.ones(()) for _ in draw]
        steps = [] if name == "sgd" else [[torch.tensor(2.0) for _ in draw]]
        given = inspect.signature(function).parameters
        scaled = [None, None] if "found_inf" in given else []
        keywords = {key: _VALUES[key] for key, one in given.items() if one.kind == one.KEYWORD_ONLY}
        params = [x.clone() for x in draw]
        function(params, [x.sin() for x in draw], *lists, *steps, *scaled, **keywords)
        return params, lists

    same(step(real_torch), step(mstorch))


def test_strong_wolfe(both):
    def body(torch):
        from_home = _home(torch, "lbfgs")._strong_wolfe
        start, direction = torch.tensor([1.0, -2.0]), torch.tensor([-1.0, 3.0])

        def objective(x, t, d):
            at = (x + t * d).requires_grad_()
            with torch.enable_grad():
                loss = (at**4).sum()
                (grad,) = torch.autograd.grad(loss, at)
            return float(loss), grad

        loss, grad = objective(start, 0, direction)
        return from_home(objective, start, 1.0, direction, loss, grad, grad.dot(direction))

    both(body)


def test_helpers(both):
    def body(torch):
        optimizer, scheduler = _home(torch, "optimizer"), _home(torch, "lr_scheduler")
        params, states = [torch.ones(2, dtype=torch.complex64), torch.ones(1)], [torch.zeros(2, dtype=torch.complex64), torch.zeros(1)]
        optimizer._view_as_real(params, states)
        sgd = torch.optim.SGD([torch.ones(1)], lr=torch.tensor(0.5))
        group = sgd.param_groups[0]
        scheduler._update_param_group_val(group, "lr", 0.25)
        steps = scheduler._format_param("x", sgd, 3), scheduler._param_groups_val_list(sgd, "lr")
        plan = torch.optim.lr_scheduler.StepLR(sgd, 2)
        with scheduler._enable_get_lr_call(plan):
            rates = plan.get_lr()
        with scheduler._initial_mode(plan):
            initial = plan._is_initial
        ordered = optimizer._disable_dynamo_if_unsupported()(sorted)([2, 1])
        return params, states, steps, rates, initial, ordered, optimizer._stack_if_compiling([1])

    both(body)

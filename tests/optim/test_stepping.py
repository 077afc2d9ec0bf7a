"""Members of an optimizer's class except for its steps: bases, signatures, `_init_group`, and overridden methods."""
from __future__ import annotations

import importlib
import inspect

import pytest
import torch as reference

import mstorch

NAMES = ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adamax", "NAdam", "RAdam", "Adadelta", "ASGD", "Rprop", "Adafactor", "Muon"]
LIBRARIES = (mstorch, reference)


def _made(torch, name, dtype="float32", **options):
    """Return an optimizer with gradients for two of its three parameters."""
    params = [torch.ones(2, 3, dtype=getattr(torch, dtype)).requires_grad_() for _ in range(3)]
    for param in params[1:]:
        param.grad = torch.full_like(param, 0.5)
    return getattr(torch.optim, name)(params, **options)


@pytest.mark.parametrize("name", [*NAMES, "SparseAdam", "LBFGS"])
def test_bases_and_signatures(name):
    mine, theirs = (getattr(torch.optim, name) for torch in LIBRARIES)
    assert [cls.__name__ for cls in mine.__mro__] == [cls.__name__ for cls in theirs.__mro__]
    for method in ("__init__", "step"):
        spelled = [[(p.name, p.kind, p.default) for p in inspect.signature(getattr(cls, method)).parameters.values()] for cls in (mine, theirs)]
        assert [one for one in spelled[0] if one[0] != "maximize" or name != "LBFGS"] == [  # LBFGS has it in torch 2.14
            one for one in spelled[1] if one[0] != "maximize" or name != "LBFGS"
        ]
    assert mine.step.__qualname__ == theirs.step.__qualname__


def test_subclasses_of_optimizer():
    """Programs search these by name."""
    listed = [
        sorted(cls.__name__ for cls in torch.optim.Optimizer.__subclasses__() if cls.__module__.startswith(f"{torch.__name__}.optim"))
        for torch in LIBRARIES
    ]
    assert listed[0] == listed[1]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "Muon"])
def test_signatures_of_functional_forms(name):
    places = {torch: f"{torch.__name__}.optim.{'_' * (name == 'Adafactor')}{name.lower()}" for torch in LIBRARIES}
    mine, theirs = (getattr(importlib.import_module(places[torch]), name.lower()) for torch in LIBRARIES)
    spelled = [[(p.name, p.kind, p.default) for p in inspect.signature(form).parameters.values()] for form in (mine, theirs)]
    assert spelled[0] == spelled[1]


@pytest.mark.parametrize(("name", "options"), [
    *((name, {}) for name in NAMES), ("Adam", {"amsgrad": True}), ("SGD", {"momentum": 0.9}), ("RMSprop", {"momentum": 0.9}),
    ("RMSprop", {"momentum": 0.9, "centered": True}), ("RMSprop", {"centered": True}),
], ids=str)  # fmt: skip
def test_init_group(both, name, options):
    """Packages call it with a list for each parameter of its signature."""

    def body(torch):
        optimizer = _made(torch, name, **options)
        count = len(inspect.signature(optimizer._init_group).parameters)
        lists = [[] for _ in range(count - 1)]
        before = optimizer._init_group(optimizer.param_groups[0], *lists)
        return count, before, lists, optimizer.state_dict()["state"]

    both(body)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", ["Adam", "Adagrad", "SGD", "Adafactor", "Muon"])
def test_init_group_of_complex_parameters(both, name, sparse):
    def body(torch):
        optimizer = _made(torch, name, "complex64")
        if sparse:
            for param in optimizer.param_groups[0]["params"][1:]:
                param.grad = param.grad.to_sparse(1)
        lists = [[] for _ in range(len(inspect.signature(optimizer._init_group).parameters) - 1)]
        return optimizer._init_group(optimizer.param_groups[0], *lists)

    both(body)


def test_overridden_methods_are_called(both):
    def body(torch):
        seen = []

        class Watched(torch.optim.Adam):
            def _init_group(self, group, *lists):
                found = super()._init_group(group, *lists)
                seen.append([len(entries) for entries in lists])
                return found

            def step(self, closure=None):
                seen.append("step")
                return super().step(closure)

            def __setstate__(self, state):
                seen.append("state")
                super().__setstate__(state)

        params = [torch.ones(2).requires_grad_()]
        optimizer = Watched(params, amsgrad=True)
        params[0].grad = torch.ones(2)
        optimizer.register_step_post_hook(lambda *args: seen.append("hook"))
        loss = optimizer.step(lambda: 3.0)
        optimizer.load_state_dict(optimizer.state_dict())
        return loss, seen, params

    both(body)


@pytest.mark.parametrize(("name", "options"), [
    ("SGD", {}), ("SGD", {"momentum": 0.9, "fused": True}), ("SGD", {"fused": True}), ("Adagrad", {}), ("Adagrad", {"fused": True}),
    ("Adagrad", {"weight_decay": 0.1}), ("Adam", {}), ("Adafactor", {}), ("Muon", {}),
], ids=str)  # fmt: skip
def test_sparse_gradients(both, name, options):
    """They raise torch's error before any parameter changes, or are supported."""

    def body(torch):
        optimizer = _made(torch, name, **options)
        param = optimizer.param_groups[0]["params"][1]
        param.grad = param.grad.to_sparse(1)
        try:
            optimizer.step()
        except RuntimeError as error:
            return str(error), param
        return param

    both(body)


def test_state_of_ones_own_is_no_start(both):
    """Muon initializes its buffer although a program has added entries to the state."""

    def body(torch):
        optimizer = _made(torch, "Muon")
        for param in optimizer.param_groups[0]["params"]:
            optimizer.state[param]["mine"] = 1
        optimizer.step()
        return [sorted(state) for state in optimizer.state.values()]

    both(body)


def test_plain_descent_keeps_no_state(both):
    def body(torch):
        optimizer = _made(torch, "SGD", lr=0.1)
        optimizer.step()
        return optimizer.state_dict()["state"], len(optimizer.state)

    both(body)


def test_first_sum_is_the_default(both):
    def body(torch):
        params = [torch.ones(2).requires_grad_() for _ in range(3)]
        groups = [{"params": params[:1], "initial_accumulator_value": 2.0}, {"params": params[1:2]}]
        optimizer = torch.optim.Adagrad(groups, initial_accumulator_value=0.5)
        optimizer.add_param_group({"params": params[2:], "initial_accumulator_value": 3.0})
        for param in params:
            param.grad = torch.ones(2)
        optimizer.step()
        return [optimizer.state[param]["sum"] for param in params]

    both(body)


@pytest.mark.parametrize("default", ["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_checkpoints_of_old_versions(both, name, default):
    """Missing options get their defaults, and step counters that were numbers become tensors."""
    old = {"foreach", "differentiable", "capturable", "fused", "amsgrad", "decoupled_weight_decay", "centered"}
    old |= {"maximize"} if name != "Adafactor" else set()

    def body(torch):
        before = torch.get_default_dtype()
        torch.set_default_dtype(getattr(torch, default))
        try:
            optimizer = _made(torch, name)
            optimizer.step()
            saved = optimizer.state_dict()
            for state in saved["state"].values():
                state.update({key: value.item() for key, value in state.items() if key in ("step", "mu_product", "eta", "mu")})
            for group in saved["param_groups"]:
                for key in old.intersection(group) if name != "Muon" else ():
                    del group[key]
            optimizer.load_state_dict(saved)
            optimizer.step()
            found = optimizer.state_dict()
            return {key: str(value) for key, value in found["param_groups"][0].items()}, found["state"]
        finally:
            torch.set_default_dtype(before)

    both(body, **({"rtol": 2e-2, "atol": 2e-2} if name == "Muon" else {"rtol": 1e-5, "atol": 1e-6}))


@pytest.mark.on_the_cpu
def test_words_on_capturable():
    for name in ("Adadelta", "Adam", "NAdam", "ASGD"):
        said = []
        for torch in LIBRARIES:
            with pytest.raises(AssertionError) as caught:
                _made(torch, name, capturable=True).step()
            said.append(str(caught.value).replace("privateuseone", "npu"))
        assert said[0] == said[1]


def test_helpers_that_packages_import(both):
    def body(torch):
        base = importlib.import_module(f"{torch.__name__}.optim.optimizer")
        weight = torch.ones(2)
        return (
            base._get_value(torch.tensor(2.5)), base._get_value(3), base._to_scalar(torch.ones(1)), base._to_scalar(0.5),
            base._get_scalar_dtype(), base._get_scalar_dtype(is_fused=True), base._device_dtype_check_for_fused(weight),
            len(base._get_capturable_supported_devices()), len(base._get_capturable_supported_devices(supports_xla=False)),
        )  # fmt: skip

    both(body)


@pytest.mark.parametrize("name", ["Adam", "AdamW", "Adagrad", "Adadelta", "Adafactor", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop", "SGD"])
@pytest.mark.parametrize("kept", ["mine", "step"])
def test_a_state_with_entries_has_begun(both, name, kept):
    """An entry that the optimizer needs and the state lacks raises KeyError."""

    def body(torch):
        options = {"momentum": 0.9} if name == "SGD" else {}
        optimizer = _made(torch, name, **options)
        for param in optimizer.param_groups[0]["params"]:
            optimizer.state[param] = {kept: torch.ones(())}
        optimizer.step()
        return [sorted(state) for state in optimizer.state.values()]

    both(body)


@pytest.mark.parametrize("options", [
    {}, {"maximize": True}, {"momentum": 0.9}, {"momentum": 0.5, "dampening": 0.1, "maximize": True}, {"momentum": 0.9, "nesterov": True},
    {"weight_decay": 0.1},
])  # fmt: skip
@pytest.mark.parametrize("leaf", [True, False])
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_differentiable_descent(both, options, leaf, steps):
    """A leaf cannot be written to while gradients are recorded; a non-leaf can, and gets the history."""

    def body(torch):
        start = torch.arange(3.0, requires_grad=True)
        param = start if leaf else start * 2
        optimizer = torch.optim.SGD([torch.ones(3, requires_grad=True)], lr=0.1, differentiable=True, **options)
        optimizer.param_groups[0]["params"] = [param]
        param.retain_grad()
        for _ in range(steps):
            param.grad = torch.tensor([1.0, 2.0, -1.0])
            optimizer.step()
        return param, torch.autograd.grad(param.sum(), start)

    both(body)

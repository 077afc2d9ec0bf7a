"""``_disabled_torch_function_impl``: the ``__torch_function__`` of Parameter, and of classes whose instances are plain tensors."""
from __future__ import annotations

import copy

import pytest


def _named(torch):
    return torch._C._disabled_torch_function_impl


@pytest.mark.parametrize("method", ["class", "instance"])
def test_super_of_a_parameter(both, method):
    def body(torch):
        log = []

        class Own(torch.nn.Parameter):
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                log.append(func.__name__)
                return super().__torch_function__(func, types, args, kwargs or {})

            if method == "class":
                __torch_function__ = classmethod(__torch_function__)

        param = Own(torch.ones(2))
        total = (param * 2 + torch.nn.functional.linear(torch.ones(1, 2), param)).sum()
        torch.nn.functional.relu(param).sum().backward()
        optimizer = torch.optim.SGD([param], lr=0.5)
        optimizer.step()
        return type(total).__name__, total.detach(), [word for word in log if word in ("mul", "linear", "relu", "add_")], param.data, repr(param)

    both(body)


def test_class_that_is_disabled(both):
    def body(torch):
        cls = type("Plain", (torch.Tensor,), {"__torch_function__": _named(torch)})
        value = torch.ones(2).as_subclass(cls)
        results = [value + 1, torch.add(value, 1), value.view(2, 1), torch.stack([value, value]), value.add_(1), value.clone()]
        return [(type(item).__name__, item.as_subclass(torch.Tensor)) for item in results]

    both(body)


def test_called_by_a_handler(both):
    def body(torch):
        class Calls(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return _named(torch)(func, types, args, kwargs or {})

        value = torch.ones(2).as_subclass(Calls)
        return [(type(item).__name__, item) for item in (value + 1, value.exp(), torch.add(value, other=value), 1 - value)]

    both(body)


@pytest.mark.parametrize("call", [
    lambda impl, torch, x: impl(), lambda impl, torch, x: impl(torch.add), lambda impl, torch, x: impl(torch.add, (), (x, 2)),
    lambda impl, torch, x: impl(torch.add, (), (x, 2), {}), lambda impl, torch, x: impl(torch.add, (), [x, 2], {}),
    lambda impl, torch, x: impl(torch.add, (), (x,), {"other": x}), lambda impl, torch, x: impl(torch.add, None, (x, 2), {}, 3),
    lambda impl, torch, x: impl(torch.add, None, 3, {}), lambda impl, torch, x: impl(1, (), (1,), {}),
    lambda impl, torch, x: type(impl(lambda *args: args[0] + 1, 3, (x, 2), {})).__name__,
    lambda impl, torch, x: torch.nn.Parameter.__torch_function__(torch.add, (), (x, 1), {}),
    lambda impl, torch, x: torch.nn.Parameter(x).__torch_function__(torch.add, (), (x, 1), {}),
])  # fmt: skip
def test_calls(both, call):
    both(lambda torch: call(_named(torch), torch, torch.ones(2)))


def test_modes_see_what_it_calls(both):
    def body(torch):
        import importlib

        log = []

        class Watch(importlib.import_module(f"{torch.__name__}.overrides").TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                log.append(func.__name__)
                return func(*args, **(kwargs or {}))

        with Watch():
            _named(torch)(torch.add, (), (torch.nn.Parameter(torch.ones(2)), 2), {})
        return log

    both(body)


def test_it_is_one_object(both):
    def body(torch):
        impl = _named(torch)
        return type(impl).__name__, impl.__name__, torch.nn.Parameter.__torch_function__ is impl, copy.deepcopy(impl) is impl

    both(body)

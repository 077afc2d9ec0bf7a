"""Steps whose operations somebody sees: methods of a parameter's class, modes, tangents, memory that tensors share."""
from __future__ import annotations

import importlib

import pytest

CASES = [
    ("SGD", {}), ("SGD", {"momentum": 0.9}), ("SGD", {"momentum": 0.9, "nesterov": True}), ("SGD", {"weight_decay": 0.1}),
    ("SGD", {"maximize": True}), ("SGD", {"momentum": 0.9, "dampening": 0.1}), ("Adam", {}), ("Adam", {"weight_decay": 0.1}),
    ("Adam", {"amsgrad": True}), ("Adam", {"maximize": True}), ("AdamW", {}), ("AdamW", {"amsgrad": True}), ("AdamW", {"maximize": True}),
    ("Adadelta", {}), ("Adagrad", {}), ("Adagrad", {"lr_decay": 0.1}), ("Adamax", {}), ("ASGD", {}), ("NAdam", {}), ("RAdam", {}),
    ("RMSprop", {}), ("RMSprop", {"momentum": 0.9}), ("RMSprop", {"centered": True}), ("Rprop", {}),
]  # fmt: skip
METHODS = ("add_", "sub_", "mul_", "div_", "addcdiv_", "addcmul_", "copy_", "lerp_", "neg", "add", "mul", "clone", "sub", "__neg__")
VALUES = [1.0, -2.0, 0.5, 3.0]
SLOPES = [0.1, 0.2, 0.3, 0.4]
steps = pytest.mark.parametrize(("name", "options"), CASES, ids=str)


def _stepped(torch, name, options, params, grads, foreach=None, count=2):
    optimizer = getattr(torch.optim, name)(params, lr=0.1, foreach=foreach, **options)
    for param, grad in zip(params, grads):
        param.grad = grad
    for _ in range(count):
        optimizer.step()
    return [param.detach().as_subclass(torch.Tensor) for param in params]


def _module(torch, name):
    return importlib.import_module(f"{torch.__name__}.{name}")


@steps
@pytest.mark.parametrize("foreach", [None, False, True])
def test_own_methods(both, name, options, foreach):
    """A parameter's own methods are called, each as often as in torch; by ``foreach=True`` none is."""
    if options.get("nesterov") and foreach:
        pytest.skip("torch changes the gradients themselves, and so the second step")

    def body(torch):
        counts = {}
        for method in METHODS:
            for base in ((torch.nn.Parameter,) if foreach else (torch.nn.Parameter, torch.Tensor)):
                log = []

                def own(self, *args, base=base, method=method, log=log, **named):
                    log.append(method)
                    return getattr(base, method)(self, *args, **named)

                cls = type("Own", (base,), {method: own})
                values = torch.tensor(VALUES)
                param = cls(values) if base is torch.nn.Parameter else values.as_subclass(cls).requires_grad_()
                other = torch.nn.Parameter(torch.ones(3))
                grads = [torch.tensor(SLOPES), torch.tensor(SLOPES[:3])]
                if options.get("maximize") and method == "__neg__":
                    continue  # torch negates gradients by torch.neg where they are many
                result = _stepped(torch, name, options, [param, other], grads, foreach)
                counts[method, base.__name__] = len(log), result
        return counts

    both(body)


@steps
def test_a_method_that_changes_the_step(both, name, options):
    """A manifold's parameter steps along the manifold, as pypose's do."""

    def body(torch):
        def add_(self, other, alpha=1):
            with torch.no_grad():
                return self.copy_(torch.sin(self.detach() + alpha * other))

        def addcdiv_(self, first, second, value=1):
            with torch.no_grad():
                return self.copy_(torch.sin(self.detach() + value * first / second))

        curved = type("Curved", (torch.nn.Parameter,), {"add_": add_, "addcdiv_": addcdiv_})
        return _stepped(torch, name, options, [curved(torch.tensor(VALUES))], [torch.tensor(SLOPES)], count=3)

    both(body)


@steps
@pytest.mark.parametrize("kind", ["function", "dispatch"])
def test_modes(both, name, options, kind):
    """A mode sees the operations of a step."""

    def body(torch):
        of_functions = kind == "function"
        base = _module(torch, "overrides").TorchFunctionMode if of_functions else _module(torch, "utils._python_dispatch").TorchDispatchMode
        log = []

        class Watch(base):
            def _handle(self, func, types, args=(), kwargs=None):
                word = getattr(func, "__name__", "") if of_functions else str(func).split(".")[1]
                if word in ("add_", "addcdiv_", "addcmul_", "mul_", "lerp_", "sqrt", "maximum"):
                    log.append(word)
                return func(*args, **(kwargs or {}))

            __torch_function__ = __torch_dispatch__ = _handle

        params = [torch.nn.Parameter(torch.tensor(VALUES)), torch.nn.Parameter(torch.ones(3))]
        with Watch():
            result = _stepped(torch, name, options, params, [torch.tensor(SLOPES), torch.tensor(SLOPES[:3])])
        return sorted(log), result

    both(body)


@steps
@pytest.mark.parametrize("where", ["param", "grad", "both"])
def test_forward_mode(both, name, options, where):
    def body(torch):
        forward = _module(torch, "autograd.forward_ad")
        tangent = torch.tensor([1.0, 0.0, 0.0, 1.0])
        with forward.dual_level():
            param = torch.tensor(VALUES)
            if where != "grad":
                param = forward.make_dual(param, tangent)
            grad = torch.tensor(SLOPES)
            if where != "param":
                grad = forward.make_dual(grad, tangent)
            optimizer = getattr(torch.optim, name)([torch.nn.Parameter(torch.ones(4))], lr=0.1, foreach=False, **options)
            optimizer.param_groups[0]["params"] = [param]
            param.grad = grad
            optimizer.step()
            return tuple(forward.unpack_dual(param))

    # torch's words name an overload; the tangents of differences of nearly equal numbers are rounded
    both(body, message="Trying to use forward AD with", atol=3e-6 if options.get("centered") else 1e-6)


@steps
@pytest.mark.parametrize("memory", ["parts", "grad_is_part", "grad_is_param", "tied", "one_grad"])
def test_shared_memory(both, name, options, memory):
    def body(torch):
        flat = torch.tensor([1.0, 2.0, -3.5, 4.0, 5.0])
        parameter = torch.nn.Parameter
        if memory == "parts":
            params, grads = [parameter(flat[:3]), parameter(flat[1:4])], [torch.tensor(SLOPES[:3]), torch.tensor(SLOPES[1:])]
        elif memory == "grad_is_part":
            params, grads = [parameter(flat[:4])], [flat[1:]]
        elif memory == "grad_is_param":
            params, grads = [parameter(flat)], [flat]
        elif memory == "tied":
            params, grads = [parameter(flat), parameter(flat)], [torch.ones(5), torch.ones(5)]
        else:
            params, grads = [parameter(flat), parameter(flat * 2)], [torch.full((5,), 0.3)] * 2
        return _stepped(torch, name, options, params, grads, foreach=False, count=3), flat

    both(body)


def test_states_of_a_subclass(both):
    """A momentum buffer with methods of its own, from a checkpoint."""

    def body(torch):
        log = []

        def mul_(self, other):
            log.append(other)
            return torch.Tensor.mul_(self, other)

        param = torch.nn.Parameter(torch.tensor(VALUES))
        optimizer = torch.optim.SGD([param], lr=0.1, momentum=0.9)
        optimizer.state[param]["momentum_buffer"] = torch.ones(4).as_subclass(type("Buffer", (torch.Tensor,), {"mul_": mul_}))
        param.grad = torch.tensor(SLOPES)
        optimizer.step()
        return log, param

    both(body)


def test_plain_steps_are_fused():
    """Plain parameters take the fused way."""
    import mstorch
    from mstorch._src.ops.layers import optim

    with mstorch.no_grad():
        taken = optim.can_fuse([mstorch.nn.Parameter(mstorch.ones(3))], [mstorch.ones(3)], [mstorch.zeros(3)])
    assert taken or mstorch.get_default_device().type != "cpu"

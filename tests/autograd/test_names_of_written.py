"""The node of a tensor after an in-place call has torch's name, for every in-place method and function."""
import warnings

import pytest
import torch as reference

import mstorch

pytestmark = pytest.mark.on_the_cpu

_OTHER = {
    "set_": "there it is refused as the node runs, here before",
    "subtract_": "its older order of arguments",
    "dropout1d": "a product and its views in place, of which one node is told",
    "dropout3d": "a product and its views in place, of which one node is told",
    "elu_": "torch's takes factors, too; the function elu, in place, is looked at",
}
_MODULES = ("", "nn.functional", "special", "linalg")
_NUMBERS = [(), (0.5,), (0.1, 0.5), (0, 1)]


def _inside(torch, module):
    for part in module.split(".") if module else ():
        torch = getattr(torch, part)
    return torch


def _methods():
    for name in dir(reference.Tensor):
        if name.endswith("_") and not name.endswith("__") and not name.startswith("_"):
            yield name, lambda torch, y, *args, name=name: getattr(y, name)(*args)


def _functions():
    for module in _MODULES:
        for name in dir(_inside(reference, module)):
            if name.startswith("_") or not callable(getattr(_inside(reference, module), name)):
                continue
            if name.endswith("_"):
                yield name, lambda torch, y, *args, name=name, module=module: getattr(_inside(torch, module), name)(y, *args)
            elif module == "nn.functional":
                yield name, lambda torch, y, *args, name=name: getattr(torch.nn.functional, name)(y, *args, inplace=True)


def _named(torch, call, args):
    x = torch.linspace(0.1, 0.8, 6, dtype=torch.float64).reshape(2, 3).requires_grad_()
    y = x * 1
    given = (y.detach() * 0.9,) if args == "tensor" else (y.detach(), y.detach() + 1) if args == "tensors" else args
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call(torch, y, *given)
        except Exception:  # noqa: BLE001 - a form that the function does not have
            return None
    return type(y.grad_fn).__name__


@pytest.mark.parametrize("forms", [_methods, _functions])
def test_names(forms):
    seen = wrong = 0
    for name, call in forms():
        for args in (*_NUMBERS, "tensor", "tensors"):
            wanted = _named(reference, call, args)
            if wanted is None or name in _OTHER:
                continue
            found = _named(mstorch, call, args)
            seen += 1
            if found != wanted:
                wrong += 1
                print(f"{name} {args}: {found} and not {wanted}")
    assert not wrong and seen > 20


def test_a_view_keeps_the_node_of_copied_slices():
    for torch in (mstorch, reference):
        y = torch.ones(3, requires_grad=True) * 1
        y[:2].uniform_()
        view = y[1:]
        view.asinh_()
        assert type(y.grad_fn).__name__ == "CopySlices"


class _Names:
    """A Function in either library, and the names of the nodes that its calls made."""

    def __init__(self, torch):
        self.found = found = []

        class Copy(torch.autograd.Function):
            @staticmethod
            def forward(x):
                return x.clone()

            @staticmethod
            def setup_context(ctx, inputs, output):
                pass

            @staticmethod
            def backward(ctx, gradient):
                return gradient

        def call(x):
            y = Copy.apply(x)
            found.append((type(y.grad_fn).__name__, y.grad_fn.name()))
            return y

        self.call = call


def test_names_of_functions_inside_transforms(both):
    def body(torch):
        names = _Names(torch)
        x = torch.tensor(1.0)
        torch.func.grad(names.call)(x)
        torch.func.grad(lambda x: torch.func.grad(names.call)(x) * x)(x)
        names.call(x.requires_grad_())
        return names.found

    both(body)


def test_a_function_without_setup_context_is_refused_by_functionalize(both):
    def body(torch):
        class Sine(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.sin()

            @staticmethod
            def backward(ctx, gradient):
                return gradient

        return torch.func.functionalize(Sine.apply)(torch.ones(2))

    both(body)

"""Subclasses of Tensor as arguments of torch.func's transforms, and packages that replace ``_wrap_tensor_for_grad``."""
import importlib

import pytest

CALLS = {
    "grad": lambda func, f, x: func.grad(f)(x), "vjp": lambda func, f, x: func.vjp(f, x)[0], "jacrev": lambda func, f, x: func.jacrev(f)(x),
    "of another argument": lambda func, f, x: func.grad(lambda y, x: f(x) + y.sum())(x.detach().clone(), x),
    "jacfwd of another": lambda func, f, x: func.jacfwd(lambda y, x: f(x) + y.sum())(x + 0, x), "vmap": lambda func, f, x: func.vmap(f)(x),
}  # fmt: skip


def classes_inside(torch, call, replaced):
    class Tagged(torch.Tensor):
        pass

    seen = []

    def square(x):
        seen.append((type(x).__name__, getattr(x, "tag", None)))
        return (torch.as_tensor(x) ** 2).sum()

    tensor = torch.arange(3.0).as_subclass(Tagged)
    tensor.tag = "a"
    room = importlib.import_module(torch.__name__ + "._functorch.eager_transforms")
    original = room._wrap_tensor_for_grad

    def keeping(*args, **kwargs):
        made = original(*args, **kwargs)
        if isinstance(args[0], Tagged):
            made = made.as_subclass(Tagged)
            made.tag = args[0].tag
        return made

    try:
        if replaced:
            room._wrap_tensor_for_grad = keeping
        result = call(torch.func, square, tensor)
    finally:
        room._wrap_tensor_for_grad = original
    return seen, torch.as_tensor(result).tolist()


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_functions_get_plain_tensors(both, call):
    both(lambda torch: classes_inside(torch, call, False))


@pytest.mark.parametrize("name", ["grad", "vjp", "jacrev", "of another argument"])
def test_a_package_may_keep_the_class(both, name):
    both(lambda torch: classes_inside(torch, CALLS[name], True))


def test_wrapping_outside_a_transform(both):
    def of(torch):
        wrap = importlib.import_module(torch.__name__ + "._functorch.eager_transforms")._wrap_tensor_for_grad
        try:
            wrap(torch.ones(2), 1)
        except RuntimeError:
            return wrap(3, 1)

    both(of)

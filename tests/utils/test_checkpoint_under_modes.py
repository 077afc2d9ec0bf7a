"""Checkpoints whose function, or whose recomputation, runs under a TorchDispatchMode: as many tensors are saved as without it."""
import contextlib
import importlib

import pytest

FUNCTIONS = {
    "exp": lambda x: x.exp(), "sin": lambda x: x.sin(), "sin exp": lambda x: x.sin().exp(), "product": lambda x: x * x, "tanh": lambda x: x.tanh().tanh(),
    "sum": lambda x: (x.sigmoid() * 2).sum(), "shift": lambda x: x + 1, "root": lambda x: x.sqrt().sin(), "quotient": lambda x: x / 2,
    "inverse": lambda x: 2 / x, "ratio": lambda x: x / (x + 1), "gelu": lambda x: (x * 2).cos() * 3, "softmax": lambda x: x.softmax(0).log(),
    "power": lambda x: x**3, "views": lambda x: x.view(2, 2).t().unsqueeze(0).relu(), "one tensor": lambda x: x * x.detach(),
}  # fmt: skip


def checkpointed(torch, function, of_recomputation):
    modes = importlib.import_module(torch.__name__ + ".utils._python_dispatch")
    checkpoint = importlib.import_module(torch.__name__ + ".utils.checkpoint").checkpoint

    class Listing(modes.TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.names = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.names.append(func.__name__)
            return func(*args, **(kwargs or {}))

    listing = Listing()
    pair = (contextlib.nullcontext(), listing) if of_recomputation else (listing, contextlib.nullcontext())
    x = torch.tensor([0.5, 1.0, 2.0, 3.0], requires_grad=True)
    checkpoint(function, x, use_reentrant=False, context_fn=lambda: pair).sum().backward()
    return x.grad, listing.names if of_recomputation else None


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_function_under_a_mode(both, function):
    both(lambda torch: checkpointed(torch, function, False))


@pytest.mark.parametrize("name", ["exp", "sin", "sin exp", "product", "tanh", "sum", "shift", "root"])
def test_recomputation_under_a_mode(both, name):
    both(lambda torch: checkpointed(torch, FUNCTIONS[name], True))

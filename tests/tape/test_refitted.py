"""Tensors with a history whose shape or dtype changes: gradients have the recorded shape, or torch's error is raised."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

MADE = {
    "log_softmax": lambda torch, x: x.log_softmax(0), "mul": lambda torch, x: x * 2, "exp": lambda torch, x: x.exp(),
    "cumsum": lambda torch, x: x.cumsum(0), "softmax": lambda torch, x: x.softmax(0), "tanh": lambda torch, x: x.tanh(),
    "clone": lambda torch, x: x.clone(), "flip": lambda torch, x: x.flip(0), "sum": lambda torch, x: x.sum(0, True),
    "cat": lambda torch, x: torch.cat([x, x]), "index": lambda torch, x: x[torch.tensor([0, 1])], "max": lambda torch, x: x.max(0)[0],
    "double": lambda torch, x: x.double(), "pad": lambda torch, x: torch.nn.functional.pad(x, (1, 1)),
    "mm": lambda torch, x: x[None] @ x[:, None], "dot": lambda torch, x: x @ x, "column": lambda torch, x: x[None].transpose(0, 1).clone(),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
@pytest.mark.parametrize("name", ["log_softmax", "mul", "exp", "cumsum", "softmax", "tanh", "clone", "flip"])
def test_data_of_another_dtype(both, name, dtype):
    def body(torch):
        found = []
        for shape in ((2,), (2, 2), (3, 2)):
            x = torch.tensor([0.0, 1.75]).requires_grad_()
            y = MADE[name](torch, x)
            y.data = torch.zeros(shape, dtype=getattr(torch, dtype))
            gradient = torch.autograd.grad(y.float().sum(), x)[0]
            found += [y.grad_fn.name(), gradient.dtype == x.dtype, gradient.tolist()]
        return found

    both(body, rtol=1e-3)


@pytest.mark.parametrize("shape", [(3, 5), (1, 5), (2,), (3, 1), (), (0,), (10,)])
@pytest.mark.parametrize("name", MADE)
def test_truth_values_put_into_it(both, name, shape):
    def body(torch):
        x = torch.arange(5.0).requires_grad_()
        y = MADE[name](torch, x)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.gt(torch.zeros(shape), 0, out=y)
        try:
            y.sum().backward()
        except RuntimeError as error:
            return str(error).split(":")[0]
        return x.grad.tolist()

    both(body)


@pytest.mark.parametrize("old", [(4, 3), (5,), (), (2, 3), (0, 3), (1, 3)])
@pytest.mark.parametrize("new", [(4, 3, 1), (2, 5), (3, 4), (2, 3), (4, 3), (2, 4, 3), (3, 1, 3)])
@pytest.mark.parametrize("viewed", [False, True])
def test_leaves_of_another_shape(both, viewed, new, old):
    """A gradient is copied into the leaf's current layout, unless it already has it."""
    if len(new) < len(old):
        pytest.skip("torch reads beyond the strides of a leaf of fewer dimensions")

    def body(torch):
        x = torch.ones(old).requires_grad_()
        y = (x.view(*old, 1) if viewed else x) * 2
        x.data = torch.zeros(new)
        y.sum().backward()
        return x.grad

    both(body)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("shape", [(5,), (3,), (2, 5), (1,)])
@pytest.mark.parametrize("graph", ["none", "kept", "used"])
def test_leaves_of_another_dtype(both, graph, shape, dtype):
    """An older graph ends at the leaf's old dtype; a new graph ends at the current one."""

    def body(torch):
        x = torch.full((5,), 1.0, dtype=torch.float64).requires_grad_()
        kept = x * 2 if graph != "none" else None
        x.data = torch.ones(shape, dtype=getattr(torch, dtype))
        (kept if graph == "used" else x).sum().backward()
        return x.grad, x.is_leaf

    both(body)


@pytest.mark.parametrize("shape", [(2, 2, 2), (1, 2), (2,), (3, 1, 2), (0,), ()])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("asked", ["hook", "hook before", "retain_grad", "grad"])
def test_what_hooks_see(both, asked, dtype, shape):
    """Hooks receive the gradient after its conversion."""

    def body(torch):
        seen = []
        x = torch.arange(2.0).requires_grad_()
        y = x * 2
        if asked == "hook before":
            y.register_hook(lambda g: seen.append(g))
        y.data = torch.ones(shape, dtype=getattr(torch, dtype))
        if asked == "hook":
            y.register_hook(lambda g: seen.append(g))
        elif asked == "retain_grad":
            y.retain_grad()
        total = y.float().sum()
        if asked == "grad":
            return torch.autograd.grad(total, y)[0]
        total.backward()
        return seen, y.grad if asked == "retain_grad" else None, x.grad

    both(body, strides=False)


@pytest.mark.parametrize("program", [
    "y = x * w; w.data = torch.ones(5); y.sum().backward()",
    "y = x @ w.t(); w.data = torch.ones(5, 4); y.sum().backward()",
    "y = (x * 2).gather(0, torch.zeros(2, 2, dtype=torch.int64)); n = torch.no_grad(); n.__enter__(); y.set_(torch.ones(5)); "
    "n.__exit__(None, None, None); y.sum().backward()",
])  # fmt: skip
def test_saved_tensors_that_no_longer_fit(both, program):
    """A RuntimeError, whichever kernel detects it; leaves that backward had not reached get no gradient."""

    def body(torch):
        x, w = torch.ones(3, 2, requires_grad=True), torch.ones(3, 2, requires_grad=True)
        try:
            exec(program, {"torch": torch, "x": x, "w": w})
        except RuntimeError as error:
            return type(error) is RuntimeError, x.grad

    both(body)


@pytest.mark.parametrize("how", ["w.data = other", "w.data.add_(1)", "w.set_(other)", "w.data = torch.ones(3, 2)"])
@pytest.mark.parametrize("layer", ["F.linear(x, w)", "F.linear(x, w, b)", "F.linear(x[0], w)", "F.linear(x[None], w, b)"])
@pytest.mark.parametrize("twice", [False, True])
def test_a_layer_keeps_the_weight_that_it_was_computed_with(both, layer, how, twice):
    """torch saves a view of the weight, which shows the old memory."""

    def body(torch):
        x, w = torch.arange(4.0).reshape(2, 2).requires_grad_(), (torch.arange(4.0) + 1).reshape(2, 2).requires_grad_()
        names = {"torch": torch, "F": torch.nn.functional, "x": x, "w": w, "b": torch.ones(2, requires_grad=True)}
        found = eval(layer, names).pow(2).sum()
        names["other"] = torch.tensor([[5.0, 6], [7, 8]])
        with torch.no_grad():
            exec(how, names)
        first, = torch.autograd.grad(found, x, create_graph=twice)
        return first, torch.autograd.grad(first.sum(), [x, w], allow_unused=True) if twice else None

    both(body, message="has been modified by an inplace operation")


def test_set_gives_histories_and_shapes_as_torch_does(both):
    def views_made_without_grad(torch):
        base = torch.ones(2, 3, requires_grad=True)
        with torch.no_grad():
            view = base.view(3, 2)
        other = torch.zeros(1)
        try:
            other.set_(view)
        except RuntimeError as error:
            return str(error)
        return other, other.requires_grad, other.is_leaf

    def without_grad(torch):
        base = torch.ones(2, 3, requires_grad=True)
        result = base * 2
        with torch.no_grad():
            result.set_(torch.ones(1, 3))
        try:
            result.sum().backward()
        except RuntimeError as error:
            return str(error)[:60]
        return base.grad

    both(views_made_without_grad)
    both(without_grad)


@pytest.mark.parametrize("alive", [True, False])
@pytest.mark.parametrize("hooked", [True, False])
@pytest.mark.parametrize("shape", [(2, 2, 3), (3,), (1,), (2, 5)])
def test_gradients_fit_what_a_leaf_was(both: Callable[..., Any], shape: tuple[int, ...], hooked: bool, alive: bool) -> None:
    def body(torch: Any) -> Any:
        p = torch.nn.Parameter(torch.arange(3.0))
        graph = p.sum() if alive else None
        seen: list[Any] = []
        if hooked:
            p.register_hook(lambda g: seen.append(g.clone()))
        p.data = torch.ones(shape)
        (first,) = torch.autograd.grad((p**2).sum(), p)
        (p**2).sum().backward()
        return first, p.grad, seen, graph is None

    both(body)

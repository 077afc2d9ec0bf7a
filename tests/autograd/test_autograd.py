"""Gradients, accumulation, hooks, modes and custom functions are torch's, errors included."""
from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

import mstorch

pytestmark = pytest.mark.core

Both = Callable[..., Any]


def test_backward_accumulates_in_the_same_tensor(both: Both) -> None:
    def body(torch: Any) -> Any:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        (x * x).sum().backward()
        first = x.grad
        (x * 3).sum().backward()
        return x.grad, first is x.grad, x.is_leaf, (x * 2).is_leaf

    both(body)


def test_gradient_argument(both: Both) -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(2, 2, requires_grad=True)
        (x * 2).backward(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        return x.grad

    both(body)
    both(lambda torch: (torch.ones(2, requires_grad=True) * 2).backward(), message="grad can be implicitly created only for scalar outputs")
    both(lambda torch: (torch.ones(2, requires_grad=True) * 2).backward(torch.ones(3)), message="Mismatch in shape: grad_output[0]")
    both(lambda torch: torch.ones(2).sum().backward(), message="element 0 of tensors does not require grad and does not have a grad_fn")


def test_a_graph_is_freed(both: Both) -> None:
    def twice(torch: Any, keep: bool) -> Any:
        x = torch.ones(2, requires_grad=True)
        y = (x * x).sum()
        y.backward(retain_graph=keep)
        y.backward()
        return x.grad

    both(lambda torch: twice(torch, True))
    both(lambda torch: twice(torch, False), message="Trying to backward through the graph a second time")


def test_retain_grad_and_inputs(both: Both) -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(2, requires_grad=True)
        w = torch.full((2,), 3.0, requires_grad=True)
        y = x * w
        y.retain_grad()
        z = (y * y).sum()
        z.backward(retain_graph=True)
        first = (y.grad, x.grad, w.grad, y.retains_grad)
        x.grad = w.grad = None
        z.backward(inputs=[x])
        return first, x.grad, w.grad

    both(body)


def test_grad(both: Both) -> None:
    def body(torch: Any) -> Any:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        w = torch.tensor([3.0, 4.0], requires_grad=True)
        y = x * w
        z = (y * y * x).sum()
        together = torch.autograd.grad(z, [x, y, w], retain_graph=True)
        single = torch.autograd.grad(z, y, retain_graph=True)
        (dx,) = torch.autograd.grad(z, x, create_graph=True)
        (dxx,) = torch.autograd.grad(dx.sum(), x)
        unused = torch.autograd.grad((x * 2).sum(), [x, w], allow_unused=True)
        zeros = torch.autograd.grad((x * 2).sum(), [x, w], materialize_grads=True)
        return together, single, dx.detach(), dx.requires_grad, dxx, unused, zeros, x.grad

    both(body)
    both(
        lambda torch: torch.autograd.grad(torch.ones(1, requires_grad=True).sum(), torch.ones(1, requires_grad=True)),
        message="The differentiated Tensor at index 0 appears to not have been used in the graph",
    )


def test_third_derivative(both: Both) -> None:
    def body(torch: Any) -> Any:
        x = torch.tensor([2.0], requires_grad=True)
        y = x**4
        results = []
        for _ in range(3):
            (y,) = torch.autograd.grad(y.sum(), x, create_graph=True)
            results.append(y.detach())
        return results

    both(body)


def test_hooks(both: Both) -> None:
    def body(torch: Any) -> Any:
        seen = []
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        h1 = y.register_hook(lambda g: seen.append(("y", g.tolist())))
        y.register_hook(lambda g: g * 10)
        y.register_hook(lambda g: seen.append(("again", g.tolist())))
        x.register_hook(lambda g: g + 1)
        x.register_post_accumulate_grad_hook(lambda p: seen.append(("post", p.grad.tolist())))
        (y * 3).sum().backward(retain_graph=True)
        h1.remove()
        (y * 3).sum().backward()
        return x.grad, seen

    both(body)
    both(lambda torch: torch.ones(2).register_hook(print), message="cannot register a hook on a tensor that doesn't require gradient")


def test_modes_are_cloned(both: Both) -> None:
    def body(torch: Any) -> Any:
        seen = []
        for mode in (torch.no_grad(), torch.enable_grad(), torch.inference_mode(False), torch.inference_mode(), torch.set_grad_enabled(False)):
            other = mode.clone()
            assert other is not mode
            with other:
                seen.append((type(other).__name__, torch.is_grad_enabled(), torch.is_inference_mode_enabled()))
        torch.set_grad_enabled(True)
        return seen

    both(body)


def test_modes(both: Both) -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(2, requires_grad=True)

        @torch.no_grad()
        def silent(value: Any) -> Any:
            return value * 2

        @torch.no_grad()
        def steps() -> Any:
            yield torch.is_grad_enabled()
            yield (x * 2).requires_grad

        with torch.no_grad():
            a = x * 2
            with torch.enable_grad():
                b = x * 2
        with torch.set_grad_enabled(False):
            c = x * 2
        with torch.inference_mode():
            d = torch.is_inference_mode_enabled(), (x * 2).requires_grad
        torch.set_grad_enabled(False)
        e = x * 2
        torch.set_grad_enabled(True)
        flags = [t.requires_grad for t in (a, b, c, e, silent(x), x * 2)]
        return flags, d, list(steps()), torch.is_grad_enabled()

    both(body)


def test_a_mode_ends_with_an_error() -> None:
    with pytest.raises(ValueError, match="stop"), mstorch.no_grad():
        raise ValueError("stop")
    assert mstorch.is_grad_enabled()


def test_detach_and_requires_grad(both: Both) -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        d = y.detach()
        z = (y * d).sum()
        z.backward()
        y2 = x * 3
        y2.detach_()
        frozen = torch.ones(2).requires_grad_().requires_grad_(False)
        return x.grad, d, y2, frozen, d.is_leaf

    both(body)
    both(lambda torch: torch.ones(2, dtype=torch.int64).requires_grad_(), message="can require gradients")
    both(
        lambda torch: (torch.ones(2, requires_grad=True) * 1).requires_grad_(False),
        message="you can only change requires_grad flags of leaf variables",
    )
    both(lambda torch: torch.tensor([1], requires_grad=True), message="can require gradients")


def test_in_place_operations_are_differentiated(both: Both) -> None:
    def body(torch: Any) -> Any:
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y = x * 1
        y.mul_(2)
        y[0] = 5
        y[1:].add_(x[:2])
        y.t().mul_(3)
        z = torch.zeros(3)
        z[1] = y[2]
        z.add_(y)
        (z * z).sum().backward()
        return x.grad, z

    both(body)


def test_assigning_gradients(both: Both) -> None:
    both(lambda torch: setattr(torch.ones(2, requires_grad=True), "grad", torch.ones(3)), message="assign a gradient of size")
    both(lambda torch: setattr(torch.ones(2, requires_grad=True), "grad", 3), message="assigned grad expected to be a Tensor or None")


def test_functions(both: Both) -> None:
    def body(torch: Any) -> Any:
        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any, scale: float) -> Any:
                ctx.save_for_backward(x)
                ctx.scale = scale
                return x**3 * scale, (x > 0)

            @staticmethod
            def backward(ctx: Any, grad: Any, _: Any) -> Any:
                (x,) = ctx.saved_tensors
                assert ctx.needs_input_grad == (True, False)
                return grad * 3 * x**2 * ctx.scale, None

        class Split(torch.autograd.Function):
            @staticmethod
            def forward(x: Any) -> Any:
                return x * 2, x * 3

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                ctx.mark_non_differentiable(output[1])

            @staticmethod
            def backward(ctx: Any, first: Any, second: Any) -> Any:
                return first * 2

        x = torch.tensor([1.0, -2.0], requires_grad=True)
        y, mask = Cube.apply(x, 2.0)
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        (gg,) = torch.autograd.grad(g.sum(), x)
        a, b = Split.apply(x)
        (a * b).sum().backward()
        with torch.no_grad():
            plain, _ = Cube.apply(x, 1.0)
        return y.detach(), mask, g.detach(), gg, a.requires_grad, b.requires_grad, x.grad, plain, repr(y)

    both(body)


def test_a_function_that_returns_too_few_gradients(both: Both) -> None:
    def body(torch: Any) -> Any:
        class Bad(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any, y: Any) -> Any:
                return x * y

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return grad

        x = torch.ones(2, requires_grad=True)
        Bad.apply(x, x).sum().backward()

    both(body, message="returned an incorrect number of gradients (expected 2, got 1)")


def test_grad_fn(both: Both) -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(2, requires_grad=True)
        y = x + 1
        return x.grad_fn is None, y.grad_fn is not None, type(y.grad_fn).__name__ != "", (y * 2).grad_fn.next_functions != ()

    both(body)


def test_only_leaves_are_copied(both: Both) -> None:
    both(lambda torch: copy.deepcopy(torch.ones(1, requires_grad=True) * 2), message="Only Tensors created explicitly by the user")


def test_training_goes_on_after_native_autograd() -> None:
    import mindspore
    import numpy as np

    model = mstorch.nn.Linear(2, 1)
    x = mstorch.ones(3, 2)
    model(x).sum().backward()
    before = model.weight.grad.clone()
    gradients = mindspore.value_and_grad(lambda value: model(value).sum(), None, model.trainable_params())
    _, native = gradients(mindspore.Tensor(np.ones((3, 2), np.float32)))
    np.testing.assert_allclose(native[0].asnumpy(), before.numpy())
    model.zero_grad()
    model(x).sum().backward()
    assert model.weight.grad.tolist() == before.tolist()


def test_a_tensor_is_shown_after_its_graph_was_freed(both: Both) -> None:
    def body(torch: Any) -> Any:
        y = torch.ones(3, requires_grad=True).sum()
        y.backward()
        return repr(y).startswith("tensor(3., grad_fn="), y.grad_fn is not None

    both(body)


IN_PLACE_SAVED = {
    "argument": lambda y, x: y.sin_(), "other": lambda y, x: y.mul_(x), "result": lambda y, x: y.exp_(), "view": lambda y, x: y[:1].mul_(x[1]),
    "indexed": lambda y, x: y.index_put_((x.argmax(),), x[0] * x[0]),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_PLACE_SAVED)
def test_saved_hooks_see_the_value_before_a_write(name, both):
    def body(t):
        with t.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
            x = t.tensor([1.0, 2.0], requires_grad=True)
            y = x.clone()
            IN_PLACE_SAVED[name](y, x)
            (y * y).sum().backward()
            return y, x.grad

    both(body)


def test_mutation_of_saved_tensors_copies_once(both):
    def body(t):
        with t.autograd.graph.allow_mutation_on_saved_tensors() as kept:
            counts = []
            a = t.tensor([1.0, 2.0], requires_grad=True).clone()
            b, c = a**2, a**2
            counts.append((len(kept.tid_to_weakhandle), len(kept.cloned)))
            a.sin_()
            counts.append(len(kept.cloned))
            d = a[:1] ** 2
            a.zero_()
            counts.append(len(kept.cloned))
            grads = t.autograd.grad((b + c).sum() + d.sum(), a, allow_unused=True)
            del b, c, d
            counts.append(len(kept.cloned))
            with pytest.raises(RuntimeError, match="cannot be nested"):
                t.autograd.graph.allow_mutation_on_saved_tensors().__enter__()
        return counts, grads

    both(body)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("held", ["sparse", "dense"])
@pytest.mark.parametrize("given", ["sparse", "dense"])
def test_sparse_and_dense_gradients_add_up(held, given, create_graph, both):
    def body(t):
        kinds = {"sparse": lambda: t.sparse_coo_tensor(t.tensor([[1, 1]]), t.tensor([1.0, 1.0])), "dense": lambda: t.tensor([1.5, 1.5])}
        leaf = t.tensor([1.5, 1.5], requires_grad=True)
        before = leaf.grad = kinds[held]()
        leaf.backward(kinds[given](), create_graph=create_graph)
        return leaf.grad.to_dense().detach(), leaf.grad is before

    both(body)


def test_a_pass_tells_what_it_runs(both):
    def body(t):
        found = []
        x = t.tensor([1.0], requires_grad=True)
        y = x.sin()
        z = y.exp()

        def hook(g):
            order = [node.name() for node in t._C._current_graph_task_execution_order()]
            found.append((order, t._C._will_engine_execute_node(y.grad_fn), t._C._autograd._get_current_graph_task_keep_graph()))

        z.register_hook(hook)
        with t.autograd.set_multithreading_enabled(False):
            z.backward(retain_graph=True)
            t.autograd.grad(z, y)
        return found, t._C._current_graph_task_id(), t._C._current_autograd_node()

    both(body)


@pytest.mark.parametrize("shape", [(4,), (2, 2)])
def test_gradients_at_an_edge_are_checked(both: Callable[..., Any], shape: tuple[int, ...]) -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(2, 2, requires_grad=True)
        edge = torch.autograd.graph.get_gradient_edge(x * 2)
        return torch.autograd.grad(edge, x, torch.ones(shape, dtype=torch.float64))[0]

    both(body)


def test_a_function_must_return_the_tensor_that_it_marked_dirty(both: Callable[..., Any]) -> None:
    def body(torch: Any) -> Any:
        class Add(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                x.add_(1)
                ctx.mark_dirty(x)
                return x.clone()

            @staticmethod
            def backward(ctx: Any, gradient: Any) -> Any:
                return gradient

        return Add.apply(torch.ones(2, requires_grad=True) * 2)

    both(body)


def test_products_of_several_zeros_have_no_second_derivative(both: Callable[..., Any]) -> None:
    def body(torch: Any) -> Any:
        source = torch.tensor([0.0, 0.0, 2.0], requires_grad=True)
        product = torch.tensor([1.0, 2.0]).scatter_reduce(0, torch.tensor([0, 0, 1]), source, "prod")
        (slope,) = torch.autograd.grad(product.sum(), source, create_graph=True)
        slope.sum().backward()

    both(body)


def test_resize_in_a_memory_format(both: Callable[..., Any]) -> None:
    def body(torch: Any) -> Any:
        x = torch.arange(48.0).resize_(2, 3, 2, 4, memory_format=torch.channels_last)
        return x, x.stride(), x.is_contiguous(memory_format=torch.channels_last)

    both(body)


@pytest.mark.parametrize("nothing", [[], (), None])
@pytest.mark.parametrize("call", [
    "torch.autograd.grad(x.sum(), nothing)", "torch.autograd.grad(nothing, x)", "x.sum().backward(inputs=nothing)",
    "torch.autograd.backward(x.sum(), inputs=nothing)", "torch.autograd.grad(x.sum(), nothing, is_grads_batched=True, grad_outputs=torch.ones(2))",
])
def test_gradients_with_respect_to_nothing(both, call, nothing):
    both(lambda torch: eval(call, {"torch": torch, "x": torch.ones(2, requires_grad=True), "nothing": nothing}))

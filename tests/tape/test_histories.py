"""Histories as torch keeps them: writes to views, what backward needs, hooks, leaves and versions."""
from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import mstorch

Both = Callable[..., Any]


def third(torch: Any, build: Callable[[Any], Any], at: list[float]) -> list[Any]:
    """Return the first three derivatives of a function of one vector."""
    leaf = torch.tensor(at, requires_grad=True)
    found, y = [], build(leaf)
    for _ in range(3):
        (y,) = torch.autograd.grad(y, leaf, create_graph=True)
        found.append(y.detach().clone())
        y = y.sum()
    return found


def _mul_into_a_slice(torch: Any) -> Callable[[Any], Any]:
    def f(b: Any) -> Any:
        x = torch.ones(2)
        x[0:1].mul_(b)
        return (x**3).sum()

    return f


def _an_early_view(torch: Any) -> Callable[[Any], Any]:
    def f(r: Any) -> Any:
        x = r.clone()
        early = x[0:1]
        x[0:1].add_(r[1:] * 3)
        return (x**3).sum() + (early**4).sum()

    return f


def _a_view_of_a_view(torch: Any) -> Callable[[Any], Any]:
    def f(r: Any) -> Any:
        x = (r * 1.5).reshape(1, -1)
        x.t()[1:].mul_(r[:1])
        x[0, :1].pow_(3)
        return (x**2).sum()

    return f


def _index_put(torch: Any) -> Callable[[Any], Any]:
    def f(r: Any) -> Any:
        x = r * 2
        x[torch.tensor([1])] = r[:1] ** 3
        return (x * x * r).sum()

    return f


@pytest.mark.parametrize("build", [_mul_into_a_slice, _an_early_view, _a_view_of_a_view, _index_put])
def test_three_derivatives_through_writes(both: Both, build: Any) -> None:
    at = [2.0] if build is _mul_into_a_slice else [0.5, 1.5]
    both(lambda torch: third(torch, build(torch), at), rtol=1e-4)


REFUSED = {
    "leaf": lambda t: t.ones(2, requires_grad=True).add_(1),
    "view of a leaf": lambda t: t.ones(2, requires_grad=True)[:1].zero_(),
    "part of a split": lambda t: t.ones(4, requires_grad=True).clone().split(2)[1].add_(1),
    "part of an unbind": lambda t: t.ones(2, 2, requires_grad=True).clone().unbind(0)[0].mul_(2),
    "saved result": lambda t: [y := t.ones(2, requires_grad=True).exp(), y.add_(1), y.sum().backward()],
    "saved input": lambda t: [x := t.ones(2), y := x * t.ones(2, requires_grad=True), x.add_(1), y.sum().backward()],
    "expanded": lambda t: t.zeros(1, 3).expand(2, 3).add_(1),
    "twice": lambda t: [y := t.ones(2, requires_grad=True).exp().sum(), y.backward(), y.backward()],
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_torch_refuses(both: Both, name: str) -> None:
    both(REFUSED[name])


def test_a_view_made_without_grad_may_not_be_written(both: Both) -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(4, requires_grad=True).clone()
        with torch.no_grad():
            part = x[:2]
        return part.requires_grad, part.add_(1)

    both(body, message="A view was created in no_grad mode and is being modified inplace")


def test_backward_runs_twice_if_nothing_is_saved(both: Both) -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(3, requires_grad=True)
        y = (x + 2).sum()
        y.backward()
        y.backward()
        return x.grad

    both(body)


def test_data_counts_its_own_versions(both: Both) -> None:
    def body(torch: Any) -> Any:
        w = torch.ones(3, requires_grad=True)
        y = (w * w).sum()
        w.data.clamp_(max=0.5)
        y.backward()
        return w.grad, w._version, w.data._version, w.detach()._version

    both(body)


def test_parameters_over_one_flat_buffer(both: Both) -> None:
    def body(torch: Any) -> Any:
        flat = torch.arange(8.0)
        first, second = torch.nn.Parameter(torch.zeros(2)), torch.nn.Parameter(torch.zeros(2, 3))
        first.data, second.data = flat[:2], flat[2:].view(2, 3)
        (first.sum() * second.sum()).backward()
        with torch.no_grad():
            for p in (first, second):
                p.add_(p.grad, alpha=-0.1)
        return flat, first.data_ptr() == flat.data_ptr(), second.data_ptr() == flat[2:].data_ptr(), second.detach()

    both(body)


def test_copies_share_and_pickles_keep_strides(both: Both) -> None:
    def body(torch: Any) -> Any:
        a = torch.arange(6.0).reshape(2, 3).t()
        shallow = copy.copy(a)
        shallow[0, 0] = 9
        again = pickle.loads(pickle.dumps(a))
        return a, again, again.stride(), shallow.data_ptr() == a.data_ptr()

    both(body)


@pytest.mark.on_the_cpu
def test_numpy_and_views_see_one_memory(both: Both) -> None:
    def body(torch: Any) -> Any:
        x = torch.arange(4.0) * 2
        view, address = x[1:3], x.data_ptr()
        x.numpy()[1] = 5
        x += 1
        return x, view, x.data_ptr() == address, x[0]._base is x

    both(body)


def test_hooks_of_tensors_nodes_and_leaves(both: Both) -> None:
    def body(torch: Any) -> Any:
        seen: list[Any] = []
        x = torch.ones(2, requires_grad=True)
        y = x * 3
        y.retain_grad()
        y.register_hook(lambda g: g * 2)
        y.grad_fn.register_hook(lambda inner, outer: seen.append((len(inner), outer[0].clone())))
        y.grad_fn.register_prehook(lambda outer: (outer[0] + 1,))
        x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.clone()))
        (y * y).sum().backward()
        y.grad_fn.metadata["note"] = 1
        return x.grad, y.grad, seen, y.grad_fn.metadata, y.grad_fn.name(), y.output_nr

    both(body)


def test_retained_gradients_follow_a_write(both: Both) -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        y.retain_grad()
        y.add_(x)
        (y * y).sum().backward()
        return x.grad, y.grad

    both(body)


def test_saved_tensors_hooks(both: Both) -> None:
    def body(torch: Any) -> Any:
        packed: list[Any] = []

        def pack(t: Any) -> Any:
            packed.append(t.detach().clone())
            return len(packed) - 1

        x = torch.arange(3.0, requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda place: packed[place] * 2):
            y = x * x
        y.sum().backward()
        with torch.autograd.graph.save_on_cpu():
            z = (x * x.exp()).sum()
        z.backward()
        with torch.autograd.graph.disable_saved_tensors_hooks("none here"):
            try:
                with torch.autograd.graph.saved_tensors_hooks(pack, pack):
                    x * x
            except RuntimeError as error:
                text = str(error)
        return x.grad, len(packed), packed[0], text

    both(body)


def test_gradient_edges(both: Both) -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(2, requires_grad=True)
        y = x * 3
        edge = torch.autograd.graph.get_gradient_edge(y)
        return torch.autograd.grad((y * y).sum(), (edge, x)), type(edge).__name__

    both(body)


def test_inference_tensors(both: Both) -> None:
    def body(torch: Any) -> Any:
        with torch.inference_mode():
            made = torch.ones(2)
            part = made[:1]
        w = torch.ones(2, requires_grad=True)
        found = [made.is_inference(), part.is_inference(), (made + w).requires_grad]
        for run in (lambda: made * w, lambda: made.add_(1), lambda: made._version, lambda: made.requires_grad_()):
            try:
                run()
            except RuntimeError as error:
                found.append(str(error))
        return found

    both(body)


def test_a_function_that_never_runs_backward_is_let_go() -> None:
    class Keep(mstorch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            big = mstorch.ones(1000)
            seen.append(weakref.ref(big))
            ctx.save_for_backward(big)
            return x * 1

    seen: list[Any] = []
    x = mstorch.ones(2, requires_grad=True)
    for _ in range(5):
        Keep.apply(x)
    gc.collect()
    assert [ref() for ref in seen] == [None] * 5


def test_threads_have_modes_of_their_own() -> None:
    inside, done = threading.Event(), threading.Event()

    def work() -> None:
        with mstorch.no_grad():
            inside.set()
            done.wait(5)

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait(5)
    assert mstorch.is_grad_enabled() and (mstorch.ones(2, requires_grad=True) * 2).requires_grad
    done.set()
    thread.join()
    assert mstorch.is_grad_enabled()


def _trained(seed: int) -> list[float]:
    generator = mstorch.Generator().manual_seed(seed)
    weight = mstorch.randn(6, 3, generator=generator, requires_grad=True)
    optimizer = mstorch.optim.Adam([weight], lr=0.05)
    losses = []
    for _ in range(40):
        x = mstorch.randn(8, 6, generator=generator)
        loss = mstorch.nn.functional.gelu(x @ weight).softmax(-1).log().mean().neg()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_threads_train_models_of_their_own() -> None:
    want = [_trained(seed) for seed in range(4)]
    found: dict[int, list[float]] = {}
    threads = [threading.Thread(target=lambda seed=seed: found.__setitem__(seed, _trained(seed))) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[seed] for seed in range(4)] == want


def _shown_otherwise(torch: Any, change: Callable[[Any, Any], Any]) -> list[Any]:
    leaf, weight = torch.ones(2, 3, requires_grad=True), torch.arange(6.0).reshape(3, 2)
    y = leaf * 3
    view = change(y, weight)
    (y.sum() if y.shape != weight.shape else (y * weight).sum()).backward()
    return [leaf.grad, y, y._version, None if view is None else view.detach()]


def _a_view_of_its_own(y: Any, weight: Any) -> Any:
    view = y[:]
    view.t_()
    return view.mul_(weight)


def _an_early_view_and_a_row(y: Any, weight: Any) -> Any:
    view = y[0]
    y.t_()
    view.mul_(2)
    y[1] = 7
    return view


@pytest.mark.parametrize(
    "change",
    [
        lambda y, weight: y.t_(),
        lambda y, weight: y.t_().mul_(weight),
        lambda y, weight: y.unsqueeze_(0).transpose_(0, 2).squeeze_(),
        lambda y, weight: y.as_strided_((2,), (1,)),
        _a_view_of_its_own,
        _an_early_view_and_a_row,
    ],
)
def test_gradients_follow_what_a_tensor_shows(both: Both, change: Any) -> None:
    both(lambda torch: _shown_otherwise(torch, change))


@pytest.mark.parametrize("key", [0, (slice(None), 1), slice(0, 1), slice(None), ...])
def test_a_leaf_written_into_a_plain_tensor(both: Both, key: Any) -> None:
    def body(torch: Any) -> list[Any]:
        leaf, plain = torch.tensor([1.0, 2.0], requires_grad=True), torch.ones(2, 2)
        plain[key] = leaf
        (plain * plain).sum().backward()
        return [leaf.grad, plain]

    both(body)


def test_writes_of_a_whole_leaf(both: Both) -> None:
    def body(torch: Any) -> list[Any]:
        leaf, plain, view = torch.tensor([1.0, 2.0], requires_grad=True), torch.ones(2), torch.ones(2)
        plain.copy_(leaf)
        view[:].copy_(leaf)
        (plain * view).sum().backward()
        return [leaf.grad, plain, view]

    both(body)


def test_set_keeps_its_own_count(both: Both) -> None:
    def body(torch: Any) -> list[Any]:
        x, other = torch.ones(2), torch.zeros(3)
        x.set_(other)
        x.resize_(2)
        return [x, x._version, other._version]

    both(body)


@pytest.mark.parametrize("size", [(1, -1), (1, 1, 3), (2, 1, 3), (1, 2, 3)])
def test_strides_of_expanded_tensors(both: Both, size: tuple[int, ...]) -> None:
    both(lambda torch: torch.ones(3).expand(size).stride())


def test_windows_of_windows(both: Both) -> None:
    def body(torch: Any) -> list[Any]:
        torch.manual_seed(0)
        x = torch.rand(5, 6, requires_grad=True)
        u = x.unfold(0, 3, 1)
        u.retain_grad()
        v = u.unfold(1, 2, 2)
        v.retain_grad()
        w = v[1]
        (w * torch.rand(w.shape)).sum().backward()
        y = torch.rand(5, 6, requires_grad=True)
        strided = y.as_strided((4, 3), (1, 1)).as_strided((2, 2), (1, 2))
        (strided**3).sum().backward()
        (again,) = torch.autograd.grad((y.unfold(0, 3, 2).unfold(1, 2, 1) ** 3).sum(), y, create_graph=True)
        (twice,) = torch.autograd.grad((again**2).sum(), y)
        return [x.grad, u.grad, v.grad, y.grad, again, twice]

    both(body)


@pytest.mark.parametrize("write", ["mul_", "setitem", "own", "without_grad"])
def test_a_leaf_that_is_a_view(both: Both, write: str) -> None:
    def body(torch: Any) -> Any:
        leaf = torch.arange(6.0).reshape(2, 3).requires_grad_()
        row = leaf[0]
        if write == "mul_":
            row.mul_(2)
        elif write == "setitem":
            leaf[0, 0] = 1
        elif write == "own":
            leaf.add_(1)
        else:
            with torch.no_grad():
                row.add_(1)
                leaf.mul_(2)
            (leaf * leaf).sum().backward()
        return leaf.grad

    both(body)


@pytest.mark.parametrize(
    ("leaf", "view", "write"),
    [
        ("torch.ones(2, 3)", "x.t()", "x.detach().mul_(2)"),
        ("torch.ones(2, 3)", "x.diagonal(1)", "torch.cumsum(x, 0, out=x)"),
        ("torch.ones(3).reshape(3)", "x.view(3)", "x.mul_(2)"),  # the leaf is a view of a tensor that requires no gradient
        ("torch.ones(4)[1:]", "x[:2]", "x.detach().zero_()"),
        ("torch.ones(4)[1:]", "x[:2]", "None"),
    ],
)
def test_a_view_updates_its_grad_fn_after_a_write_to_its_base(both: Both, leaf: str, view: str, write: str) -> None:
    def body(torch: Any) -> Any:
        x = eval(leaf, {"torch": torch}).requires_grad_()
        seen = eval(view, {"x": x})
        with torch.no_grad():
            eval(write, {"torch": torch, "x": x})
        name, leads = seen.grad_fn.name(), seen.grad_fn.next_functions[0][0] is None
        (seen * seen).sum().backward()
        return name, leads, seen.requires_grad, x.grad

    both(body)


def test_what_requires_gradients_is_not_written_to_a_view_from_no_grad(both: Both) -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(3, requires_grad=True)
        with torch.no_grad():
            y = torch.arange(6.0).reshape(2, 3)
        told = []
        for write in (lambda: y.add_(x), lambda: y[...].mul_(x), lambda: y.copy_(x), lambda: y.set_(x)):
            try:
                write()
            except RuntimeError as error:
                told.append(str(error))
        return told, y, y._version

    both(body)


@pytest.mark.parametrize("write", ["x[0] = w[0]", "x[0] = 2.0", "x[:1] += w[0]", "x[1:].zero_()", "x[...].add_(w[0])", "x.add_(w)"])
def test_what_was_written_to_a_part_is_gone_through_once(both: Both, write: str) -> None:
    def body(torch: Any) -> Any:
        w = torch.ones(3, requires_grad=True)
        x = w.clone()
        exec(write, {"x": x, "w": w})
        total = x.sum()
        total.backward(retain_graph=True)
        total.backward()
        try:
            total.backward()
        except RuntimeError as error:
            return str(error), w.grad
        return w.grad

    both(body)


WRITTEN = {
    "copy_": lambda t, b: t.copy_(b), "all": lambda t, b: t.__setitem__(slice(None), b), "part": lambda t, b: t.__setitem__(slice(0, 2), b[:2]),
    "number": lambda t, b: t.__setitem__(..., b.sum()), "copy_ of a number": lambda t, b: t.copy_(b.sum()), "made": lambda t, b: t.copy_(b * 2),
    "put": lambda t, b: t.__setitem__(..., b * 2), "row": lambda t, b: t.__setitem__(..., b[0]), "dtype": lambda t, b: t.copy_(b.double()),
    "fill_": lambda t, b: t.fill_(b.sum()), "fill_ with a number": lambda t, b: t.fill_(2), "zero_": lambda t, b: t.zero_(),
    "python": lambda t, b: t.__setitem__(..., 2.0), "detached": lambda t, b: t.copy_(b.detach()),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
def test_overwritten_values_get_zero_gradients(both, name):
    """A write of all elements has its own node: the old values get a gradient of zeros, the new ones the whole gradient."""

    def body(torch):
        a, b = torch.ones(3, 3).requires_grad_(), torch.ones(3, 3).requires_grad_()
        t = a * 2
        WRITTEN[name](t, b)
        names = type(t.grad_fn).__name__, type(t.grad_fn.next_functions[0][0]).__name__
        t.backward(torch.ones_like(t))
        fresh = torch.zeros(3, 3)
        WRITTEN[name](fresh, b)
        return names, fresh.requires_grad, a.grad, b.grad

    both(body, strides=False)

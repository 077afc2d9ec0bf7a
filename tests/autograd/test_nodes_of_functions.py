"""Nodes with several results, of custom functions and of views that were written to, as hooks see them, compared with torch."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

SPREADS = {
    "all": {}, "rows": {"dim": 0}, "both": {"dim": (0, 1), "keepdim": True}, "count": {"correction": 0},
    "nothing left": {"correction": 12}, "less than nothing": {"dim": 0, "correction": 5},
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("kind", ["float32", "complex64", "float16"])
@pytest.mark.parametrize("name", SPREADS)
@pytest.mark.parametrize("function", ["var_mean", "std_mean"])
def test_spread_and_mean_are_one_node(both: Callable[..., Any], function: str, name: str, kind: str) -> None:
    def body(torch: Any) -> Any:
        x = torch.tensor([[1.5, -2.0, 0.25, 3.0], [0.5, 3.0, 0.75, 2.0], [-1.0, 4.0, 2.5, 2.5]])
        x = x.to(getattr(torch, kind)).requires_grad_()
        found = []
        for chosen in (slice(None), slice(0, 1), slice(1, 2)):
            parts = getattr(torch, function)(x, **SPREADS[name])
            total = sum((part * part.conj()).real.sum() if part.is_complex() else (part * part).sum() for part in parts[chosen])
            seen: list[Any] = []
            parts[0].grad_fn.register_prehook(lambda gradients, seen=seen: seen.append([g is None for g in gradients]))
            (first,) = torch.autograd.grad(total, x, create_graph=True)
            (second,) = torch.autograd.grad(first.abs().sum(), x, allow_unused=True)
            found += [[(p.grad_fn.name(), p.output_nr) for p in parts], seen, parts[0].detach(), parts[1].detach(), first.detach()]
            found.append(second if kind == "float32" else None)  # torch rounds second gradients in another order
        return found

    both(body, **({"rtol": 2e-3, "atol": 2e-3} if kind == "float16" else {}))


def test_mean_may_be_written(both: Callable[..., Any]) -> None:
    """As in torch, backward needs the input and the standard deviation, but not the mean, which may be written to."""

    def body(torch: Any) -> Any:
        found = []
        for function in (torch.var_mean, torch.std_mean):
            for place in (0, 1):
                x = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
                parts = function(x)
                parts[place].mul_(2)
                try:
                    sum(parts).backward()
                    found.append(x.grad)
                except RuntimeError as error:
                    found.append("modified by an inplace operation" in str(error))
        return found

    both(body)


def test_arguments_that_are_no_tensors_have_no_edge(both: Callable[..., Any]) -> None:
    def body(torch: Any) -> Any:
        class Scaled(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, factor, y, z):
                ctx.factor = factor
                return factor * x * 2, factor, factor * y * 2

            @staticmethod
            def backward(ctx, first, _, second):
                return ctx.factor * first * 2, None, ctx.factor * second * 2, None

        x, y = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
        a, _, b = Scaled.apply(x, 3, y, torch.ones(2))
        seen = []
        a.grad_fn.register_prehook(lambda given: seen.append([g is None for g in given]))
        a.grad_fn.register_hook(lambda made, given: seen.append([g is None for g in made]))
        (a + b).sum().backward()
        return seen, [None if node is None else node.name() for node, _ in a.grad_fn.next_functions], x.grad, y.grad, b.output_nr

    both(body)


def test_place_of_a_wrong_gradient(both: Callable[..., Any]) -> None:
    def body(torch: Any) -> Any:
        class Wrong(torch.autograd.Function):
            @staticmethod
            def forward(ctx, factor, x):
                return x * factor

            @staticmethod
            def backward(ctx, gradient):
                return None, torch.ones(7)

        x = torch.ones(3, requires_grad=True)
        try:
            Wrong.apply(2, x).sum().backward()
        except RuntimeError as error:
            return str(error)

    both(body)


def test_hooks_of_a_view_that_is_written(both: Callable[..., Any]) -> None:
    """After a write to a view, the history goes from the base past the view."""

    def body(torch: Any) -> Any:
        seen: list[Any] = []
        base = torch.tensor([1.0, 2.0], requires_grad=True).clone()
        view, other = base[:1], base[:1]
        view.register_hook(lambda g: seen.append("view"))
        view.retain_grad()
        other.register_hook(lambda g: seen.append("other"))
        base.register_hook(lambda g: seen.append(("base", g.tolist())))
        view.mul_(2)
        name = other.grad_fn.name()
        other.register_hook(lambda g: seen.append(("again", g.tolist())))
        (view + other).sum().backward()
        return name, seen, view.grad

    both(body)


def test_hooks_of_saved_tensors_are_checked(both: Callable[..., Any]) -> None:
    def body(torch: Any) -> Any:
        y = torch.ones(2, requires_grad=True).exp()
        found = []
        for hooks in ((lambda x: x,), (1, 1), (lambda x: x, lambda x: x), (lambda x: x, lambda x: x)):
            try:
                found.append(y.grad_fn._raw_saved_result.register_hooks(*hooks))
            except (RuntimeError, TypeError) as error:
                found.append((type(error).__name__, str(error)[:60]))
        return found

    both(body)


def test_tangent_of_a_dirty_input_has_to_be_written(both: Callable[..., Any]) -> None:
    def body(torch: Any) -> Any:
        found = []
        for writes in (True, False):

            class Doubled(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x):
                    ctx.mark_dirty(x.mul_(2))
                    return x

                @staticmethod
                def jvp(ctx, tangent, writes=writes):
                    return tangent.mul_(2) if writes else tangent

            forward = torch.autograd.forward_ad
            with forward.dual_level():
                tangent = torch.ones(2)
                dual = forward.make_dual(torch.tensor([1.0, 2.0]), tangent)
                try:
                    result = Doubled.apply(dual)
                    found.append((result is dual, forward.unpack_dual(result).tangent is tangent, tangent.clone()))
                except RuntimeError as error:
                    found.append(str(error))
        return found

    both(body)


@pytest.mark.parametrize("fast_mode", [True, False])
def test_gradcheck_warns_of_undefined_gradients(both: Callable[..., Any], fast_mode: bool) -> None:
    def body(torch: Any) -> Any:
        def refusing(gradient):
            if gradient is None:
                raise RuntimeError("x is undefined")

        def function(x):
            y = x.clone()
            y.register_hook(refusing)
            return y

        x = torch.ones(1, dtype=torch.double, requires_grad=True)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = torch.autograd.gradcheck(function, (x,), raise_exception=False, fast_mode=fast_mode)
        return found, [str(one.message) for one in caught]

    both(body)


def test_names_that_tell_kinds_of_nodes_apart(both: Callable[..., Any]) -> None:
    """Packages that draw graphs look for these attributes to tell kinds of nodes apart."""

    def body(torch: Any) -> Any:
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.save_for_backward(x)
                return x * 2

            @staticmethod
            def backward(ctx: Any, gradient: Any) -> Any:
                return gradient * 2

        x = torch.ones(2, requires_grad=True)
        nodes = [x.exp().grad_fn, (x * x).grad_fn, x[0].grad_fn, x.sum().grad_fn, Twice.apply(x).grad_fn, x.exp().grad_fn.next_functions[0][0]]
        asked = ("saved_tensors", "saved_variables", "variable", "next_functions", "metadata", "name", "register_hook", "register_prehook")
        return [[hasattr(node, name) for name in asked] for node in nodes]

    both(body)

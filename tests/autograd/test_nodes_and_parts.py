"""The class of all nodes, two old Functions, and small parts of the profiler, compared with torch."""
from __future__ import annotations

import importlib

import pytest


def test_the_class_of_nodes_stands_in_no_mro(both):
    def body(torch):
        node = torch.autograd.graph.Node

        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2, isinstance(ctx, node)

            @staticmethod
            def backward(ctx, gradient, _):
                return gradient

        x = torch.ones(2, requires_grad=True)
        y, of_context = Twice.apply(x)
        leaf = x.exp().grad_fn.next_functions[0][0]
        found = [x.exp().grad_fn, y.grad_fn, leaf]
        kinds = [torch._C._functions.AccumulateGrad, torch._C._functions.DelayedError, torch.autograd.function.BackwardCFunction, node, int]
        return (
            of_context, [isinstance(one, node) for one in (*found, None, 1, node)], [node in type(one).mro() for one in found],
            [issubclass(kind, node) for kind in kinds],
        )  # fmt: skip

    both(body)


def test_no_node_is_made_by_hand(both):
    both(lambda torch: torch.autograd.graph.Node(), message="Can't instantiate abstract class Node")


@pytest.mark.parametrize("call", ["Resize.apply(x, (3, 2))", "Resize.apply(x.t(), (6,))", "Resize.apply(x, (4,))", "Type.apply(x, torch.float64)"])
def test_old_functions(both, call):
    def body(torch):
        module = importlib.import_module(f"{torch.__name__}.autograd._functions")
        x = torch.arange(6.0).reshape(2, 3).requires_grad_()
        y = eval(call, {"Resize": module.Resize, "Type": module.Type, "x": x, "torch": torch})
        return y, torch.autograd.grad((y * y).sum(), x)

    both(body)


def test_shapes_of_gradients(both):
    def body(torch):
        x, y = torch.ones(2, 3, requires_grad=True), torch.ones(4, 2, 3)
        shape = torch.autograd._calculate_shape
        return [tuple(one) for pair in (shape(x, y[0], False), shape(x, y, True)) for one in pair]

    both(body)


def test_parts_of_the_profiler(both):
    def body(torch):
        profiler = importlib.import_module(f"{torch.__name__}.autograd.profiler")
        steps = profiler.KinetoStepTracker
        first = steps.current_step()
        steps.init_step_count("one")
        counted = steps.increment_step("one") - first, steps.increment_step("two") - first, steps.increment_step("one") - first
        erased = [steps.erase_step_count(name) for name in ("one", "two", "three")]
        unique = profiler.EnforceUnique()
        unique.see("a", 1)
        unique.see("a", 2)
        with pytest.raises(RuntimeError) as caught:
            unique.see("a", 1)
        return counted, erased, str(caught.value), torch.autograd.profiler_util.Interval(3, 7).elapsed_us()

    both(body)

"""Saved tensors, nodes and Functions as classes: what their constructors and attributes are, compared with torch."""
from __future__ import annotations


def _double(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2

    return Double


def test_saved_tensors_are_not_made_by_hand(both):
    both(lambda torch: torch._C._autograd.SavedTensor())
    both(lambda torch: type(torch.ones(1, requires_grad=True).sin().grad_fn._raw_saved_self)())


def test_sequence_numbers_can_be_set(both):
    def body(torch):
        node = torch.ones(1, requires_grad=True).sin().grad_fn
        node._set_sequence_nr(5)
        return node._sequence_nr()

    both(body)


def test_the_classes_of_a_function_know_each_other(both):
    def body(torch):
        Double = _double(torch)
        node = Double.apply(torch.ones(1, requires_grad=True)).grad_fn
        again = _double(torch)
        return (
            Double._backward_cls.__name__, type(node).__name__, type(node) is Double._backward_cls, type(node)._forward_cls is Double,
            again._backward_cls is Double._backward_cls, again._backward_cls._forward_cls is again,
            [cls._backward_cls._forward_cls is cls for cls in (Double, type("Other", (Double,), {}))],
        )  # fmt: skip

    both(body)

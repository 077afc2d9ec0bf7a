"""The weight list of a recurrent layer: set, replaced, converted and copied as in torch."""
from __future__ import annotations

import copy

import pytest


def test_weights_that_are_set_are_computed_with(both):
    def body(torch):
        torch.manual_seed(0)
        layer, x = torch.nn.LSTM(3, 4, 2, bidirectional=True), torch.randn(5, 2, 3)
        found = [layer(x)[0]]
        fast = [weight * 2 for weight in layer._flat_weights]
        layer._flat_weights = fast
        found.append(layer(x)[0])
        found.extend(torch.autograd.grad(found[-1].sum(), [layer.weight_ih_l0, layer.bias_hh_l1_reverse]))
        layer.weight_hh_l0 = torch.nn.Parameter(torch.zeros(16, 4))
        found.append(layer(x)[0])  # replacing a parameter ends it
        layer._flat_weights = [weight * 0 for weight in layer._flat_weights]
        layer.double()
        return *found, layer(x.double())[0]

    both(body)


def test_copies_compute_with_their_parameters(both):
    def body(torch):
        torch.manual_seed(0)
        layer, x = torch.nn.GRU(3, 4), torch.randn(5, 2, 3)
        layer._flat_weights = [weight.detach() * 0 for weight in layer._flat_weights]
        other = copy.deepcopy(layer)
        return layer(x)[0], other(x)[0], other._flat_weights[0] is other.weight_ih_l0

    both(body)


def test_weights_that_are_computed_are_read_as_often(both):
    """Each read of a spectral norm takes a step, and of a random parametrization advances the generator: the number of reads is torch's."""

    def body(torch):
        class Dropped(torch.nn.Module):
            def forward(self, weight):
                return torch.nn.functional.dropout(weight, 0.5, self.training)

        torch.manual_seed(0)
        found = []
        for layer in (torch.nn.LSTM(3, 4, 2), torch.nn.GRU(3, 4)):
            torch.nn.utils.parametrizations.spectral_norm(layer, "weight_hh_l0")
            torch.nn.utils.parametrize.register_parametrization(layer, "weight_ih_l0", Dropped())
            found.extend(layer(torch.randn(5, 2, 3))[0] for _ in range(3))
            layer.eval()
            found.append(layer(torch.randn(5, 2, 3))[0])
        return found

    both(body, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("steps, count, inputs, size, layers, both_ways", [(7, 3, 5, 4, 1, False), (35, 4, 20, 32, 2, True), (1, 1, 1, 1, 1, True), (9, 5, 16, 16, 3, False)])
def test_lstm_in_single_precision(both, steps, count, inputs, size, layers, both_ways, bias):
    """oneDNN's kernels: outputs, states, their gradients, and what is left of them where some results are not used."""

    def body(torch):
        torch.manual_seed(0)
        layer = torch.nn.LSTM(inputs, size, layers, bias=bias, bidirectional=both_ways)
        x = torch.randn(count, steps, inputs).transpose(0, 1).requires_grad_()
        h, c = (torch.randn(layers * (1 + both_ways), count, size, requires_grad=True) for _ in range(2))
        y, (last, cell) = layer(x, (h, c))
        leaves = [x, h, c, *layer.parameters()]
        first = torch.autograd.grad((y.sin().sum() + last.sum() * 2 + (cell**2).sum()), leaves, retain_graph=True)
        second = torch.autograd.grad(cell.sum(), leaves, allow_unused=True)
        with torch.no_grad():
            quiet = layer(x, (h, c))
            y += 1  # the states of backward are its own
        return [y, last, cell, *first, *(item for item in second if item is not None), quiet[0], *quiet[1], layer(x)[0].grad_fn is not None]

    both(body, rtol=1e-5, atol=1e-6)


def test_gradients_of_the_gradients_of_an_lstm():
    """torch has none for oneDNN's kernel: float64, which has no such kernel, is the reference."""
    import mstorch as torch

    results = []
    for kind in (torch.float32, torch.float64):
        torch.manual_seed(0)
        layer, x = torch.nn.LSTM(3, 4).to(kind), torch.randn(5, 2, 3).to(kind).requires_grad_()
        (slope,) = torch.autograd.grad(layer(x)[0].pow(2).sum(), x, create_graph=True)
        results.append([item.double() for item in torch.autograd.grad(slope.pow(2).sum(), [x, *layer.parameters()])])
    for single, double in zip(*results):
        torch.testing.assert_close(single, double, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("place, shape", [(0, (8, 4)), (0, (16, 3)), (1, (16, 3)), (1, (12, 4)), (2, (15,)), (3, (8,))])
def test_weights_of_other_sizes_are_refused(place, shape):
    """oneDNN's kernel is not given arrays beyond whose ends it would read, as torch's is for some of these."""
    import mstorch as torch

    weights = [torch.zeros(size) for size in ((16, 5), (16, 4), (16,), (16,))]
    weights[place] = torch.zeros(shape)
    x, state = torch.ones(7, 2, 5), (torch.zeros(1, 2, 4), torch.zeros(1, 2, 4))
    with pytest.raises(RuntimeError):
        torch.lstm(x, state, weights, True, 1, 0.0, False, False, False)

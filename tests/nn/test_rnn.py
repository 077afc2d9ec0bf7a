"""The weight list of a recurrent layer: set, replaced, converted and copied as in torch."""
from __future__ import annotations

import copy


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

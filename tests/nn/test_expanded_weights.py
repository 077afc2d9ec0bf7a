"""Gradients for each sample of a batch, compared with a loop over the samples."""
from __future__ import annotations

import pytest

import mstorch as torch
from mstorch.nn.utils._expanded_weights import ExpandedWeight
from mstorch.nn.utils._per_sample_grad import call_for_per_sample_grads

nn = torch.nn
LAYERS = {
    "linear": (lambda: nn.Linear(4, 3), (5, 2, 4)),
    "conv1d": (lambda: nn.Conv1d(4, 6, 3, padding="same", groups=2), (3, 4, 7)),
    "conv2d": (lambda: nn.Conv2d(2, 3, 3, 2, 1, 2), (3, 2, 9, 8)),
    "conv2d, circular": (lambda: nn.Conv2d(2, 3, 3, padding=1, padding_mode="circular"), (3, 2, 9, 8)),
    "conv3d": (lambda: nn.Conv3d(2, 3, 2), (3, 2, 4, 5, 4)),
    "layer norm": (lambda: nn.LayerNorm([3, 4]), (5, 3, 4)),
    "group norm": (lambda: nn.GroupNorm(2, 4), (3, 4, 5)),
    "instance norm": (lambda: nn.InstanceNorm1d(3, affine=True), (4, 3, 5)),
    "rnn": (lambda: nn.RNN(3, 4, num_layers=2, batch_first=True), (2, 5, 3)),
    "lstm": (lambda: nn.LSTM(3, 4, bidirectional=True, batch_first=True), (2, 5, 3)),
    "gru": (lambda: nn.GRU(3, 4, batch_first=True), (2, 5, 3)),
}


def _loss(result):
    result = result[0] if isinstance(result, tuple) else result
    return result.pow(2).sum()


@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("name", LAYERS)
def test_the_gradient_of_each_sample(name, reduction):
    torch.manual_seed(0)
    make, shape = LAYERS[name]
    layer = make().double()
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    loss = _loss(call_for_per_sample_grads(layer, loss_reduction=reduction)(x))
    (loss / shape[0] if reduction == "mean" else loss).backward()
    inputs = []
    for i, sample in enumerate(x.detach()):
        alone = sample.unsqueeze(0).requires_grad_()
        expected = torch.autograd.grad(_loss(layer(alone)), (*layer.parameters(), alone))
        inputs.append(expected[-1])
        for parameter, one in zip(layer.parameters(), expected):
            assert parameter.grad is None
            torch.testing.assert_close(parameter.grad_sample[i], one)
    torch.testing.assert_close(x.grad * (shape[0] if reduction == "mean" else 1), torch.cat(inputs))


def test_embedding_and_packed_sequences():
    torch.manual_seed(0)
    layer, ids = nn.Embedding(5, 3, padding_idx=1), torch.tensor([[0, 1, 2], [2, 2, 4]])
    _loss(call_for_per_sample_grads(layer)(ids)).backward()
    for sample, row in zip(layer.weight.grad_sample, ids):
        torch.testing.assert_close(sample, torch.autograd.grad(_loss(layer(row)), layer.weight)[0])

    lengths, rows = [4, 2, 1], torch.randn(3, 4, 3)
    layer = nn.LSTM(3, 2)
    packed = nn.utils.rnn.pack_padded_sequence(rows, lengths, batch_first=True)
    output, _ = call_for_per_sample_grads(layer, batch_size=3)(packed)
    _loss(output.data).backward()
    for i, length in enumerate(lengths):
        expected = torch.autograd.grad(_loss(layer(rows[i, :length, None])), tuple(layer.parameters()))
        for parameter, one in zip(layer.parameters(), expected):
            torch.testing.assert_close(parameter.grad_sample[i], one)


def test_what_torch_refuses():
    def refused(layer, x, words, **more):
        with pytest.raises(RuntimeError, match=words):
            call_for_per_sample_grads(layer, **more)(x)

    refused(nn.Linear(2, 2), "x", "cannot compute the batch size from the inputs")
    refused(nn.Linear(2, 2), torch.ones(2), "Input does not have a batch dimension")
    refused(nn.Conv1d(2, 2, 1), torch.ones(2, 4), "only support convolution with batched input")
    refused(nn.Embedding(2, 2), torch.tensor([0, 1]), "needs an input with a batch size, got a 1D tensor")
    refused(nn.LayerNorm([2, 3]), torch.ones(2, 3), "Layer norm should not normalize over batch dimension")
    refused(nn.Linear(2, 2), torch.ones(2, 2), "to have batch size matching input but got input batch size of 2", batch_size=3)
    refused(nn.BatchNorm1d(2), torch.ones(2, 2), "Expanded Weights encountered but cannot handle function batch_norm")
    refused(nn.LSTM(2, 2, 2, dropout=0.5), torch.ones(2, 2, 2), "take no dropout in training", batch_first=False)
    layer = nn.Linear(2, 2)
    call_for_per_sample_grads(layer)(torch.ones(2, 2)).sum().backward()
    refused(layer, torch.ones(2, 2), "will be incorrect for multiple calls")
    with pytest.raises(RuntimeError, match="of tensors that requires_grad"):
        ExpandedWeight(torch.ones(2), 1, "sum")
    weight, bias = ExpandedWeight(torch.ones(2, 2, requires_grad=True), 2, "sum"), torch.ones(2, requires_grad=True)
    mixed = nn.functional.linear(torch.ones(2, 2), weight, bias)
    with pytest.raises(RuntimeError, match="a mixture of ExpandedWeight parameters and normal Parameters"):
        mixed.sum().backward()

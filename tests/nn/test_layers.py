"""Layers compared with torch: constructor, repr, state_dict, initial weights, results and gradients, training and evaluation."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch as real_torch

import mstorch
from tests.against_torch import same

pytestmark = pytest.mark.filterwarnings(
    "ignore:enable_nested_tensor", "ignore:LSTM with projections", "ignore:Using padding='same'", "ignore:Lazy modules"
)

# name, arguments, shapes of inputs
LAYERS = [
    ("Linear(4, 3)", [(2, 4)]), ("Linear(4, 3, bias=False)", [(2, 5, 4)]), ("Linear(4, 3)", [(4,)]),
    ("Bilinear(3, 4, 2)", [(5, 3), (5, 4)]), ("Identity()", [(2, 3)]),
    ("Conv1d(2, 4, 3, padding=1)", [(2, 2, 7)]), ("Conv1d(2, 4, 3, padding='same', dilation=2)", [(2, 7)]),
    ("Conv2d(2, 4, 3)", [(2, 2, 6, 5)]), ("Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(1, 0), groups=2)", [(1, 4, 6, 5)]),
    ("Conv2d(2, 3, 2, padding='same')", [(2, 2, 4, 4)]), ("Conv2d(2, 2, 3, padding=1, padding_mode='reflect')", [(1, 2, 4, 4)]),
    ("Conv2d(2, 2, 3, padding=2, padding_mode='circular')", [(1, 2, 4, 4)]), ("Conv3d(2, 3, 2, stride=2)", [(1, 2, 4, 4, 5)]),
    ("ConvTranspose1d(2, 3, 3, stride=2)", [(2, 2, 5)]),
    ("ConvTranspose2d(4, 2, 3, stride=2, padding=1, output_padding=1, groups=2)", [(1, 4, 4, 3)]),
    ("ConvTranspose3d(2, 3, 2)", [(1, 2, 3, 2, 3)]), ("BatchNorm1d(3)", [(4, 3)]), ("BatchNorm1d(3, affine=False)", [(4, 3, 5)]),
    ("BatchNorm2d(3, momentum=None)", [(2, 3, 4, 4)]), ("BatchNorm2d(3, track_running_stats=False)", [(2, 3, 4, 4)]),
    ("BatchNorm3d(2, bias=False)", [(2, 2, 2, 3, 2)]), ("InstanceNorm2d(3, affine=True, track_running_stats=True)", [(2, 3, 4, 4)]),
    ("LayerNorm((3, 4))", [(2, 3, 4)]), ("LayerNorm(4, elementwise_affine=False, eps=0.5)", [(2, 3, 4)]),
    ("GroupNorm(2, 4)", [(2, 4, 3, 3)]), ("RMSNorm(4)", [(2, 3, 4)]), ("LocalResponseNorm(3)", [(2, 5, 4, 4)]),
    ("MaxPool1d(2, stride=1)", [(2, 3, 6)]), ("MaxPool2d(3, 2, 1)", [(2, 3, 7, 6)]), ("MaxPool2d(2)", [(3, 6, 6)]),
    ("MaxPool2d(3, 2, ceil_mode=True, dilation=2)", [(1, 2, 8, 9)]), ("MaxPool3d(2)", [(1, 2, 4, 4, 5)]),
    ("AvgPool1d(3, 2, 1)", [(2, 3, 7)]), ("AvgPool2d(2)", [(2, 3, 6, 6)]),
    ("AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False)", [(1, 2, 6, 7)]),
    ("AvgPool3d(2, divisor_override=3)", [(1, 2, 4, 4, 4)]),
    ("AdaptiveAvgPool2d(1)", [(2, 3, 5, 4)]), ("AdaptiveAvgPool2d((3, None))", [(2, 3, 5, 4)]), ("AdaptiveAvgPool3d(2)", [(1, 2, 5, 4, 3)]),
    ("AdaptiveMaxPool2d((2, 3))", [(2, 3, 5, 4)]), ("LPPool2d(2, 3)", [(1, 2, 6, 6)]), ("ReLU()", [(3, 4)]), ("ReLU6()", [(3, 4)]),
    ("ELU(0.7)", [(3, 4)]), ("SELU()", [(3, 4)]), ("CELU(0.5)", [(3, 4)]), ("GELU()", [(3, 4)]), ("GELU('tanh')", [(3, 4)]),
    ("SiLU()", [(3, 4)]), ("Mish()", [(3, 4)]), ("Hardtanh(-0.5, 0.8)", [(3, 4)]), ("Hardswish()", [(3, 4)]), ("Hardsigmoid()", [(3, 4)]),
    ("Hardshrink()", [(3, 4)]), ("Softshrink(0.3)", [(3, 4)]), ("Tanhshrink()", [(3, 4)]), ("Softsign()", [(3, 4)]),
    ("Softplus(2, 1)", [(3, 4)]),
    ("LeakyReLU(0.2)", [(3, 4)]), ("PReLU(4)", [(3, 4)]), ("GLU()", [(3, 4)]), ("LogSigmoid()", [(3, 4)]),
    ("Threshold(0.1, 5.0)", [(3, 4)]),
    ("Softmax(1)", [(3, 4)]), ("LogSoftmax(-1)", [(3, 4)]), ("Softmin(0)", [(3, 4)]),
    ("Softmax2d()", [(2, 3, 2, 2)]), ("Sigmoid()", [(3, 4)]),
    ("Tanh()", [(3, 4)]), ("Dropout(0.4)", [(6, 7)]), ("Dropout2d(0.4)", [(3, 5, 2, 2)]), ("AlphaDropout(0.3)", [(6, 7)]),
    ("Flatten()", [(2, 3, 4)]), ("Unflatten(1, (2, 3))", [(2, 6)]), ("PixelShuffle(2)", [(1, 8, 2, 3)]),
    ("PixelUnshuffle(2)", [(1, 2, 4, 6)]),
    ("ChannelShuffle(2)", [(1, 6, 2, 2)]), ("ZeroPad2d((1, 2, 0, -1))", [(1, 2, 4, 4)]), ("ConstantPad1d(2, 3.5)", [(2, 3, 4)]),
    ("ReflectionPad2d((1, 2, 2, 1))", [(1, 2, 4, 4)]), ("ReplicationPad3d(1)", [(1, 2, 2, 3, 2)]), ("CircularPad1d((2, 1))", [(1, 2, 4)]),
    ("Upsample(scale_factor=2)", [(1, 2, 3, 4)]), ("Upsample(size=(5, 7), mode='bilinear')", [(1, 2, 3, 4)]),
    ("Upsample(scale_factor=1.7, mode='bicubic', align_corners=True)", [(1, 2, 5, 4)]), ("Upsample(size=7, mode='linear')", [(2, 3, 4)]),
    ("Unfold(2, stride=2)", [(1, 2, 4, 6)]), ("Fold((4, 5), (2, 2))", [(1, 8, 12)]), ("CosineSimilarity()", [(3, 4), (3, 4)]),
    ("PairwiseDistance(3)", [(3, 4), (3, 4)]), ("RNN(3, 4, 2, batch_first=True)", [(2, 5, 3)]),
    ("RNN(3, 4, nonlinearity='relu')", [(5, 3)]),
    ("LSTM(3, 4, bidirectional=True)", [(5, 2, 3)]), ("LSTM(3, 4, proj_size=2)", [(5, 2, 3)]), ("GRU(3, 4, 2, bias=False)", [(5, 2, 3)]),
    ("GRUCell(3, 4)", [(2, 3)]), ("LSTMCell(3, 4)", [(2, 3)]), ("MultiheadAttention(4, 2, batch_first=True)", [(2, 3, 4)] * 3),
    ("MultiheadAttention(4, 2, kdim=3, vdim=5, add_bias_kv=True)", [(3, 2, 4), (6, 2, 3), (6, 2, 5)]),
    ("TransformerEncoderLayer(4, 2, 8, dropout=0.0)", [(3, 2, 4)]), ("Transformer(4, 2, 1, 1, 8, dropout=0.0)", [(3, 2, 4), (5, 2, 4)]),
    ("LazyLinear(3)", [(2, 4)]), ("LazyConv2d(3, 2)", [(1, 2, 4, 4)]), ("LazyBatchNorm1d()", [(4, 3)]),
]  # fmt: skip


def made(library, text):
    library.manual_seed(0)
    return eval(f"nn.{text}", {"nn": library.nn})


@pytest.mark.parametrize("text,shapes", LAYERS, ids=[text for text, _ in LAYERS])
def test_layer(text, shapes):
    arrays = [np.random.RandomState(i).uniform(-2, 2, shape).astype(np.float32) for i, shape in enumerate(shapes)]
    kept = []
    for library in (real_torch, mstorch):
        layer = made(library, text)
        texts = [repr(layer)]
        outcomes = []
        for training in (True, False):
            layer.train(training)
            library.manual_seed(1)
            inputs = [library.tensor(a, requires_grad=True) for a in arrays]
            result = layer(*inputs)
            leaves = [r for r in _flat(result) if r is not None]
            total = sum((leaf * leaf).sum() + leaf.sum() for leaf in leaves)
            layer.zero_grad()
            total.backward()
            outcomes.append(([leaf.detach() for leaf in leaves], [x.grad for x in inputs], [p.grad for p in layer.parameters()]))
        kept.append((texts, dict(layer.state_dict()), outcomes))
    same(kept[0], kept[1], rtol=2e-4, atol=2e-5, strides=False, what=text)


def _flat(value):
    return [leaf for item in value for leaf in _flat(item)] if isinstance(value, (tuple, list)) else [value]


@pytest.mark.parametrize("text", [text for text, _ in LAYERS if not text.startswith("Lazy")])
def test_first_state_is_torchs_bit_for_bit(text):
    want, got = made(real_torch, text).state_dict(), made(mstorch, text).state_dict()
    assert list(want) == list(got)
    for key in want:
        assert want[key].numpy().tobytes() == got[key].numpy().tobytes(), key


LOSSES = [
    ("L1Loss()", "real", "real"), ("MSELoss(reduction='sum')", "real", "real"), ("SmoothL1Loss(beta=0.5)", "real", "real"),
    ("HuberLoss(delta=0.7)", "real", "real"), ("CrossEntropyLoss()", "real", "class"),
    ("CrossEntropyLoss(label_smoothing=0.1)", "real", "class"),
    ("CrossEntropyLoss(reduction='none', ignore_index=1)", "real", "class"), ("CrossEntropyLoss(ignore_index=1)", "real", "class"),
    ("CrossEntropyLoss()", "real", "unit"), ("NLLLoss(reduction='sum')", "real", "class"), ("BCELoss()", "unit", "unit"),
    ("BCEWithLogitsLoss()", "real", "unit"), ("KLDivLoss(reduction='batchmean')", "real", "unit"),
    ("PoissonNLLLoss(full=True)", "real", "unit"),
    ("HingeEmbeddingLoss()", "real", "sign"), ("SoftMarginLoss()", "real", "sign"), ("MultiLabelSoftMarginLoss()", "real", "unit"),
    ("MultiMarginLoss()", "real", "class"), ("MultiLabelMarginLoss()", "real", "labels"),
]  # fmt: skip


@pytest.mark.parametrize("text,first,second", LOSSES, ids=[text for text, *_ in LOSSES])
def test_loss(both, text, first, second):
    rng = np.random.RandomState(0)
    kinds = {
        "real": rng.uniform(-2, 2, (4, 5)).astype(np.float32), "unit": rng.uniform(0.1, 0.9, (4, 5)).astype(np.float32),
        "class": np.array([0, 1, 4, 2]), "sign": rng.choice([-1.0, 1.0], (4, 5)).astype(np.float32),
        "labels": np.array([[0, 2, -1, 1, 3], [4, 4, 1, -1, 0], [-1, 0, 0, 0, 0], [0, 1, 2, 3, 4]]),
    }  # fmt: skip

    def body(torch):
        x = torch.tensor(kinds[first], requires_grad=True)
        loss = eval(f"nn.{text}", {"nn": torch.nn})(x, torch.tensor(kinds[second]))
        loss.sum().backward()
        return loss, x.grad

    both(body)


def test_packed_sequences(both):
    def body(torch):
        torch.manual_seed(0)
        layer = torch.nn.LSTM(3, 4, 2, bidirectional=True)
        parts = [torch.arange(n * 3.0).reshape(n, 3) / 10 for n in (2, 5, 3)]
        packed = torch.nn.utils.rnn.pack_sequence(parts, enforce_sorted=False)
        output, (h, c) = layer(packed)
        padded, lengths = torch.nn.utils.rnn.pad_packed_sequence(output, batch_first=True)
        return padded, lengths, h, c, torch.nn.utils.rnn.pad_sequence(parts, padding_value=-1.0)

    both(body, strides=False, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("text", ["RNN(3, 4, 2)", "GRU(3, 4, bidirectional=True, batch_first=True)", "LSTM(3, 4, 2)", "LSTM(3, 4, proj_size=2)"])
def test_sizes_of_states_are_checked(both, text):
    def body(torch):
        layer = eval(f"nn.{text}", {"nn": torch.nn})
        x = torch.ones(5, 2, 3)
        packed = torch.ones(7, 3), torch.tensor([4, 3])
        found = [layer.get_expected_hidden_size(x, None), layer.get_expected_hidden_size(*packed)]
        state, other = torch.zeros(found[0]), torch.zeros(found[1])
        if layer.mode == "LSTM":
            found += [layer.get_expected_cell_size(x, None), layer.get_expected_cell_size(*packed)]
            state, other = (state, torch.zeros(found[2])), (other, torch.zeros(found[2]))
        layer.check_forward_args(x, state, None)
        for given in ((x, other, None), (torch.ones(2, 3), state, None), (torch.ones(5, 2, 4), state, None), (packed[0], state, torch.tensor([6, 1]))):
            with pytest.raises(RuntimeError) as error:
                layer.check_forward_args(*given)
            found.append(str(error.value))
        with pytest.raises(RuntimeError) as error:
            layer.check_hidden_size(x, expected_hidden_size=(1, 2, 3), msg="{} is not {}")
        return *found, str(error.value)

    both(body)


def test_a_padded_batch_in_inference(both):
    def body(torch):
        torch.manual_seed(0)
        layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        net = torch.nn.TransformerEncoder(layer, 2).eval()
        mask = torch.tensor([[False, False, False], [False, True, True]])
        with torch.no_grad():
            return net(torch.arange(48.0).reshape(2, 3, 8) / 20, src_key_padding_mask=mask)

    both(body, strides=False, rtol=1e-4, atol=1e-5)


def test_clipping(both):
    def body(torch):
        torch.manual_seed(0)
        layer = torch.nn.Linear(3, 2)
        layer(torch.ones(4, 3) * 5).pow(2).sum().backward()
        norm = torch.nn.utils.clip_grad_norm_(layer.parameters(), 1.5)
        clipped = [p.grad.clone() for p in layer.parameters()]
        torch.nn.utils.clip_grad_value_(layer.parameters(), 0.1)
        return norm, clipped, [p.grad for p in layer.parameters()], torch.nn.utils.parameters_to_vector(layer.parameters())

    both(body)


@pytest.mark.parametrize(
    "body",
    [
        lambda torch: torch.nn.Conv2d(3, 4, 3)(torch.ones(1, 2, 5, 5)),
        lambda torch: torch.nn.Conv2d(3, 4, 3)(torch.ones(1, 3, 2, 2)),
        lambda torch: torch.nn.Conv2d(3, 4, 3, groups=2),
        lambda torch: torch.nn.Linear(3, 4)(torch.ones(2, 5)),
        lambda torch: torch.nn.BatchNorm2d(3)(torch.ones(2, 3)),
        lambda torch: torch.nn.BatchNorm1d(3)(torch.ones(1, 3)),
        lambda torch: torch.nn.MaxPool2d(9)(torch.ones(1, 1, 4, 4)),
        lambda torch: torch.nn.Dropout(1.5),
        lambda torch: torch.nn.CrossEntropyLoss()(torch.ones(2, 3), torch.tensor([0, 3])),
        lambda torch: torch.nn.CrossEntropyLoss()(torch.ones(2, 3), torch.tensor([0])),
        lambda torch: torch.nn.LayerNorm(4)(torch.ones(2, 3)),
        lambda torch: torch.nn.Embedding(3, 2)(torch.tensor([3])),
        lambda torch: torch.nn.LSTM(3, 4)(torch.ones(2, 2, 5)),
        lambda torch: torch.nn.MultiheadAttention(5, 2),
    ],
)
def test_errors(both, body):
    both(body)


def test_embedding(both):
    def body(torch):
        torch.manual_seed(0)
        layer = torch.nn.Embedding(6, 3, padding_idx=2, scale_grad_by_freq=True)
        bag = torch.nn.EmbeddingBag(6, 3, mode="sum", padding_idx=0)
        index = torch.tensor([[1, 2, 5], [1, 1, 0]])
        result = layer(index)
        sums = bag(torch.tensor([1, 0, 3, 4]), torch.tensor([0, 2, 2]), torch.tensor([1.0, 2.0, 3.0, 4.0]))
        (result.square().sum() + sums.square().sum()).backward()
        return result, sums, layer.weight.grad, bag.weight.grad, torch.nn.functional.one_hot(index, 7), repr(layer), repr(bag)

    both(body)


def test_gradients_of_gradients(both):
    def body(torch):
        torch.manual_seed(0)
        net = torch.nn.Sequential(
            torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.Softplus(), torch.nn.Flatten(), torch.nn.LayerNorm(18),
            torch.nn.Linear(18, 2), torch.nn.GELU(),
        )  # fmt: skip
        x = (torch.arange(50.0).reshape(2, 1, 5, 5) / 25).sin().requires_grad_()
        (first,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
        first.square().sum().backward()
        return first, x.grad, net[0].weight.grad

    both(body, rtol=2e-3, atol=2e-4, strides=False)


def test_modules_go_with_other_metaclasses(both: Any) -> None:
    def body(torch: Any) -> Any:
        from abc import ABC, abstractmethod

        class Shape(torch.nn.Module, ABC):
            @abstractmethod
            def area(self) -> float: ...

        class Meta(type):
            pass

        named = Meta("Named", (torch.nn.Linear,), {})
        square = type("Square", (Shape,), {"area": lambda self: 4.0})()
        return square.area(), type(named) is Meta, named(2, 3).weight.shape, type(torch.nn.Module) is type

    both(body)


def test_every_name_of_a_class_can_be_looked_up() -> None:
    """Packages that copy documentation iterate over dir() of their modules' classes."""
    for name in dir(mstorch.nn.Linear):
        if not name.startswith("_"):
            getattr(mstorch.nn.Linear, name)


@pytest.mark.parametrize("kind", ["int8", "int64", "bool", "float16"])
@pytest.mark.parametrize("order", [2.0, 1.0, 0.0, float("inf")])
def test_gradients_that_have_no_norm_are_not_clipped(both, order, kind):
    def body(torch):
        parameter = torch.ones(3, dtype=getattr(torch, kind))
        parameter.grad = torch.ones_like(parameter)
        return torch.nn.utils.clip_grad_norm_([parameter], 1.0, order), parameter.grad

    both(body)

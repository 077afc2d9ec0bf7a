"""torch.nn.functional beyond the tests of layers: dtypes, strides, empty input, in-place forms, options."""
from __future__ import annotations

import numpy as np
import pytest
import torch as real_torch

import mstorch
from mstorch._src.backend.onednn.library import FOUND
from tests.against_torch import both as run_both

pytestmark = pytest.mark.filterwarnings("ignore:Default grid_sample", "ignore:Using a target size")


def grown(shape, seed=0, dtype=np.float32):
    return np.random.RandomState(seed).uniform(-2, 2, shape).astype(dtype)


UNARY = [
    "relu", "relu6", "elu", "selu", "celu", "gelu", "silu", "mish", "hardtanh", "hardswish", "hardsigmoid", "hardshrink",
    "softshrink", "tanhshrink", "softsign", "softplus", "leaky_relu", "logsigmoid", "sigmoid", "tanh",
]  # fmt: skip
SPECIAL = np.array([-np.inf, -100, -3, -0.5, -0.0, 0.0, 0.5, 3, 100, np.inf, np.nan], np.float64)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", UNARY)
def test_activations_at_the_edges(name, dtype):
    rtol = {"float16": 2e-3, "bfloat16": 3e-2}.get(dtype, 1e-5)
    # oneDNN's gelu, torch's and ours, is NaN at infinity with AVX-512 and infinite without.
    values = SPECIAL if FOUND or name != "gelu" else np.r_[SPECIAL[1:9], np.nan]

    def body(torch):
        function = getattr(torch.nn.functional, name)
        x = torch.tensor(values, dtype=getattr(torch, dtype))
        finite = torch.tensor(SPECIAL[1:9], dtype=getattr(torch, dtype), requires_grad=True)
        function(finite).float().sum().backward()
        return function(x), function(torch.stack([x, x]).t()), function(x[:0]), function(x[3]), finite.grad

    run_both(body, rtol=rtol, atol=rtol / 10)


@pytest.mark.parametrize("name", ["relu", "elu", "selu", "celu", "leaky_relu", "silu", "hardtanh", "hardswish", "mish", "relu6"])
def test_in_place(both, name):
    def body(torch):
        x = torch.tensor(grown((3, 4)))
        row = x[1]
        result = getattr(torch.nn.functional, name)(row, inplace=True)
        return x, result is row

    both(body)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "float16"])
@pytest.mark.parametrize("groups", [1, 2])
def test_convolution_dtypes(both, dtype, groups):
    rtol = 2e-3 if dtype == "float16" else 1e-5

    def body(torch):
        kind = getattr(torch, dtype)
        x = torch.tensor(grown((2, 4, 6, 5)) * 3).to(kind)
        w = torch.tensor(grown((4, 4 // groups, 3, 2), 1) * 3).to(kind)
        first = torch.nn.functional.conv2d(x, w, stride=(2, 1), padding=(1, 2), groups=groups, dilation=(1, 2))
        return first, torch.nn.functional.conv1d(x[0, :, :, 0], w[:, :, :, 0], padding=2, groups=groups)

    both(body, rtol=rtol, atol=rtol, strides=False)


@pytest.mark.parametrize("shape", [(0, 2, 5, 5), (2, 2, 5, 5)])
def test_convolution_gradients_in_double(with_gradients, shape):
    with_gradients(
        lambda torch, x, w, b: torch.nn.functional.conv2d(x, w, b, padding=1), grown(shape, 0, np.float64),
        grown((3, 2, 3, 3), 1, np.float64), grown((3,), 2, np.float64), strides=False,
    )  # fmt: skip


def test_pooling_positions(both):
    def body(torch):
        x = torch.tensor(grown((2, 3, 7, 6)).round(), requires_grad=True)
        values, places = torch.nn.functional.max_pool2d(x, 3, 2, 1, ceil_mode=True, return_indices=True)
        small, where = torch.nn.functional.max_pool2d(x, 2, return_indices=True)
        back = torch.nn.functional.max_unpool2d(small, where, 2, output_size=(7, 6))
        adaptive = torch.nn.functional.adaptive_max_pool2d(x, (3, 2), return_indices=True)
        (values.sum() + back.square().sum() + adaptive[0].sum()).backward()
        return values, places, back, adaptive, x.grad

    both(body)


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("pads", [(1, 2), (2, -1), (0, 0), (-1, 2)])
def test_padding(with_gradients, mode, pads):
    with_gradients(lambda torch, x: torch.nn.functional.pad(x, pads, mode), grown((2, 3, 5)))


MODES = [
    ("nearest", None, 3), ("nearest-exact", None, 3), ("linear", True, 3), ("linear", False, 3), ("bilinear", True, 4),
    ("bilinear", False, 4), ("bicubic", False, 4), ("bicubic", True, 4), ("trilinear", False, 5), ("area", None, 4), ("nearest", None, 5),
]  # fmt: skip


@pytest.mark.parametrize("mode,corners,rank", MODES)
@pytest.mark.parametrize("size", [None, 3, 7])
def test_interpolate(with_gradients, mode, corners, rank, size):
    options = {"scale_factor": 1.6} if size is None else {"size": size}
    with_gradients(
        lambda torch, x: torch.nn.functional.interpolate(x, mode=mode, align_corners=corners, **options),
        grown((2, 2, 5, 4, 6)[:rank]), strides=False, rtol=1e-4, atol=1e-5,
    )  # fmt: skip


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(3, 2), (9, 8)])
def test_interpolate_against_aliasing(with_gradients, mode, size):
    with_gradients(
        lambda torch, x: torch.nn.functional.interpolate(x, size, mode=mode, antialias=True), grown((1, 2, 7, 6)), strides=False,
        rtol=1e-4, atol=1e-5,
    )  # fmt: skip


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("corners", [True, False])
def test_grid_sample(with_gradients, mode, padding, corners):
    with_gradients(
        lambda torch, x, g: torch.nn.functional.grid_sample(x, g, mode, padding, corners), grown((2, 3, 4, 5)),
        grown((2, 3, 2, 2), 1) * 0.8, strides=False, rtol=1e-4, atol=1e-5,
    )  # fmt: skip


def test_affine_grid(with_gradients):
    with_gradients(lambda torch, t: torch.nn.functional.affine_grid(t, (2, 1, 3, 4), False), grown((2, 2, 3)), strides=False)


@pytest.mark.parametrize("causal", [False, True])
def test_attention(with_gradients, causal):
    with_gradients(
        lambda torch, q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal),
        grown((2, 3, 4, 5)), grown((2, 3, 4, 5), 1), grown((2, 3, 4, 5), 2), strides=False, rtol=1e-4, atol=1e-5,
    )  # fmt: skip


def test_attention_masks(both):
    def body(torch):
        q = torch.tensor(grown((2, 3, 4)))
        mask = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])
        attend = torch.nn.functional.scaled_dot_product_attention
        return attend(q, q, q, mask), attend(q, q, q, torch.tensor(grown((3, 3), 3)), scale=0.3)

    both(body, strides=False, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("p", [0, 0.5, 1, 2, 3, float("inf")])
def test_distances(with_gradients, p):
    functional = {
        "pdist": lambda torch, x: torch.nn.functional.pdist(x, p),
        "normalize": lambda torch, x: torch.nn.functional.normalize(x, p) if p else x,
        "cdist": lambda torch, x: torch.cdist(x, x.detach() + 0.25, p),
    }
    for function in functional.values():
        with_gradients(function, grown((4, 3)), rtol=1e-4, atol=1e-5, strides=False)


@pytest.mark.parametrize("p", [0, 0.5, 1, 1.5, 2, 3, float("inf")])
def test_distances_of_no_numbers(with_gradients, p):
    rows = np.array([[1.0, 2.0, np.nan], [1.0, np.inf, 0.0], [3.0, 0.0, -0.0], [2.0, -1.0, 0.5]])
    other = np.array([[1.0, 2.0, 3.0], [0.0, -np.inf, 1.0]])
    with_gradients(lambda torch, x: torch.nn.functional.pdist(x, p), rows)
    with_gradients(lambda torch, x: torch.nn.functional.normalize(x, p), rows)
    with_gradients(lambda torch, x, y: torch.nn.functional.pairwise_distance(x, y, p), rows[:2], other)
    first = slice(1, None) if p == float("inf") else slice(None)  # torch's largest difference ignores NaN
    with_gradients(lambda torch, x, y: torch.cdist(x, y, p), rows[first], other)


def test_cosines_of_no_numbers(with_gradients):
    rows = np.array([[1.0, 2.0, np.nan], [1.0, np.inf, 0.0], [0.0, 0.0, 0.0]])
    with_gradients(lambda torch, x, y: torch.cosine_similarity(x, y), rows, np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 1.0], [1.0, 2.0, 3.0]]))


def test_normalize_of_zero(with_gradients):
    with_gradients(lambda torch, x: torch.nn.functional.normalize(x), np.zeros((2, 3), np.float32))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag(with_gradients, mode):
    with_gradients(
        lambda torch, w: torch.nn.functional.embedding_bag(
            torch.tensor([1, 2, 4, 1, 0]), w, torch.tensor([0, 2, 2]), mode=mode, padding_idx=4
        ),
        grown((6, 3)),
    )


def test_cross_entropy_options(both):
    def body(torch):
        x = torch.tensor(grown((2, 3, 4)), requires_grad=True)
        t = torch.tensor([[0, 1, 2, 1], [2, 2, 0, 1]])
        w = torch.tensor([0.5, 1.0, 2.0])
        entropy = torch.nn.functional.cross_entropy
        losses = [
            entropy(x, t, w), entropy(x, t, w, reduction="none"), entropy(x, t, w, label_smoothing=0.2, ignore_index=1),
            entropy(x, t, reduction="sum", label_smoothing=0.1), entropy(x[0, :, 0], t[0, 0]), entropy(x, x.detach().softmax(1), w),
            entropy(x.double(), t),
        ]  # fmt: skip
        sum(loss.sum() for loss in losses).backward()
        return losses, x.grad

    both(body)


def test_ctc(both):
    def body(torch):
        x = torch.tensor(grown((12, 3, 5)), requires_grad=True)
        targets = torch.tensor([[1, 2, 2, 3], [4, 1, 1, 1], [3, 2, 4, 1]])
        loss = torch.nn.functional.ctc_loss(x.log_softmax(2), targets, [12, 10, 8], [4, 2, 3])
        loss.backward()
        return loss, x.grad

    both(body, rtol=1e-4, atol=1e-5)


def test_random_ones_after_a_seed(both):
    def body(torch):
        torch.manual_seed(5)
        functional, x = torch.nn.functional, torch.tensor(grown((4, 5, 2, 2)))
        return [
            functional.dropout(x, 0.3), functional.dropout2d(x, 0.6), functional.alpha_dropout(x, 0.3, True),
            functional.feature_alpha_dropout(x, 0.5, True), functional.rrelu(x, training=True),
            functional.gumbel_softmax(x, hard=True), functional.dropout(x[0, 0, 0, 0], 0.5),
            functional.alpha_dropout(x[0, 0, 0, 0], 0.5, True), functional.rrelu(x[0, 0, 0, 0], training=True), torch.rand(3),
        ]  # fmt: skip

    both(body, strides=False)


def test_running_statistics(both):
    def body(torch):
        mean, var = torch.zeros(3), torch.ones(3)
        x = torch.tensor(grown((4, 3, 2)))
        results = [torch.nn.functional.batch_norm(x * k, mean, var, training=True, momentum=0.3) for k in (1, 2)]
        return results, mean, var, torch.nn.functional.batch_norm(x, mean, var)

    both(body)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("bad", [-np.inf, np.inf, np.nan])
def test_a_row_without_a_maximum_spoils_no_other(both, dtype, bad):
    def body(torch):
        values = grown((6, 17))
        values[1] = bad
        values[3, 2] = bad
        x = torch.tensor(values, dtype=getattr(torch, dtype))
        functional = torch.nn.functional
        losses = functional.cross_entropy(x, torch.arange(6)), functional.cross_entropy(x, torch.arange(6), reduction="none")
        return functional.softmax(x, -1), functional.softmax(x, 0), functional.log_softmax(x, 1), losses

    both(body)


def test_a_masked_row_has_no_nan_in_its_gradient(with_gradients):
    def attend(torch, q):
        mask = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])
        return torch.nn.functional.scaled_dot_product_attention(q, q, q, mask)

    with_gradients(attend, grown((2, 3, 4)), strides=False, rtol=1e-4, atol=1e-5)


def test_interpolation_of_bytes_is_bit_equal() -> None:
    rng = np.random.RandomState(0)
    for _ in range(40):
        channels, height, width = rng.randint(1, 6), rng.randint(1, 40), rng.randint(1, 40)
        image = rng.randint(0, 256, (2, channels, height, width)).astype(np.uint8)
        asked = {
            "size": tuple(int(n) for n in rng.randint(1, 50, 2)), "mode": ("bilinear", "bicubic")[rng.randint(2)],
            "antialias": bool(rng.randint(2)), "align_corners": bool(rng.randint(2)),
        }  # fmt: skip
        want, got = (library.nn.functional.interpolate(library.tensor(image), **asked) for library in (real_torch, mstorch))
        np.testing.assert_array_equal(got.numpy(), want.numpy(), err_msg=str(asked))

"""Losses at infinity and samplers at NaN and infinite positions: values and gradients are torch's."""
import itertools
import warnings

import numpy as np
import pytest
import torch as real_torch

import mstorch

# Thousands of losses, one by one; the behaviour of a real device's kernels at infinity is unknown.
pytestmark = [pytest.mark.sweep, pytest.mark.on_the_cpu]
INF, NAN = float("inf"), float("nan")
NUMBERS = (-INF, -1e38, -1.0, -0.0, 0.0, 1e-45, 0.5, 1.0, 1e38, INF, NAN)
PAIRS = list(itertools.product(NUMBERS, NUMBERS))
ROWS = [[a, b, c] for a in NUMBERS for b in (0.0, INF, -INF, NAN) for c in (0.0, 1.0, INF, -INF)]
REDUCTIONS = ("none", "mean", "sum")


def _found(library, function, values):
    """Return the result and the gradients of all floating arguments, or the class of the error."""
    given = [library.tensor(value, requires_grad=np.asarray(value).dtype.kind == "f") for value in values]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function(library, *given)
            result.sum().backward()
        except (RuntimeError, ValueError) as error:
            return type(error).__name__
    return [result.detach().numpy(), *(value.grad.numpy() for value in given if value.grad is not None)]


def _same(function, *values):
    want, got = (_found(library, function, values) for library in (real_torch, mstorch))
    if isinstance(want, str) or isinstance(got, str):
        return want == got
    return len(want) == len(got) and all(
        a.shape == b.shape and np.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True) for a, b in zip(want, got)
    )


def _wrong(function, samples):
    return [values for values in samples if not _same(function, *values)]


TWO = (
    "mse_loss l1_loss smooth_l1_loss huber_loss kl_div poisson_nll_loss soft_margin_loss hinge_embedding_loss "
    "binary_cross_entropy_with_logits"
).split()


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("name", TWO)
def test_losses_of_two(name, reduction):
    samples = [([a], [b]) for a, b in PAIRS]
    if name == "poisson_nll_loss":
        assert not _wrong(lambda t, a, b: t.nn.functional.poisson_nll_loss(a, b.detach(), False, True, reduction=reduction), samples)
    fixed = name == "soft_margin_loss"  # torch has no gradient for its targets
    assert not _wrong(lambda t, a, b: getattr(t.nn.functional, name)(a, b.detach() if fixed else b, reduction=reduction), samples)


def test_binary_cross_entropy_at_its_borders():
    samples = [([a, 0.5], [b, 0.5]) for a in (0.0, 1.0, 1e-45, 0.5, INF, NAN, -0.1) for b in (0.0, 1.0, 0.5, INF, NAN)]
    for reduction in REDUCTIONS:
        assert not _wrong(lambda t, a, b: t.nn.functional.binary_cross_entropy(a, b, reduction=reduction), samples)


@pytest.mark.parametrize("full", (False, True))
def test_gaussian_nll(full):
    samples = [([a], [b], [v]) for a, b in PAIRS for v in (0.0, 1.0, INF, NAN, 1e-45)]
    assert not _wrong(lambda t, a, b, v: t.nn.functional.gaussian_nll_loss(a, b, v, full, reduction="none"), samples[::3])


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("smoothing", (0.0, 0.1))
def test_cross_entropy(smoothing, reduction):
    for weight, target in itertools.product((None, [1.0, 0.0, 2.0], [INF, 1.0, 1.0]), ([0], [2], [-100])):
        assert not _wrong(
            lambda t, a, b: t.nn.functional.cross_entropy(
                a, b, None if weight is None else t.tensor(weight), reduction=reduction, label_smoothing=smoothing
            ),
            [([row], target) for row in ROWS[:: 5 if weight else 3]],
        )
    assert not _wrong(
        lambda t, a, b: t.nn.functional.cross_entropy(a, b, reduction=reduction, label_smoothing=smoothing),
        [([row], [p]) for row in ROWS[::3] for p in ([0.0, 1.0, 0.0], [0.5, 0.5, 0.0])],
    )


@pytest.mark.parametrize("zero", (False, True))
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_ctc(reduction, zero):
    def loss(t, a, targets):
        n = targets.shape[1]
        return t.nn.functional.ctc_loss(a.reshape(2, 1, 3), targets, t.tensor([2]), t.tensor([n]), reduction=reduction, zero_infinity=zero)

    assert not _wrong(loss, [(row + row[::-1], [[1]]) for row in ROWS[::2]])
    assert not _wrong(lambda t, a, b: loss(t, a.reshape(2, 1, 3).log_softmax(-1), b), [([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [[1, 1, 2]])])

    def some_fit(t, a):
        lengths = t.tensor([4, 2, 3]), t.tensor([2, 2, 2])
        return t.nn.functional.ctc_loss(a.log_softmax(-1), t.tensor([[1, 1], [2, 2], [1, 2]]), *lengths, reduction=reduction, zero_infinity=zero)

    assert _same(some_fit, np.random.default_rng(0).standard_normal((4, 3, 3)).astype("float32"))


def test_losses_of_rows():
    assert not _wrong(lambda t, a, b: t.nn.functional.multi_margin_loss(a, b), [([row], [1]) for row in ROWS])
    assert not _wrong(lambda t, a, b: t.nn.functional.multilabel_margin_loss(a, b), [([row], [[1, -1, 0]]) for row in ROWS])
    assert not _wrong(lambda t, a: t.nn.functional.multilabel_soft_margin_loss(a, t.tensor([[1.0, 0.0, 1.0]])), [([row],) for row in ROWS])
    for sign in (1, -1):
        assert not _wrong(
            lambda t, a, b: t.nn.functional.cosine_embedding_loss(a, b, t.tensor([sign])),
            [([row], [[1.0, 2.0, 0.0]]) for row in ROWS],
        )
        assert not _wrong(
            lambda t, a, b: t.nn.functional.margin_ranking_loss(a, b, t.tensor([float(sign)])),
            [([a], [b]) for a, b in PAIRS],
        )
    for p in (1.0, 2.0, INF):
        assert not _wrong(
            lambda t, a, b, c: t.nn.functional.triplet_margin_loss(a, b, c, p=p, swap=True),
            [([row], [[1.0, 2.0, 0.0]], [[0.0, 1.0, 3.0]]) for row in ROWS[::2]],
        )


PLACES = (NAN, INF, -INF, 0.0, -1.0, 1.0, 0.3, 2.5, 1.0000001, -3.2)
IMAGE = np.random.default_rng(1).standard_normal((1, 2, 4, 5)).astype("float32")
VOLUME = np.random.default_rng(2).standard_normal((1, 2, 3, 4, 5)).astype("float32")


@pytest.mark.parametrize("corners", (False, True))
@pytest.mark.parametrize("padding", ("zeros", "border", "reflection"))
@pytest.mark.parametrize("mode", ("bilinear", "nearest", "bicubic"))
def test_samplers(mode, padding, corners):
    """The gradients of bilinear sampling with clipping at NaN crash torch: only values are compared there."""

    def sampled(t, x, at):
        return t.nn.functional.grid_sample(x, at, mode, padding, corners)

    places = [np.float32(pair).reshape(1, 1, 1, 2) for pair in itertools.product(PLACES, PLACES)]
    if mode == "bilinear" and padding != "zeros":
        clean = [at for at in places if np.isfinite(at).all()]
        for at in places:
            want, got = (sampled(t, t.tensor(IMAGE), t.tensor(at)).numpy() for t in (real_torch, mstorch))
            assert np.allclose(want, got, rtol=1e-4, atol=1e-5, equal_nan=True), at
    assert not _wrong(sampled, [(IMAGE, at) for at in (clean if mode == "bilinear" and padding != "zeros" else places)])
    if mode != "bicubic":
        deep = [np.float32(p).reshape(1, 1, 1, 1, 3) for p in itertools.product(PLACES, PLACES[:5], PLACES[:5])]
        assert not _wrong(sampled, [(VOLUME, at) for at in deep[::2]])


def test_resizing_of_infinities():
    image = IMAGE.copy()
    image[0, 0, 1, 1], image[0, 1, 2, 2] = INF, NAN
    for mode, size in itertools.product(("nearest", "nearest-exact", "bilinear", "bicubic", "area"), ((3, 3), (7, 9), (8, 10))):
        for antialias in (False, True) if mode in ("bilinear", "bicubic") else (False,):
            assert _same(lambda t, x: t.nn.functional.interpolate(x, size, mode=mode, antialias=antialias), image), (mode, size)
    for corners in (False, True):
        for numbers in itertools.product(PLACES[:5], PLACES[:5]):
            theta = np.float32([[[numbers[0], numbers[1], 0.1], [0.2, 1.0, numbers[0]]]])
            assert _same(lambda t, x: t.nn.functional.affine_grid(x, (1, 1, 3, 3), corners), theta), numbers
    weight = np.ones((2, 2, 2), "float32")
    for a, b in itertools.product(PLACES[:6], PLACES[:6]):
        assert _same(lambda t, x, y, w: t.nn.functional.bilinear(x, y, w), np.float32([[a, 1.0]]), np.float32([[2.0, b]]), weight)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("zero_infinity", [False, True])
@pytest.mark.parametrize("targets", [(0, 0, 0), (1, 1, 0), (0, 2, 1)])
@pytest.mark.parametrize("steps", [(0, 0, 0), (0, 4, 2), (1, 0, 4)])
def test_ctc_of_inputs_without_steps(both, steps, targets, zero_infinity, reduction):
    def body(torch):
        x = torch.linspace(-1, 2, 4 * 3 * 5).sin().reshape(4, 3, 5).log_softmax(2).requires_grad_()
        target = torch.tensor([[1, 2], [3, 1], [4, 2]])
        loss = torch.nn.functional.ctc_loss(
            x, target, torch.tensor(steps), torch.tensor(targets), reduction=reduction, zero_infinity=zero_infinity
        )
        loss.sum().backward()
        return loss, x.grad

    both(body)

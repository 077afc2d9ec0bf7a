"""A tensor that requires grad in place of a number: torch raises, or computes its gradient; the gradient is never lost silently."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {  # (torch, a matrix, a tracked number)
    "pinv": lambda t, x, r: t.linalg.pinv(x, rtol=r),
    "pinv_rcond": lambda t, x, r: t.pinverse(x, rcond=r),
    "pinv_atol": lambda t, x, r: t.linalg.pinv(x, atol=r),
    "lstsq": lambda t, x, r: t.linalg.lstsq(x, x, rcond=r),
    "kaiser2": lambda t, x, r: t.kaiser_window(5, True, r),
    "hamm": lambda t, x, r: t.hamming_window(5, True, r),
    "rank": lambda t, x, r: t.linalg.matrix_rank(x, tol=r),
    "rank2": lambda t, x, r: t.linalg.matrix_rank(x, rtol=r),
    "bucket": lambda t, x, r: t.bucketize(r, t.arange(3.)),
    "search": lambda t, x, r: t.searchsorted(t.arange(3.), r),
    "allclose": lambda t, x, r: t.allclose(x, x, rtol=r),
    "isclose": lambda t, x, r: t.isclose(x, x, atol=r),
    "nan_to_num": lambda t, x, r: t.nan_to_num(x, nan=r),
    "clampmin": lambda t, x, r: t.clamp(x, min=r),
    "linspace": lambda t, x, r: t.linspace(0, r, 3),
    "logspace": lambda t, x, r: t.logspace(0, r, 3),
    "range": lambda t, x, r: t.arange(0, r),
    "full": lambda t, x, r: t.full((2,), r),
    "cond": lambda t, x, r: t.linalg.cond(x, r),
    "norm": lambda t, x, r: t.norm(x, r),
    "renorm": lambda t, x, r: t.renorm(x, r, 0, 1.0),
    "renorm2": lambda t, x, r: t.renorm(x, 2, 0, r),
    "histc": lambda t, x, r: t.histc(x, 3, 0, r),
    "hist": lambda t, x, r: t.histogram(x, 3, range=(0., r)),
    "lerp": lambda t, x, r: t.lerp(x, x, r),
    "addcmul": lambda t, x, r: t.addcmul(x, x, x, value=r),
    "add_alpha": lambda t, x, r: t.add(x, x, alpha=r),
    "addmm": lambda t, x, r: t.addmm(x, x, x, beta=r),
    "addmm_a": lambda t, x, r: t.addmm(x, x, x, alpha=r),
    "cdist": lambda t, x, r: t.cdist(x, x, r),
    "pdist": lambda t, x, r: t.pdist(x, r),
    "dist": lambda t, x, r: t.dist(x, x, r),
    "elu": lambda t, x, r: t.nn.functional.elu(x, r),
    "celu": lambda t, x, r: t.nn.functional.celu(x, r),
    "thr": lambda t, x, r: t.nn.functional.threshold(x, r, 0.),
    "hardtanh": lambda t, x, r: t.nn.functional.hardtanh(x, r, 3.),
    "softshrink": lambda t, x, r: t.nn.functional.softshrink(x, r.abs()),
    "hardshrink": lambda t, x, r: t.nn.functional.hardshrink(x, r),
    "ln_eps": lambda t, x, r: t.nn.functional.layer_norm(x, (3,), eps=r),
    "gn": lambda t, x, r: t.nn.functional.group_norm(x, 1, eps=r),
    "bn_m": lambda t, x, r: t.nn.functional.batch_norm(x, t.zeros(3), t.ones(3), training=True, momentum=r),
    "normalize": lambda t, x, r: t.nn.functional.normalize(x, r),
    "normalize_eps": lambda t, x, r: t.nn.functional.normalize(x, eps=r),
    "cos_eps": lambda t, x, r: t.cosine_similarity(x, x, eps=r),
    "smooth": lambda t, x, r: t.nn.functional.smooth_l1_loss(x, x, beta=r),
    "margin": lambda t, x, r: t.nn.functional.margin_ranking_loss(x, x, x, margin=r),
    "triplet": lambda t, x, r: t.nn.functional.triplet_margin_loss(x, x, x, margin=r),
    "lab": lambda t, x, r: t.nn.functional.cross_entropy(x, t.tensor([0, 1, 2]), label_smoothing=r),
    "mvl": lambda t, x, r: t.mvlgamma(x.abs() + 5, r),
    "pad": lambda t, x, r: t.nn.functional.pad(x, (1, 1), value=r),
    "masked_fill": lambda t, x, r: x.masked_fill(x > 0, r),
    "fill": lambda t, x, r: x.clone().fill_(r),
    "setitem": lambda t, x, r: x.clone().__setitem__(0, r),
    "index_fill": lambda t, x, r: x.index_fill(0, t.tensor([0]), r),
    "scatter": lambda t, x, r: x.scatter(0, t.tensor([[0]]), r),
    "where": lambda t, x, r: t.where(x > 0, r, x),
    "pow": lambda t, x, r: t.pow(2., r),
    "rpow": lambda t, x, r: 2 ** r,
    "fmod": lambda t, x, r: t.fmod(x, r),
    "xlogy": lambda t, x, r: t.xlogy(2, r),
    "heav": lambda t, x, r: t.heaviside(x, r),
    "polar": lambda t, x, r: t.polygamma(1, r),
    "eig": lambda t, x, r: t.full_like(x, r),
    "tri": lambda t, x, r: t.trapezoid(x, dx=r),
    "cumtrap": lambda t, x, r: t.cumulative_trapezoid(x, dx=r),
    "diff": lambda t, x, r: t.special.zeta(2., r),
    "fft": lambda t, x, r: t.fft.fftfreq(4, r),
    "normal": lambda t, x, r: t.normal(r, 1.0),
    "normal2": lambda t, x, r: t.normal(0.0, r, (2,)),
    "unif": lambda t, x, r: t.empty(2).uniform_(0, r),
    "bern": lambda t, x, r: t.bernoulli(x.sigmoid(), r),
    "exponential": lambda t, x, r: t.empty(2).exponential_(r),
    "drop": lambda t, x, r: t.nn.functional.dropout(x, r),
    "multiply": lambda t, x, r: t.multiply(r, 2),
    "bartlett": lambda t, x, r: t.ldexp(x, r),
    "cross": lambda t, x, r: t.special.xlog1py(x, r),
    "cs": lambda t, x, r: t.copysign(x, r),
    "nextafter": lambda t, x, r: t.nextafter(x, r),
    "baddbmm": lambda t, x, r: t.baddbmm(x[None], x[None], x[None], beta=r),
    "addr": lambda t, x, r: t.addr(x, x[0], x[0], beta=r),
    "sub_alpha": lambda t, x, r: t.sub(x, x, alpha=r),
    "rsub": lambda t, x, r: t.rsub(x, r),
    "index_add": lambda t, x, r: x.index_add(0, t.tensor([0]), x[:1], alpha=r),
    "addbmm": lambda t, x, r: t.addbmm(x, x[None], x[None], alpha=r),
    "addmv": lambda t, x, r: t.addmv(x[0], x, x[0], alpha=r),
    "addcdiv": lambda t, x, r: t.addcdiv(x, x, x, value=r),
    "hub": lambda t, x, r: t.nn.functional.huber_loss(x, x, delta=r),
    "softplus": lambda t, x, r: t.nn.functional.softplus(x, r),
    "logit": lambda t, x, r: t.logit(x.sigmoid(), eps=r),
    "gelu": lambda t, x, r: t.nn.functional.leaky_relu(x, r),
    "ctc": lambda t, x, r: t.nn.functional.poisson_nll_loss(x, x, eps=r),
    "pw": lambda t, x, r: t.nn.functional.pairwise_distance(x, x, eps=r),
    "rms": lambda t, x, r: t.nn.functional.rms_norm(x, (3,), eps=r),
    "inorm": lambda t, x, r: t.nn.functional.instance_norm(x[None], eps=r),
    "lrn": lambda t, x, r: t.nn.functional.local_response_norm(x[None], 2, alpha=r),
    "svdl": lambda t, x, r: t.linalg.matrix_norm(x, r),
    "vn": lambda t, x, r: t.linalg.vector_norm(x, r),
    "geom": lambda t, x, r: t.empty(2).geometric_(r),
    "cauchy": lambda t, x, r: t.empty(2).cauchy_(0, r),
    "logn": lambda t, x, r: t.empty(2).log_normal_(0, r),
    "rand": lambda t, x, r: t.empty(2).random_(0, r),
    "trunc": lambda t, x, r: t.nn.init.trunc_normal_(t.empty(2), r),
    "const": lambda t, x, r: t.nn.init.constant_(t.empty(2), r),
    "initu": lambda t, x, r: t.nn.init.uniform_(t.empty(2), 0, r),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_tracked_numbers(both: Any, name: str) -> None:
    """The call raises, or its result has a gradient of the number, exactly where torch's does."""

    def body(torch: Any) -> Any:
        torch.manual_seed(1)
        number = torch.tensor(0.5, requires_grad=True)
        try:
            found = CALLS[name](torch, torch.tensor([[1.5, -0.3, -2.2], [0.6, -1.1, -1.4], [0.4, 0.8, -0.7]]), number)
        except (TypeError, RuntimeError, ValueError) as error:
            return type(error).__name__
        tracked = isinstance(found, torch.Tensor) and found.requires_grad
        return tracked, found.detach() if isinstance(found, torch.Tensor) else None

    both(body, strides=False)


@pytest.mark.parametrize("driver", ["gels", "gelsd", "gelss"])
def test_thresholds_of_least_squares(both: Any, driver: str) -> None:
    """gels ignores ``rcond``."""
    for rcond in (None, 0.1, 0.5, 0.9):

        def body(torch: Any, rcond: Any = rcond) -> Any:
            x = torch.tensor([[1.0, 0.9, 0.3], [0.4, -0.2, 0.1], [-0.7, 0.2, 0.5], [0.2, 0.1, -0.4]])
            return torch.linalg.lstsq(x, x[:, :2].sin() + 1, rcond=rcond, driver=driver)

        both(body, atol=1e-4)

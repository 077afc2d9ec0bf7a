"""Composite operations on tensors with ``__torch_dispatch__``: the class sees the parts, and the results are torch's."""
from __future__ import annotations

import copy
import pickle

import pytest
import torch as real_torch

import mstorch
from tests.against_torch import same

MADE_OF_OTHERS = {
    "diff": lambda t, w, v, q: t.diff(w), "tile": lambda t, w, v, q: t.tile(w, (2, 1)), "kron": lambda t, w, v, q: t.kron(w, q),
    "cdist": lambda t, w, v, q: t.cdist(w, w + 1), "manhattan": lambda t, w, v, q: t.cdist(w, w + 1, p=1.0),
    "trapezoid": lambda t, w, v, q: t.trapezoid(w), "cumulative": lambda t, w, v, q: t.cumulative_trapezoid(w),
    "cov": lambda t, w, v, q: t.cov(w), "corrcoef": lambda t, w, v, q: t.corrcoef(q),
    "tensordot": lambda t, w, v, q: t.tensordot(w, w, dims=2), "inner": lambda t, w, v, q: t.inner(w, w),
    "fliplr": lambda t, w, v, q: t.fliplr(w), "flipud": lambda t, w, v, q: t.flipud(w),
    "meshgrid": lambda t, w, v, q: t.meshgrid(v, v, indexing="ij"), "block_diag": lambda t, w, v, q: t.block_diag(w, q),
    "cartesian_prod": lambda t, w, v, q: t.cartesian_prod(v, v), "hstack": lambda t, w, v, q: t.hstack([w, w]),
    "vstack": lambda t, w, v, q: t.vstack([w, w]), "dstack": lambda t, w, v, q: t.dstack([w, w]),
    "column_stack": lambda t, w, v, q: t.column_stack([v, v]), "atleast": lambda t, w, v, q: (t.atleast_2d(v), t.atleast_3d(v)),
    "tensor_split": lambda t, w, v, q: t.tensor_split(w, 2), "hsplit": lambda t, w, v, q: t.hsplit(w, 2),
    "isclose": lambda t, w, v, q: t.isclose(w, w), "nanmean": lambda t, w, v, q: t.nanmean(w),
    "quantile": lambda t, w, v, q: t.quantile(w, 0.5), "gradient": lambda t, w, v, q: t.gradient(v),
    "argwhere": lambda t, w, v, q: t.argwhere(w), "float_power": lambda t, w, v, q: t.float_power(w, 2),
    "vecdot": lambda t, w, v, q: t.linalg.vecdot(w, w), "matrix_power": lambda t, w, v, q: t.linalg.matrix_power(q, 3),
    "multi_dot": lambda t, w, v, q: t.linalg.multi_dot([w.t(), w, w.t()]), "cross": lambda t, w, v, q: t.linalg.cross(q, q.t()),
    "matrix_norm": lambda t, w, v, q: t.linalg.matrix_norm(w), "cosine": lambda t, w, v, q: t.cosine_similarity(w, w + 1),
    "pairwise": lambda t, w, v, q: t.pairwise_distance(w, w + 1), "normalize": lambda t, w, v, q: t.nn.functional.normalize(w),
    "triplet": lambda t, w, v, q: t.nn.functional.triplet_margin_loss(w, w + 1, w - 1),
    "ranking": lambda t, w, v, q: t.nn.functional.margin_ranking_loss(v, v + 1, v), "kl": lambda t, w, v, q: t.nn.functional.kl_div(w, w + 1, reduction="sum"),
    "poisson": lambda t, w, v, q: t.nn.functional.poisson_nll_loss(w, w), "gaussian": lambda t, w, v, q:
    t.nn.functional.gaussian_nll_loss(w, w + 1, w.abs() + 1), "hinge": lambda t, w, v, q: t.nn.functional.hinge_embedding_loss(w, w),
    "softmin": lambda t, w, v, q: t.nn.functional.softmin(w, 1), "softsign": lambda t, w, v, q: t.nn.functional.softsign(w),
    "tanhshrink": lambda t, w, v, q: t.nn.functional.tanhshrink(w), "repeat": lambda t, w, v, q: t.repeat_interleave(w, 2, 0),
    "fftshift": lambda t, w, v, q: t.fft.fftshift(w), "msort": lambda t, w, v, q: t.msort(w),
    "multigammaln": lambda t, w, v, q: t.special.multigammaln(v + 5, 2), "isfinite": lambda t, w, v, q: t.isfinite(w),
}  # fmt: skip


def _wrapper(t):
    """Return a class that holds a tensor and computes with it below autograd, and the calls that it received."""
    seen = []

    class Wrapper(t.Tensor):
        @staticmethod
        def __new__(cls, held):
            made = t.Tensor._make_wrapper_subclass(cls, held.shape, strides=held.stride(), dtype=held.dtype, device=held.device)
            made.held = held
            return made

        def __init__(self, held):
            pass

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append(str(func))
            of = t.utils._pytree.tree_map
            result = func(*of(lambda v: v.held if isinstance(v, cls) else v, args), **(kwargs or {}))
            return of(lambda v: cls(v) if isinstance(v, t.Tensor) else v, result)

    return Wrapper, seen


def _held(found):
    return [_held(item) for item in found] if isinstance(found, (list, tuple)) else found.held


@pytest.mark.parametrize("name", MADE_OF_OTHERS)
def test_the_parts_are_seen(name):
    results = []
    for t in (real_torch, mstorch):
        wrapper, seen = _wrapper(t)
        square = t.arange(9.0).reshape(3, 3).add(t.eye(3) * 9)
        given = [wrapper(t.arange(12.0).reshape(3, 4) / 5 - 1), wrapper(t.tensor([1.0, 2.0, 4.0])), wrapper(square)]
        results.append(_held(MADE_OF_OTHERS[name](t, *given)))
        assert seen
    same(*results)


class Kept(mstorch.Tensor):
    """A wrapper class at module level, so that it can be pickled."""

    @staticmethod
    def __new__(cls, held):
        made = mstorch.Tensor._make_wrapper_subclass(cls, held.shape, dtype=held.dtype, device=held.device)
        made.held = held
        return made

    def __init__(self, held):
        pass

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        found = func(*(item.held if isinstance(item, cls) else item for item in args), **(kwargs or {}))
        return cls(found) if isinstance(found, mstorch.Tensor) else found


def test_a_wrapper_has_no_address_and_is_pickled_with_what_it_holds():
    made = Kept(mstorch.tensor([1.0, 2.0]))
    assert made.data_ptr() == 0
    again = pickle.loads(pickle.dumps(made))
    assert type(again) is Kept and again.held.tolist() == [1.0, 2.0] and again.shape == (2,)
    assert copy.deepcopy(made).held.tolist() == [1.0, 2.0]


def test_what_computes_itself_is_one_call():
    wrapper, calls = _wrapper(mstorch)
    assert type(mstorch.linalg.eigvals(wrapper(mstorch.eye(3)))) is wrapper
    assert [str(call) for call in calls] == ["aten.linalg_eigvals.default"]

"""Operators of torch's database that wait for a device's values without a warning: only those in a list, each with a reason."""
from __future__ import annotations

import json
import os
import pathlib

import pytest

from tests import warm

pytestmark = [pytest.mark.slow, pytest.mark.sweep, pytest.mark.long]

ROOT = pathlib.Path(__file__).parents[2]
KNOWN = {
    "the result is a number of Python's, or as long as values say": "item allclose equal unique_consecutive histogram histogramdd histc to_sparse "
    "masked_select argwhere nonzero nonzero_static",
    "the sample asks for the host": "to",
    "a matrix that cannot be inverted is an error, as in torch": "cholesky_inverse",
    "the host makes a permutation of the pivots, which its factorisation gave": "lu_solve linalg.lu_solve",
    "the values decide how to compute, as in torch": "cumprod prod masked.prod masked.cumprod linalg.vander matrix_exp lu_unpack searchsorted cov "
    "linalg.eigh linalg.svd svd svd_lowrank pca_lowrank gather "
    "special.chebyshev_polynomial_t special.chebyshev_polynomial_u special.chebyshev_polynomial_v special.chebyshev_polynomial_w "
    "special.hermite_polynomial_h special.hermite_polynomial_he special.laguerre_polynomial_l special.legendre_polynomial_p "
    "special.shifted_chebyshev_polynomial_t special.shifted_chebyshev_polynomial_u special.shifted_chebyshev_polynomial_v "
    "special.shifted_chebyshev_polynomial_w",
    "the stand-in draws on the host": "cauchy exponential geometric log_normal normal.in_place uniform randn randn_like rand_like randint randint_like "
    "empty_strided multinomial normal normal.number_mean bernoulli nn.functional.rrelu nn.functional.scaled_dot_product_attention "
    "nn.functional.multi_head_attention_forward nn.functional.dropout nn.functional.dropout2d nn.functional.dropout3d nn.functional.alpha_dropout "
    "nn.functional.feature_alpha_dropout.with_train nn.functional.feature_alpha_dropout.without_train nn.functional.fractional_max_pool2d "
    "nn.functional.fractional_max_pool3d",
    "the operator itself has no kernel there, and warned": "frexp nextafter special.i1 _segment_reduce.lengths _segment_reduce.offsets sparse.sampled_addmm sparse.mm.reduce",
    "the sample has no elements": "nn.functional.pad.reflect nn.functional.pad.replicate nn.functional.pad.circular",
}


def test_no_other_operator_reads_in_silence() -> None:
    done = warm.done("-m", "tests.devices.silent_reads", environment={**os.environ, "PYTHONPATH": str(ROOT), "MSTORCH_FAKE_DEVICE": "Ascend"})
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout[done.stdout.index("{") :])
    known = {name for names in KNOWN.values() for name in names.split()}
    assert len(found) >= 40
    assert {name: ways for name, ways in found.items() if name not in known} == {}

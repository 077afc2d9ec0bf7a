"""Reductions and scans of empty tensors of each dtype, also those for which torch has no kernel."""
from __future__ import annotations

import pytest

ALONG = ["softmax", "log_softmax", "softmin", "cummax", "cummin", "logcumsumexp", "cumsum", "cumprod", "logsumexp", "kthvalue"]
EACH = ["amax", "amin", "aminmax", "mode", "max", "min", "median", "nanmedian", "sort", "argsort", "argmax", "argmin", "sum", "prod", "mean",
        "all", "any", "norm", "std", "var", "unique", "nansum"]  # fmt: skip
DTYPES = ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
SELECTIONS = ["softmax", "log_softmax", "cummax", "cummin", "amax", "amin", "mode", "max", "min"]


def outcome(torch, name, tensor, dim):
    """Return shapes, strides and dtypes of the results, or the error's class."""
    function = getattr(torch, name, None) or getattr(torch.nn.functional, name)
    try:
        result = function(tensor, *((1,) if name == "kthvalue" else ()), **({} if dim is None else {"dim": dim}))
    except (RuntimeError, IndexError, NotImplementedError) as error:
        return type(error).__name__
    results = result if isinstance(result, (tuple, list)) else [result]
    return [(tuple(one.shape), one.stride(), str(one.dtype), one.requires_grad) for one in results]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3)])
def test_each_reduction(both, shape, dtype):
    both(lambda torch: {
        f"{name} {dim}": outcome(torch, name, torch.empty(shape, dtype=getattr(torch, dtype)), dim)
        for name in (*ALONG, *EACH) for dim in (None, 0, -1) if dim is not None or name in EACH
    })  # fmt: skip


@pytest.mark.parametrize("dtype", ["complex32", "float8_e4m3fn", "uint16", "uint32"])
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3)])
def test_selections_of_rare_dtypes(both, shape, dtype):
    both(lambda torch: {
        f"{name} {dim}": outcome(torch, name, torch.empty(shape, dtype=getattr(torch, dtype)), dim) for name in SELECTIONS for dim in (0, -1)
    })  # fmt: skip

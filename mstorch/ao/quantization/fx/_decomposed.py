"""torch.ao.quantization.fx._decomposed: the names that other quantization packages use."""
from __future__ import annotations

import math

from ...._src.hook import missing as _missing
from ...._tensor import Tensor


def _per_token_quant_qparam_dim_check(input: Tensor, scales: Tensor, zero_points: Tensor) -> None:
    tokens = math.prod(input.shape[:-1])
    for name, given in (("scales", scales), ("zero_points", zero_points)):
        if given.numel() != tokens:
            raise AssertionError(f"num_tokens: {tokens} {name}: {given.size()}")


__getattr__ = _missing(__name__)

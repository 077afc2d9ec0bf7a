"""gradcheck of forward mode under ``vmap``."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._src.ops.memory.creation import zeros
from .._src.ops.random.random import randn_like
from .._src.ops.shape.join import stack
from .._tensor import Tensor
from . import forward_ad
from ._jacobians import GradcheckError, array, as_tuple, is_like, watched

VMAP: list[Callable[..., Any]] = []  # set by torch.func


def check_batched_tangents(func: Callable[..., Any], inputs: Sequence[Any]) -> None:
    """Raise GradcheckError unless batched tangents give the same results as single ones."""
    for position in watched(inputs):

        def slopes(tangent: Tensor, position: int = position) -> tuple[Any, ...]:
            with forward_ad.dual_level():
                given = [x.detach() if is_like(x) else x for x in inputs]
                given[position] = forward_ad.make_dual(given[position], tangent)
                pairs = [forward_ad.unpack_dual(output) for output in as_tuple(func(*given)) if output is not None]
                return tuple(
                    zeros((), dtype=value.dtype).expand(value.shape) if slope is None else slope for value, slope in pairs
                )

        tangents = [randn_like(inputs[position].detach()) for _ in range(2)]
        wanted = [stack(parts) for parts in zip(*(slopes(tangent) for tangent in tangents))]
        try:
            found = VMAP[0](slopes)(stack(tangents))
        except RuntimeError as error:
            raise GradcheckError(
                f"While computing batched gradients, got: {error}\n\ngradcheck failed while testing batched gradient computation of "
                "forward mode."
            ) from error
        for number, (got, want) in enumerate(zip(found, wanted)):
            if not np.allclose(array(got), array(want)):
                raise GradcheckError(
                    f"For output {number} and input {number}:\n\ngradcheck failed while testing batched gradient computation of "
                    f"forward mode.\n\nGot:\n{got}\n\nExpected:\n{want}"
                )

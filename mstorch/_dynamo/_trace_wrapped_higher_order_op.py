"""torch._dynamo._trace_wrapped_higher_order_op: how masks index tensors inside of vmap."""
from __future__ import annotations

import contextlib


class TransformGetItemToIndex(contextlib.nullcontext):  # type: ignore[type-arg]
    """A block in which ``tensor[index]`` inside of vmap takes tensors as indices, which it does here in any case."""

"""torch._dynamo._trace_wrapped_higher_order_op: indexing of tensors by masks under vmap."""
import contextlib


class TransformGetItemToIndex(contextlib.nullcontext):  # type: ignore[type-arg]
    """Context manager without effect: under mstorch's vmap, ``tensor[index]`` always accepts tensors as indices."""

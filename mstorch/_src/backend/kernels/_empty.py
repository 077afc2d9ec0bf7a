"""Results for empty inputs or outputs, which kernels reject."""
from __future__ import annotations

from .. import tape
from ..device_memory import full
from ..raw import NAME_OF, Raw
from ._nodes import recorded


def _forward(ctx: tape.Function, shape: tuple[int, ...], value: float, name: str, *raws: Raw) -> Raw:
    ctx.like = tuple((tuple(raw.shape), NAME_OF[raw.dtype]) for raw in raws)
    return full(shape, value, name)


def _backward(ctx: tape.Function, gradient: Raw) -> tuple[Raw | None, ...]:
    return (None, None, None, *(full(shape, 0, name) for shape, name in ctx.like))


_node = tape.function_node("FullBackward0", _forward, _backward)


def filled(shape: tuple[int, ...], value: float, name: str, *raws: Raw) -> Raw:
    """Return a constant tensor that counts as a result of ``raws``, whose gradients are then zero.

    MindSpore's own gradient would contain a sum over no elements, which returns uninitialized memory (2.7.2 to 2.10).
    """
    return _node(shape, value, name, *raws) if recorded(*raws) else full(shape, value, name)

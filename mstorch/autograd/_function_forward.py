"""autograd.Function in forward mode: the results of its ``jvp`` become the tangents of its outputs."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._src.core.tangents import below
from .._src.core.tensor_base import TensorBase
from .._src.ops.memory.creation import zeros_like
from .._src.tape.duals import carry, give, refuse, tangent_of
from .._tensor import Tensor
from ._context import FunctionCtx


def push(
    jvp: Callable[..., Any], ctx: FunctionCtx, levels: Sequence[int], tensors: Sequence[Any], output: Tensor | tuple[Tensor, Tensor]
) -> None:
    """Set the tangents of a Function's outputs by its ``jvp``; ``tensors`` are the Function's arguments, with None for non-tensors."""
    refuse(*[tensor for tensor in tensors if tensor is not None])
    outputs = list(output) if isinstance(output, (tuple, list)) else [output]
    plain, dirty = {id(item) for item in ctx._non_differentiable}, {id(item) for item in ctx._dirty}
    ctx._forward_now = True
    try:
        for level in levels:
            given = [_tangent(tensor, level, ctx.materialize_grads) for tensor in tensors]
            versions = {id(tangent): tangent._version for tangent in given if tangent is not None}
            with below(level):
                found = jvp(ctx, *given)
            found = found if isinstance(found, (tuple, list)) else (found,)
            if len(found) != len(outputs):
                raise RuntimeError(
                    f"Function's jvp returned an invalid number of forward gradients (expected {len(outputs)} but got {len(found)})"
                )
            for position, (item, tangent) in enumerate(zip(outputs, found)):
                _check(position, tangent)
                if not isinstance(item, TensorBase) or item._ms_dtype.is_integral or id(item) in plain:
                    if tangent is not None:
                        raise RuntimeError(
                            f"Function's jvp returned a gradient at position {position}, but  the corresponding forward output is not "
                            "a differentiable Tensor.You should return None at that position instead."
                        )
                    continue
                _give(item, level, tangent, versions, id(item) in dirty)
        for kept in ctx._saved or ():
            for item in outputs:
                if kept is not None and kept.output and kept.tensor is not None and kept.number == item._ms_number:
                    carry(item, kept.tensor)
    finally:
        ctx._forward_now = False


def _tangent(tensor: Tensor, level: int, materialize: bool) -> Tensor | None:
    if tensor is None or tensor._ms_dtype.is_integral:
        return None
    found = tangent_of(tensor, level)
    return zeros_like(tensor.detach()) if found is None and materialize else found


def _check(position: int, tangent: Tensor | int) -> None:
    if tangent is not None and not isinstance(tangent, TensorBase):
        raise RuntimeError(f"expected Variable or None (got {type(tangent).__name__}) for grad output {position}.")


def _give(item: Tensor, level: int, tangent: Tensor, versions: dict[int, int], dirty: bool) -> None:
    if dirty:
        if versions.get(id(tangent)) in (None, tangent._version):  # a new tensor, or an unmodified one
            raise RuntimeError(
                "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is modifying an input "
                "inplace, then the jvp function must modify the corresponding gradient inplace."
            )
        return
    if tangent is None or tangent._ms_dtype.is_integral:
        raise RuntimeError("Expected both tensor and its forward grad to be floating point or complex")
    if tangent._ms_shape != item._ms_shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. "
            f"Tensor is of size {list(item._ms_shape)} while the given forward gradient is of size {list(tangent._ms_shape)}."
        )
    if _is_view(item) and not _is_view(tangent):
        raise RuntimeError(
            "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view."
        )
    give(item, level, tangent)


def _is_view(tensor: Tensor) -> bool:
    return tensor._ms_auto is not None and tensor._ms_auto.base is not None

"""Dual tensors: joining a value and its tangent, and separating them, for forward_ad and torch.func's jvp."""
from __future__ import annotations

from typing import Any

from .._src.core.storage import Storage
from .._src.core.tangents import below, forget, seen, without
from .._src.core.tensor_base import auto_of, strides_of
from .._src.tape.duals import give, tangent_of
from .._src.tape.forward import in_storage
from .._src.tape.movement import SAME, same
from .._src.tape.node import named
from .._src.tape.windows import view
from .._tensor import Tensor

MAPPED: list[Any] = []  # ``joined`` and ``apart`` for use in ``vmap``, set by torch.func


def _same(tensor: Tensor) -> Any:
    """Return a view of the whole tensor."""
    return view(tensor, "ViewBackward0", tensor._ms_shape, strides_of(tensor), tensor._ms_offset, same, SAME, SAME)


def check_sizes(primal: Tensor, tangent: Tensor) -> None:
    """Raise RuntimeError with torch's message if the tangent's shape differs from the primal's."""
    if primal._ms_shape != tangent._ms_shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. "
            f"Tensor is of size {list(primal._ms_shape)} while the given forward gradient is of size {list(tangent._ms_shape)}."
        )


def joined(primal: Any, tangent: Any, level: int) -> Tensor:
    """Return a view of ``primal`` with a tangent at a level. Raise RuntimeError if the sizes differ."""
    check_sizes(primal, tangent)
    dual = _same(primal)
    here, there = primal._ms_storage, tangent._ms_storage
    if here.__class__ is there.__class__ is Storage and not _same_geometry(primal, tangent):
        with below(level):
            tangent = in_storage(tangent, primal)
    give(dual, level, tangent)
    return dual


def _same_geometry(primal: Tensor, tangent: Tensor) -> bool:
    """Return whether a tangent has the primal's strides and offset, in a storage of as many elements, so that it need not be copied."""
    if 0 in primal._ms_shape:
        return True
    if primal._ms_offset != tangent._ms_offset or primal._ms_stride != tangent._ms_stride:
        return primal._ms_stride is not None and 0 in primal._ms_stride  # an expanded primal is rejected later
    return bool(primal._ms_storage.nbytes // primal._ms_dtype.itemsize == tangent._ms_storage.nbytes // tangent._ms_dtype.itemsize)


def apart(dual: Any, level: int) -> tuple[Any, Any]:
    """Return a view of a tensor without its tangent at a level, and that tangent, or None."""
    tangent = tangent_of(dual, level) if seen(level) else None
    with without(level):
        primal = _same(dual)
    if primal._ms_node is not None:
        primal._ms_node.__class__ = named(type(primal._ms_node), "torch::autograd::Identity")
    forget(auto_of(primal), level)
    return primal, tangent

"""Lazy conjugation and negation: views with torch's conjugate and negative bits.

A tensor over a ``Mirror`` has the class of all tensors; dispatch (``namespace/unresolved.py``) recognizes it by its storage. Code that does
not look at the storage still reads correct values: ``array_of`` applies the bits, ``put_array`` undoes them.
"""
from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from ..backend.float8 import turned as codes_turned
from ..core.dtype import complex32
from ..core.mirrors import Mirror
from ..core.modes import modes
from ..core.storage import Storage
from ..core.strides import preserved_strides
from ..core.tangents import LEVELS
from ..core.tensor_base import TensorBase, array_of, is_tracked, laid_out, strides_of
from .node import node_of
from .windows import linear_node, view

CLASSES: set[Any] = set()  # the class of plain tensors, which may lie over a mirror


def signs_of(tensor: TensorBase) -> tuple[bool, bool]:
    """Return the conjugate bit and the negative bit of a tensor."""
    storage = tensor._ms_storage
    return (storage.conj, storage.neg) if storage.__class__ is Mirror else (False, False)


def can_be_lazy(tensor: TensorBase) -> bool:
    """Return whether conjugation and negation may be lazy; on devices, in captures and in forward mode they are computed at once."""
    return tensor._ms_storage.__class__ in (Storage, Mirror) and modes.native is None and not LEVELS


def with_signs(tensor: TensorBase, conj: bool, neg: bool) -> TensorBase:
    """Set the conjugate and the negative bit of a tensor that nothing else refers to, and return the tensor."""
    storage = tensor._ms_storage.inner if tensor._ms_storage.__class__ is Mirror else tensor._ms_storage
    tensor._ms_storage = Mirror(storage, conj, neg) if conj or neg else storage
    tensor._ms_array = None
    return tensor


def is_mirrored(value: Any) -> bool:
    """Return whether a value is a plain tensor over a mirror."""
    return value.__class__ in CLASSES and value._ms_storage.__class__ is Mirror


def turned(input: TensorBase, conj: bool = False, neg: bool = False) -> TensorBase:
    """Return a view of a host tensor with its elements conjugated or negated."""
    own_conj, own_neg = signs_of(input)
    turn: Any = np.conjugate if conj else np.negative
    if input._ms_dtype is complex32:
        turn = partial(codes_turned, conj=conj, neg=not conj)
    label = "ConjBackward0" if conj else "NegViewBackward0"
    made = view(
        input, label, input._ms_shape, strides_of(input), input._ms_offset, None, turn, turn, again=lambda base: turned(base, conj, neg)
    )
    return with_signs(made, own_conj ^ conj, own_neg ^ neg)


def resolved(tensor: Any) -> Any:
    """Return a tensor with lazy bits as a plain, detached tensor in new memory; return any other tensor unchanged."""
    if not is_mirrored(tensor):
        return tensor
    made = laid_out(array_of(tensor), preserved_strides(tensor._ms_shape, strides_of(tensor)))
    if modes.grad and is_tracked(tensor):
        node = node_of(tensor)
        if node is not None:
            made._ms_node, made._ms_number = node, tensor._ms_number
        else:
            made._ms_node = linear_node(tensor, np.asarray, np.asarray, "CloneBackward0")
    made._ms_counter = tensor._ms_counter  # writes to the memory count as writes to a saved tensor
    return made


def has_mirrored(values: Iterable[Any]) -> bool:
    """Return whether one of the values, also in lists and tuples, is a tensor over a mirror."""
    return any(
        has_mirrored(value) if value.__class__ in (tuple, list) else is_mirrored(value)
        for value in values
    )


def all_resolved(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the values with tensors over mirrors resolved to plain ones, also in lists and tuples."""
    return tuple(_resolved(value) for value in values)


def _resolved(value: TensorBase | float) -> Any:
    if value.__class__ in (tuple, list):
        return value.__class__(map(_resolved, value)) if has_mirrored(value) else value
    return resolved(value) if value.__class__ in CLASSES else value


def seen_alike(found: TensorBase | tuple[TensorBase, TensorBase], source: TensorBase, lying: TensorBase) -> Any:
    """Set the conjugate and negative bits of ``source`` on the views that a function returned for ``lying``, the alias of ``source``
    without bits; return the views, or None if the function returned a copy."""
    if found is lying:
        return source
    if isinstance(found, (tuple, list)):
        parts = [seen_alike(item, source, lying) for item in found]
        return None if None in parts else type(found)(parts)
    if not isinstance(found, TensorBase) or found._ms_storage is not lying._ms_storage:
        return None
    if found._ms_auto is not None and found._ms_auto.base is lying:
        found._ms_auto.base = source
    return with_signs(found, *signs_of(source))

"""Checks before an in-place write: leaves and views in autograd, and overlapping memory."""
from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from .auto import DEFAULT, INFERENCE, MULTIPLE_OUTPUTS, OF_FUNCTION, WITHOUT_GRAD, Auto
from .marks import is_captured
from .modes import modes
from .storage import DeviceMemory, Storage
from .strides import dense_order, may_share_places, overlaps
from .tangents import LEVELS
from .tensor_base import is_tracked, strides_of, touch
from .warned import warn

if TYPE_CHECKING:
    from .tensor_base import TensorBase

_LEAF = "a leaf Variable that requires grad is being used in an in-place operation."
_VIEW_OF_LEAF = "a view of a leaf Variable that requires grad is being used in an in-place operation."
_OVERLAP = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
    "Please clone() the tensor before performing the operation."
)


def check_history(tensor: TensorBase) -> None:
    """Raise torch's error if autograd, or a transform of ``torch.func``, forbids an in-place write to the tensor now."""
    if modes.level:
        refuse_captured(tensor)
    if not modes.grad or not is_tracked(tensor):
        return
    auto = tensor._ms_auto
    if auto is not None:
        base = auto.base
        if base is None:
            if auto.leaf and tensor._ms_node is None or auto.entered:
                raise RuntimeError(_LEAF)
        else:
            if auto.origin != DEFAULT:
                raise RuntimeError(refused_view(tensor, auto))
            # Autograd may not track the base: ``arange(6.0).view(2, 3).requires_grad_()``.
            if base._ms_node is None or base._ms_auto is not None and base._ms_auto.entered:
                raise RuntimeError(_VIEW_OF_LEAF)
            if tensor._ms_node is None and auto.seen != -1:  # the base became tracked later: torch treats it as a leaf
                raise RuntimeError(_LEAF)


def check_view(tensor: TensorBase) -> None:
    """Raise torch's error if this tensor is a view (of ``unbind``, ``split``, or made in no-grad mode) into which no tensor that requires
    grad may be written."""
    auto = tensor._ms_auto
    if auto is not None and auto.base is not None and auto.origin != DEFAULT:
        raise RuntimeError(refused_view(tensor, auto))


def may_not_be_asked(tensor: TensorBase) -> bool:
    """Return whether reading ``grad_fn`` of a view raises because the base was modified in place after the view was made."""
    auto = tensor._ms_auto
    return auto is not None and auto.origin != DEFAULT and auto.seen != tensor._ms_counter.version


_WHY = {
    MULTIPLE_OUTPUTS: (
        "This view is the output of a function that returns multiple views. Such functions do not allow the output views to be "
        "modified inplace. You should replace the inplace operation by an out-of-place one."
    ),
    OF_FUNCTION: (
        "This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to handle "
        "view+inplace would override the custom backward associated with the custom Function, leading to incorrect gradients. This "
        "behavior is forbidden. You can fix this by cloning the output of the custom Function."
    ),
    **{origin: (
        "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view "
        f"and the inplace either both inside the {block} block (if you don't want the inplace to be tracked) or both outside (if you "
        "want the inplace to be tracked)."
    ) for origin, block in ((WITHOUT_GRAD, "no_grad"), (INFERENCE, "inference_mode"))},
}  # fmt: skip


def refused_view(tensor: TensorBase, auto: Auto, indirect: bool = False) -> str:
    """Return torch's message for a write to a view (of ``unbind``, ``split``, or made in no-grad mode) or, if ``indirect``, to its base."""
    node = tensor._ms_node
    written = "and its base or another view of its base has been modified inplace" if indirect else "and is being modified inplace"
    maker = "" if node is None else f"Output {tensor._ms_number} of {re.sub('Backward[0-9]*$', '', node.name())} is a view"
    if node is not None and auto.origin in (MULTIPLE_OUTPUTS, OF_FUNCTION):
        return f"{maker} {written}. {_WHY[auto.origin]}"
    prefix = f"{maker} of a view which was created in" if node is not None else "A view was created in"
    if auto.origin == INFERENCE:
        return f"{prefix} inference mode {written} in normal mode. {_WHY[auto.origin]}"
    return f"{prefix} no_grad mode {written} with grad mode enabled. {_WHY[auto.origin]}"


def check_writable(tensor: TensorBase, uniform: bool = False) -> None:
    """Raise torch's error if an in-place write to the tensor is not allowed now."""
    check_history(tensor)
    if tensor._ms_auto is not None:
        refuse_inference(tensor)
    if not uniform and tensor._ms_stride is not None:
        refuse_shared_places(tensor)
    if modes.before_write is not None:
        modes.before_write(tensor)


def is_plain_target(tensor: TensorBase) -> bool:
    """Return whether a write to the tensor changes host memory and nothing else: autograd, forward mode, transforms and captures have no
    part in it, and ``check_writable`` would refuse nothing."""
    if tensor._ms_storage.__class__ is not Storage or modes.native is not None or LEVELS or modes.level or modes.before_write is not None:
        return False
    auto = tensor._ms_auto
    if modes.grad:
        if tensor._ms_node is not None:
            return False
        if auto is not None:
            base = auto.base
            if auto.leaf or auto.origin != DEFAULT or auto.pending is not None:
                return False
            if base is not None and (base._ms_node is not None or base._ms_auto is not None):
                return False
    if auto is not None and auto.inference is not auto.swapped and not modes.inference:
        return False
    return tensor._ms_stride is None or not overlaps(tensor._ms_shape, tensor._ms_stride)


def refuse_captured(tensor: TensorBase) -> None:
    """Raise torch's error if a function under a transform of ``torch.func`` writes to a tensor that it captured."""
    if is_captured(tensor._ms_storage):
        raise RuntimeError(
            "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation that would mutate "
            "a captured Tensor. This is not supported; please rewrite the function being transformed to explicitly accept the mutated "
            "Tensor(s) as inputs."
        )


def refuse_inference(tensor: TensorBase) -> None:
    """Raise torch's error if a tensor made in inference mode is to be modified, or given another shape, outside that mode."""
    if tensor._ms_auto is not None and tensor._ms_auto.uncounted and not modes.inference:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal tensor "
            "before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
        )


def refuse_shared_places(tensor: TensorBase) -> None:
    """Raise torch's error if elements of the tensor overlap in memory."""
    if tensor._ms_stride is not None and overlaps(tensor._ms_shape, tensor._ms_stride):
        raise RuntimeError(_OVERLAP)


def warn_if_expanded(tensor: TensorBase, name: str, form: str) -> None:
    """Warn of a write to an expanded tensor, where several elements share memory and torch still allows the write."""
    if tensor._ms_stride is not None and overlaps(tensor._ms_shape, tensor._ms_stride):
        warn(
            f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before performing this operation. This also "
            f"applies to advanced indexing e.g. {form}"
        )


SHARED = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location. Please "
    "clone() the tensor before performing the operation."
)


def refuse_partial_overlap(target: TensorBase, source: TensorBase, alike: bool = True) -> None:
    """Raise torch's error if two dense tensors overlap in memory, unless they are identical views; without ``alike``, identical views raise
    as well."""
    if source is target and not alike:
        raise RuntimeError(SHARED)
    if source._ms_storage is not target._ms_storage or (alike and source is target) or 0 in source._ms_shape or 0 in target._ms_shape:
        return
    strides = strides_of(target), strides_of(source)
    if dense_order(target._ms_shape, strides[0]) is None or dense_order(source._ms_shape, strides[1]) is None:
        return  # as in torch, only dense views are compared
    begins = target._ms_offset * target._ms_dtype.itemsize, source._ms_offset * source._ms_dtype.itemsize
    ends = [begin + math.prod(part._ms_shape) * part._ms_dtype.itemsize for begin, part in zip(begins, (target, source))]
    if alike and begins[0] == begins[1] and ends[0] == ends[1]:
        apart = strides[0] == strides[1]
    else:
        apart = ends[0] <= begins[1] or ends[1] <= begins[0]
    if not apart:
        raise RuntimeError(SHARED)


def can_change(tensor: TensorBase, op: str, *args: Any) -> bool:
    """Return whether the device has an in-place kernel of an operation for the tensor, with these further arguments."""
    storage = tensor._ms_storage
    if storage.__class__ is not DeviceMemory or modes.native is not None:
        return False
    if tensor._ms_stride is not None and may_share_places(tensor._ms_shape, tensor._ms_stride):
        return False  # a device writes all elements of a window back, over those that were changed in the same memory
    return storage.changes(op, args, tensor._ms_dtype.name)


def change_raw(tensor: TensorBase, op: str, *args: Any) -> bool:
    """Run an in-place device kernel on the tensor, its first operand; return False if the device does not have the kernel."""
    if not can_change(tensor, op, *args):
        return False
    tensor._ms_storage.change(op, args, tensor._ms_shape, tensor._ms_stride, tensor._ms_offset)
    touch(tensor)
    return True

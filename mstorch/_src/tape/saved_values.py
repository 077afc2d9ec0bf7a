"""What a node saves for backward: inputs and results with their versions, or what saved-tensor hooks packed."""
from __future__ import annotations

import re
from typing import Any

from ..backend.arrays import Array
from ..backend.raw import Raw
from ..core.modes import grad_set_to, modes
from ..core.promotion import type_text
from ..core.storage import DeviceMemory
from ..core.tensor_base import TensorBase
from .bare import bare, bare_twin, dressed
from .node import Node, Passed, edge_of, node_of

_INFERENCE = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation tracked by "
    "autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` "
    "instead of `torch.inference_mode()`."
)


_UNCOUNTED = "Inference tensors do not track version counter."  # of a tensor made in inference mode that has normal data now

_CUT = (
    "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not supported, please use "
    "out-of-place `.detach()` instead"
)


class SavedInput:
    """Input saved for backward with its version, when no saved-tensor hooks are set."""

    __slots__ = ("tensor", "version")

    output = False
    unpack = None

    def __init__(self, tensor: TensorBase) -> None:
        auto = tensor._ms_auto
        if auto is not None and (auto.inference or auto.swapped):
            raise RuntimeError(_INFERENCE if auto.inference else _UNCOUNTED)
        self.tensor = tensor
        self.version = tensor._ms_counter.version

    def value(self, node: Node, recorded: bool) -> Any:
        """Return the saved value: as a tensor if ``recorded``, else as a raw array."""
        tensor = self.tensor
        if tensor._ms_counter.version != self.version:
            raise RuntimeError(changed_text(tensor, self.version, node if self.output else None))
        if tensor._ms_node is None and tensor._ms_auto is not None and tensor._ms_auto.cut > node.sequence:
            raise RuntimeError(_CUT)
        if recorded:
            return tensor
        array, storage = tensor._ms_array, tensor._ms_storage
        # `bare` of a tensor that was read before, written out
        if array is not None and not storage.moved and (modes.native is None or not modes.native.follows):
            return array
        at = tensor._ms_at
        read = at is not None and at[0] is storage and storage.__class__ is DeviceMemory and at[1] == storage.exchanges
        if read and modes.native is None:
            window = tensor._ms_raw
            return storage.base if window is None else window.raw
        return bare(tensor)


USED_UP = (None,)  # stands for saved tensors if there are none, but backward may run only once


class Watched:
    """Version of a tensor that torch saves but mstorch's gradient does not read; kept, as in torch, until backward is done."""

    __slots__ = ("_ms_counter", "_ms_dtype", "_ms_shape", "_ms_node", "_ms_number", "version", "own")

    def __init__(self, tensor: TensorBase, own: bool = False) -> None:
        auto = tensor._ms_auto
        if auto is not None and (auto.inference or auto.swapped):
            raise RuntimeError(_INFERENCE if auto.inference else _UNCOUNTED)
        self._ms_counter, self._ms_dtype = tensor._ms_counter, tensor._ms_dtype
        self._ms_shape, self._ms_number = tensor._ms_shape, tensor._ms_number
        self._ms_node = None if own else tensor._ms_node
        self.version, self.own = tensor._ms_counter.version, own

    def check(self, node: Node) -> None:
        """Raise torch's error if the tensor was modified in place."""
        if self._ms_counter.version != self.version:
            raise RuntimeError(changed_text(self, self.version, node if self.own else None))


def watch(result: TensorBase, *tensors: TensorBase | float | None) -> TensorBase:
    """Return the result. From now on, backward through its node raises if one of ``tensors`` was modified in place; these may include the
    result.

    Under hooks of saved tensors nothing is watched: torch compares no versions there, and memory that a checkpoint wants to be free would
    be kept."""
    node = result._ms_node
    if node is not None and modes.grad:  # otherwise the node is the old one of ``out``
        if not modes.saved_hooks:
            watched = [Watched(tensor, tensor is result) for tensor in tensors if isinstance(tensor, TensorBase)]
            node.watched = [*(node.watched or ()), *watched]
        if node.saved == ():
            node.saved = USED_UP
    return result


class SavedWindow(SavedInput):
    """Input that torch saves as a view: the memory stays alive even if ``.data`` is assigned later."""

    __slots__ = ("storage", "array", "counter")

    def __init__(self, tensor: TensorBase) -> None:
        super().__init__(tensor)
        array = tensor._ms_array
        if array is None or tensor._ms_storage.moved or modes.native is not None:
            array = bare(tensor)
        self.storage, self.array, self.counter = tensor._ms_storage, array, tensor._ms_counter

    def value(self, node: Node, recorded: bool) -> TensorBase | Array | Raw:
        """Return the saved value: from the old memory if the tensor's storage was replaced since. Raise RuntimeError if the value was
        modified in place."""
        tensor = self.tensor
        if tensor._ms_storage is self.storage:
            return super().value(node, recorded)
        if self.counter.version != self.version:
            raise RuntimeError(changed_text(tensor, self.version))
        if not recorded:
            return self.array
        made = dressed(self.array)
        made._ms_node = Passed((edge_of(tensor),))
        return made


def saved_input(tensor: TensorBase) -> Saved | SavedInput:
    """Return the object that a node saves for an input; a number that was wrapped in a tensor bypasses the saved-tensor hooks."""
    return Saved(tensor) if modes.saved_hooks and not tensor.__dict__.get("_wrapped_number") else SavedInput(tensor)


class Saved:
    """Tensor saved for backward with its version, or the packed value of a pair of saved-tensor hooks."""

    __slots__ = ("tensor", "version", "unpack", "packed", "output", "number")
    tensor: Any

    def __init__(self, tensor: TensorBase, output: bool = False) -> None:
        # An output refers to its node; a detached twin avoids a reference cycle.
        self.output = output
        self.number = tensor._ms_number if output else 0
        self.version = tensor._ms_counter.version
        self.unpack = None
        if modes.saved_hooks:
            pack, self.unpack = modes.saved_hooks[-1]
            with grad_set_to(False):
                shown = bare_twin(tensor)
                self.packed = pack(shown)
            if tensor._ms_counter.version != self.version:
                raise RuntimeError(
                    "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be modified "
                    "by in-place operations as this can lead to unexpected side-effects. Please open an issue if you need to perform "
                    "in-place operations on the input to a pack hook."
                )
            if not output:
                self.tensor = _history_of(tensor)
            else:
                self.tensor = None
            return
        self.tensor = bare_twin(tensor) if output else tensor

    @property
    def changed(self) -> bool:
        """True if the tensor was modified in place after it was saved."""
        return self.unpack is None and self.tensor._ms_counter.version != self.version

    def value(self, node: Node | None, recorded: bool) -> TensorBase | Array | Raw:
        """Return the saved value: as a tensor in the autograd graph if ``recorded``, else as a raw array."""
        if self.unpack is not None:
            tensor = self.unpack(self.packed)
            if not isinstance(tensor, TensorBase):
                raise TypeError("Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                                f"{type(tensor).__name__}")
            if recorded:
                made = bare_twin(tensor)
                if self.output:
                    made._ms_node, made._ms_number = node, self.number
                elif self.tensor is not None:
                    kept = self.tensor
                    if isinstance(kept, tuple):
                        made._ms_node, made._ms_number = kept
                    else:
                        return kept if made._ms_storage is kept._ms_storage else _as_leaf(made, kept)
                return made
        else:
            tensor = self.tensor
            if tensor._ms_counter.version != self.version:
                raise RuntimeError(changed_text(tensor, self.version, node if self.output else None))
            if recorded:
                if self.output:
                    tensor = bare_twin(tensor)
                    tensor._ms_node, tensor._ms_number = node, self.number
                return tensor
        return bare(tensor)


def _history_of(tensor: TensorBase) -> Any:
    if tensor._ms_node is None:
        return tensor if tensor._ms_auto is not None and tensor._ms_auto.leaf else None
    return tensor._ms_node, tensor._ms_number


def _as_leaf(made: Any, leaf: Any) -> Any:
    edge = edge_of(leaf)
    if edge is not None:
        made._ms_node, made._ms_number = edge
    return made


def plain_name(node: Node) -> str:
    """Return the node's name for messages, for example ``Exp`` for ExpBackward0."""
    return re.sub(r"Backward\d*$", "", node.name())


def changed_text(tensor: TensorBase | Watched, version: int, maker: Node | None = None) -> str:
    """Return torch's message for a saved tensor that was modified in place."""
    kind = type_text(tensor._ms_dtype)
    # A view whose base was modified has another node now.
    node = maker or (node_of(tensor) if isinstance(tensor, TensorBase) else tensor._ms_node)
    where = f"is at version {tensor._ms_counter.version}; expected version {version} instead"
    which = f", which is output {tensor._ms_number} of {plain_name(node)}," if node is not None else ""
    return (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{kind} {list(tensor._ms_shape)}]{which} {where}. Hint: enable anomaly detection to find the operation that "
        "failed to compute its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )

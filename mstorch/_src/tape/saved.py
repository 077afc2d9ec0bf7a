"""Saved tensors as attributes of a node: ``grad_fn._saved_self`` and ``grad_fn._raw_saved_self``."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.modes import modes
from ..core.tensor_base import TensorBase
from .bare import dressed
from .node import FREED, Node
from .saved_values import Saved

# Names of inputs that are not "self" and "other", by the beginning of the node's name.
_INPUTS = {
    "Mm": ("self", "mat2"), "Bmm": ("self", "mat2"), "Addmm": ("mat1", "mat2", "self"), "Where": ("condition",),
    "Convolution": ("input", "weight"), "NativeLayerNorm": ("input", "weight"), "NativeBatchNorm": ("input", "weight"),
    "Pow": ("self", "exponent"), "NllLoss": ("self", "target"),
}  # fmt: skip
_PLAIN = ("self", "other")


class SavedTensor:
    """Saved tensor of a node, to which pack and unpack hooks can be attached."""

    _ms_node: Any
    _kept: list[Any]
    _place: int

    def __init__(self) -> None:
        raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")

    @property
    def data(self) -> Any:
        """The saved tensor, detached if the node saves it detached; None once the graph has been freed."""
        if self._ms_node.saved is None:
            return None
        item = self._kept[self._place]
        return None if item is None else dressed(item.value(self._ms_node, not item.output and item.unpack is None))

    def unpack(self) -> Any:
        """Return the saved tensor that backward uses."""
        item = self._kept[self._place]
        return None if item is None else item.value(self._ms_node, True)

    def register_hooks(self, *hooks: Callable[[Any], Any]) -> None:
        """Register a pair of hooks: the first packs the saved tensor, the second unpacks it."""
        if len(hooks) != 2 or not all(callable(hook) for hook in hooks):
            raise TypeError(
                "register_hooks(): incompatible function arguments. The following argument types are supported:\n"
                "    1. (self: torch._C._autograd.SavedTensor, arg0: collections.abc.Callable, arg1: collections.abc.Callable) -> None"
            )
        if self._ms_node.saved is None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are freed "
                "when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a "
                "second time or if you need to access saved variables after calling backward."
            )
        item = self._kept[self._place]
        if item is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        if item.unpack is not None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is allowed "
                "at a time."
            )
        modes.saved_hooks.append(hooks)
        try:
            self._kept[self._place] = Saved(item.value(self._ms_node, True), item.output)
        finally:
            modes.saved_hooks.pop()


def saved_tensor(node: Any, kept: list[Any], place: int) -> SavedTensor:
    """Return the SavedTensor of an entry of what a node keeps."""
    made = object.__new__(SavedTensor)
    made._ms_node, made._kept, made._place = node, kept, place
    return made


def names_of(keep: tuple[int, ...], results: tuple[int, ...], label: str) -> tuple[str, ...]:
    """Return torch's attribute names for the values that a rule saves, in order."""
    start = label.partition("Backward")[0]
    inputs = _INPUTS.get(start, _PLAIN)
    return (
        *(inputs[place] if place < len(inputs) else f"input{place}" for place in keep),
        *(f"result{number or ''}" for number in results),
    )


def attribute(node: Node, name: str, names: tuple[str, ...]) -> TensorBase | SavedTensor:
    """Return the value of ``_saved_NAME`` or ``_raw_saved_NAME``; raise AttributeError for other names."""
    raw = name.startswith("_raw_saved_")
    wanted = name.removeprefix("_raw").removeprefix("_saved_")
    if wanted not in names or not name.startswith(("_saved_", "_raw_saved_")):
        raise AttributeError(f"'{type(node).__name__}' object has no attribute '{name}'")
    if node.saved is None:
        raise RuntimeError(FREED)
    place = names.index(wanted)
    found = saved_tensor(node, node.saved, place)
    return found if raw else found.unpack()

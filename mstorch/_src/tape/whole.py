"""Operations that one kernel computes, on the host or on a device, and that are composed of others elsewhere.

Their gradient is a function of bare values; when the gradient itself is to be differentiated, the composed form is used instead.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..backend.table import Kernel
from ..core.modes import grad_set_to, modes
from ..core.storage import Storage
from ..core.tangents import LEVELS, levels_of_all
from ..core.tensor_base import TensorBase, is_tracked
from . import engine
from .apply import apply
from .bare import bare, bare_twin
from .node import Edge, Node, Passed, edge_of, named
from .saved_values import Saved, saved_input
from .ways import fused

Slope = Callable[..., Sequence[Any]]


class _Whole(Node):
    """Node of an operation in one kernel: ``slope(gradient, *inputs)`` works on arrays, ``composed(*inputs)`` on tensors.

    ``result`` is set if the operation's result must not have been modified in place.
    """

    __slots__ = ("slope", "composed", "direct", "result")
    slope: Any
    composed: Any
    direct: bool
    result: Saved | None

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Return the gradients of the inputs."""
        g = gradients[0]
        if self.result is not None:
            self.result.value(self, False)
        if recorded:
            found = self._recorded_gradients(g)
        else:
            found = self.slope(bare(g) if isinstance(g, TensorBase) else g, *[item.value(self, False) for item in self.saved])
        return found

    def _recorded_gradients(self, g: TensorBase) -> Sequence[Any]:
        if self.direct:
            return self.composed(g, *[item.value(self, True) for item in self.saved])
        tensors = [apart(item.value(self, True), edge) for item, edge in zip(self.saved, self.edges)]
        recorded = modes.grad
        with grad_set_to(True):
            found = self.composed(*tensors)
        return engine.run([(edge_of(found), g)], True, recorded, [edge_of(tensor) for tensor in tensors])  # type: ignore[list-item]

    def release(self) -> None:
        """Free the inputs and the state of the slope."""
        self.saved = self.slope = self.result = None


def apart(tensor: TensorBase, edge: Edge | None) -> TensorBase:
    """Return a detached alias of the tensor. If ``edge`` is given, the alias has a new node that passes gradients on to ``edge``.

    A nested backward pass stops at this node: hooks of the inputs run only in the outer pass, and inputs that coincide or depend on each
    other get separate gradients."""
    made = bare_twin(tensor)
    if edge is not None:
        made._ms_node = Passed((edge,))
    return made


def in_one_piece(tensors: Sequence[Any]) -> bool:
    """Return whether one kernel can compute: all tensors are in host memory, and there are no tangents, saved-tensor hooks or captures."""
    if modes.native is not None or modes.saved_hooks:
        return False
    for tensor in tensors:
        if tensor._ms_storage.__class__ is not Storage:
            return False
    return not (LEVELS and levels_of_all(tensors))


def followed(tensors: Sequence[Any]) -> bool:
    """Return whether autograd has to track the operation."""
    if modes.grad:
        for tensor in tensors:
            if is_tracked(tensor):
                return True
    return False


def record(
    result: TensorBase, tensors: Sequence[Any], label: str, slope: Slope, composed: Callable[..., Any], unchanged: bool = False,
    direct: bool = False,
) -> Any:  # fmt: skip
    """Set the node of ``result``, computed from ``tensors``, and return ``result``. For ``slope`` and ``composed`` see ``_Whole``.

    ``unchanged``: backward raises if the result was modified in place. ``direct``: ``composed(gradient, *inputs)`` returns the gradients.
    """
    node: Any = named(_Whole, label)([edge_of(tensor) for tensor in tensors])
    node.slope, node.composed, node.direct = slope, composed, direct
    node.saved = [saved_input(tensor) for tensor in tensors]
    result._ms_node = node
    node.result = Saved(result, True) if unchanged else None
    return result


def has_kernel(op: str, *tensors: Any) -> bool:
    """Return whether a device computes an operation by one kernel, in the dtype of the first tensor, outside of MindSpore's autograd."""
    return modes.native is None and fused(op, tensors[0]._ms_dtype, *tensors)


def by_kernel(
    op: Kernel, slope: Callable[..., Any], tensors: tuple[Any, ...], args: tuple[Any, ...], label: str, composed: Callable[..., Any],
    direct: bool = False, host: bool = False,
) -> TensorBase | None:  # fmt: skip
    """Return the result of a device's kernel ``op(*tensors, *args)``; None if it has none for the tensors, or if they are in a capture.

    ``host``: use the host's kernel, too. ``slope(wanted, gradient, *tensors, *args)`` returns the gradients, on arrays or raw arrays;
    ``wanted`` has True for each tensor whose gradient is used. For ``composed`` and ``direct`` see ``record``."""
    kind = tensors[0]._ms_dtype
    if any(tensor._ms_dtype is not kind for tensor in tensors):
        return None
    if not has_kernel(op.op, *tensors) and not (host and in_one_piece(tensors)):
        return None
    with grad_set_to(False):
        found = apply(op, kind, tensors, args)
    if not followed(tensors):
        return found
    wanted = tuple(map(is_tracked, tensors))
    return record(found, tensors, label, lambda g, *values: slope(wanted, g, *values, *args), composed, direct=direct)

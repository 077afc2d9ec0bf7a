"""Autograd state of a tensor besides its node."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Kinds of views, by which operation made them: in grad mode only some may be written to.
DEFAULT, MULTIPLE_OUTPUTS, WITHOUT_GRAD, INFERENCE, OF_FUNCTION = 0, 1, 2, 3, 4


class Auto:
    """Autograd state of a tensor besides its node; most tensors have none.

    ``leaf``: gradients accumulate here. ``base``: the tensor that this one is a view of, never a view itself. ``seen``: the version of the
    memory when the view's node was computed (-1: modified in place since). ``pending``: the base's new node after such a write, with the
    version then. ``origin``: how the view was made. ``accumulator``: weak reference to the node that accumulates into ``grad``. ``hooks``
    run on the gradient, ``post`` after a leaf has accumulated a gradient."""

    # Rare attributes are class attributes, so that making a view sets three attributes only.
    leaf = False
    entered = False  # the input of a transform, in which it is a leaf
    base: Any = None
    seen = 0
    pending: tuple[Any, int] | None = None
    origin = DEFAULT
    grad: Any = None
    grad_dtype: Any = False  # the dtype of gradients if one is set; None for any
    accumulator: Any = None
    hooks: Any = None
    post: Any = None
    retains = False
    again: Callable[[Any], Any] | None = None
    hooked: Any = None
    inference = False
    swapped = False  # ``data`` of the other kind was assigned: inference to a normal tensor or the reverse
    tangents: dict[int, Any] | None = None  # tangents of forward mode, by level
    cut = -1  # the node counter when the tensor was last detached in place

    @property
    def uncounted(self) -> bool:
        """Whether the tensor was made in inference mode, where versions are not counted; assigned ``data`` does not change that."""
        return self.inference is not self.swapped


def take_kind(tensor: Any, new: Any) -> None:
    """Note that a tensor takes the data of another one, if one of them was made in inference mode and the other was not."""
    auto, given = tensor._ms_auto, new._ms_auto
    if (auto is not None and auto.inference) is not (given is not None and given.inference):
        tensor._ms_auto = auto = auto or Auto()
        auto.inference, auto.swapped = not auto.inference, not auto.swapped

"""The state that autograd keeps for a tensor besides the node that made it."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

# How a view came about, which decides whether it may be written to while operations are recorded.
DEFAULT, MULTIPLE_OUTPUTS, WITHOUT_GRAD, INFERENCE, OF_FUNCTION = 0, 1, 2, 3, 4


class Auto:
    """The state of autograd for a tensor besides the node that made it; most tensors have none.

    ``leaf``: gradients end here. ``base``: the tensor that this one is a view of, always a root. ``seen``: the version of the
    memory at which the view's history was looked up (-1: it was written since). ``pending``: the node that such a write gave the base
    and the version then. ``origin``: how the view was made. ``accumulator`` refers weakly to the node that adds to ``grad``. ``hooks``
    run on the gradient, ``post`` after a leaf got one.
    """

    # What few tensors have stands in the class, so that making a view sets three attributes.
    leaf = False
    base: Any = None
    seen = 0
    pending: tuple[Any, int] | None = None
    origin = DEFAULT
    grad: Any = None
    accumulator: Any = None
    hooks: Any = None
    post: Any = None
    retains = False
    again: Callable[[Any], Any] | None = None
    hooked: Any = None
    inference = False
    tangents: dict[int, Any] | None = None  # of forward mode, by level
    cut = -1  # when the tensor was cut off from its history in place, counted as nodes are

"""Autograd state of a tensor besides its node."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

# How a view came about, which decides whether it may be written to while operations are recorded.
DEFAULT, MULTIPLE_OUTPUTS, WITHOUT_GRAD, INFERENCE, OF_FUNCTION = 0, 1, 2, 3, 4


class Auto:
    """Autograd state of a tensor besides its node; most tensors have none.

    ``leaf``: gradients accumulate here. ``base``: the tensor that this one is a view of, never a view itself. ``seen``: the memory's
    version when the view's node was computed (-1: it was written to since). ``pending``: the node that such a write gave the base, and the
    version then. ``origin``: how the view was made. ``accumulator``: weak reference to the node that accumulates into ``grad``. ``hooks``
    run on the gradient, ``post`` after a leaf has accumulated a gradient.
    """

    # What few tensors have stands in the class, so that making a view sets three attributes.
    leaf = False
    entered = False  # the input of a transform, in which it is a leaf
    base: Any = None
    seen = 0
    pending: tuple[Any, int] | None = None
    origin = DEFAULT
    grad: Any = None
    grad_dtype: Any = False  # of gradients, where one is set: a dtype, or None for any
    accumulator: Any = None
    hooks: Any = None
    post: Any = None
    retains = False
    again: Callable[[Any], Any] | None = None
    hooked: Any = None
    inference = False
    tangents: dict[int, Any] | None = None  # of forward mode, by level
    cut = -1  # when the tensor was cut off from its history in place, counted as nodes are

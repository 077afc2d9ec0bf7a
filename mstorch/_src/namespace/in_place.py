"""Functions of the torch namespace that write into their first argument."""
from __future__ import annotations

from functools import partial
from typing import Any

from ..._tensor import Tensor
from ...nn._functional import activation as layers
from ..backend.arrays import Number
from ..core.generator import Generator
from ..core.tensor_base import TensorBase
from ..ops._forms import Forms, accepting, old_sum
from ..ops._in_place import in_place, in_place_form
from ..ops._operation import BY_TENSOR, IN_PLACE, operation
from ..ops.elementwise import activation as acts
from ..ops.linalg import added_products
from ..ops.memory.copying import clone
from .rrelu import drawn_rrelu


def fill(input: Tensor, value: Tensor | complex) -> Tensor:
    """Return a copy with every element set to ``value``, a number or a 0-d tensor."""
    return clone(input).fill_(value)


def fill_(input: Tensor, value: Number) -> Tensor:
    """Set every element of ``input`` to ``value``; return ``input``."""
    return input.fill_(value)


def zero_(input: Tensor) -> Tensor:
    """Set every element of ``input`` to 0; return ``input``."""
    return input.zero_()


def detach_(input: Tensor) -> Tensor:
    """Detach ``input`` from its graph in place; return it."""
    return input.detach_()


def celu_(input: Tensor, alpha: float = 1.0) -> TensorBase:
    """In-place version of ``celu``."""
    return in_place(input, acts.celu, alpha)


def selu_(input: Tensor) -> TensorBase:
    """In-place version of ``selu``."""
    return in_place(input, acts.selu)


_threshold_ = in_place_form(acts.threshold, "threshold_", uniform=True)  # torch allows it to write to expanded tensors


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """In-place version of ``threshold``."""
    return _threshold_(input, threshold, value)


@operation(draws=BY_TENSOR)
def rrelu(
    input: Tensor, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = False, generator: Generator | None = None
) -> Tensor:
    """Return ``x`` where it is positive, else ``a * x`` with ``a`` drawn from [lower, upper) in training, else their mean."""
    if generator is None or not training:
        return layers.rrelu(input, lower, upper, training)
    return drawn_rrelu(input, lower, upper, generator)


@operation(draws=IN_PLACE)
def rrelu_(
    input: Tensor, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = False, generator: Generator | None = None
) -> Tensor:
    """In-place version of ``rrelu``."""
    if generator is None or not training:
        return layers.rrelu(input, lower, upper, training, True)
    return input.copy_(drawn_rrelu(input, lower, upper, generator))


@partial(accepting, forms=Forms(old=old_sum("mat", "vec")[:2]))  # the function's form; the method accepts the other orders
def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: complex = 1, alpha: complex = 1) -> Any:
    """In-place version of ``addmv``."""
    return in_place(input, added_products.addmv, mat, vec, beta=beta, alpha=alpha)

"""einsum, parameter initialization and instance norm, decomposed as torch does."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import init
from .._backend.arrays import Number
from .._core.generator import Generator
from .._ops.linalg.einsum import Label, read, subscripts_and_operands
from .._tensor import Tensor
from ..nn import functional
from .calling import NotInTerms
from .composites import COMPOSITES, aten, composite

# Sums over products


@composite("einsum")
def _einsum(*args: Any) -> Tensor:
    equation, operands = subscripts_and_operands(args)
    reading = read(equation, tuple(tuple(operand.shape) for operand in operands))
    values = [_spread_out(operand, labels, reading.order) for operand, labels in zip(operands, reading.labels)]
    kept, rank = len(reading.wanted), len(reading.order)
    counts = [sum(value.shape[dim] != 1 for value in values) for dim in range(rank)]
    found = values[0]
    for value in values[1:]:
        found = _contracted(found, value, kept, counts)
    if kept == rank:
        return found
    return aten("view", found, list(found.shape[:kept])) if len(values) > 1 else aten("sum.dim_IntList", found, list(range(kept, rank)))


def _spread_out(operand: Tensor, labels: Sequence[Label], order: Sequence[Label]) -> Tensor:
    """Return the operand with a dimension for each label in order, of length 1 for labels that it lacks."""
    own = list(labels)
    for label in dict.fromkeys(labels):
        while own.count(label) > 1:
            first = own.index(label)
            second = own.index(label, first + 1)
            operand = aten("diagonal", operand, 0, first, second)
            del own[second]
            rank = len(own)
            operand = aten("permute", operand, [*range(first), rank - 1, *range(first, rank - 1)])
    missing = [label for label in order if label not in own]
    for _ in missing:
        operand = aten("unsqueeze", operand, operand.dim())
    own += missing
    return aten("permute", operand, [own.index(label) for label in order])


def _contracted(a: Tensor, b: Tensor, kept: int, counts: list[int]) -> Tensor:
    """Return the product of two operands of an einsum, summed over those dimensions from ``kept`` on that no later operand has.

    ``counts``: for each dimension, the number of operands that have a length other than 1; set to 0 here for the dimensions summed."""
    alone: tuple[list[int], list[int]] = [], []
    summed = []
    for dim in range(kept, a.dim()):
        if a.shape[dim] != 1 and b.shape[dim] != 1:
            counts[dim] -= 1
            if counts[dim] == 1:
                summed.append(dim)
                counts[dim] = 0
        elif counts[dim] == 1 and (a.shape[dim] != 1 or b.shape[dim] != 1):
            alone[a.shape[dim] == 1].append(dim)
            counts[dim] = 0
    a, b = (aten("sum.dim_IntList", value, dims, True) if dims else value for value, dims in zip((a, b), alone))
    if not summed:
        return aten("mul.Tensor", a, b)
    return _product(a, b, summed, swap=not alone[0] and not alone[1])


def _product(a: Tensor, b: Tensor, summed: list[int], swap: bool) -> Tensor:
    """Return the product of two operands summed over the dimensions ``summed``, which keep length 1, as one batched matrix product.

    With ``swap``, it is computed as ``b @ a`` if the dimensions that only ``b`` has come before those that only ``a`` has."""
    rest = [dim for dim in range(a.dim()) if dim not in summed]
    shared = [dim for dim in rest if a.shape[dim] != 1 and b.shape[dim] != 1]
    ours = [dim for dim in rest if a.shape[dim] != 1 and b.shape[dim] == 1]
    theirs = [dim for dim in rest if a.shape[dim] == 1]
    if swap and ours and theirs and theirs[-1] < ours[0]:
        return _product(b, a, summed, False)

    def size(value: Tensor, dims: list[int]) -> int:
        return math.prod(value.shape[dim] for dim in dims)

    one = aten("permute", a, [*shared, *ours, *summed, *theirs])
    one = one.reshape([size(a, shared), size(a, ours), size(a, summed)])
    two = aten("permute", b, [*shared, *summed, *theirs, *ours])
    two = two.reshape([size(b, shared), size(b, summed), size(b, theirs)])
    lengths = [*(a.shape[dim] for dim in [*shared, *ours]), *[1] * len(summed), *(b.shape[dim] for dim in theirs)]
    order = [*shared, *ours, *summed, *theirs]
    return aten("permute", aten("view", aten("bmm", one, two), lengths), [order.index(dim) for dim in range(a.dim())])


# Filling


@composite("constant_")
def _constant(tensor: Tensor, val: float) -> Tensor:
    return aten("fill_.Scalar", tensor, val)


@composite("kaiming_uniform_")
def _kaiming_uniform(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Generator | None = None
) -> Tensor:
    if not math.prod(tensor.shape):
        return tensor
    bound = math.sqrt(3.0) * init.calculate_gain(nonlinearity, a) / math.sqrt(init._calculate_correct_fan(tensor, mode))
    return aten("uniform_", tensor, -bound, bound, **({} if generator is None else {"generator": generator}))


def _drawn(name: str, first: str, second: str) -> None:
    def function(tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
        values = [*args[:2], *(kwargs.pop(word) for word in (first, second) if word in kwargs)]
        generator = args[2] if len(args) > 2 else kwargs.pop("generator", None)
        if kwargs:
            return NotImplemented
        return aten(name, tensor, *map(float, values), **({} if generator is None else {"generator": generator}))

    COMPOSITES[name] = function


_drawn("uniform_", "a", "b")
_drawn("normal_", "mean", "std")


@composite("__rfloordiv__")
def _floor_of_quotient(self: Tensor, other: Number) -> Tensor:
    kind = None if isinstance(other, float) else self.dtype
    return aten("floor_divide", aten("scalar_tensor", other, dtype=kind, device=self.device), self)


@composite("__rmod__")
def _remainder_of_quotient(self: Tensor, other: Number) -> Tensor:
    return aten("remainder.Scalar_Tensor", other, self)


@composite("prelu")
def _prelu(input: Tensor, weight: Tensor) -> Tensor:
    if weight.dim() != input.dim():
        weight = weight.view([weight.numel() if dim == 1 else 1 for dim in range(input.dim())])
    return aten("_prelu_kernel", input, weight)


_SELU = 1.6732632423543772, 1.0507009873554805


@composite("selu")
def _selu(input: Tensor, inplace: bool = False) -> Tensor:
    return aten("elu_" if inplace else "elu", input, *_SELU)


@composite("selu_")
def _selu_in_place(input: Tensor) -> Tensor:
    return aten("elu_", input, *_SELU)


@composite("instance_norm")
def _instance_norm(
    input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None,
    bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5, *rest: Any, **named: Any,
) -> Tensor:  # fmt: skip
    """Return instance norm, as batch norm over one sample with N * C channels."""
    if rest or named:
        raise NotInTerms("mstorch: instance_norm with further arguments is not known in the terms of torch.ops.aten")
    batch, channels = input.shape[:2]
    scale, shift, mean, var = (None if part is None else part.repeat(batch) for part in (weight, bias, running_mean, running_var))
    flat = input.contiguous().view(1, batch * channels, *input.shape[2:])
    found = functional.batch_norm(flat, mean, var, scale, shift, use_input_stats, momentum, eps)
    for own, new in ((running_mean, mean), (running_var, var)):
        if new is not None and use_input_stats:
            aten("copy_", aten("alias", own), new.view(batch, channels).mean(0))
    return found.view(input.shape)

"""einsum, parameter initialization and instance norm, decomposed as torch does."""
from __future__ import annotations

import math
from typing import Any

from .. import init
from .._core.generator import Generator
from .._core.tensor_base import count_of
from .._tensor import Tensor
from ..nn import functional
from .calling import NotInTerms
from .composites import COMPOSITES, aten, composite

# Sums over products


@composite("einsum")
def _einsum(*args: Any) -> Tensor:
    if not isinstance(args[0], str):
        raise NotInTerms("mstorch: einsum of lists of numbers is not known in the terms of torch.ops.aten")
    operands = list(args[1]) if len(args) == 2 and isinstance(args[1], (tuple, list)) else list(args[1:])
    left, arrow, right = args[0].replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != 2 or "." in left or any(len(set(term)) != len(term) for term in terms):
        raise NotInTerms("mstorch: of einsum only products of two tensors are known in the terms of torch.ops.aten")
    letters = sorted(set(left) - {","})
    wanted = right if arrow else "".join(letter for letter in letters if left.count(letter) == 1)
    summed = [letter for letter in letters if letter not in wanted]
    order = [*wanted, *summed]
    first, second = (_spread_out(operand, term, order) for operand, term in zip(operands, terms))
    return _product(first, second, len(wanted), [letter in terms[0] for letter in order], [letter in terms[1] for letter in order])


def _spread_out(operand: Tensor, term: str, order: list[str]) -> Tensor:
    """Return the operand with one dimension per letter, of length 1 for letters that it lacks."""
    places = [term.find(letter) for letter in order]
    missing = iter(range(len(term), len(order)))
    places = [place if place >= 0 else next(missing) for place in places]
    for _ in range(len(order) - len(term)):
        operand = aten("unsqueeze", operand, operand.dim())
    return aten("permute", operand, places)


def _product(first: Tensor, second: Tensor, kept: int, left: list[bool], right: list[bool]) -> Tensor:
    """Contract the dimensions from ``kept`` on by one batched matrix product."""
    rank = len(left)
    for dim in range(kept, rank):
        if left[dim] != right[dim]:
            raise NotInTerms("mstorch: einsum that sums one operand alone is not known in the terms of torch.ops.aten")
    shared = [d for d in range(kept) if left[d] and right[d]]
    ours = [d for d in range(kept) if left[d] and not right[d]]
    theirs = [d for d in range(kept) if right[d] and not left[d]]
    summed = list(range(kept, rank))
    a, b = first.shape, second.shape

    def size(shape: tuple[int, ...], dims: list[int]) -> int:
        return math.prod(shape[d] for d in dims)

    one = aten("permute", first, [*shared, *ours, *summed, *theirs])
    one = one.reshape([size(a, shared), size(a, ours), size(a, summed)])
    two = aten("permute", second, [*shared, *summed, *theirs, *ours])
    two = two.reshape([size(b, shared), size(b, summed), size(b, theirs)])
    result = aten("bmm", one, two)
    shape = [*(a[d] for d in shared), *(a[d] for d in ours), *[1] * len(summed), *(b[d] for d in theirs)]
    order = [*shared, *ours, *summed, *theirs]
    result = aten("permute", aten("view", result, shape), [order.index(d) for d in range(rank)])
    return aten("view", result, list(result.shape[:kept])) if summed else result


# Filling


@composite("constant_")
def _constant(tensor: Tensor, val: float) -> Tensor:
    return aten("fill_.Scalar", tensor, val)


@composite("kaiming_uniform_")
def _kaiming_uniform(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Generator | None = None
) -> Tensor:
    if not count_of(tensor.shape):
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
def _floor_of_quotient(self: Tensor, other: Any) -> Tensor:
    kind = None if isinstance(other, float) else self.dtype
    return aten("floor_divide", aten("scalar_tensor", other, dtype=kind, device=self.device), self)


@composite("__rmod__")
def _remainder_of_quotient(self: Tensor, other: Any) -> Tensor:
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

"""einsum, parameter initialization and instance norm, decomposed as torch does."""
from __future__ import annotations

import math
from typing import Any

from ... import init
from ..._tensor import Tensor
from ...nn import functional
from ..backend.arrays import Number
from ..core.generator import Generator
from ..ops.linalg.einsum import Step, planned_as_torch, subscripts_and_operands
from .calling import NotInTerms
from .composites import COMPOSITES, aten, composite

# Sums over products


_OVERLOADS = {"mul": "mul.Tensor", "sum": "sum.dim_IntList"}  # of calls whose operator has several


@composite("einsum")
def _einsum(*args: Any) -> Tensor:
    equation, operands = subscripts_and_operands(args)
    values = list(operands)
    for step in planned_as_torch(equation, tuple([tuple(operand.shape) for operand in operands])):
        values.append(_taken(step, [values[number] for number in step.values]))
    return values[-1]


def _taken(step: Step, values: list[Tensor]) -> Tensor:
    if step.call == "reshape":
        return values[0].reshape(step.argument)
    if step.call == "diagonal":
        return aten("diagonal", values[0], 0, *step.argument)
    arguments = () if step.argument is None else (list(step.argument) if isinstance(step.argument, tuple) else step.argument,)
    return aten(_OVERLOADS.get(step.call, step.call), *values, *arguments, *((True,) if step.keepdim else ()))


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

"""Activation functions with torch.nn.functional's signatures, most with ``inplace``."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._src.backend.cast import numpy_cast
from ..._src.backend.raw import from_numpy
from ..._src.core.dtype import dtype
from ..._src.core.formats import contiguous_format
from ..._src.core.generator import Generator, engine_of
from ..._src.core.tensor_base import TensorBase, array_of, is_meta, tensor_of, value_of, wrap
from ..._src.core.warned import warn
from ..._src.ops._in_place import in_place, in_place_form
from ..._src.ops._memory_order import row_major
from ..._src.ops._named import name_written, node_called
from ..._src.ops._operation import BY_TENSOR, operation
from ..._src.ops.elementwise import activation as acts
from ..._src.ops.elementwise import math as maths
from ..._src.ops.elementwise.compare import where
from ..._src.ops.elementwise.elementwise import div, mul, neg
from ..._src.ops.memory.creation import empty_like, zeros_like
from ..._src.ops.random.further import exponential_
from ..._src.ops.random.random import draw
from ..._src.ops.reduce import softmax as soft
from ..._src.tape.moving import beside
from ..._src.tape.ways import ways
from ..._tensor import Tensor


def _done(function: Callable[..., Any], input: Tensor, inplace: bool, *args: Any) -> Any:
    """Return ``function(input, …)``, stored in ``input`` with ``inplace``."""
    return in_place(input, function, *args) if inplace else function(input, *args)


_threshold_ = in_place_form(acts.threshold, "threshold_", uniform=True)  # torch allows it to write to expanded tensors


def _not_below_zero(result: Tensor, name: str, slope: float, inplace: bool) -> Tensor:
    """Return the result. If ``slope`` is negative and was applied in place, register a hook that raises RuntimeError in backward, because
    the sign of the input is lost."""
    if inplace and slope < 0 and result.requires_grad:

        def refuse(gradient: Tensor) -> Any:
            raise RuntimeError(
                f"In-place {name} backward calculation is triggered with a negative slope which is not supported. This is caused by "
                "calling in-place forward function with a negative slope, please call out-of-place version instead."
            )

        result.register_hook(refuse)
    return result


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``max(0, x)`` elementwise."""
    return _done(acts.relu, input, inplace)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``min(max(0, x), 6)`` elementwise."""
    return _done(acts.relu6, input, inplace)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """Return ``min(max(min_val, x), max_val)`` elementwise."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _done(acts.hardtanh, input, inplace, min_val, max_val)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return ``x`` where it is positive, else ``alpha * (exp(x) - 1)`` (https://arxiv.org/abs/1511.07289)."""
    return _not_below_zero(_done(acts.elu, input, inplace, alpha), "elu", alpha, inplace)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``scale * elu(x, alpha)`` with the constants of self-normalizing networks (https://arxiv.org/abs/1706.02515)."""
    return _done(acts.selu, input, inplace)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return ``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`` (https://arxiv.org/abs/1704.07483)."""
    return _not_below_zero(_done(acts.celu, input, inplace, alpha), "elu", alpha, inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Return ``x`` where it is positive, else ``negative_slope * x``."""
    return _not_below_zero(_done(acts.leaky_relu, input, inplace, negative_slope), "leakyReLu", negative_slope, inplace)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``x * sigmoid(x)``."""
    return _done(acts.silu, input, inplace)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``x * tanh(softplus(x))`` (https://arxiv.org/abs/1908.08681)."""
    return _done(acts.mish, input, inplace)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``relu6(x + 3) / 6``."""
    return _done(acts.hardsigmoid, input, inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``x * relu6(x + 3) / 6`` (https://arxiv.org/abs/1905.02244)."""
    return _done(acts.hardswish, input, inplace)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Return ``x`` where it is above the threshold, else ``value``."""
    return threshold_(input, threshold, value) if inplace else acts.threshold(input, threshold, value)


@operation(draws=BY_TENSOR)
@node_called("RreluWithNoiseBackward0", "input")
def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> TensorBase:
    """Return ``x`` where it is positive, else ``a * x``; in training ``a`` is drawn from [lower, upper), in evaluation it is the mean of
    the bounds.
    """
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        found = _not_below_zero(_done(acts.leaky_relu, input, inplace, (lower + upper) / 2), "leakyReLu", (lower + upper) / 2, inplace)
        return name_written(found, "RreluWithNoiseBackward1") if inplace else row_major(found)
    # torch draws for the non-positive elements only, in their order.
    drawn = slopes(input, lower, upper)
    found = _done(lambda x: where(x <= 0, mul(x, drawn), x), input, inplace)
    return name_written(found, "RreluWithNoiseBackward1") if inplace else row_major(found)


@ways(absent=lambda input, lower, upper, generator=None: input.detach())
def slopes(input: Tensor, lower: float, upper: float, generator: Generator | None = None) -> Tensor:
    """Return the slopes of ``rrelu``: a random number where an element is not positive, else 1."""
    values = numpy_cast(array_of(input), np.dtype(np.float64))
    found = np.ones(values.shape)
    chosen = values <= 0
    if input._ms_dtype.name != "float64":
        lower, upper = float(np.float32(lower)), float(np.float32(upper))  # rounded as in torch
    drawn = draw("uniform", engine_of(generator), (int(chosen.sum()),), lower, upper, "float64")
    found[chosen] = drawn
    return beside(tensor_of(numpy_cast(found, input._ms_dtype.np)), input)


def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Any:
    """Return ``log(sigmoid(x))``."""
    return acts.logsigmoid(input, out=out)


def softsign(input: Tensor) -> TensorBase:
    """Return ``x / (1 + |x|)``."""
    return acts.softsign(input)


def tanhshrink(input: Tensor) -> TensorBase:
    """Return ``x - tanh(x)``."""
    return acts.tanhshrink(input)


def sigmoid(input: Tensor) -> Any:
    """Return ``1 / (1 + exp(-x))``."""
    return maths.sigmoid(input)


def tanh(input: Tensor) -> Any:
    """Return the hyperbolic tangent."""
    return maths.tanh(input)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """In-place version of ``hardtanh``."""
    return hardtanh(input, min_val, max_val, True)


def elu_(input: Tensor, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Any:
    """In-place version of ``elu``, times ``scale``, of negative numbers times ``input_scale``."""
    if scale == input_scale == 1:
        return elu(input, alpha, True)
    return in_place(input, lambda x: mul(where(x > 0, x, mul(maths.expm1(mul(x, input_scale)), alpha)), scale))


def selu_(input: Tensor) -> Tensor:
    """In-place version of ``selu``."""
    return selu(input, True)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In-place version of ``celu``."""
    return celu(input, alpha, True)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """In-place version of ``leaky_relu``."""
    return leaky_relu(input, negative_slope, True)


def threshold_(input: Any, threshold: float, value: float) -> Any:
    """In-place version of ``threshold``."""
    return _threshold_(input, threshold, value)


def _get_softmax_dim(name: str, ndim: int, stacklevel: int) -> int:
    warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None) -> Tensor:
    """Return ``exp(x)`` divided by its sum along ``dim``."""
    dim = _get_softmax_dim("softmax", input.dim(), _stacklevel) if dim is None else dim
    return soft.softmax(input, dim, dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None) -> Tensor:
    """Return the softmax of ``-x``."""
    dim = _get_softmax_dim("softmin", input.dim(), _stacklevel) if dim is None else dim
    return soft.softmax(neg(input), dim, dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None) -> Tensor:
    """Return the logarithm of the softmax, computed without overflow."""
    dim = _get_softmax_dim("log_softmax", input.dim(), _stacklevel) if dim is None else dim
    return soft.log_softmax(input, dim, dtype)


@operation(draws=BY_TENSOR)
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Return samples of the Gumbel-softmax distribution (https://arxiv.org/abs/1611.01144); ``hard`` makes them one-hot."""
    if eps != 1e-10:
        warn("`eps` parameter is deprecated and has no effect.")
    gumbels = neg(maths.log(exponential_(empty_like(logits, memory_format=contiguous_format).detach())))
    soft_sample = soft.softmax(div(logits + gumbels, tau), dim)
    if not hard:
        return soft_sample
    index = soft_sample.max(dim, keepdim=True)[1]
    one_hot = zeros_like(logits, memory_format=contiguous_format).detach().scatter_(dim, index, 1.0)
    return one_hot - soft_sample.detach() + soft_sample


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Return the first half along ``dim`` times the sigmoid of the second half (https://arxiv.org/abs/1612.08083)."""
    if not input._ms_shape:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return acts.glu(input, dim)



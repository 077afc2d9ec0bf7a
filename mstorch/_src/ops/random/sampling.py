"""Sampling with tensor parameters: multinomial, counts, gamma and Dirichlet."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...backend.errors import not_for
from ...core.dtype import int64
from ...core.generator import Generator
from ...core.strides import iteration_order, preserved_strides
from ...core.tensor_base import TensorBase, meta_tensor, strides_of
from ...mt19937.engine import Engine
from ...tape.moving import beside
from ...tape.ways import ways
from .._dispatch import broadcast_shape, deliver, finish, refuse_codes, type_word
from .._operation import BY_VALUES, operation
from ..elementwise.compare import ge, logical_and, lt, ne
from ..memory.creation import zeros
from ..reduce.reduce import all as all_of
from ..reduce.reduce import amax, amin
from ..reduce.reduce import sum as sum_of
from ..shape.join import stack
from ..shape.views import expand
from .random import _array, _draws_there, _sampled, _stream, _tensor, draw


@operation(draws=BY_VALUES)
def multinomial(
    input: TensorBase, num_samples: int, replacement: bool = False, *, generator: Generator | None = None, out: TensorBase | None = None
) -> TensorBase:
    """Sample ``num_samples`` int64 indices per row of ``input``, with probabilities proportional to the row's values."""
    shape = input._ms_shape
    if len(shape) not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if not input._ms_dtype.is_floating_point:
        raise RuntimeError(
            f"multinomial only supports floating-point dtypes for input, got: {_word(input)}"
        )
    refuse_codes("aminmax_cpu", input)
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if out is not None and out._ms_dtype is not int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {_word(out)}")
    if shape[-1] > 2**24:
        raise RuntimeError("number of categories cannot exceed 2^24")
    if not replacement and num_samples > shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    return _drawn_places(input, num_samples, replacement, generator, out)


@ways(absent=lambda input, count, replacement, generator, out: finish(meta_tensor((*input._ms_shape[:-1], count), int64), out))
def _drawn_places(
    input: TensorBase, num_samples: int, replacement: bool, generator: Generator | None, out: TensorBase | None
) -> TensorBase:
    engine = _stream(generator, input, "multinomial")
    drawn = draw("multinomial", engine, _weights(input, engine, num_samples, replacement), num_samples, replacement, input._ms_dtype.name)
    found = _tensor(drawn, int64, False, out)
    return beside(found, input) if out is None else found


def _weights(input: TensorBase, engine: Engine, num_samples: int, replacement: bool) -> Any:
    """Return the weights for a draw. Raise torch's error for weights that are negative, not finite or all zero; a device that draws several
    numbers with replacement does not look at them, as in torch."""
    if _draws_there(engine, input):
        if 0 not in input._ms_shape and (num_samples == 1 or not replacement):
            _refuse_on_device(input)
        return input
    weights = _array(input)
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        if replacement and num_samples > 1:
            wrong = "= infinity or NaN" if not np.isfinite(weights).all() else "< 0"
            raise RuntimeError(f"invalid multinomial distribution (encountering probability entry {wrong})")
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if weights.size and (weights.sum(-1) == 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    by_columns = preserved_strides(input._ms_shape, strides_of(input)) is not None  # torch draws for a copy that preserves strides
    return np.asfortranarray(weights) if by_columns else np.ascontiguousarray(weights)


def _refuse_on_device(weights: TensorBase) -> None:
    """Raise torch's error for weights on a device that are negative, not finite or all zero; both answers are read at once."""
    fine = logical_and(lt(amax(weights), math.inf), ge(amin(weights), 0))
    valid, positive = _array(stack([fine, all_of(ne(sum_of(weights, -1), 0))]))
    if not valid:
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not positive:
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


def _refuse_halves(tensor: TensorBase, kernel: str) -> None:
    """Raise torch's error for bfloat16, which arrives at the drawing functions as float32."""
    if tensor._ms_dtype.name == "bfloat16":
        raise not_for(kernel, "bfloat16")


def _word(tensor: Any) -> str:
    return type_word(tensor._ms_dtype)


@operation(draws=BY_VALUES)
def poisson(input: TensorBase, generator: Generator | None = None) -> TensorBase:
    """Return Poisson random numbers with the rates in ``input``, in the dtype of ``input``."""
    if not input._ms_dtype.is_floating_point:
        raise not_for("poisson_cpu", input._ms_dtype.name)
    rates = _array(input)
    if rates.size and (rates.astype(np.float64) < 0).any():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    return _sampled(draw("poisson", _stream(generator, input, "poisson"), rates, input._ms_dtype.name), input._ms_dtype, (input,), None)


@operation(draws=BY_VALUES)
def binomial(count: TensorBase, prob: TensorBase, generator: Generator | None = None) -> TensorBase:
    """Return binomial random numbers with the given counts and probabilities, of the shape that these broadcast to."""
    kind = count._ms_dtype
    if kind.is_integral:
        raise ValueError(f"binomial only supports floating-point dtypes for count, got: {type_word(kind)}")
    shape = broadcast_shape(count._ms_shape, prob._ms_shape)
    if prob._ms_dtype is not kind:
        raise RuntimeError(f"Found dtype {type_word(prob._ms_dtype)} but expected {type_word(kind)}")
    _refuse_halves(count, "binomial_cpu")
    operands = [expand(operand, shape) for operand in (count, prob)]
    # torch's result has the shape of ``count``, and is filled row by row; if it has to grow, in the order of the operands' memory.
    grows = shape != count._ms_shape
    order = iteration_order(shape, [strides_of(operand) for operand in operands])[::-1] if grows else list(range(len(shape)))
    drawn = draw("binomial", _stream(generator, count, "binomial"), *(_array(operand).transpose(order) for operand in operands))
    found = beside(_tensor(drawn.transpose(np.argsort(order)), kind, False, None), count)
    return deliver(found, zeros(count._ms_shape, dtype=kind, device=count.device)) if grows else found


@operation(draws=BY_VALUES)
def _standard_gamma(input: TensorBase, generator: Generator | None = None) -> TensorBase:
    """Return gamma random numbers with the concentrations in ``input`` and rate 1; the public function adds the gradient."""
    _refuse_halves(input, "gamma_cpu")
    array = draw("standard_gamma", _stream(generator, input, "standard_gamma"), _array(input))
    return beside(_tensor(array, input._ms_dtype, False, None), input)


@operation(draws=BY_VALUES)
def _sample_dirichlet(input: TensorBase, generator: Generator | None = None) -> TensorBase:
    """Return Dirichlet random numbers with the concentrations in the last dimension of ``input``."""
    _refuse_halves(input, "dirichlet")
    array = draw("dirichlet", _stream(generator, input, "dirichlet"), _array(input))
    return beside(_tensor(array, input._ms_dtype, False, None), input)

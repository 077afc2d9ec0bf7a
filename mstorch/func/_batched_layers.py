"""Batching rules of layers: norms, pooling, embeddings, losses, dropout; and of random numbers."""
from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

from .._src.core.declared import declared
from .._src.core.tensor_base import TensorBase
from .._src.ops._operation import BY_TENSOR, BY_VALUES, IN_PLACE, record_of
from .._src.ops.layers import dropout
from .._src.ops.random import further, random, sampling
from .._tensor import Tensor
from ._batched import RULES, Map, Op, as_batched, batched, front, innermost, is_of, outside, within
from ._batched_loop import by_slices, expanded, looped, unmapped_error
from ._batched_rules import bound, in_line, pointwise, pointwise_in_place, ruled, shifted

Given = dict[str, Any]


# Norms

_STATISTICS = (
    "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in place, were not "
    "batched.\nIf you are using a module and do not need eval mode, please set `track_running_stats` to be False.If you are using a "
    "prebuilt module and do not need eval mode, please see the functorch website for resources on how to patch your module to work "
    "with vmap"
)


def _affine(op: Op, found: Tensor, weight: Tensor | None, bias: Tensor | None, shape: tuple[int, ...]) -> Tensor:
    """Return the normalized tensor times a weight plus a bias, both reshaped to ``shape``."""
    with within(op.map):
        if weight is not None:
            found = found * weight.reshape(shape)
        return found if bias is None else found + bias.reshape(shape)


@ruled("layer_norm nn.functional.layer_norm rms_norm nn.functional.rms_norm")
def layer_norm(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Normalize over the last dimensions."""
    given = bound(op, args, kwargs)
    input, shape = given.pop("input"), given.pop("normalized_shape")
    weight, bias = given.get("weight"), given.get("bias")
    if is_of(input, op.map) and not is_of(weight, op.map) and not is_of(bias, op.map):
        return batched(op(front(input), shape, **given), 0, op.map)
    given.pop("weight", None)
    given.pop("bias", None)
    if not is_of(input, op.map):
        found = op(input, shape, **given)
    else:
        found = batched(op(front(input), shape, **given), 0, op.map)
    return _affine(op, found, weight, bias, tuple(shape) if isinstance(shape, (tuple, list)) else (shape,))


@ruled("group_norm nn.functional.group_norm")
def group_norm(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Normalize groups of channels of each sample."""
    given = bound(op, args, kwargs)
    input, weight, bias = given.pop("input"), given.pop("weight", None), given.pop("bias", None)
    if not is_of(input, op.map) or len(input._ms_shape) < 2:
        return by_slices(op, args, kwargs)
    value = front(input)
    lead = value._ms_shape[:2]
    found = op(value.reshape(math.prod(lead), *value._ms_shape[2:]), **given).reshape(value._ms_shape)
    return _affine(op, batched(found, 0, op.map), weight, bias, (-1, *(1,) * (len(value._ms_shape) - 3)))


def _statistics(tensor: Tensor | None, map: Map) -> Any:
    return None if tensor is None else expanded(tensor, map).reshape(-1)


@ruled("batch_norm nn.functional.batch_norm")
def batch_norm(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Normalize over the batch, with the slices' channels concatenated."""
    given = bound(op, args, kwargs)
    input, weight, bias = given.pop("input"), given.pop("weight", None), given.pop("bias", None)
    mean, var = given.pop("running_mean", None), given.pop("running_var", None)
    training = bool(given.get("training", False))
    written = training and mean is not None
    if written and is_of(input, op.map) and not (is_of(mean, op.map) and is_of(var, op.map)):
        raise RuntimeError(_STATISTICS)
    if len(input._ms_shape) < 2 or "cudnn_enabled" in given:
        return by_slices(op, args, kwargs)
    value = expanded(input, op.map)
    size, count, channels, *rest = value._ms_shape
    flat_mean, flat_var = _statistics(mean, op.map), _statistics(var, op.map)
    found = op(value.movedim(0, 1).reshape(count, size * channels, *rest), flat_mean, flat_var, **given)
    if written:
        # The flattened statistics may be copies.
        front(mean).copy_(flat_mean.reshape(size, channels))
        front(var).copy_(flat_var.reshape(size, channels))
    found = batched(found.reshape(count, size, channels, *rest), 1, op.map)
    return _affine(op, found, weight, bias, (-1, *(1,) * len(rest)))


@ruled("prelu nn.functional.prelu")
def prelu(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Scale what is negative, with the slices' channels concatenated: ``where`` would have other derivatives at 0."""
    given = bound(op, args, kwargs)
    input, weight = given["input"], given["weight"]
    channels, rank = math.prod(weight._ms_shape), len(input._ms_shape)
    if len(weight._ms_shape) > 1 or channels != 1 and (rank < 2 or channels != input._ms_shape[1]):
        return by_slices(op, args, kwargs)
    value, slopes = expanded(input, op.map), expanded(weight, op.map).reshape(-1)
    size, count = op.map.size, 1 if channels == 1 else input._ms_shape[0]
    elements = math.prod(input._ms_shape) // max(count * channels, 1)
    columns = value.reshape(size, count, channels, elements).movedim(0, 1).reshape(count, size * channels, elements)
    result = op(columns, slopes).reshape(count, size, channels, elements).movedim(1, 0)
    return batched(result.reshape(value._ms_shape), 0, op.map)


@ruled("instance_norm nn.functional.instance_norm")
def instance_norm(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Normalize each channel of each sample."""
    given = bound(op, args, kwargs)
    input, weight, bias = given.pop("input"), given.pop("weight", None), given.pop("bias", None)
    if given.pop("running_mean", None) is not None or not given.get("use_input_stats", True) or not is_of(input, op.map):
        return by_slices(op, args, kwargs)
    given.pop("running_var", None)
    value = front(input)
    found = op(value.reshape(math.prod(value._ms_shape[:2]), *value._ms_shape[2:]), **given).reshape(value._ms_shape)
    return _affine(op, batched(found, 0, op.map), weight, bias, (-1, *(1,) * (len(value._ms_shape) - 3)))


# Images: functions of (N, C, *) or (C, *)


def _images(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any], spatial: int) -> Tensor:
    given = bound(op, args, kwargs)
    names = [name for name, value in given.items() if isinstance(value, TensorBase)]
    ranks = {len(given[name]._ms_shape) for name in names}
    if len(ranks) != 1 or ranks & {spatial + 1, spatial + 2} != ranks or given.get("out") is not None or kwargs.get("inplace"):
        return by_slices(op, args, kwargs)
    values = {name: expanded(given[name], op.map) for name in names}
    single = ranks == {spatial + 1}
    if single:
        given.update(values)
        return as_batched(op(given.pop("input"), **given), 0, op.map)
    lead = next(iter(values.values()))._ms_shape[:2]
    values = {name: value.reshape(value._ms_shape[0] * value._ms_shape[1], *value._ms_shape[2:]) for name, value in values.items()}
    given.update(values)
    return as_batched(_parted(op(given.pop("input"), **given), lead), 0, op.map)


def _parted(result: Any, lead: tuple[int, ...]) -> Tensor:
    if isinstance(result, TensorBase):
        return result.reshape((*lead, *result._ms_shape[1:]))
    items = [_parted(item, lead) for item in result]
    return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)


def _image_rule(spatial: int) -> Callable[..., Any]:
    def rule(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        return _images(op, args, kwargs, spatial)

    return rule


for _spatial in (1, 2, 3):
    for _name in ("max_pool", "avg_pool", "adaptive_avg_pool", "adaptive_max_pool", "lp_pool"):
        for _suffix in ("d", "d_with_indices"):
            RULES[f"{_name}{_spatial}{_suffix}"] = _image_rule(_spatial)
for _name in ("pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "unfold", "fold"):
    RULES[f"nn.functional.{_name}"] = _image_rule({"fold": 1}.get(_name, 2))
RULES["pixel_shuffle"] = RULES["pixel_unshuffle"] = _image_rule(2)


@ruled(
    "nn.functional.interpolate nn.functional.upsample nn.functional.grid_sample nn.functional.local_response_norm grid_sampler "
    "affine_grid_generator"
)
def resized(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Run a function of (N, C, *), with the batch dimension folded into N."""
    given = bound(op, args, kwargs)
    names = [name for name, value in given.items() if isinstance(value, TensorBase)]
    if any(len(given[name]._ms_shape) < 3 for name in names):
        return by_slices(op, args, kwargs)
    values = {name: expanded(given[name], op.map) for name in names}
    lead = next(iter(values.values()))._ms_shape[:2]
    values = {name: value.reshape(value._ms_shape[0] * value._ms_shape[1], *value._ms_shape[2:]) for name, value in values.items()}
    given.update(values)
    return as_batched(_parted(op(given.pop("input"), **given), lead), 0, op.map)


@ruled("nn.functional.pad constant_pad_nd")
def pad(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Pad the last dimensions."""
    given = bound(op, args, kwargs)
    input = given.pop("input")
    if given.get("mode", "constant") == "constant":
        widths = given.get("pad", ())
        if not isinstance(widths, (tuple, list)) or len(widths) > 2 * len(input._ms_shape):
            return by_slices(op, args, kwargs)
        return batched(op(front(input), **given), 0, op.map)
    return _images(op, args, kwargs, len(given["pad"]) // 2)


# Embeddings


@ruled("embedding nn.functional.embedding")
def embedding(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Look up rows of a table, which may be batched."""
    given = bound(op, args, kwargs)
    places, table = given.pop("input"), given.pop("weight")
    if given.get("max_norm") is not None or given.get("sparse") or given.get("scale_grad_by_freq"):
        return by_slices(op, args, kwargs)
    if not is_of(table, op.map):
        return batched(op(places.value, table, **given), places.bdim, op.map)
    if given.get("padding_idx") is not None:
        return by_slices(op, args, kwargs)
    with within(op.map):
        return table[places]


# Losses


def _reduced(op: Op, found: Tensor, reduction: str, count: Any = None) -> Tensor:
    """Reduce the losses of each slice: not at all, to their mean, or to their sum."""
    with within(op.map):
        if reduction == "none":
            return found
        if reduction == "sum":
            return found.sum()
        return found.mean() if count is None else found.sum() / count


_LOSSES = (
    "mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits poisson_nll_loss soft_margin_loss "
    "hinge_embedding_loss margin_ranking_loss kl_div gaussian_nll_loss"
)


@ruled(_LOSSES)
def elementwise_loss(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Compute an elementwise loss, then its reduction."""
    given = bound(op, args, kwargs)
    reduction = given.pop("reduction", "mean")
    named = [name for name, value in given.items() if isinstance(value, TensorBase)]
    old = given.get("size_average") is not None or given.get("reduce") is not None
    if "weight" in named and op.name in ("mse_loss", "l1_loss"):
        return by_slices(op, args, kwargs)  # a weighted mean
    spread = {name: given[name] for name in ("weight", "pos_weight") if name in named and op.name.startswith("binary_cross_entropy")}
    shapes = {given[name]._ms_shape for name in named if name not in spread}
    rank = len(given["input"]._ms_shape)
    if old or len(shapes) != 1 or reduction not in ("none", "mean", "sum", "batchmean") or any(
        len(tensor._ms_shape) > rank for tensor in spread.values()
    ):
        return by_slices(op, args, kwargs)
    given.update({name: expanded(given[name], op.map) for name in named if name not in spread})
    given.update(zip(spread, in_line(op, list(spread.values()), rank)))
    found = batched(op(given.pop("input"), reduction="none", **given), 0, op.map)
    if reduction == "batchmean":
        return _reduced(op, found, "mean", found._ms_shape[0] if found._ms_shape else 1)
    return _reduced(op, found, reduction)


@ruled("nn.functional.cross_entropy nn.functional.nll_loss nll_loss cross_entropy_loss")
def class_loss(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Compute a loss on class targets, (C), (N, C) or (N, C, *), then its reduction."""
    given = bound(op, args, kwargs)
    input, target = given.pop("input"), given.pop("target")
    reduction, weight = given.pop("reduction", "mean"), given.get("weight")
    odd = given.get("size_average") is not None or given.get("reduce") is not None or is_of(weight, op.map)
    rank = len(input._ms_shape)
    soft = target._ms_shape == input._ms_shape and target._ms_dtype.is_floating_point
    if odd or not rank or (given.get("label_smoothing") and weight is not None) or reduction not in ("none", "mean", "sum"):
        return by_slices(op, args, kwargs)
    if not soft and len(target._ms_shape) != rank - 1 and not (rank == 1 and not target._ms_shape):
        return by_slices(op, args, kwargs)
    logits, wanted = expanded(input, op.map), expanded(target, op.map)
    lead = logits._ms_shape[:1] if rank == 1 else logits._ms_shape[:2]
    if rank > 1:
        logits = logits.reshape(math.prod(lead), *logits._ms_shape[2:])
        wanted = wanted.reshape(math.prod(lead), *wanted._ms_shape[2:])
    found = op(logits, wanted, reduction="none", **given)
    found = batched(found if rank == 1 else found.reshape((*lead, *found._ms_shape[1:])), 0, op.map)
    if reduction != "mean":
        return _reduced(op, found, reduction)
    classes = input._ms_shape[0 if rank == 1 else 1]
    if soft:
        return _reduced(op, found, "mean", max(math.prod(input._ms_shape) // max(classes, 1), 1))
    with within(op.map):
        counted = target != given.get("ignore_index", -100)
        if weight is None:
            count = counted.sum().to(input._ms_dtype)
        else:
            count = (weight[target.where(counted, 0)] * counted).sum()
        return _reduced(op, found, "mean", count)


# Random numbers


def draw(map: Map, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Run a random function within a vmap, for a call in which no argument is batched."""
    name = function.__name__
    _refuse_out(kwargs)
    if map.randomness == "same" or kwargs.get("training") is False or _draws_nothing(name, args):
        with outside(map.depth):
            return function(*args, **kwargs)
    if name.endswith("_") and map.randomness == "different":
        raise RuntimeError(
            "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. If this is "
            "necessary for your usage, please file an issue with functorch."
        )
    if map.randomness == "error":
        with outside(map.depth):
            return function(*args, **kwargs)  # raises where numbers are drawn
    with outside(map.depth):
        return _different(Op(function, map, name), args, kwargs)


def _refuse_out(kwargs: dict[str, Any]) -> None:
    if kwargs.get("out") is not None:
        raise RuntimeError(
            "vmap: We do not support calling out variants of random operations inside of vmap. Please use non-out variants as a workaround"
        )


def _draws_nothing(name: str, args: tuple[Any, ...]) -> bool:
    """Return whether a call is a dropout outside of training, which draws nothing."""
    return name.endswith("dropout") and len(args) > 2 and not args[2]


def _different(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Draw random numbers with randomness "different": in one call for all slices, as torch does, so that the numbers are torch's."""
    result = _drawn_at_once(op, args, kwargs) if op.map.size else None
    return looped(op, args, kwargs) if result is None else result


_AT_ONCE: dict[str, Callable[[Op, tuple[Any, ...], dict[str, Any]], Tensor | None]] = {}
"""Functions that draw the numbers of all slices in one call; they return None for calls in which that is not torch's way."""
_OF_CHANNELS = tuple(f"dropout{rank}d" for rank in (1, 2, 3))


def _drawn_at_once(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor | None:
    """Return what one call draws for all slices; None for a call whose numbers would not be torch's then."""
    if op.name in _AT_ONCE:
        return _AT_ONCE[op.name](op, args, kwargs)
    if op.name in _BY_TENSOR and _is_plain(args, kwargs):
        value = expanded(args[0], op.map)
        # Dropout draws in the memory order of its input.
        return batched(op(value.contiguous() if op.name == "dropout" else value, *args[1:], **kwargs), 0, op.map)
    return None


def _is_plain(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether the first argument is the only tensor, and nothing is written to it."""
    tensors = _tensors_of(args, kwargs)
    return len(tensors) == 1 and bool(args) and tensors[0] is args[0] and not kwargs.get("inplace") and not any(args[3:])


def _tensors_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[TensorBase]:
    return [value for value in (*args, *kwargs.values()) if isinstance(value, TensorBase)]


@declared(_AT_ONCE, "rand", "randn")
def _of_size(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    size = args[0] if args and isinstance(args[0], (tuple, list)) else args or kwargs.pop("size", ())
    return batched(op((op.map.size, *size), **kwargs), 0, op.map)


@declared(_AT_ONCE, "randint")
def _randint(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    bounds = [value for value in args if not isinstance(value, (tuple, list))]
    size = next((value for value in args if isinstance(value, (tuple, list))), None) or kwargs.pop("size", ())
    return batched(op(*bounds, (op.map.size, *size), **kwargs), 0, op.map)


@declared(_AT_ONCE, "normal", "binomial")
def _by_parameters(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor | None:
    """Draw from distributions of which tensors are the parameters; ``normal`` of two numbers takes a size."""
    map, tensors = op.map, _tensors_of(args, kwargs)
    if not tensors:
        is_sized = op.name == "normal" and len(args) == 3
        return batched(op(*args[:2], (map.size, *args[2]), **kwargs), 0, map) if is_sized else None
    if isinstance(kwargs.get("size"), (tuple, list)):
        return None
    spread = iter(in_line(op, [batched(expanded(tensor, map), 0, map) for tensor in tensors]))
    values = [next(spread) if isinstance(value, TensorBase) else value for value in args]
    named = {key: next(spread) if isinstance(value, TensorBase) else value for key, value in kwargs.items()}
    return batched(op(*values, **named), 0, map)


@declared(_AT_ONCE, "multinomial")
def _multinomial(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor | None:
    tensors = _tensors_of(args, kwargs)
    if len(tensors) != 1 or not args or len(tensors[0]._ms_shape) not in (1, 2):
        return None
    value = expanded(args[0], op.map)
    if len(value._ms_shape) == 2:
        return batched(op(value, *args[1:], **kwargs), 0, op.map)
    samples = op(value.flatten(0, 1), *args[1:], **kwargs)
    return batched(samples.reshape(*value._ms_shape[:2], -1), 0, op.map)


@declared(_AT_ONCE, "gumbel_softmax")
def _gumbel_softmax(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor | None:
    tensors = _tensors_of(args, kwargs)
    if len(tensors) != 1 or not args or not tensors[0]._ms_shape:
        return None
    named = bound(op, args, kwargs)
    tensor, dim = named.pop("input"), shifted(op, named.get("dim", -1), len(tensors[0]._ms_shape))
    if not is_of(tensor, op.map):
        return batched(op(expanded(tensor, op.map), **{**named, "dim": dim}), 0, op.map)
    place = dim - 1 if dim <= tensor.bdim else dim  # it draws in the order of all slices' elements
    return batched(op(tensor.value, **{**named, "dim": place}), tensor.bdim, op.map)


@declared(_AT_ONCE, *_OF_CHANNELS)
def _channels(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor | None:
    """Apply dropout to whole channels of (C, *) or (N, C, *)."""
    if not _is_plain(args, kwargs):
        return None
    spatial, value, rank = int(op.name[-2]), expanded(args[0], op.map), len(args[0]._ms_shape)
    if rank == spatial + 1 and spatial != 2:
        return batched(op(value, *args[1:], **kwargs), 0, op.map)
    if rank not in (spatial + 1, spatial + 2):  # (N, C, L) in dropout2d
        return None
    return batched(op(value.flatten(0, 1), *args[1:], **kwargs).reshape(value._ms_shape), 0, op.map)


def _drawing(*how: str) -> set[str]:
    return {
        name for family in (random, sampling, further, dropout) for name, function in vars(family).items()
        if isinstance(function, types.FunctionType) and record_of(function).draws in how
    }  # fmt: skip


_BY_VALUES = _drawing(BY_VALUES)
_DROPOUT = ("feature_dropout", "feature_alpha_dropout", "gumbel_softmax", *_OF_CHANNELS)


@ruled(" ".join((*_drawing(BY_TENSOR, BY_VALUES), *_DROPOUT)))
def drawn(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Draw random numbers with batched arguments."""
    _refuse_out(kwargs)
    if (kwargs.get("training") is False or _draws_nothing(op.name, args)) and "dropout" in op.name:
        return pointwise(op, args, kwargs)
    if op.map.randomness == "different":
        return _different(op, args, kwargs)
    if op.map.randomness == "same" and op.name in _BY_VALUES:
        raise RuntimeError(_NOT_SAME)
    return looped(op, args, kwargs, args[0] if kwargs.get("inplace") else None)


# One number per element of a tensor; other functions have rules above, or draw per row or channel.
_BY_TENSOR = _drawing(BY_TENSOR, BY_VALUES) - {"normal", "binomial", "multinomial", "feature_dropout", "feature_alpha_dropout"}
# Functions through which no gradient flows: random numbers whose distribution depends on the arguments, or of their shape.
_WITHOUT_GRADIENT = frozenset((*(_BY_VALUES | _BY_TENSOR), "rand_like", "randn_like", "randint_like", "multinomial", "bernoulli")) - {
    "dropout", "alpha_dropout", "dropout1d", "dropout2d", "dropout3d", "gumbel_softmax", "rrelu", "_standard_gamma", "_sample_dirichlet"
}


def draws_without_gradient() -> frozenset[str]:
    """Return the names of random functions through which no gradient flows."""
    return _WITHOUT_GRADIENT


_NOT_SAME = "Vmap does not currently support same randomness with a batched tensor input. Please file an issue with functorch"


@ruled(" ".join(_drawing(IN_PLACE)))
@ruled(" ".join(f"{name}_" for name in (*_drawing(BY_TENSOR), *_DROPOUT) if name.endswith("dropout")))
@ruled("nn.init.uniform_ nn.init.normal_ nn.init.trunc_normal_")
def drawn_in_place(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Fill a batched tensor with random numbers."""
    target = args[0]
    further = innermost((*args[1:], *kwargs.values())) is not None
    if op.map.randomness == "same" and further:
        raise RuntimeError(_NOT_SAME)
    if not is_of(target, op.map):
        raise unmapped_error(op)
    if op.map.randomness == "different":
        return pointwise_in_place(op, args, kwargs)
    return looped(op, args, kwargs, target)


@ruled("nn.functional.rrelu rrelu rrelu_ nn.functional.rrelu_")
def rrelu(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Apply leaky ReLU with the mean slope; raise RuntimeError in training."""
    given = bound(op, args, kwargs)
    if given.get("training"):
        raise RuntimeError(f"vmap: we do not yet support aten::{op.name}. Please file an issue")
    return pointwise(op, args, kwargs)

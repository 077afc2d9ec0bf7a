"""Attention as a layer, sums over products (einsum) and the filling of parameters, taken apart as torch does."""
from __future__ import annotations

import math
from typing import Any

from .. import init
from .._core.dtype import bool_
from .._core.modes import modes
from .._core.tensor_base import count_of, is_tracked
from ..nn import functional
from .calling import NotInTerms
from .composites import COMPOSITES, aten, composite
from .composites_layers import dropout, matmul


@composite("multi_head_attention_forward")
def _attention_layer(
    query: Any, key: Any, value: Any, embed_dim_to_check: int, num_heads: int, in_proj_weight: Any, in_proj_bias: Any, bias_k: Any,
    bias_v: Any, add_zero_attn: bool, dropout_p: float, out_proj_weight: Any, out_proj_bias: Any, training: bool = True,
    key_padding_mask: Any = None, need_weights: bool = True, attn_mask: Any = None, use_separate_proj_weight: bool = False,
    q_proj_weight: Any = None, k_proj_weight: Any = None, v_proj_weight: Any = None, static_k: Any = None, static_v: Any = None,
    average_attn_weights: bool = True, is_causal: bool = False,
) -> Any:  # fmt: skip
    further = (bias_k, bias_v, key_padding_mask, static_k, static_v)
    if any(part is not None for part in further) or add_zero_attn or use_separate_proj_weight or query.dim() != 3:
        raise NotInTerms("mstorch: this form of attention is not known in the terms of torch.ops.aten")
    rows, batch, width = query.shape
    head = width // num_heads
    q, k, v = _projected(functional, query, key, value, in_proj_weight, in_proj_bias)
    q, k, v = (part.view(part.shape[0], batch * num_heads, head).transpose(0, 1) for part in (q, k, v))
    dropped = dropout_p if training else 0.0
    if need_weights:
        scaled = q * math.sqrt(1.0 / float(head))
        if attn_mask is not None:
            mask = attn_mask.unsqueeze(0) if attn_mask.dim() == 2 else attn_mask
            weights = aten("baddbmm", mask, scaled, k.transpose(-2, -1))
        else:
            weights = aten("bmm", scaled, k.transpose(-2, -1))
        weights = functional.softmax(weights, dim=-1)
        if dropped:
            weights = functional.dropout(weights, dropped)
        result = aten("bmm", weights, v).transpose(0, 1).contiguous().view(rows * batch, width)
        result = functional.linear(result, out_proj_weight, out_proj_bias).view(rows, batch, width)
        weights = weights.view(batch, num_heads, rows, weights.shape[-1])
        return result, weights.mean(1) if average_attn_weights else weights
    if attn_mask is not None:
        attn_mask = attn_mask.unsqueeze(0).unsqueeze(0) if attn_mask.dim() == 2 else attn_mask.view(batch, num_heads, *attn_mask.shape[1:])
    q, k, v = (part.view(batch, num_heads, part.shape[1], head) for part in (q, k, v))
    result = functional.scaled_dot_product_attention(q, k, v, attn_mask, dropped, is_causal and attn_mask is None)
    result = result.permute(2, 0, 1, 3).contiguous().view(rows * batch, width)
    return functional.linear(result, out_proj_weight, out_proj_bias).view(rows, batch, width), None


def _projected(functional: Any, query: Any, key: Any, value: Any, weight: Any, bias: Any) -> Any:
    width = query.shape[-1]
    if query is key and key is value:
        parts = functional.linear(query, weight, bias).unflatten(-1, (3, width))
        parts = parts.unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
        return parts[0], parts[1], parts[2]
    weights = weight.chunk(3)
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return tuple(functional.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases))


@composite("scaled_dot_product_attention")
def _attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False, *, scale: Any = None,
    enable_gqa: bool = False,
) -> Any:  # fmt: skip
    mask_needs = attn_mask is not None and modes.grad and is_tracked(attn_mask)
    if enable_gqa:
        raise NotInTerms("mstorch: attention with groups of queries is not known in the terms of torch.ops.aten")
    if attn_mask is not None and not attn_mask.dtype.is_floating_point:
        low = aten("scalar_tensor", -math.inf, dtype=query.dtype, device=query.device)
        zero = aten("scalar_tensor", 0.0, dtype=query.dtype, device=query.device)
        attn_mask = aten("where.self", attn_mask, zero, low)
    if query.dim() != 4 or dropout_p or mask_needs or query.shape[-1] != value.shape[-1]:
        return _attention_of_parts(query, key, value, attn_mask, dropout_p, is_causal, scale)
    named = {name: value for name, value in (("attn_mask", attn_mask), ("scale", scale)) if value is not None}
    options = [0.0, True] if is_causal else []
    return aten("_scaled_dot_product_flash_attention_for_cpu", query, key, value, *options, **named)[0]


def _attention_of_parts(query: Any, key: Any, value: Any, mask: Any, dropout_p: float, is_causal: bool, scale: Any) -> Any:
    """Attention by products, where torch has no kernel for it."""
    root = math.sqrt(1.0 / math.sqrt(query.shape[-1]) if scale is None else scale)
    query = aten("mul.Scalar", query, root)
    if is_causal:
        ones = aten("ones", [query.shape[-2], key.shape[-2]], dtype=bool_, device=query.device)
        kept = aten("tril", ones)
        low = aten("scalar_tensor", -math.inf, dtype=query.dtype, device=query.device)
        mask = aten("where.self", kept, aten("scalar_tensor", 0.0, dtype=query.dtype, device=query.device), low)
    weights = matmul(query, aten("mul.Scalar", aten("transpose.int", key, -2, -1), root))
    weights = aten("_safe_softmax", weights if mask is None else aten("add.Tensor", weights, mask), -1)
    return matmul(dropout(weights, dropout_p) if dropout_p else weights, value)


# Sums over products


@composite("einsum")
def _einsum(*args: Any) -> Any:
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


def _spread_out(operand: Any, term: str, order: list[str]) -> Any:
    """The operand with a dimension for each letter, of length 1 for those that it has not."""
    places = [term.find(letter) for letter in order]
    missing = iter(range(len(term), len(order)))
    places = [place if place >= 0 else next(missing) for place in places]
    for _ in range(len(order) - len(term)):
        operand = aten("unsqueeze", operand, operand.dim())
    return aten("permute", operand, places)


def _product(first: Any, second: Any, kept: int, left: list[bool], right: list[bool]) -> Any:
    """The sum over the dimensions from ``kept`` on, as one batched product of matrices."""
    rank = len(left)
    for dim in range(kept, rank):
        if left[dim] != right[dim]:
            raise NotInTerms("mstorch: einsum that sums one operand alone is not known in the terms of torch.ops.aten")
    shared = [d for d in range(kept) if left[d] and right[d]]
    ours = [d for d in range(kept) if left[d] and not right[d]]
    theirs = [d for d in range(kept) if right[d] and not left[d]]
    summed = list(range(kept, rank))
    a, b = first.shape, second.shape

    def size(shape: Any, dims: list[int]) -> int:
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
def _constant(tensor: Any, val: float) -> Any:
    return aten("fill_.Scalar", tensor, val)


@composite("kaiming_uniform_")
def _kaiming_uniform(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Any:
    if not count_of(tensor.shape):
        return tensor
    bound = math.sqrt(3.0) * init.calculate_gain(nonlinearity, a) / math.sqrt(init._calculate_correct_fan(tensor, mode))
    return aten("uniform_", tensor, -bound, bound, **({} if generator is None else {"generator": generator}))


def _drawn(name: str, first: str, second: str) -> None:
    def function(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        values = [*args[:2], *(kwargs.pop(word) for word in (first, second) if word in kwargs)]
        generator = args[2] if len(args) > 2 else kwargs.pop("generator", None)
        if kwargs:
            return NotImplemented
        return aten(name, tensor, *map(float, values), **({} if generator is None else {"generator": generator}))

    COMPOSITES[name] = function


_drawn("uniform_", "a", "b")
_drawn("normal_", "mean", "std")


@composite("prelu")
def _prelu(input: Any, weight: Any) -> Any:
    slope = weight if weight.numel() == 1 else weight.view(-1, *[1] * max(0, input.dim() - 2))
    return aten("where.self", aten("gt.Scalar", input, 0), input, input * slope)


@composite("selu")
def _selu(input: Any, inplace: bool = False) -> Any:
    if inplace:
        return NotImplemented
    return aten("elu", input, 1.6732632423543772, 1.0507009873554805)


@composite("instance_norm")
def _instance_norm(
    input: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None, use_input_stats: bool = True,
    momentum: float = 0.1, eps: float = 1e-5, *rest: Any, **named: Any,
) -> Any:  # fmt: skip
    """Batch norm of one sample that has the channels of all."""
    if rest or named or running_mean is not None:
        raise NotInTerms("mstorch: instance_norm with running statistics is not known in the terms of torch.ops.aten")
    batch, channels = input.shape[:2]
    flat = input.contiguous().view(1, batch * channels, *input.shape[2:])
    scale, shift = (None if part is None else part.repeat(batch) for part in (weight, bias))
    return functional.batch_norm(flat, None, None, scale, shift, True, momentum, eps).view(input.shape)

"""Layers whose ``forward`` is not Python that TorchScript takes, as its text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .pieces import attribute
from .values import Unwritable

_F = "__torch__.torch.nn.functional"


def _convolved(rank: int) -> Callable[[Any], str]:
    def text(layer: Any) -> str:
        if layer.padding_mode == "zeros":
            call = f"torch.conv{rank}d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)"
        else:
            zeros = ", ".join(["0"] * rank)
            padded = f'{_F}.pad(input, self._reversed_padding_repeated_twice, "{layer.padding_mode}")'
            call = f"torch.conv{rank}d({padded}, self.weight, self.bias, self.stride, [{zeros}], self.dilation, self.groups)"
        return f"def forward(self, input: Tensor) -> Tensor:\n  return {call}\n"

    return text


def _transposed(rank: int) -> Callable[[Any], str]:
    call = f"torch.conv_transpose{rank}d(input, self.weight, self.bias, self.stride, self.padding, added, self.groups, self.dilation)"
    lines = [
        "def forward(self, input: Tensor, output_size: Optional[List[int]]=None) -> Tensor:",
        "  own = self.output_padding",
        f"  added = [{', '.join(f'own[{place}]' for place in range(rank))}]",
        "  if output_size is not None:",
        "    stride = self.stride",
        "    padding = self.padding",
        "    dilation = self.dilation",
        "    kernel = self.kernel_size",
        f"    first = torch.len(output_size) - {rank}",
    ]
    for place in range(rank):
        least = f"(torch.size(input, torch.dim(input) - {rank - place}) - 1) * stride[{place}] - 2 * padding[{place}] + dilation[{place}] * (kernel[{place}] - 1) + 1"
        lines += [
            f"    more{place} = output_size[first + {place}] - ({least})",
            f'    assert more{place} >= 0 and more{place} < stride[{place}], "requested an output size that this layer cannot give"',
        ]
    lines += [f"    added = [{', '.join(f'more{place}' for place in range(rank))}]", f"  return {call}"]
    return lambda layer: "\n".join(lines) + "\n"


def _normalized(ranks: tuple[int, ...]) -> Callable[[Any], str]:
    allowed = " or ".join(f"torch.dim(input) == {rank}" for rank in ranks)
    told = " or ".join(f"{rank}D" for rank in ranks)

    def text(layer: Any) -> str:
        lines = [
            "def forward(self, input: Tensor) -> Tensor:",
            f'  if not ({allowed}):',
            f'    ops.prim.RaiseException(torch.format("expected {told} input (got {{}}D input)", torch.dim(input)), "builtins.ValueError")',
        ]
        momentum = "0.0" if layer.momentum is None else "self.momentum"
        with_batch = "self.training"
        if layer.running_mean is None:
            with_batch = "True"
        elif layer.track_running_stats:
            lines += ["  factor = " + momentum, "  if self.training:"]
            if layer.num_batches_tracked is not None:
                lines.append("    self.num_batches_tracked.add_(1)")
                if layer.momentum is None:
                    lines.append("    factor = 1.0 / float(self.num_batches_tracked)")
            else:
                lines.append("    pass")
            momentum = "factor"
        lines.append(f"  return torch.batch_norm(input, self.weight, self.bias, self.running_mean, self.running_var, {with_batch}, {momentum}, self.eps, True)")
        return "\n".join(lines) + "\n"

    return text


def _of_instances(rank: int) -> Callable[[Any], str]:
    def text(layer: Any) -> str:
        momentum = "0.0" if layer.momentum is None else "self.momentum"
        stats = "self.training" if layer.track_running_stats and layer.running_mean is not None else "True"
        call = f"torch.instance_norm({{}}, self.weight, self.bias, self.running_mean, self.running_var, {stats}, {momentum}, self.eps, True)"
        return (
            f"def forward(self, input: Tensor) -> Tensor:\n  if torch.dim(input) == {rank + 1}:\n"
            f"    return torch.squeeze({call.format('torch.unsqueeze(input, 0)')}, 0)\n  return {call.format('input')}\n"
        )

    return text


def _recurrent(operator: str, states: int) -> Callable[[Any], str]:
    def text(layer: Any) -> str:
        directions = 2 if layer.bidirectional else 1
        weights = ", ".join(attribute("self", name) for name in layer._flat_weights_names)
        sizes = [layer.proj_size or layer.hidden_size, layer.hidden_size][:states]
        name = operator or f"rnn_{layer.nonlinearity}"
        batch = 0 if layer.batch_first else 1
        kind = "Tuple[Tensor, Tensor]" if states == 2 else "Tensor"
        zeros = [f"torch.zeros([{layer.num_layers * directions}, batch, {size}], dtype=ops.prim.dtype(input), device=ops.prim.device(input))" for size in sizes]
        flags = f"{layer.bias}, {layer.num_layers}, {float(layer.dropout)}, self.training, {layer.bidirectional}, {layer.batch_first}"
        lines = [
            f"def forward(self, input: Tensor, hx: Optional[{kind}]=None) -> Tuple[Tensor, {kind}]:",
            "  single = torch.dim(input) == 2",
            f"  rows = torch.unsqueeze(input, {batch}) if single else input",
            f"  batch = torch.size(rows, {batch})",
            "  if hx is None:",
            *[f"    state{place} = {zero}" for place, zero in enumerate(zeros)],
            "  else:",
        ]
        for place in range(states):
            own = f"hx[{place}]" if states == 2 else "hx"
            lines.append(f"    state{place} = torch.unsqueeze({own}, 1) if single else {own}")
        if states == 2:
            lines += [
                f"  result = torch.lstm(rows, [state0, state1], [{weights}], {flags})",
                "  if single:",
                f"    return (torch.squeeze(result[0], {batch}), (torch.squeeze(result[1], 1), torch.squeeze(result[2], 1)))",
                "  return (result[0], (result[1], result[2]))",
            ]
        else:
            lines += [
                f"  result = torch.{name}(rows, state0, [{weights}], {flags})",
                "  if single:",
                f"    return (torch.squeeze(result[0], {batch}), torch.squeeze(result[1], 1))",
                "  return (result[0], result[1])",
            ]
        return "\n".join(lines) + "\n"

    return text


def _cell(operator: str) -> Callable[[Any], str]:
    def text(layer: Any) -> str:
        states = 2 if operator == "lstm" else 1
        name = operator or f"rnn_{layer.nonlinearity}"
        kind = "Tuple[Tensor, Tensor]" if states == 2 else "Tensor"
        weights = "self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh"
        zero = "torch.zeros([torch.size(rows, 0), self.hidden_size], dtype=ops.prim.dtype(input), device=ops.prim.device(input))"
        lines = [
            f"def forward(self, input: Tensor, hx: Optional[{kind}]=None) -> {kind}:",
            "  single = torch.dim(input) == 1",
            "  rows = torch.unsqueeze(input, 0) if single else input",
            "  if hx is None:",
            *[f"    state{place} = {zero}" for place in range(states)],
            "  else:",
        ]
        for place in range(states):
            own = f"hx[{place}]" if states == 2 else "hx"
            lines.append(f"    state{place} = torch.unsqueeze({own}, 0) if single else {own}")
        if states == 2:
            lines += [
                f"  result = torch.lstm_cell(rows, [state0, state1], {weights})",
                "  if single:",
                "    return (torch.squeeze(result[0], 0), torch.squeeze(result[1], 0))",
                "  return (result[0], result[1])",
            ]
        else:
            lines += [f"  result = torch.{name}_cell(rows, state0, {weights})", "  return torch.squeeze(result, 0) if single else result"]
        return "\n".join(lines) + "\n"

    return text


def _attention(layer: Any) -> str:
    if layer.bias_k is not None or layer.bias_v is not None or layer.add_zero_attn:
        raise Unwritable("mstorch: torch.jit.save has no form for MultiheadAttention with bias_kv or add_zero_attn")
    if layer._qkv_same_embed_dim:
        weights = "  weights = torch.chunk(self.in_proj_weight, 3)\n"
    else:
        weights = "  weights = [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]\n"
    biases = "  biases = torch.chunk(self.in_proj_bias, 3)\n" if layer.in_proj_bias is not None else ""
    bias = [f"biases[{place}]" if biases else "None" for place in range(3)]
    turn = "torch.transpose({}, 0, 1)"
    first = [turn.format(f"{one} if torch.dim({one}) == 3 else torch.unsqueeze({one}, 0)") if layer.batch_first else f"{one} if torch.dim({one}) == 3 else torch.unsqueeze({one}, 1)" for one in ("query", "key", "value")]
    width = layer.embed_dim // layer.num_heads
    heads = layer.num_heads
    last = f"    return (torch.squeeze(output, {0 if layer.batch_first else 1}), None if weighed is None else torch.squeeze(weighed, 0))\n"
    return f'''def forward(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Optional[Tensor]=None, need_weights: bool=True, attn_mask: Optional[Tensor]=None, average_attn_weights: bool=True, is_causal: bool=False) -> Tuple[Tensor, Optional[Tensor]]:
  single = torch.dim(query) == 2
  assert attn_mask is not None or not is_causal, "is_causal needs attn_mask"
{weights}{biases}  q0 = {first[0]}
  k0 = {first[1]}
  v0 = {first[2]}
  length = torch.size(q0, 0)
  batch = torch.size(q0, 1)
  source = torch.size(k0, 0)
  q1 = torch.permute(torch.view(torch.contiguous(torch.linear(q0, weights[0], {bias[0]})), [length, batch, {heads}, {width}]), [1, 2, 0, 3])
  k1 = torch.permute(torch.view(torch.contiguous(torch.linear(k0, weights[1], {bias[1]})), [source, batch, {heads}, {width}]), [1, 2, 0, 3])
  v1 = torch.permute(torch.view(torch.contiguous(torch.linear(v0, weights[2], {bias[2]})), [source, batch, {heads}, {width}]), [1, 2, 0, 3])
  scores = torch.matmul(q1 * {width ** -0.5!r}, torch.transpose(k1, -2, -1))
  if attn_mask is not None:
    mask = attn_mask
    if ops.prim.dtype(mask) == 11:
      mask = torch.masked_fill(torch.zeros_like(mask, dtype=ops.prim.dtype(scores)), mask, -inf)
    if torch.dim(mask) == 3:
      scores = scores + torch.view(mask, [batch, {heads}, length, source])
    else:
      scores = scores + mask
  if key_padding_mask is not None:
    padded = torch.view(key_padding_mask, [batch, 1, 1, source])
    if ops.prim.dtype(padded) == 11:
      scores = torch.masked_fill(scores, padded, -inf)
    else:
      scores = scores + padded
  shares = torch.softmax(scores, -1)
  shares = torch.dropout(shares, {float(layer.dropout)}, self.training)
  joined = torch.view(torch.contiguous(torch.permute(torch.matmul(shares, v1), [2, 0, 1, 3])), [length, batch, {layer.embed_dim}])
  output = torch.linear(joined, self.out_proj.weight, self.out_proj.bias)
  weighed = annotate(Optional[Tensor], None)
  if need_weights:
    weighed = torch.mean(shares, [1]) if average_attn_weights else shares
{'  output = torch.transpose(output, 0, 1)' + chr(10) if layer.batch_first else ''}  if single:
{last}  return (output, weighed)
'''


def _activated(layer: Any, text: str) -> str:
    function = layer.activation
    title = getattr(function, "__name__", type(function).__name__).lower()
    if title not in ("relu", "gelu"):
        raise Unwritable(f"mstorch: torch.jit.save has no form for a transformer layer with the activation {title}")
    return f"torch.{title}({text})"


def _mixed(layer: Any, attention: str, norm: str, dropout: str, keys: str, masks: str, causal: str) -> str:
    """Return the lines of a sublayer of attention."""
    own = f"self.{norm}.forward(x)" if layer.norm_first else "x"
    others = keys or own
    lines = f"  y = {own}\n  x{'' if layer.norm_first else ''} = x + self.{dropout}.forward((self.{attention}.forward(y, {others if keys else 'y'}, {others if keys else 'y'}, {masks[1]}, False, {masks[0]}, True, {causal}))[0])\n"
    return lines if layer.norm_first else lines + f"  x = self.{norm}.forward(x)\n"


def _fed(layer: Any, norm: str, dropout: str) -> str:
    own = f"self.{norm}.forward(x)" if layer.norm_first else "x"
    inner = _activated(layer, f"self.linear1.forward({own})")
    lines = f"  x = x + self.{dropout}.forward(self.linear2.forward(self.dropout.forward({inner})))\n"
    return lines if layer.norm_first else lines + f"  x = self.{norm}.forward(x)\n"


def _encoder_layer(layer: Any) -> str:
    head = "def forward(self, src: Tensor, src_mask: Optional[Tensor]=None, src_key_padding_mask: Optional[Tensor]=None, is_causal: bool=False) -> Tensor:\n  x = src\n"
    return head + _mixed(layer, "self_attn", "norm1", "dropout1", "", ("src_mask", "src_key_padding_mask"), "False") + _fed(layer, "norm2", "dropout2") + "  return x\n"  # type: ignore[arg-type]


def _decoder_layer(layer: Any) -> str:
    head = "def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Optional[Tensor]=None, memory_mask: Optional[Tensor]=None, tgt_key_padding_mask: Optional[Tensor]=None, memory_key_padding_mask: Optional[Tensor]=None, tgt_is_causal: bool=False, memory_is_causal: bool=False) -> Tensor:\n  x = tgt\n"
    return (
        head
        + _mixed(layer, "self_attn", "norm1", "dropout1", "", ("tgt_mask", "tgt_key_padding_mask"), "False")  # type: ignore[arg-type]
        + _mixed(layer, "multihead_attn", "norm2", "dropout2", "memory", ("memory_mask", "memory_key_padding_mask"), "False")  # type: ignore[arg-type]
        + _fed(layer, "norm3", "dropout3")
        + "  return x\n"
    )


def _stacked(head: str, call: str) -> Callable[[Any], str]:
    def text(layer: Any) -> str:
        lines = [head]
        lines += [f"  x = {attribute('self.layers', name)}.forward({call})" for name in layer.layers._modules]
        return "\n".join([*lines, "  x = self.norm.forward(x)" if layer.norm is not None else "  pass", "  return x"]) + "\n"

    return text


_ENCODER = "def forward(self, src: Tensor, mask: Optional[Tensor]=None, src_key_padding_mask: Optional[Tensor]=None, is_causal: Optional[bool]=None) -> Tensor:\n  x = src"
_DECODER = "def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Optional[Tensor]=None, memory_mask: Optional[Tensor]=None, tgt_key_padding_mask: Optional[Tensor]=None, memory_key_padding_mask: Optional[Tensor]=None, tgt_is_causal: Optional[bool]=None, memory_is_causal: bool=False) -> Tensor:\n  x = tgt"
_TRANSFORMER = """def forward(self, src: Tensor, tgt: Tensor, src_mask: Optional[Tensor]=None, tgt_mask: Optional[Tensor]=None, memory_mask: Optional[Tensor]=None, src_key_padding_mask: Optional[Tensor]=None, tgt_key_padding_mask: Optional[Tensor]=None, memory_key_padding_mask: Optional[Tensor]=None, src_is_causal: Optional[bool]=None, tgt_is_causal: Optional[bool]=None, memory_is_causal: bool=False) -> Tensor:
  memory = self.encoder.forward(src, src_mask, src_key_padding_mask, src_is_causal)
  return self.decoder.forward(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal, memory_is_causal)
"""


def _pooled(rank: int) -> Callable[[Any], str]:
    def text(layer: Any) -> str:
        call = f"torch.max_pool{rank}d{'_with_indices' if layer.return_indices else ''}(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode)"
        return f"def forward(self, input: Tensor) -> {'Tuple[Tensor, Tensor]' if layer.return_indices else 'Tensor'}:\n  return {call}\n"

    return text


def _adaptive(kind: str, rank: int) -> Callable[[Any], str]:
    def text(layer: Any) -> str:
        sizes = layer.output_size if isinstance(layer.output_size, (tuple, list)) else [layer.output_size] * rank
        listed = ", ".join(f"torch.size(input, {place - rank})" if size is None else str(size) for place, size in enumerate(sizes))
        call = f"torch.adaptive_{kind}_pool{rank}d(input, [{listed}])"
        if kind == "avg":
            return f"def forward(self, input: Tensor) -> Tensor:\n  return {call}\n"
        if layer.return_indices:
            return f"def forward(self, input: Tensor) -> Tuple[Tensor, Tensor]:\n  return {call}\n"
        return f"def forward(self, input: Tensor) -> Tensor:\n  return ({call})[0]\n"

    return text


def _unpooled(rank: int) -> Callable[[Any], str]:
    def listed(value: Any) -> str:
        return f"[{', '.join(map(str, value if isinstance(value, (tuple, list)) else [value] * rank))}]"

    def text(layer: Any) -> str:
        settings = ", ".join(listed(value) for value in (layer.kernel_size, layer.stride, layer.padding))
        return f"def forward(self, input: Tensor, indices: Tensor, output_size: Optional[List[int]]=None) -> Tensor:\n  return {_F}.max_unpool{rank}d(input, indices, {settings}, output_size)\n"

    return text


LAYERS: dict[str, Callable[[Any], str]] = {
    **{f"Conv{rank}d": _convolved(rank) for rank in (1, 2, 3)},
    **{f"ConvTranspose{rank}d": _transposed(rank) for rank in (1, 2, 3)},
    **{f"MaxPool{rank}d": _pooled(rank) for rank in (1, 2, 3)},
    **{f"Adaptive{kind.title()}Pool{rank}d": _adaptive(kind, rank) for kind in ("avg", "max") for rank in (1, 2, 3)},
    **{f"MaxUnpool{rank}d": _unpooled(rank) for rank in (1, 2, 3)},
    "BatchNorm1d": _normalized((2, 3)), "BatchNorm2d": _normalized((4,)), "BatchNorm3d": _normalized((5,)), "SyncBatchNorm": _normalized((2, 3, 4, 5)),
    **{f"InstanceNorm{rank}d": _of_instances(rank) for rank in (1, 2, 3)},
    "LSTM": _recurrent("lstm", 2), "GRU": _recurrent("gru", 1), "RNN": _recurrent("", 1),
    "LSTMCell": _cell("lstm"), "GRUCell": _cell("gru"), "RNNCell": _cell(""),
    "MultiheadAttention": _attention, "TransformerEncoderLayer": _encoder_layer, "TransformerDecoderLayer": _decoder_layer,
    "TransformerEncoder": _stacked(_ENCODER, "x, mask, src_key_padding_mask"),
    "TransformerDecoder": _stacked(_DECODER, "x, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask"),
    "Transformer": lambda layer: _TRANSFORMER,
    "Identity": lambda layer: "def forward(self, input: Tensor) -> Tensor:\n  return input\n",
    "RMSNorm": lambda layer: "def forward(self, x: Tensor) -> Tensor:\n  return torch.rms_norm(x, self.normalized_shape, self.weight, self.eps)\n",
}  # fmt: skip

"""mamba_ssm.models.mixer_seq_simple: a language model of Mamba's layers."""
from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import mstorch as torch

from ..modules.block import Block
from ..modules.mamba2 import Mamba2
from ..modules.mamba_simple import Mamba
from ..modules.mlp import GatedMLP
from ..ops.triton.layer_norm import RMSNorm, layer_norm_fn
from ..utils.generation import GenerationMixin
from ..utils.hf import load_config_hf, load_state_dict_hf
from .config_mamba import MambaConfig

Tensor = torch.Tensor
_nn = torch.nn


def create_block(
    d_model: int, d_intermediate: int, ssm_cfg: dict[str, Any] | None = None, attn_layer_idx: list[int] | None = None,
    attn_cfg: dict[str, Any] | None = None, norm_epsilon: float = 1e-5, rms_norm: bool = False, residual_in_fp32: bool = False,
    fused_add_norm: bool = False, layer_idx: int | None = None, device: Any = None, dtype: Any = None,
) -> Block:  # fmt: skip
    """Return a Block with Mamba's or Mamba-2's layer (``ssm_cfg["layer"]``), and with ``d_intermediate`` a GatedMLP."""
    place = {"device": device, "dtype": dtype}
    if layer_idx in (attn_layer_idx or ()):
        raise NotImplementedError("mstorch: layers of attention (attn_layer_idx) are not here; write torch.nn.MultiheadAttention")
    options = dict(ssm_cfg or {})
    kind = options.pop("layer", "Mamba1")
    if kind not in ("Mamba1", "Mamba2"):
        raise ValueError(f"Invalid ssm_layer: {kind}, only support Mamba1 and Mamba2")
    mixer: Callable[..., Any] = partial(Mamba2 if kind == "Mamba2" else Mamba, layer_idx=layer_idx, **options, **place)
    norm = partial(RMSNorm if rms_norm else _nn.LayerNorm, eps=norm_epsilon, **place)
    second: Any = partial(GatedMLP, hidden_features=d_intermediate, out_features=d_model, **place) if d_intermediate else _nn.Identity
    block: Any = Block(d_model, mixer, second, norm, fused_add_norm, residual_in_fp32)
    block.layer_idx = layer_idx
    return block


def _init_weights(
    module: Any, n_layer: int, initializer_range: float = 0.02, rescale_prenorm_residual: bool = True, n_residuals_per_layer: int = 1
) -> None:
    """Initialize a module: projections to the residual have a variance that the depth divides, as GPT-2's."""
    if isinstance(module, _nn.Linear):
        if module.bias is not None and not getattr(module.bias, "_no_reinit", False):
            _nn.init.zeros_(module.bias)
    elif isinstance(module, _nn.Embedding):
        _nn.init.normal_(module.weight, std=initializer_range)
    if rescale_prenorm_residual:
        for name, weight in module.named_parameters():
            if name in ("out_proj.weight", "fc2.weight"):
                _nn.init.kaiming_uniform_(weight, a=math.sqrt(5))
                with torch.no_grad():
                    weight /= math.sqrt(n_residuals_per_layer * n_layer)


class CausalLMOutput(NamedTuple):
    """The output of a language model: its logits (batch, length, vocabulary)."""

    logits: Tensor


class MixerModel(_nn.Module):
    """Embedding, blocks, normalization."""

    def __init__(
        self, d_model: int, n_layer: int, d_intermediate: int = 0, vocab_size: int = 0, ssm_cfg: dict[str, Any] | None = None,
        attn_layer_idx: list[int] | None = None, attn_cfg: dict[str, Any] | None = None, norm_epsilon: float = 1e-5,
        rms_norm: bool = False, initializer_cfg: dict[str, Any] | None = None, fused_add_norm: bool = False,
        residual_in_fp32: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        place = {"device": device, "dtype": dtype}
        self.residual_in_fp32, self.fused_add_norm = residual_in_fp32, fused_add_norm
        self.embedding = _nn.Embedding(vocab_size, d_model, **place)
        self.layers = _nn.ModuleList(
            create_block(
                d_model, d_intermediate, ssm_cfg, attn_layer_idx, attn_cfg, norm_epsilon, rms_norm, residual_in_fp32, fused_add_norm, i,
                **place,
            )
            for i in range(n_layer)
        )  # fmt: skip
        self.norm_f = (RMSNorm if rms_norm else _nn.LayerNorm)(d_model, eps=norm_epsilon, **place)
        residuals = 2 if d_intermediate else 1
        self.apply(partial(_init_weights, n_layer=n_layer, n_residuals_per_layer=residuals, **(initializer_cfg or {})))

    def allocate_inference_cache(self, batch_size: int, max_seqlen: int, dtype: Any = None, **kwargs: Any) -> dict[int, Any]:
        """Return the states of all layers."""
        layers: Any = self.layers
        return {i: layer.allocate_inference_cache(batch_size, max_seqlen, dtype=dtype, **kwargs) for i, layer in enumerate(layers)}

    def forward(self, input_ids: Tensor, inference_params: Any = None, **mixer_kwargs: Any) -> Tensor:
        """Return the last states (batch, places, d_model) for words."""
        values, residual = self.embedding(input_ids), None
        for layer in self.layers:
            values, residual = layer(values, residual, inference_params=inference_params, **mixer_kwargs)
        norm: Any = self.norm_f
        if self.fused_add_norm:
            outputs: Tensor = layer_norm_fn(
                values, norm.weight, norm.bias, residual, eps=norm.eps, residual_in_fp32=self.residual_in_fp32,
                is_rms_norm=isinstance(norm, RMSNorm),
            )  # fmt: skip
            return outputs
        total = values if residual is None else values + residual
        return norm(total.to(norm.weight.dtype))


class MambaLMHeadModel(_nn.Module, GenerationMixin):
    """A language model: MixerModel and a linear layer to the words."""

    def __init__(self, config: MambaConfig, initializer_cfg: dict[str, Any] | None = None, device: Any = None, dtype: Any = None) -> None:
        self.config = config
        words = math.ceil(config.vocab_size / config.pad_vocab_size_multiple) * config.pad_vocab_size_multiple
        super().__init__()
        self.backbone = MixerModel(
            config.d_model, config.n_layer, config.d_intermediate, words, config.ssm_cfg, config.attn_layer_idx, config.attn_cfg,
            rms_norm=config.rms_norm, initializer_cfg=initializer_cfg, fused_add_norm=config.fused_add_norm,
            residual_in_fp32=config.residual_in_fp32, device=device, dtype=dtype,
        )  # fmt: skip
        self.lm_head = _nn.Linear(config.d_model, words, bias=False, device=device, dtype=dtype)
        self.apply(partial(_init_weights, n_layer=config.n_layer, **(initializer_cfg or {})))
        self.tie_weights()

    def tie_weights(self) -> None:
        """Let the last layer and the embedding have one weight, if the configuration says so."""
        if self.config.tie_embeddings:
            self.lm_head.weight = self.backbone.embedding.weight

    def allocate_inference_cache(self, batch_size: int, max_seqlen: int, dtype: Any = None, **kwargs: Any) -> dict[int, Any]:
        """Return the states of all layers."""
        return self.backbone.allocate_inference_cache(batch_size, max_seqlen, dtype=dtype, **kwargs)

    def forward(
        self, input_ids: Tensor, position_ids: Tensor | None = None, inference_params: Any = None, num_last_tokens: int = 0,
        **mixer_kwargs: Any,
    ) -> Any:  # fmt: skip
        """Return the logits, as the field of a named tuple; with ``num_last_tokens`` those of the last places. There are no positions."""
        values = self.backbone(input_ids, inference_params=inference_params, **mixer_kwargs)
        if num_last_tokens > 0:
            values = values[:, -num_last_tokens:]
        return CausalLMOutput(self.lm_head(values))

    @classmethod
    def from_pretrained(cls, pretrained_model_name: str, device: Any = None, dtype: Any = None, **kwargs: Any) -> MambaLMHeadModel:
        """Return a model with the weights of a folder, or of a repository of Hugging Face."""
        model = cls(MambaConfig(**load_config_hf(pretrained_model_name)), device=device, dtype=dtype, **kwargs)
        model.load_state_dict(load_state_dict_hf(pretrained_model_name, device=device, dtype=dtype))
        return model

    def save_pretrained(self, save_directory: str) -> None:
        """Write weights and sizes to a folder."""
        os.makedirs(save_directory, exist_ok=True)
        torch.save(self.state_dict(), os.path.join(save_directory, "pytorch_model.bin"))
        with open(os.path.join(save_directory, "config.json"), "w") as file:
            json.dump(self.config.__dict__, file, indent=4)


__all__ = ["MambaLMHeadModel", "MixerModel", "create_block"]

"""mamba_ssm.modules.mamba2_simple: Mamba-2's layer without states of generation."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from ..ops.triton.layernorm_gated import RMSNorm
from ..ops.triton.ssd_combined import mamba_split_conv1d_scan_combined
from .steps import initial_steps, parameter

Tensor = torch.Tensor
_nn = torch.nn


class Mamba2Simple(_nn.Module):
    """A layer (batch, places, d_model): projection, convolution, scan of heads by chunks, gated normalization, projection."""

    def __init__(
        self, d_model: int, d_state: int = 64, d_conv: int = 4, conv_init: float | None = None, expand: int = 2, headdim: int = 128,
        ngroups: int = 1, A_init_range: tuple[float, float] = (1, 16), dt_min: float = 0.001, dt_max: float = 0.1,
        dt_init_floor: float = 1e-4, dt_limit: tuple[float, float] = (0.0, float("inf")), learnable_init_states: bool = False,
        activation: str = "swish", bias: bool = False, conv_bias: bool = True, chunk_size: int = 256, use_mem_eff_path: bool = True,
        layer_idx: int | None = None, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        place = {"device": device, "dtype": dtype}
        super().__init__()
        self.d_model, self.d_state, self.d_conv, self.conv_init, self.expand = d_model, d_state, d_conv, conv_init, expand
        self.d_inner, self.headdim, self.ngroups = expand * d_model, headdim, ngroups
        if self.d_inner % headdim:
            raise AssertionError(f"headdim {headdim} must divide the {self.d_inner} channels of the scan")
        self.nheads = self.d_inner // headdim
        self.dt_limit, self.learnable_init_states, self.activation = dt_limit, learnable_init_states, activation
        self.chunk_size, self.use_mem_eff_path, self.layer_idx = chunk_size, use_mem_eff_path, layer_idx
        channels = self.d_inner + 2 * ngroups * d_state
        self.in_proj = _nn.Linear(d_model, self.d_inner + channels + self.nheads, bias=bias, **place)
        self.conv1d = _nn.Conv1d(channels, channels, d_conv, groups=channels, padding=d_conv - 1, bias=conv_bias, **place)
        if conv_init is not None:
            _nn.init.uniform_(self.conv1d.weight, -conv_init, conv_init)
        if learnable_init_states:
            self.init_states = parameter(torch.zeros(self.nheads, headdim, d_state, **place))
        self.act = _nn.SiLU()
        self.dt_bias = parameter(initial_steps(self.nheads, dt_min, dt_max, dt_init_floor, device, dtype))
        rates = torch.empty(self.nheads, dtype=torch.float32, device=device).uniform_(*A_init_range)
        self.A_log = parameter(torch.log(rates).to(dtype))
        self.D = parameter(torch.ones(self.nheads, device=device))
        self.norm = RMSNorm(self.d_inner, 1e-5, None, False, **place)
        self.out_proj = _nn.Linear(self.d_inner, d_model, bias=bias, **place)

    def forward(self, u: Tensor, seq_idx: Tensor | None = None) -> Tensor:
        """Return the outputs; ``seq_idx`` numbers the sequences that share a row."""
        first = self.init_states.expand(u.shape[0], -1, -1, -1) if self.learnable_init_states else None
        outputs: Tensor = mamba_split_conv1d_scan_combined(
            self.in_proj(u), self.conv1d.weight.squeeze(1), self.conv1d.bias, self.dt_bias, -torch.exp(self.A_log), self.D,
            self.chunk_size, first, seq_idx, self.dt_limit, activation=self.activation, rmsnorm_weight=self.norm.weight,
            rmsnorm_eps=self.norm.eps, outproj_weight=self.out_proj.weight, outproj_bias=self.out_proj.bias, headdim=self.headdim,
            ngroups=self.ngroups, norm_before_gate=False,
        )  # fmt: skip
        return outputs


__all__ = ["Mamba2Simple"]

"""mamba_ssm.modules.mamba_simple: Mamba's layer."""
from __future__ import annotations

import math
from typing import Any

import mstorch as torch

from ... import causal_conv1d
from ..ops.selective_scan_interface import mamba_inner_fn, selective_scan_fn
from ..ops.triton.selective_state_update import selective_state_update
from .block import Block
from .steps import initial_steps, kept_states, last_inputs, parameter

Tensor = torch.Tensor
_nn, _F = torch.nn, torch.nn.functional


class Mamba(_nn.Module):
    """A layer (batch, places, d_model): projection, convolution, selective scan, gate, projection."""

    def __init__(
        self, d_model: int, d_state: int = 16, d_conv: int = 4, expand: int = 2, dt_rank: int | str = "auto", dt_min: float = 0.001,
        dt_max: float = 0.1, dt_init: str = "random", dt_scale: float = 1.0, dt_init_floor: float = 1e-4, conv_bias: bool = True,
        bias: bool = False, use_fast_path: bool = True, layer_idx: int | None = None, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        place = {"device": device, "dtype": dtype}
        super().__init__()
        self.d_model, self.d_state, self.d_conv, self.expand = d_model, d_state, d_conv, expand
        self.d_inner = int(expand * d_model)
        self.dt_rank = math.ceil(d_model / 16) if isinstance(dt_rank, str) else dt_rank
        self.use_fast_path, self.layer_idx = use_fast_path, layer_idx
        self.in_proj = _nn.Linear(d_model, self.d_inner * 2, bias=bias, **place)
        self.conv1d = _nn.Conv1d(
            self.d_inner, self.d_inner, d_conv, groups=self.d_inner, padding=d_conv - 1, bias=conv_bias, **place
        )
        self.activation, self.act = "silu", _nn.SiLU()
        self.x_proj = _nn.Linear(self.d_inner, self.dt_rank + d_state * 2, bias=False, **place)
        self.dt_proj = _nn.Linear(self.dt_rank, self.d_inner, bias=True, **place)
        spread = self.dt_rank**-0.5 * dt_scale
        if dt_init == "constant":
            _nn.init.constant_(self.dt_proj.weight, spread)
        elif dt_init == "random":
            _nn.init.uniform_(self.dt_proj.weight, -spread, spread)
        else:
            raise NotImplementedError(f"dt_init must be constant or random, got {dt_init}")
        bias_of_steps: Any = self.dt_proj.bias
        with torch.no_grad():
            bias_of_steps.copy_(initial_steps(self.d_inner, dt_min, dt_max, dt_init_floor, device, dtype))
        bias_of_steps._no_reinit = True  # for code that initializes all layers of a network
        rates = torch.arange(1, d_state + 1, dtype=torch.float32, device=device).repeat(self.d_inner, 1)
        self.A_log = parameter(torch.log(rates))
        self.D = parameter(torch.ones(self.d_inner, device=device))
        self.out_proj = _nn.Linear(self.d_inner, d_model, bias=bias, **place)

    def forward(self, hidden_states: Tensor, inference_params: Any = None) -> Tensor:
        """Return the layer's outputs. With ``inference_params`` its states are kept, and once there are some the next place is computed."""
        kept = None
        if inference_params is not None:
            kept = kept_states(self, inference_params, hidden_states.shape[0])
            if inference_params.seqlen_offset > 0:
                return self.step(hidden_states, *kept)[0]
        xz, rates = self.in_proj(hidden_states).transpose(1, 2), -torch.exp(self.A_log.float())
        if kept is None:
            return mamba_inner_fn(
                xz, self.conv1d.weight, self.conv1d.bias, self.x_proj.weight, self.dt_proj.weight, self.out_proj.weight,
                self.out_proj.bias, rates, None, None, self.D.float(), delta_bias=self.dt_proj.bias.float(), delta_softplus=True,
            )  # fmt: skip
        x, z = xz.chunk(2, 1)
        kept[0].copy_(last_inputs(x, self.d_conv))
        x = causal_conv1d.causal_conv1d_fn(x, self.conv1d.weight.squeeze(1), self.conv1d.bias, activation=self.activation)
        assert isinstance(x, Tensor)
        steps, into, out_of = self.x_proj(x.transpose(1, 2)).split([self.dt_rank, self.d_state, self.d_state], -1)
        steps = _F.linear(steps, self.dt_proj.weight).transpose(1, 2)
        outputs, last = selective_scan_fn(
            x, steps, rates, into.transpose(1, 2), out_of.transpose(1, 2), self.D.float(), z, self.dt_proj.bias.float(), True, True
        )
        kept[1].copy_(last)
        return self.out_proj(outputs.transpose(1, 2))

    def step(self, hidden_states: Tensor, conv_state: Tensor, ssm_state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the outputs at the next place (batch, 1, d_model), and the two states, which are written."""
        if hidden_states.shape[1] != 1:
            raise AssertionError("Only support decoding with 1 token at a time for now")
        x, z = self.in_proj(hidden_states.squeeze(1)).chunk(2, -1)
        x = causal_conv1d.causal_conv1d_update(x, conv_state, self.conv1d.weight.squeeze(1), self.conv1d.bias, self.activation)
        steps, into, out_of = self.x_proj(x).split([self.dt_rank, self.d_state, self.d_state], -1)
        steps = _F.linear(steps, self.dt_proj.weight)
        outputs = selective_state_update(
            ssm_state, x, steps, -torch.exp(self.A_log.float()), into, out_of, self.D, z, self.dt_proj.bias, True
        )
        return self.out_proj(outputs).unsqueeze(1), conv_state, ssm_state

    def allocate_inference_cache(self, batch_size: int, max_seqlen: int, dtype: Any = None, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Return zeros for the convolution's last inputs and the scan's states."""
        kinds = [weight.dtype if dtype is None else dtype for weight in (self.conv1d.weight, self.dt_proj.weight)]
        sizes, device = (self.d_conv, self.d_state), self.out_proj.weight.device
        conv, scan = (torch.zeros(batch_size, self.d_inner, size, device=device, dtype=kind) for size, kind in zip(sizes, kinds))
        return conv, scan


__all__ = ["Block", "Mamba"]

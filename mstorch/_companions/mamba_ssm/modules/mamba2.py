"""mamba_ssm.modules.mamba2: Mamba-2's layer."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from ... import causal_conv1d
from ..ops.triton.layernorm_gated import RMSNorm
from ..ops.triton.selective_state_update import selective_state_update
from ..ops.triton.ssd_combined import mamba_chunk_scan_combined, mamba_split_conv1d_scan_combined
from .steps import initial_steps, kept_states, last_inputs, parameter

Tensor = torch.Tensor
_nn, _F = torch.nn, torch.nn.functional


class Mamba2(_nn.Module):
    """A layer (batch, places, d_model): projection, convolution, scan of heads by chunks, gated normalization, projection."""

    def __init__(
        self, d_model: int, d_state: int = 128, d_conv: int = 4, conv_init: float | None = None, expand: int = 2, headdim: int = 64,
        d_ssm: int | None = None, ngroups: int = 1, A_init_range: tuple[float, float] = (1, 16), D_has_hdim: bool = False,
        rmsnorm: bool = True, norm_before_gate: bool = False, dt_min: float = 0.001, dt_max: float = 0.1, dt_init_floor: float = 1e-4,
        dt_limit: tuple[float, float] = (0.0, float("inf")), bias: bool = False, conv_bias: bool = True, chunk_size: int = 256,
        use_mem_eff_path: bool = True, layer_idx: int | None = None, process_group: Any = None, sequence_parallel: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        if process_group is not None:
            raise NotImplementedError("mstorch: Mamba2 is not divided over processes; write DistributedDataParallel")
        place = {"device": device, "dtype": dtype}
        super().__init__()
        self.d_model, self.d_state, self.d_conv, self.conv_init, self.expand = d_model, d_state, d_conv, conv_init, expand
        self.process_group, self.sequence_parallel, self.world_size, self.local_rank = None, sequence_parallel, 1, 0
        self.d_inner = expand * d_model
        self.headdim, self.ngroups = headdim, ngroups
        self.d_ssm = self.d_inner if d_ssm is None else d_ssm
        if self.d_ssm % headdim:
            raise AssertionError(f"headdim {headdim} must divide the {self.d_ssm} channels of the scan")
        self.nheads = self.d_ssm // headdim
        self.D_has_hdim, self.rmsnorm, self.norm_before_gate, self.dt_limit = D_has_hdim, rmsnorm, norm_before_gate, dt_limit
        self.activation, self.chunk_size, self.use_mem_eff_path, self.layer_idx = "silu", chunk_size, use_mem_eff_path, layer_idx
        self.in_proj = _nn.Linear(d_model, 2 * self.d_inner + 2 * ngroups * d_state + self.nheads, bias=bias, **place)
        channels = self.d_ssm + 2 * ngroups * d_state
        self.conv1d = _nn.Conv1d(channels, channels, d_conv, groups=channels, padding=d_conv - 1, bias=conv_bias, **place)
        if conv_init is not None:
            _nn.init.uniform_(self.conv1d.weight, -conv_init, conv_init)
        self.act = _nn.SiLU()
        self.dt_bias = parameter(initial_steps(self.nheads, dt_min, dt_max, dt_init_floor, device, None).to(dtype))
        if not 0 < A_init_range[0] <= A_init_range[1]:
            raise AssertionError(f"A_init_range must be positive and ordered, got {A_init_range}")
        rates = torch.empty(self.nheads, dtype=torch.float32, device=device).uniform_(*A_init_range)
        self.A_log = parameter(torch.log(rates).to(dtype))
        self.D = parameter(torch.ones(self.d_ssm if D_has_hdim else self.nheads, device=device))
        if rmsnorm:
            self.norm = RMSNorm(self.d_ssm, 1e-5, self.d_ssm // ngroups, norm_before_gate, **place)
        self.out_proj = _nn.Linear(self.d_inner, d_model, bias=bias, **place)

    @property
    def _sizes(self) -> list[int]:
        """Channels of the gated product's two sides, the gate, the convolution and the steps."""
        mixed = self.d_inner - self.d_ssm
        return [mixed, mixed, self.d_ssm, self.d_ssm + 2 * self.ngroups * self.d_state, self.nheads]

    def _skip(self) -> Tensor:
        return self.D.unflatten(0, (-1, self.headdim)) if self.D_has_hdim else self.D

    def forward(
        self, u: Tensor, seqlen: int | None = None, seq_idx: Tensor | None = None, cu_seqlens: Tensor | None = None,
        inference_params: Any = None,
    ) -> Tensor:  # fmt: skip
        """Return the outputs. With ``seqlen`` the rows of ``u`` (batch * seqlen, d_model) are several sequences; ``seq_idx`` numbers those
        that share a row, and ``cu_seqlens`` says where they end. With ``inference_params`` states are kept."""
        rows = u if seqlen is None else u.unflatten(0, (-1, seqlen))
        kept = None
        if inference_params is not None:
            count = rows.shape[0] if cu_seqlens is None else cu_seqlens.shape[0] - 1
            kept = kept_states(self, inference_params, count)
            if inference_params.seqlen_offset > 0:
                return self.step(rows, *kept)[0].reshape(u.shape)
        parts = self.in_proj(rows)
        rates, skip = -torch.exp(self.A_log.float()), self._skip()
        if kept is None:
            outputs = mamba_split_conv1d_scan_combined(
                parts, self.conv1d.weight.squeeze(1), self.conv1d.bias, self.dt_bias, rates, skip, self.chunk_size, seq_idx=seq_idx,
                dt_limit=self.dt_limit, activation=self.activation, rmsnorm_weight=self.norm.weight if self.rmsnorm else None,
                rmsnorm_eps=self.norm.eps if self.rmsnorm else 1e-6, outproj_weight=self.out_proj.weight, outproj_bias=self.out_proj.bias,
                headdim=None if self.D_has_hdim else self.headdim, ngroups=self.ngroups, norm_before_gate=self.norm_before_gate,
            )  # fmt: skip
            return outputs.reshape(u.shape)
        return self._kept(parts, rates, skip, kept, seq_idx, cu_seqlens).reshape(u.shape)

    def _kept(
        self, parts: Tensor, rates: Tensor, skip: Tensor, kept: tuple[Tensor, Tensor], seq_idx: Tensor | None, ends: Tensor | None
    ) -> Tensor:
        """Return the outputs of whole sequences, and keep the states after them."""
        gate0, value0, z, convolved, steps = parts.split(self._sizes, -1)
        inputs = convolved.transpose(1, 2)
        if ends is None:
            kept[0].copy_(last_inputs(inputs, self.d_conv))
        else:
            place = ends[1:, None].long() + torch.arange(-self.d_conv, 0, device=ends.device)
            taken = inputs[0][:, place.clamp(min=0)].transpose(0, 1)
            kept[0].copy_(taken * (place >= ends[:-1, None])[:, None])
        mixture = causal_conv1d.causal_conv1d_fn(
            inputs, self.conv1d.weight.squeeze(1), self.conv1d.bias, seq_idx, activation=self.activation
        )
        assert isinstance(mixture, Tensor)
        states = self.ngroups * self.d_state
        x, into, out_of = mixture.transpose(1, 2).split([self.d_ssm, states, states], -1)
        result = mamba_chunk_scan_combined(
            x.unflatten(-1, (-1, self.headdim)), steps, rates, into.unflatten(-1, (self.ngroups, -1)),
            out_of.unflatten(-1, (self.ngroups, -1)), self.chunk_size, skip,
            None if self.rmsnorm else z.unflatten(-1, (-1, self.headdim)), self.dt_bias, None, seq_idx, ends, True, self.dt_limit,
            return_final_states=ends is None, return_varlen_states=ends is not None,
        )  # fmt: skip
        kept[1].copy_(result[1])
        return self._ended(result[0].flatten(-2), gate0, value0, z)

    def _ended(self, outputs: Tensor, gate0: Tensor, value0: Tensor, z: Tensor) -> Tensor:
        if self.rmsnorm:
            outputs = self.norm(outputs, z)
        if gate0.shape[-1]:
            outputs = torch.cat((value0 * _F.silu(gate0), outputs), -1)
        return self.out_proj(outputs)

    def step(self, hidden_states: Tensor, conv_state: Tensor, ssm_state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the outputs at the next place (batch, 1, d_model), and the two states, which are written."""
        if hidden_states.shape[1] != 1:
            raise AssertionError("Only support decoding with 1 token at a time for now")
        gate0, value0, z, convolved, steps = self.in_proj(hidden_states.squeeze(1)).split(self._sizes, -1)
        convolved = causal_conv1d.causal_conv1d_update(
            convolved, conv_state, self.conv1d.weight.squeeze(1), self.conv1d.bias, self.activation
        )
        states, size = self.ngroups * self.d_state, self.headdim
        x, into, out_of = convolved.split([self.d_ssm, states, states], -1)
        rates = -torch.exp(self.A_log.float())[:, None, None].expand(-1, size, self.d_state)
        skip = self._skip()
        outputs = selective_state_update(
            ssm_state, x.unflatten(-1, (-1, size)), steps.unsqueeze(-1).expand(-1, -1, size), rates, into.unflatten(-1, (self.ngroups, -1)),
            out_of.unflatten(-1, (self.ngroups, -1)), skip if self.D_has_hdim else skip[:, None].expand(-1, size),
            None if self.rmsnorm else z.unflatten(-1, (-1, size)), self.dt_bias[:, None].expand(-1, size), True,
        )  # fmt: skip
        return self._ended(outputs.flatten(-2), gate0, value0, z).unsqueeze(1), conv_state, ssm_state

    def allocate_inference_cache(self, batch_size: int, max_seqlen: int, dtype: Any = None, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Return zeros for the convolution's last inputs and the scan's states."""
        device = self.out_proj.weight.device
        kinds = [weight.dtype if dtype is None else dtype for weight in (self.conv1d.weight, self.in_proj.weight)]
        conv = torch.zeros(batch_size, self.d_conv, self.conv1d.weight.shape[0], device=device, dtype=kinds[0]).transpose(1, 2)
        return conv, torch.zeros(batch_size, self.nheads, self.headdim, self.d_state, device=device, dtype=kinds[1])


__all__ = ["Mamba2"]

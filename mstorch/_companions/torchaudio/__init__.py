"""The operators of torchaudio's compiled library, in ``torch.ops.torchaudio``: rnnt_loss, forced_align, lfilter's and overdrive's loops.

torchaudio's own Python calls them; it loads its library by ``torch.ops.load_library``, which loads this in its place.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mstorch as torch

from ..._library import registry
from ..._src.core.schemas import parse
from . import alignment, filters, transducer

_KERNELS: dict[str, Callable[..., Any]] = {
    "rnnt_loss_forward(Tensor logits, Tensor targets, Tensor logit_lengths, Tensor target_lengths, int blank, float clamp, "
    "bool fused_log_softmax) -> (Tensor, Tensor)": transducer.rnnt_loss_forward,
    "forced_align(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank) -> (Tensor, Tensor)":
        alignment.forced_align,
    "_lfilter_core_loop(Tensor input_signal_windows, Tensor a_coeff_flipped, Tensor(a!) padded_output_waveform) -> Tensor(a!)":
        filters.lfilter_core_loop,
    "_overdrive_core_loop(Tensor waveform, Tensor temp, Tensor(a!) last_in, Tensor(b!) last_out, Tensor(c!) output_waveform) -> "
    "(Tensor(a!), Tensor(b!), Tensor(c!))": filters.overdrive_core_loop,
}  # fmt: skip
_FACTS: dict[str, Callable[..., Any]] = {"is_align_available() -> bool": lambda: True, "cuda_version() -> int?": lambda: None}
"""Operators by which torchaudio asks what its library was built with."""

for _space, _kernels in (("torchaudio", _KERNELS), ("_torchaudio", _FACTS)):
    for _text, _kernel in _kernels.items():
        _schema = parse(_space, _text)
        if (_space, _schema.name, "") not in registry.operators:
            registry.add(_schema)
        registry.add_kernel((_space, _schema.name, ""), "CompositeExplicitAutograd", _kernel)

forced_align = torch.ops.torchaudio.forced_align
rnnt_loss_forward = torch.ops.torchaudio.rnnt_loss_forward

__all__ = ["forced_align", "rnnt_loss_forward"]

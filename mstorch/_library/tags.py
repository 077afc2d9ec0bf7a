"""torch.Tag: hints about operators for ``torch.library``, stored without effect."""
from __future__ import annotations

import enum

_NAMES = (
    "core cudagraph_unsafe data_dependent_output dynamic_output_shape flexible_layout generated inplace inplace_view "
    "maybe_aliasing_or_mutating needs_contiguous_strides needs_exact_strides needs_fixed_stride_order nondeterministic_bitwise "
    "nondeterministic_seeded out out_variant pointwise pt2_compliant_tag reduction view_copy"
)


class _Number(enum.Enum):
    def __int__(self) -> int:
        return int(self.value)


Tag = _Number("Tag", _NAMES, start=0, module="mstorch")  # type: ignore[call-arg]

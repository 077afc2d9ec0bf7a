"""Numbers of eight and four bits with one power of two for each group of 32 (the MX formats)."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from .codes import dtype_of

_TOP = {torch.float8_e4m3fn: 8, torch.float8_e5m2: 15, torch.float4_e2m1fn_x2: 2}
_MOST = {torch.float8_e4m3fn: 448.0, torch.float8_e5m2: 57344.0, torch.float4_e2m1fn_x2: 6.0}
_HALVES = (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0)  # between the numbers 0, 0.5, 1, 1.5, 2, 3, 4, 6 of four bits


def _exponents(most: Any, kind: Any, function: str, scale_alg: int | None) -> torch.Tensor:
    """Return the powers of the groups for their greatest absolute values."""
    if scale_alg not in (0, 1, None):
        raise NotImplementedError(f"mstorch: {function}() with scale_alg={scale_alg}")
    mantissa, power = torch.frexp(most)
    if scale_alg == 1:  # the smallest power for which nothing is beyond the format's greatest number
        mantissa, power = torch.frexp(most / _MOST[kind])
        power = torch.where(mantissa == 0.5, power - 1, power)
    else:
        power = power - 1 - _TOP[kind]
    return torch.where(most == 0, -127, power).clamp(-127, 127)


def _four(x: torch.Tensor) -> torch.Tensor:
    """Return numbers in four bits, two in a byte, the first one in the lower bits; ties go to the even number."""
    size = x.abs()
    code = torch.zeros(x.shape, dtype=torch.int32, device=x.device)
    for place, half in enumerate(_HALVES):
        code = code + ((size > half) if place % 2 == 0 else (size >= half)).to(torch.int32)
    code = code + torch.where(torch.signbit(x), 8, 0).to(torch.int32)
    pairs = code.unflatten(-1, (-1, 2))
    return (pairs[..., 0] + 16 * pairs[..., 1]).to(torch.uint8)


def _narrowed(x: torch.Tensor, kind: Any, function: str) -> Any:
    if kind is torch.float4_e2m1fn_x2:
        if x.shape[-1] % 2:
            raise RuntimeError(f"{function}(): two numbers of four bits are one byte: the last dimension of {list(x.shape)} is odd")
        return _four(x).view(kind)
    return x.clamp(-_MOST[kind], _MOST[kind]).to(kind)


def _powers(exponents: Any) -> torch.Tensor:
    """Return 2 to the exponents, exactly, from -127 to 127."""
    return torch.ldexp(torch.ones_like(exponents, dtype=torch.float32), exponents.float())


def _kind(function: str, dst_type: Any, round_mode: str) -> Any:
    kind = dtype_of(function, dst_type)
    if kind not in _TOP or round_mode != "rint":
        raise NotImplementedError(f"mstorch: {function}() to {kind} with round_mode={round_mode!r}")
    return kind


def npu_dynamic_mx_quant(
    input: torch.Tensor, *, axis: int = -1, round_mode: str = "rint", dst_type: Any = 296, block_size: int = 32, scale_alg: int | None = 0,
    dst_type_max: float = 0.0, max_low_bound: float = 0.0,
) -> tuple[Any, Any]:  # fmt: skip
    """Return the input in an MX format along an axis, and the powers of its groups as ``float8_e8m0fnu``, in pairs in a last dimension."""
    kind = _kind("npu_dynamic_mx_quant", dst_type, round_mode)
    if dst_type_max or max_low_bound:
        raise NotImplementedError("mstorch: npu_dynamic_mx_quant() with dst_type_max or max_low_bound")
    rows = input.float().movedim(axis, -1)
    count = rows.shape[-1]
    padded = torch.nn.functional.pad(rows, (0, -count % (2 * block_size)))
    groups = padded.unflatten(-1, (-1, block_size))
    exponents = _exponents(groups.abs().amax(-1), kind, "npu_dynamic_mx_quant", scale_alg)
    small = torch.ldexp(groups, -exponents.unsqueeze(-1).float()).flatten(-2)[..., :count].movedim(-1, axis)
    scales = _powers(exponents).unflatten(-1, (-1, 2)).movedim(-2, axis if axis >= 0 else axis - 1)
    return _narrowed(small, kind, "npu_dynamic_mx_quant"), scales.to(torch.float8_e8m0fnu)


def npu_dynamic_mx_quant_with_dual_axis(
    input: torch.Tensor, *, round_mode: str = "rint", dst_type: Any = 296, scale_alg: int = 0, dst_type_max: float | None = 0.0
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """Return ``npu_dynamic_mx_quant`` along the last axis and along the one before it."""
    options = {"round_mode": round_mode, "dst_type": dst_type, "scale_alg": scale_alg, "dst_type_max": dst_type_max or 0.0}
    return *npu_dynamic_mx_quant(input, axis=-1, **options), *npu_dynamic_mx_quant(input, axis=-2, **options)


def npu_dynamic_block_mx_quant(
    input: torch.Tensor, *, round_mode: str = "rint", dst_type: Any = 296, scale_alg: int = 0, dst_type_max: float = 0.0
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return the input in an MX format with one power for each block of 32 rows and 32 columns, and the powers for the groups
    of each row and of each column, in pairs in a last dimension."""
    function, size = "npu_dynamic_block_mx_quant", 32
    kind = _kind(function, dst_type, round_mode)
    if input.dim() < 2:
        raise RuntimeError("The input should be at least 2D")
    if dst_type_max:
        raise NotImplementedError(f"mstorch: {function}() with dst_type_max")
    rows, columns = input.shape[-2:]
    padded = torch.nn.functional.pad(input.float(), (0, -columns % (2 * size), 0, -rows % (2 * size)))
    blocks = padded.unflatten(-1, (-1, size)).unflatten(-3, (-1, size))
    exponents = _exponents(blocks.abs().amax((-3, -1)), kind, function, scale_alg)
    small = torch.ldexp(blocks, -exponents.unsqueeze(-2).unsqueeze(-1).float()).flatten(-2).flatten(-3, -2)[..., :rows, :columns]
    powers = _powers(exponents)
    by_row = powers.repeat_interleave(size, -2)[..., :rows, :].unflatten(-1, (-1, 2))
    by_column = powers.repeat_interleave(size, -1)[..., :columns].unflatten(-2, (-1, 2)).movedim(-2, -1)
    return _narrowed(small, kind, function), by_row.to(torch.float8_e8m0fnu), by_column.to(torch.float8_e8m0fnu)


def npu_grouped_dynamic_mx_quant(
    x: torch.Tensor, group_index: Any, *, round_mode: str = "rint", dst_type: Any = 23, blocksize: int = 32, scale_alg: int | None = 0,
    dst_type_max: float | None = 0.0,
) -> tuple[Any, Any]:  # fmt: skip
    """Return the rows in an MX format down the columns of each group of rows, whose ends ``group_index`` has, and the powers."""
    ends = [int(end) for end in group_index.tolist()]
    parts, scales = [], []
    for start, end in zip([0, *ends], ends):
        small, scale = npu_dynamic_mx_quant(x[start:end], axis=0, round_mode=round_mode, dst_type=dst_type, block_size=blocksize,
            scale_alg=scale_alg)
        parts.append(small.float())
        wide = x.shape[0] and end // (2 * blocksize) + len(parts) - start // (2 * blocksize) - (len(parts) - 1)
        scales.append(torch.nn.functional.pad(scale.float(), (0, 0, 0, 0, 0, max(0, wide - scale.shape[0]))))
    return torch.cat(parts).to(small.dtype), torch.cat(scales).to(torch.float8_e8m0fnu)


def npu_add_rms_norm_dynamic_mx_quant(
    x1: torch.Tensor, x2: torch.Tensor, gamma: torch.Tensor, *, beta: Any = None, epsilon: float = 1e-6, scale_alg: int = 0,
    round_mode: str = "rint", dst_type: Any = 296
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """Return the normalized sum in an MX format, the sum, the powers, and the reciprocal of the RMS."""
    total = x1 + x2
    small, scale, rstd = npu_rms_norm_dynamic_mx_quant(
        total, gamma, beta=beta, epsilon=epsilon, scale_alg=scale_alg, round_mode=round_mode, dst_type=dst_type
    )  # fmt: skip
    return small, total, scale, rstd


def npu_rms_norm_dynamic_mx_quant(
    x: torch.Tensor, gamma: torch.Tensor, *, beta: Any = None, epsilon: float = 1e-6, scale_alg: int = 0, round_mode: str = "rint",
    dst_type: Any = 296
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return the normalized rows in an MX format, the powers, and the reciprocal of the RMS."""
    wide = x.float()
    rstd = (wide.square().mean(-1, keepdim=True) + epsilon).rsqrt()
    normal = wide * rstd * gamma.float()
    normal = normal if beta is None else normal + beta.float()
    return *npu_dynamic_mx_quant(normal.to(x.dtype), scale_alg=scale_alg, round_mode=round_mode, dst_type=dst_type), rstd

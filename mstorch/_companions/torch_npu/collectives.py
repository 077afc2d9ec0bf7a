"""Products of matrices with a collective before or after them, and grouped ones between the processes of experts."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mstorch as torch

from ...distributed import distributed_c10d
from . import experts, quantised
from .attention import refuse
from .codes import dtype_of


def _group(name: str) -> Any:
    """Return the process group that a communicator's name means: the one of that name, else that of all processes."""
    try:
        return distributed_c10d._resolve_process_group(name)
    except (AttributeError, KeyError, RuntimeError, ValueError):
        if name and name != getattr(distributed_c10d._get_default_group(), "group_name", name):
            raise RuntimeError(f"no process group has the communicator {name!r}") from None
        return distributed_c10d._get_default_group()


def _product(function: str, x1: torch.Tensor, x2: torch.Tensor, bias: Any, x1_scale: Any, x2_scale: Any, kind: Any) -> Any:
    if x2_scale is not None:
        return quantised.npu_quant_matmul(x1, x2, x2_scale.reshape(-1), pertoken_scale=None if x1_scale is None else x1_scale.reshape(-1),
            bias=bias, output_dtype=kind or torch.bfloat16)
    result = x1 @ x2
    result = result if bias is None else result + bias
    return result if kind is None else result.to(kind)


def npu_mm_reduce_scatter_base(
    input: torch.Tensor, x2: torch.Tensor, hcom: str, world_size: int, *, reduce_op: str = "sum", bias: Any = None, x1_scale: Any = None,
    x2_scale: Any = None,
    comm_turn: int = 0, output_dtype: Any = None, comm_mode: Any = None,
) -> torch.Tensor:  # fmt: skip
    """Return this process's rows of the sum of ``input @ x2 + bias`` over a group."""
    if reduce_op != "sum":
        raise RuntimeError(f"npu_mm_reduce_scatter_base(): reduce_op must be sum, got {reduce_op}")
    whole = _product("npu_mm_reduce_scatter_base", input, x2, bias, x1_scale, x2_scale, output_dtype)
    if whole.shape[0] % world_size:
        raise RuntimeError(f"npu_mm_reduce_scatter_base(): {world_size} processes do not divide {whole.shape[0]} rows")
    part = whole.new_empty((whole.shape[0] // world_size, whole.shape[1]))
    torch.distributed.reduce_scatter_tensor(part, whole.contiguous(), group=_group(hcom))
    return part


def npu_all_gather_base_mm(
    input: torch.Tensor, x2: torch.Tensor, hcom: str, world_size: int, *, bias: Any = None, x1_scale: Any = None, x2_scale: Any = None,
    gather_index: int = 0,
    gather_output: bool = True, comm_turn: int = 0, output_dtype: Any = None, comm_mode: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Return the product of all processes' rows of ``input`` with ``x2``, and these rows (empty without ``gather_output``)."""
    if gather_index:
        raise NotImplementedError(f"mstorch: npu_all_gather_base_mm() with gather_index={gather_index}")
    rows = _gathered(input, world_size, hcom)
    scales = x1_scale if x1_scale is None or x1_scale.numel() == rows.shape[0] else _gathered(x1_scale.reshape(-1), world_size, hcom)
    result = _product("npu_all_gather_base_mm", rows, x2, bias, scales, x2_scale, output_dtype)
    return result, rows if gather_output else torch.empty(0, dtype=input.dtype, device=input.device)


def _gathered(rows: torch.Tensor, world_size: int, hcom: str) -> Any:
    whole = rows.new_empty((world_size * rows.shape[0], *rows.shape[1:]))
    torch.distributed.all_gather_into_tensor(whole, rows.contiguous(), group=_group(hcom))
    return whole


def _refuse_blocks(function: str, **given: Any) -> None:
    refuse(function, **{name: value or None for name, value in given.items()})


def npu_all_gather_quant_mm(
    self: torch.Tensor, x2: torch.Tensor, hcom: str, world_size: int, *, bias: Any = None, x1_scale: Any = None, x2_scale: Any = None,
    quant_scale: Any = None, block_size: int = 0, gather_index: int = 0, gather_output: bool = True, comm_turn: int = 0,
    group_sizes: Any = None, amax_output: bool = False, y_dtype: Any = None, x1_dtype: Any = None, x2_dtype: Any = None,
    x1_scale_dtype: Any = None, x2_scale_dtype: Any = None, comm_mode: Any = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return the product of all processes' quantised rows with ``x2``, these rows, and an empty tensor."""
    name = "npu_all_gather_quant_mm"
    refuse(name, quant_scale=quant_scale, x1_dtype=x1_dtype, x2_dtype=x2_dtype)
    refuse(name, x1_scale_dtype=x1_scale_dtype, x2_scale_dtype=x2_scale_dtype)
    _refuse_blocks(name, block_size=block_size, group_sizes=group_sizes, amax_output=amax_output, gather_index=gather_index)
    rows = _gathered(self, world_size, hcom)
    if x1_scale is not None and x1_scale.numel() == self.shape[0] > 1:  # a scale for each row
        x1_scale = _gathered(x1_scale.reshape(-1), world_size, hcom)
    result = _scaled(rows, x2, bias, x1_scale, x2_scale, dtype_of(name, y_dtype))
    none = torch.empty(0, dtype=torch.float32, device=self.device)
    return result, rows if gather_output else self.new_empty(0), none


def npu_quant_mm_reduce_scatter(
    self: torch.Tensor, x2: torch.Tensor, hcom: str, world_size: int, *, reduce_op: str = "sum", bias: Any = None, x1_scale: Any = None,
    x2_scale: Any = None, quant_scale: Any = None, block_size: int = 0, comm_turn: int = 0, group_sizes: Any = None,
    amax_output: bool = False, y_dtype: Any = None, x1_dtype: Any = None, x2_dtype: Any = None, x1_scale_dtype: Any = None,
    x2_scale_dtype: Any = None, comm_mode: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Return this process's rows of the sum of the products of quantised matrices over a group, and an empty tensor."""
    name = "npu_quant_mm_reduce_scatter"
    refuse(name, quant_scale=quant_scale, x1_dtype=x1_dtype, x2_dtype=x2_dtype)
    refuse(name, x1_scale_dtype=x1_scale_dtype, x2_scale_dtype=x2_scale_dtype)
    _refuse_blocks(name, block_size=block_size, group_sizes=group_sizes, amax_output=amax_output)
    if reduce_op != "sum":
        raise RuntimeError(f"{name}(): reduce_op must be sum, got {reduce_op}")
    whole = _scaled(self, x2, bias, x1_scale, x2_scale, dtype_of(name, y_dtype))
    if whole.shape[0] % world_size:
        raise RuntimeError(f"{name}(): {world_size} processes do not divide {whole.shape[0]} rows")
    part = whole.new_empty((whole.shape[0] // world_size, whole.shape[1]))
    torch.distributed.reduce_scatter_tensor(part, whole.contiguous(), group=_group(hcom))
    return part, torch.empty(0, dtype=torch.float32, device=self.device)


def _scaled(x1: torch.Tensor, x2: torch.Tensor, bias: Any, x1_scale: Any, x2_scale: Any, kind: Any) -> Any:
    """Return a product of quantised matrices with scales of the matrices, their rows, or their columns."""
    result = x1.float() @ x2.float()
    result = result if x1_scale is None else result * x1_scale.float().reshape(-1, 1)
    result = result if x2_scale is None else result * x2_scale.float().reshape(1, -1)
    result = result if bias is None else result + bias.float()
    return result.to(kind or torch.bfloat16)


def npu_mm_all_reduce_base(
    x1: torch.Tensor, x2: torch.Tensor, hcom: str, *, reduce_op: str = "sum", bias: Any = None, antiquant_scale: Any = None,
    antiquant_offset: Any = None,
    x3: Any = None, dequant_scale: Any = None, pertoken_scale: Any = None, comm_quant_scale_1: Any = None, comm_quant_scale_2: Any = None,
    antiquant_group_size: int = 0, comm_turn: int = 0, group_sizes: Any = None, y_dtype: Any = None, x1_dtype: Any = None,
    x2_dtype: Any = None,
    dequant_scale_dtype: Any = None, pertoken_scale_dtype: Any = None, comm_quant_mode: int = 0, comm_mode: Any = None,
) -> torch.Tensor:  # fmt: skip
    """Return the sum of ``x1 @ x2 + bias`` over a group, plus ``x3``; with scales the matrices are quantised ones."""
    refuse(
        "npu_mm_all_reduce_base", comm_quant_scale_1=comm_quant_scale_1, comm_quant_scale_2=comm_quant_scale_2, group_sizes=group_sizes,
        x1_dtype=x1_dtype, x2_dtype=x2_dtype, dequant_scale_dtype=dequant_scale_dtype, pertoken_scale_dtype=pertoken_scale_dtype,
    )  # fmt: skip
    kind = dtype_of("npu_mm_all_reduce_base", y_dtype)
    if antiquant_scale is not None:
        whole = quantised.npu_weight_quant_batchmatmul(
            x1, x2, antiquant_scale, antiquant_offset, bias=bias, antiquant_group_size=antiquant_group_size
        )  # fmt: skip
    elif dequant_scale is not None:
        kind = kind or (torch.bfloat16 if dequant_scale.dtype is torch.bfloat16 else torch.float16)
        whole = quantised.npu_quant_matmul(x1, x2, dequant_scale, pertoken_scale=pertoken_scale, bias=bias, output_dtype=kind)
    else:
        whole = _product("npu_mm_all_reduce_base", x1, x2, bias, None, None, kind)
    whole = (whole if x3 is None else whole + x3 / torch.distributed.get_world_size(_group(hcom))).contiguous()
    kinds = {"sum": torch.distributed.ReduceOp.SUM, "max": torch.distributed.ReduceOp.MAX, "min": torch.distributed.ReduceOp.MIN}
    if reduce_op not in kinds:
        raise RuntimeError(f"npu_mm_all_reduce_base(): reduce_op must be sum, max or min, got {reduce_op}")
    torch.distributed.all_reduce(whole, kinds[reduce_op], group=_group(hcom))
    return whole


def _swapped(rows: torch.Tensor, sends: list[int], receives: list[int], hcom: str) -> Any:
    result = rows.new_empty((sum(receives), *rows.shape[1:]))
    torch.distributed.all_to_all_single(result, rows.contiguous(), receives, sends, group=_group(hcom))
    return result


def _by_process(counts: Sequence[int], world: int) -> list[int]:
    each = len(counts) // world
    return [sum(int(count) for count in counts[start * each : (start + 1) * each]) for start in range(world)]


def _reordered(rows: torch.Tensor, counts: Sequence[int], outer: int, inner: int) -> torch.Tensor:
    """Return rows that lie in blocks of (outer, inner) in the order of (inner, outer); ``counts`` are the blocks' rows."""
    blocks = rows.split([int(count) for count in counts])
    return torch.cat([blocks[one * inner + other] for other in range(inner) for one in range(outer)])


def _grouped(rows: torch.Tensor, weight: Any, sizes: list[int], transposed: bool) -> Any:
    weight = weight.transpose(-2, -1) if transposed else weight
    return experts.npu_grouped_matmul([rows], [weight], group_list=sizes, group_list_type=1, split_item=3, group_type=0)[0]


def _beside(mm_x: Any, mm_weight: Any, transposed: bool, like: Any) -> Any:
    if mm_x is None:
        return torch.empty(0, dtype=like.dtype, device=like.device)
    return mm_x @ (mm_weight.transpose(-2, -1) if transposed else mm_weight)


def npu_alltoallv_gmm(
    gmm_x: torch.Tensor, gmm_weight: torch.Tensor, hcom: str, ep_world_size: int, send_counts: Sequence[int], recv_counts: Sequence[int], *,
    send_counts_tensor: Any = None, recv_counts_tensor: Any = None, mm_x: Any = None, mm_weight: Any = None, trans_gmm_weight: bool = False,
    trans_mm_weight: bool = False, permute_out_flag: bool = False, comm_mode: Any = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Send rows to their experts' processes and multiply each expert's rows with its matrix; also return ``mm_x @ mm_weight``,
    and the rows by
    expert with ``permute_out_flag``.

    The counts are by process and expert: rows for each expert of each process, and rows from each process for each expert here.
    """
    inner = len(recv_counts) // ep_world_size
    rows = _swapped(gmm_x, _by_process(send_counts, ep_world_size), _by_process(recv_counts, ep_world_size), hcom)
    rows = _reordered(rows, recv_counts, ep_world_size, inner)
    sizes = [sum(int(recv_counts[one * inner + other]) for one in range(ep_world_size)) for other in range(inner)]
    result = _grouped(rows, gmm_weight, sizes, trans_gmm_weight)
    shown = rows if permute_out_flag else torch.empty(0, dtype=gmm_x.dtype, device=gmm_x.device)
    return result, _beside(mm_x, mm_weight, trans_mm_weight, gmm_x), shown


def npu_gmm_alltoallv(
    gmm_x: torch.Tensor, gmm_weight: torch.Tensor, hcom: str, ep_world_size: int, send_counts: Sequence[int], recv_counts: Sequence[int], *,
    send_counts_tensor: Any = None, recv_counts_tensor: Any = None, mm_x: Any = None, mm_weight: Any = None, trans_gmm_weight: bool = False,
    trans_mm_weight: bool = False, comm_mode: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Multiply each expert's rows with its matrix and send them back to the processes they came from; also return ``mm_x @ mm_weight``.

    The counts are by process and expert: rows to each process from each expert here, and rows from each expert of each process.
    """
    inner = len(send_counts) // ep_world_size
    sizes = [sum(int(send_counts[one * inner + other]) for one in range(ep_world_size)) for other in range(inner)]
    rows = _grouped(gmm_x, gmm_weight, sizes, trans_gmm_weight)
    by_expert = [send_counts[one * inner + other] for other in range(inner) for one in range(ep_world_size)]
    rows = _reordered(rows, by_expert, inner, ep_world_size)
    result = _swapped(rows, _by_process(send_counts, ep_world_size), _by_process(recv_counts, ep_world_size), hcom)
    return result, _beside(mm_x, mm_weight, trans_mm_weight, gmm_x)


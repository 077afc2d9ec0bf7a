"""torch_npu's products with collectives on two devices: ``torch.distributed.run --nproc-per-node 2 tests/cann/products.py``, in ``tests.cann --devices 2``."""
from __future__ import annotations

import os

import torch
import torch.distributed as dist
import torch_npu

rank = int(os.environ["RANK"])
dist.init_process_group("hccl")
torch.manual_seed(0)
full, weight = torch.randn(2, 4, 6), torch.randn(6, 3)
whole = dist.distributed_c10d._get_default_group()
group = whole._get_backend(torch.device("npu")).get_hccl_comm_name(rank)
assert whole._get_backend(torch.device("npu")).name() == "hccl" and whole._get_backend(torch.device("npu")).size() == 2
rows, matrix, total = full[rank].npu(), weight.npu(), full[0] @ weight + full[1] @ weight
product, gathered = torch_npu.npu_all_gather_base_mm(rows, matrix, group, 2)
# Rows by process and expert, of two experts a process
send, receive = ([1, 0, 2, 1], [1, 0, 1, 1]) if rank == 0 else ([1, 1, 1, 1], [2, 1, 1, 1])
factors = torch.arange(1.0, 5.0)
scaled = (torch.eye(6)[None] * factors[rank * 2 : rank * 2 + 2, None, None]).npu()
there, _, _ = torch_npu.npu_alltoallv_gmm(rows, scaled, group, 2, send, receive)
back, _ = torch_npu.npu_gmm_alltoallv(there, torch.eye(6)[None].repeat(2, 1, 1).npu(), group, 2, receive, send)
own = torch.cat([full[rank][sum(send[:place]) : sum(send[: place + 1])] * factors[place] for place in range(4)])
eight = torch.randint(-9, 9, (2, 4, 6)).to(torch.int8)
few, by_row, by_column = torch.randint(-9, 9, (6, 3)).to(torch.int8), torch.rand(8, generator=torch.Generator().manual_seed(1)), torch.rand(3)
scaled_sum = sum(eight[n].float() @ few.float() * by_row[n * 4 : n * 4 + 4, None] for n in range(2)) * by_column
scales = {"x1_scale": by_row[rank * 4 : rank * 4 + 4].npu(), "x2_scale": by_column.npu(), "y_dtype": torch.float32}
quantised, rows_of_eight, _ = torch_npu.npu_all_gather_quant_mm(eight[rank].npu(), few.npu(), group, 2, **scales)
part, _ = torch_npu.npu_quant_mm_reduce_scatter(eight[rank].npu(), few.npu(), group, 2, **scales)
pairs = {
    "gathered and quantised": (quantised, eight.reshape(8, 6).float() @ few.float() * by_row[:, None] * by_column),
    "eight bits": (rows_of_eight.float(), eight.reshape(8, 6).float()), "quantised and scattered": (part, scaled_sum[rank * 2 : rank * 2 + 2]),
    "reduce scatter": (torch_npu.npu_mm_reduce_scatter_base(rows, matrix, group, 2), total[rank * 2 : rank * 2 + 2]),
    "all gather": (product, full.reshape(8, 6) @ weight), "rows": (gathered, full.reshape(8, 6)),
    "all reduce": (torch_npu.npu_mm_all_reduce_base(rows, matrix, group), total), "experts": (back, own),
}  # fmt: skip
wrong = [name for name, (mine, theirs) in pairs.items() if not torch.allclose(mine.cpu(), theirs, atol=1e-5)]
assert not wrong, wrong
print("agrees")

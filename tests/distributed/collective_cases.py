"""Cases of collectives that several processes run with torch and with mstorch; the results are compared."""
from __future__ import annotations

import os

from tests.distributed import together

DTYPES = ("float32", "bfloat16", "int64", "bool")
LARGE = "COLLECTIVES_LARGE"  # in the environment: four processes use as many as two
SIZES = (0, 1, 1_000_003 if os.environ.get("WORLD_SIZE") == "2" or LARGE in os.environ else 70_001)


def values(torch, rank, dtype, size):
    """Return numbers that differ between the processes and are exact in bfloat16."""
    found = (torch.arange(size) * 7 + rank * 3) % 11
    return (found % 2 == 0) if dtype == "bool" else found.to(getattr(torch, dtype))


def short(torch, tensor):
    """Return a large tensor's ends and its sum."""
    flat = tensor.reshape(-1)
    return [flat[:5], flat[-5:], flat.to(torch.float64).sum(), list(tensor.shape)]


def _all(torch, make, combines=False):
    dtypes = DTYPES[:-1] if combines and together.AS_HCCL else DTYPES
    return {f"{dtype} {size}": make(dtype, size) for dtype in dtypes for size in SIZES}


def case_all_reduce(torch, dist, rank, size):
    def one(dtype, count):
        found = {}
        for op in ("SUM", "PRODUCT", "MIN", "MAX") if count < 1000 else ("SUM", "MAX"):
            if together.AS_HCCL and op == "PRODUCT" and dtype == "bfloat16":
                continue  # HCCL multiplies no bfloat16; mstorch refuses at once
            x = values(torch, rank, dtype, count)
            assert dist.all_reduce(x, getattr(dist.ReduceOp, op)) is None
            found[op] = short(torch, x)
        return found

    return _all(torch, one, True)


def case_bits_and_averages(torch, dist, rank, size):
    found = []
    ops, dtypes = ("BAND", "BOR", "BXOR", "AVG"), ("int64", "uint8", "bool", "float32", "float64", "float16", "bfloat16", "complex64", "int16")
    for op in ops[-1:] if together.AS_HCCL else ops:
        for dtype in ("int64", "float32", "float16", "bfloat16") if together.AS_HCCL else dtypes:
            x = (torch.arange(5) + rank).to(getattr(torch, dtype))
            try:
                dist.all_reduce(x, getattr(dist.ReduceOp, op))
                found.append(x)
            except Exception as error:  # noqa: BLE001 - compared
                found.append([type(error).__name__, str(error).split("\n")[0]])
    return found


def case_broadcast(torch, dist, rank, size):
    def one(dtype, count):
        x = values(torch, rank, dtype, count)
        dist.broadcast(x, src=size - 1)
        return short(torch, x)

    return _all(torch, one)


def case_all_gather(torch, dist, rank, size):
    def one(dtype, count):
        x = values(torch, rank, dtype, count)
        into = [torch.empty_like(x) for _ in range(size)]
        dist.all_gather(into, x)
        whole = x.new_empty(size * count)
        dist.all_gather_single(whole, x)
        return [short(torch, part) for part in into], short(torch, whole)

    return _all(torch, one)


def case_reduce_scatter(torch, dist, rank, size):
    def one(dtype, count):
        parts = [values(torch, rank + part, dtype, count) for part in range(size)]
        x, y = torch.empty_like(parts[0]), torch.empty_like(parts[0])
        dist.reduce_scatter(x, parts)
        dist.reduce_scatter_single(y, torch.cat(parts))
        return short(torch, x), short(torch, y)

    return _all(torch, one, True)


def case_reduce_gather_scatter(torch, dist, rank, size):
    def one(dtype, count):
        x = values(torch, rank, dtype, count)
        dist.reduce(x, dst=1)
        y = values(torch, rank, dtype, count)
        into = [torch.empty_like(y) for _ in range(size)] if rank == 1 else None
        dist.gather(y, into, dst=1)
        z = torch.empty_like(y)
        dist.scatter(z, [values(torch, part, dtype, count) for part in range(size)] if rank == 0 else None)
        return [short(torch, x) if rank == 1 else None, [short(torch, part) for part in into or ()], short(torch, z)]

    return _all(torch, one, True)


def case_all_to_all(torch, dist, rank, size):
    def one(dtype, count):
        parts = [values(torch, rank * 5 + part, dtype, count) for part in range(size)]
        x = torch.empty_like(torch.cat(parts))
        dist.all_to_all_single(x, torch.cat(parts))
        return short(torch, x)

    found = _all(torch, one)
    sizes = [rank + 1] * size
    given = torch.arange(float(sum(part + 1 for part in range(size)))) + 100 * rank
    into = torch.empty(sum(sizes))
    dist.all_to_all_single(into, given, sizes, [part + 1 for part in range(size)])
    return found, into


def case_lists_to_all(torch, dist, rank, size):
    parts = [torch.full((2, 3), 10.0 * rank + part) for part in range(size)]
    into = [torch.empty(2, 3) for part in range(size)]
    dist.all_to_all(into, parts)
    return into


def case_windows(torch, dist, rank, size):
    base = torch.arange(24.0).reshape(4, 6) + rank
    x = base.t()
    dist.all_reduce(x)
    y = torch.arange(12.0).reshape(3, 4) * (rank + 1)
    dist.broadcast(y[1], src=0)
    z = torch.tensor(float(rank))
    dist.all_reduce(z)
    w = torch.ones(3, requires_grad=True)
    dist.all_reduce(w)
    into = [torch.empty(2, 3) for _ in range(size)]
    dist.all_gather(into, torch.arange(6.0).reshape(3, 2).t() + rank)
    return base, x, y, z, w, into


def case_point_to_point(torch, dist, rank, size):
    right, left = (rank + 1) % size, (rank - 1) % size
    found = []
    for count in SIZES[1:]:
        x = torch.arange(float(count)) + rank
        y = torch.empty_like(x)
        calls = [lambda: dist.isend(x, right, tag=3), lambda: dist.irecv(y, left, tag=3)]
        if together.AS_HCCL and rank % 2:
            calls.reverse()  # a large send is done when it is received, on HCCL as on NCCL: two that send first wait for ever
        for work in [call() for call in calls]:
            work.wait()
        found.append(short(torch, y))
    a, b = torch.empty(2), torch.empty(2)
    ops = [dist.P2POp(dist.isend, torch.full((2,), 1.0 + rank), right), dist.P2POp(dist.irecv, a, left)]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    if rank == 0:
        dist.send(torch.tensor([1.0, 2.0]), 1)
        dist.send(torch.tensor([3.0, 4.0]), 1, tag=1)
        source = dist.recv(b, 1)
    elif rank == 1:
        c = torch.empty(2)
        source = dist.recv(b, 0)
        dist.recv(c, 0, tag=1)
        dist.send(c + b, 0)
    else:
        source = None
        b = a
    return found, a, b, source


def case_objects(torch, dist, rank, size):
    all_of = [None] * size
    dist.all_gather_object(all_of, {"rank": rank, "text": "x" * rank * 10})
    here = [None] * size if rank == 1 else None
    dist.gather_object([rank], here, dst=1)
    given = [rank, "from 0", {"a": 1}] if rank == 0 else [None] * 3
    dist.broadcast_object_list(given, src=0)
    mine = [None]
    dist.scatter_object_list(mine, [f"for {part}" for part in range(size)] if rank == 0 else None, src=0)
    sent = [None, None]
    if rank == 0:
        dist.send_object_list(["a", 3], dst=1)
    elif rank == 1:
        dist.recv_object_list(sent, src=0)
    return all_of, here, given, mine, sent


def case_works(torch, dist, rank, size):
    x, y = torch.ones(3) + rank, torch.ones(400_000)
    works = [dist.all_reduce(x, async_op=True), dist.all_reduce(y, async_op=True), dist.barrier(async_op=True)]
    into = [torch.empty(3) for _ in range(size)]
    works.append(dist.all_gather(into, torch.full((3,), float(rank)), async_op=True))
    future = dist.all_reduce(torch.ones(2), async_op=True).get_future()
    doubled = future.then(lambda done: done.value()[0] * 2)
    found = [work.wait() for work in works]
    return found, [work.is_completed() for work in works], x, y[:3], into, doubled.wait()


def case_groups(torch, dist, rank, size):
    odd = dist.new_group([1])
    both = dist.new_group([1, 0])
    x = torch.tensor([float(rank)])
    if rank == 1:
        dist.all_reduce(x, group=odd)
    dist.all_reduce(x, group=both) if rank < 2 else None
    mine, every = dist.new_subgroups(1)
    facts = [dist.get_rank(both), dist.get_world_size(both), dist.get_process_group_ranks(dist.group.WORLD), dist.get_rank(odd), len(every)]
    facts += [dist.get_world_size(mine), None if together.AS_HCCL else dist.get_backend(), dist.get_rank(), dist.get_world_size(), dist.is_initialized()]
    if rank < 2:
        facts += [dist.get_group_rank(both, 1), dist.get_global_rank(both, 0), None if together.AS_HCCL else dist.get_backend(both)]
    y = torch.tensor([float(rank)])
    dist.broadcast(y, group_src=1, group=both) if rank < 2 else None
    return x, y, facts


ERRORS = [
    "dist.all_reduce(3)", "dist.all_gather([x], x)", "dist.all_gather([x] * size, x[:1])", "dist.all_gather([x.int()] * size, x)",
    "dist.send(x, rank)", "dist.init_process_group('gloo')", "dist.new_group([0, 77])", "dist.new_group([0, 0])",
    "dist.new_group([0], backend='mpi')", "dist.new_group([0], timeout=3)", "dist.all_reduce(x, dist.ReduceOp.BAND)",
    "dist.all_reduce(x.to(torch.int16))", "dist.reduce_scatter(x, [x])",
    "dist.gather(x, [x] * size if rank != 0 else None)", "dist.scatter(x, [x] if rank == 0 else None) if rank == 0 else dist.scatter(x, [x])",
    "dist.all_to_all_single(x, x, [1], [2])", "dist.broadcast(x)", "dist.broadcast(x, 0, group_src=0)", "dist.P2POp(len, x, 0)",
    "dist.new_subgroups(3)", "dist.new_subgroups(0)", "dist.new_subgroups_by_enumeration([])", "dist.get_global_rank(3, 0)",
    "dist.all_reduce(torch.ones(2, dtype=torch.complex64), dist.ReduceOp.MAX)",
    "dist.distributed_c10d._get_default_group().size()", "dist.get_backend_config()", "dist.group.WORLD is None",
    "dist.get_node_local_rank(5)", "dist.is_torchelastic_launched()", "dist.is_available()", "dist.is_backend_available('gloo')",
    "dist.distributed_c10d._resolve_process_group(dist.group.WORLD.group_name) is dist.group.WORLD", "dist.split_group(split_ranks=[[0]])",
]  # fmt: skip


def case_errors(torch, dist, rank, size):
    x = torch.ones(3)
    found = []
    for call in ERRORS:
        try:
            found.append([call, eval(call, {"torch": torch, "dist": dist, "rank": rank, "size": size, "x": x})])
        except Exception as error:  # noqa: BLE001 - compared
            found.append([call, type(error).__name__, str(error).split("\n")[0][:60]])
    return found

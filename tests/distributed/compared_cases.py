"""Mismatched calls of two processes under ``TORCH_DISTRIBUTED_DEBUG=DETAIL``: both raise, and the next call works."""
from __future__ import annotations

import re


def told(torch, dist, rank, size, first, second):
    """Return the operations that the error names for this rank and for the other, and the result of the next operation."""
    try:
        (first, second)[rank]()
        found = None
    except RuntimeError as error:
        text = str(error)
        assert text.startswith("Detected mismatch between collectives on ranks. Rank"), text
        own = re.search(r"Rank (\d) is running collective: CollectiveFingerPrint\(SequenceNumber=\d+,? ?OpType=(\w+)", text)
        found = own.groups()
    x = torch.ones(2)
    dist.all_reduce(x)
    return found, x


def case_operations(torch, dist, rank, size):
    x = torch.ones(4)
    return told(torch, dist, rank, size, lambda: dist.all_reduce(x), lambda: dist.broadcast(x, 0))


def case_shapes(torch, dist, rank, size):
    return told(torch, dist, rank, size, *[lambda n=n: dist.all_reduce(torch.ones(n)) for n in (4, 5)])


def case_shapes_of_one_size(torch, dist, rank, size):
    return told(torch, dist, rank, size, *[lambda n=n: dist.all_reduce(torch.ones(n)) for n in ((2, 2), (4,))])


def case_dtypes(torch, dist, rank, size):
    return told(torch, dist, rank, size, *[lambda kind=kind: dist.all_reduce(torch.ones(4, dtype=kind)) for kind in (torch.float32, torch.int32)])


def case_all_gather(torch, dist, rank, size):
    return told(torch, dist, rank, size, *[lambda n=n: dist.all_gather([torch.ones(n)] * 2, torch.ones(n)) for n in (4, 2)])


def case_all_gather_and_all_reduce(torch, dist, rank, size):
    x = torch.ones(4)
    return told(torch, dist, rank, size, lambda: dist.all_gather([torch.ones(4), torch.ones(4)], x), lambda: dist.all_reduce(x))


def case_gather(torch, dist, rank, size):
    return told(torch, dist, rank, size, lambda: dist.gather(torch.ones(4), [torch.ones(4), torch.ones(4)]), lambda: dist.gather(torch.ones(3)))


def case_reduce_scatter_and_all_reduce(torch, dist, rank, size):
    x = torch.ones(2)
    return told(torch, dist, rank, size, lambda: dist.reduce_scatter(torch.ones(2), [x, x]), lambda: dist.all_reduce(x))


def case_barrier_and_all_reduce(torch, dist, rank, size):
    return told(torch, dist, rank, size, lambda: dist.barrier(), lambda: dist.all_reduce(torch.ones(2)))


def case_all_to_all_and_all_reduce(torch, dist, rank, size):
    x = torch.ones(4)
    return told(torch, dist, rank, size, lambda: dist.all_to_all_single(torch.ones(4), x), lambda: dist.all_reduce(x))


def case_without_waiting(torch, dist, rank, size):
    return told(torch, dist, rank, size, *[lambda n=n: dist.all_reduce(torch.ones(n), async_op=True).wait() for n in (4, 5)])


def case_scatter_and_reduce(torch, dist, rank, size):
    x = torch.ones(2)
    return told(torch, dist, rank, size, lambda: dist.scatter(torch.ones(2), [x, x]), lambda: dist.reduce(x, 0))


def case_objects_and_all_reduce(torch, dist, rank, size):
    return told(torch, dist, rank, size, lambda: dist.all_gather_object([None, None], "a"), lambda: dist.all_reduce(torch.ones(1)))


def case_tensors_in_one(torch, dist, rank, size):
    x, y = torch.ones(2), torch.ones(4)
    return told(torch, dist, rank, size, lambda: dist.all_gather_into_tensor(y, x), lambda: dist.reduce_scatter_tensor(x, y))


def case_a_smaller_group(torch, dist, rank, size):
    group = dist.new_group([0, 1])
    return told(torch, dist, rank, size, *[lambda n=n: dist.all_reduce(torch.ones(n), group=group) for n in (4, 5)])


def case_what_matches(torch, dist, rank, size):
    found, objects = [torch.full((3,), float(rank))], [None, None]
    dist.all_reduce(found[0])
    dist.broadcast(found[0], 1)
    dist.all_gather_object(objects, "a" * (rank + 1))
    parts = [torch.zeros(3), torch.zeros(3)]
    dist.all_gather(parts, torch.arange(3.0) * rank)
    dist.barrier()
    if rank:
        dist.recv(found[0], 0)
    else:
        dist.send(found[0] * 3, 1)
    return found, objects, parts

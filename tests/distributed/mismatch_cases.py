"""Calls of two processes that do not match: each process raises, in the call or in the next one, and the calls after that work."""
from __future__ import annotations

import itertools

import numpy as np


def calls(torch, dist):
    """Return calls by name. Two processes that both only receive wait until a timeout, as in torch: there is no such pair here."""
    x, y = torch.ones(3, 4), torch.ones(4, 3)
    large = torch.ones(300_000)
    pair = [torch.zeros(3, 4), torch.zeros(3, 4)]
    return {
        "all_reduce": lambda: dist.all_reduce(x.clone()),
        "all_reduce of another shape": lambda: dist.all_reduce(y.clone()),
        "all_reduce of another dtype": lambda: dist.all_reduce(x.int()),
        "all_reduce MAX": lambda: dist.all_reduce(x.clone(), dist.ReduceOp.MAX),
        "large all_reduce": lambda: dist.all_reduce(large.clone()),
        "large all_reduce of another dtype": lambda: dist.all_reduce(large.int()),
        "all_reduce, later": lambda: dist.all_reduce(x.clone(), async_op=True).wait(),
        "broadcast": lambda: dist.broadcast(x.clone(), dist.get_rank()),
        "broadcast of another shape": lambda: dist.broadcast(y.clone(), dist.get_rank()),
        "large broadcast": lambda: dist.broadcast(large.clone(), dist.get_rank()),
        "all_gather": lambda: dist.all_gather(pair, x),
        "all_gather of another shape": lambda: dist.all_gather([torch.zeros(4, 3), torch.zeros(4, 3)], y),
        "all_gather_into_tensor": lambda: dist.all_gather_into_tensor(torch.zeros(6, 4), x),
        "reduce": lambda: dist.reduce(x.clone(), 1 - dist.get_rank()),
        "reduce MAX": lambda: dist.reduce(x.clone(), 1 - dist.get_rank(), dist.ReduceOp.MAX),
        "reduce_scatter": lambda: dist.reduce_scatter(torch.zeros(3, 4), pair),
        "reduce_scatter_tensor": lambda: dist.reduce_scatter_tensor(torch.zeros(3, 4), torch.ones(6, 4)),
        "gather": lambda: dist.gather(x, dst=1 - dist.get_rank()),
        "scatter": lambda: dist.scatter(torch.zeros(3, 4), pair, src=dist.get_rank()),
        "all_to_all": lambda: dist.all_to_all([torch.zeros(3, 4), torch.zeros(3, 4)], pair),
        "all_to_all of another dtype": lambda: dist.all_to_all([torch.zeros(3, 4).int(), torch.zeros(3, 4).int()], [x.int(), x.int()]),
        "all_to_all_single": lambda: dist.all_to_all_single(torch.zeros(2, 4), torch.ones(2, 4)),
        "barrier": lambda: dist.barrier(),
    }


def case_all_pairs(torch, dist, rank, size):
    known = calls(torch, dist)
    unseen = []
    for names in itertools.permutations(known, 2):
        if {*names} == {"all_reduce", "all_reduce, later"}:
            continue  # the same call
        said = []
        for call in (known[names[rank]], dist.barrier):
            try:
                call()
            except RuntimeError as error:
                said.append(str(error))
        if len(said) != 1 or not said[0].startswith(f"Detected mismatch between collectives on ranks. Rank {rank} is running collective: "):
            unseen.append((names, said))
        x = torch.full((2,), float(rank + 1))
        dist.all_reduce(x)
        np.testing.assert_array_equal(x.numpy(), [3.0, 3.0])
    assert not unseen, f"{len(unseen)} pairs, such as {unseen[:4]}"


def case_two_roots(torch, dist, rank, size):
    """The same operations with other roots: a root each, and so nobody who receives."""
    for call in (
        lambda: dist.broadcast(torch.ones(2), rank), lambda: dist.scatter(torch.zeros(2), [torch.ones(2), torch.ones(2)], src=rank),
        lambda: dist.reduce(torch.ones(2), 1 - rank), lambda: dist.gather(torch.ones(2), dst=1 - rank),
    ):  # fmt: skip
        said = []
        for one in (call, dist.barrier):
            try:
                one()
            except RuntimeError as error:
                said.append(str(error))
        assert len(said) == 1 and "root 0" in said[0] and "root 1" in said[0], said


def case_matching_calls_pass(torch, dist, rank, size):
    """Each call of both, with one root, and an unequal count of elements where that is allowed."""
    known = calls(torch, dist)
    for name, call in known.items():
        if not any(word in name for word in ("broadcast", "reduce", "gather", "scatter")) or name.startswith("all_"):
            call()
    for _ in range(600):  # a root that runs ahead
        dist.broadcast(torch.ones(2), 0)
    lengths = ([1, 3], [2, 5])[rank], ([1, 2], [3, 5])[rank]
    dist.all_to_all_single(torch.zeros(sum(lengths[1])), torch.ones(sum(lengths[0])), lengths[1], lengths[0])
    dist.barrier()

"""Collectives by MindSpore's communication on the CPU, through the file that calls HCCL's: msrun starts the script twice.

Each process writes what it has. MindSpore's communication of the CPU has no all_gather_into_tensor, no reduce_scatter and no groups.
"""
import json
import os
import sys

import numpy as np
from mindspore.communication import get_rank, init

import mstorch  # noqa: F401 - before its parts
from mstorch._src.backend import collectives
from mstorch._src.backend.raw import from_numpy

init("mccl")
rank, group = get_rank(), collectives.Communication()


def row(count=4):
    return from_numpy(np.arange(count, dtype=np.float32) + 10 * rank)


def reduced(op):
    x = row()
    group.all_reduce(None, x, op).wait()
    return x.asnumpy().tolist()


def spread():
    x = row()
    group.broadcast(None, x, 1).wait()
    return x.asnumpy().tolist()


def gathered():
    parts, x = [from_numpy(np.zeros(4, np.float32)) for _ in range(2)], row()
    group.all_gather_list(None, parts, x).wait()
    return [part.asnumpy().tolist() for part in parts]


found = {f"all_reduce {op}": reduced(op) for op in ("SUM", "MAX", "MIN", "PRODUCT")}
found |= {"broadcast": spread(), "all_gather": gathered(), "barrier": group.barrier(None)}
with open(os.path.join(sys.argv[1], f"{rank}.json"), "w") as file:
    json.dump(found, file)

"""torch.distributed without a process group."""
from __future__ import annotations

import pytest

from tests.against_torch import both

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name, args", [
    ("get_rank", 0), ("get_world_size", 0), ("get_backend", 0), ("barrier", 0), ("all_reduce", 1), ("broadcast", 2), ("reduce", 2),
    ("new_group", 0), ("destroy_process_group", 0), ("is_initialized", 0), ("is_nccl_available", 0), ("is_torchelastic_launched", 0),
    ("get_node_local_rank", 0), ("get_node_local_rank", 1),
])  # fmt: skip
def test_without_a_group(name, args):
    both(lambda torch: getattr(torch.distributed, name)(*(torch.ones(1) if i == 0 and name != "get_node_local_rank" else 0 for i in range(args))))


def test_mesh_without_a_group():
    both(lambda torch: torch.distributed.init_device_mesh("cpu", (1,)))


def test_sampler_without_a_group():
    both(lambda torch: torch.utils.data.DistributedSampler([1, 2, 3]))


def test_names():
    both(lambda torch: [torch.distributed.group.WORLD, torch.distributed.GroupMember.WORLD, torch.distributed.Backend("GLOO"),
                        torch.distributed.Backend.NCCL, int(torch.distributed.ReduceOp.MAX)])  # fmt: skip
    both(lambda torch: torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1)))
    both(lambda torch: isinstance(torch.nn.Linear(1, 1), torch.nn.parallel.DistributedDataParallel))


def test_a_group_of_its_own():
    def body(torch):
        d = torch.distributed
        group = d.ProcessGroupGloo(d.HashStore(), 0, 1)
        x = torch.ones(2)
        group.allreduce([x]).wait()
        found = [x, group.rank(), group.size(), group.name(), d.is_initialized()]
        group.shutdown()
        return found

    both(body)

"""Jobs of torchdata."""
from __future__ import annotations

import torch
from torchdata.nodes import Batcher, IterableWrapper, Loader, Mapper, SamplerWrapper
from torchdata.stateful_dataloader import StatefulDataLoader


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 20

    def __getitem__(self, i):
        return torch.full((2,), float(i)), i


def job_stateful_loader():
    found = []
    for workers in (0, 2):
        torch.manual_seed(3)
        loader = StatefulDataLoader(Rows(), batch_size=4, shuffle=True, num_workers=workers)
        each = iter(loader)
        first = [next(each)[1].tolist() for _ in range(2)]
        state = loader.state_dict()
        again = StatefulDataLoader(Rows(), batch_size=4, shuffle=True, num_workers=workers)
        again.load_state_dict(state)
        found.append((first, [batch[1].tolist() for batch in again], [batch[1].tolist() for batch in each]))
    return found


def job_nodes():
    node = Batcher(Mapper(IterableWrapper(range(10)), lambda x: x * x), batch_size=3, drop_last=False)
    torch.manual_seed(0)
    sampled = SamplerWrapper(torch.utils.data.RandomSampler(range(6)))
    loader = Loader(node)
    return list(loader), list(loader), list(Loader(sampled))

"""Jobs of datasets, whose rows are tensors."""
from __future__ import annotations

import torch
from datasets import Dataset, load_from_disk
from datasets.table import InMemoryTable


def _doubled(row):
    return {"doubled": row["x"] * 2}


def _is_kept(row):
    return row["label"] % 4 != 3


def job_rows_of_tensors():
    rows = {"x": [[float(i), i * 0.5] for i in range(12)], "label": list(range(12)), "text": [f"row {i}" for i in range(12)]}
    data = Dataset(InMemoryTable.from_pydict(rows), fingerprint="rows").with_format("torch")
    data = data.map(_doubled, new_fingerprint="doubled").filter(_is_kept, new_fingerprint="kept").shuffle(seed=3)
    data.save_to_disk("rows")
    data = load_from_disk("rows").with_format("torch", columns=["x", "doubled", "label"])
    torch.manual_seed(0)
    net = torch.nn.Linear(2, 1)
    optimizer, losses = torch.optim.SGD(net.parameters(), 1e-3), []
    for batch in torch.utils.data.DataLoader(data, batch_size=3, shuffle=True):
        loss = (net(batch["x"]).squeeze(-1) - batch["label"]).square().mean() + batch["doubled"].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    found = data.train_test_split(0.25, seed=1)
    streamed = list(data.with_format(None).to_iterable_dataset(num_shards=2).with_format("torch"))
    return data[:4], data["label"][:], losses, [len(part) for part in found.values()], streamed[0], data[0]["x"].dtype

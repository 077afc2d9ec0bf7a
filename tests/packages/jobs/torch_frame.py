"""Jobs of torch_frame."""

from __future__ import annotations

import pandas as pd
import torch
from torch_frame import stype
from torch_frame.data import DataLoader, Dataset
from torch_frame.nn import FTTransformer, ResNet


def job_tables():
    torch.manual_seed(0)
    frame = pd.DataFrame(
        {
            "a": [float(i % 7) for i in range(24)],
            "b": ["x", "y", "z"] * 8,
            "c": [float(i % 3) for i in range(24)],
            "y": [float(i % 5) for i in range(24)],
        }
    )
    data = Dataset(frame, {"a": stype.numerical, "b": stype.categorical, "c": stype.numerical, "y": stype.numerical}, target_col="y")
    data.materialize()
    answers = []
    for kind in (ResNet, FTTransformer):
        extra = {
            "out_channels": 1,
            "num_layers": 2,
            "channels": 8,
            "col_stats": data.col_stats,
            "col_names_dict": data.tensor_frame.col_names_dict,
        }
        net = kind(**extra)
        optimizer = torch.optim.Adam(net.parameters(), 1e-2)
        for batch in DataLoader(data.tensor_frame, batch_size=8):
            loss = (net(batch).squeeze(1) - batch.y).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            answers.append(loss)
    return [*answers, data.tensor_frame[3:5].feat_dict[stype.numerical]]

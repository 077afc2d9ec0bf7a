"""Jobs of deepchem."""

from __future__ import annotations

import deepchem as dc
import numpy as np
import torch
from deepchem.models.torch_models import MultilayerPerceptron


def job_graphs():
    np.random.seed(0)
    torch.manual_seed(0)
    net = MultilayerPerceptron(4, 1, (8,), dropout=0.1)
    model = dc.models.TorchModel(net, dc.models.losses.L2Loss(), batch_size=8, learning_rate=0.01, model_dir="deepchem")
    x = np.random.randn(24, 4)
    data = dc.data.NumpyDataset(x, x[:, :1] * 2)
    losses = [float(model.fit(data, nb_epoch=1, deterministic=True)) for _ in range(2)]
    return [losses, model.predict(data)[:4], model.compute_saliency(x[0])]

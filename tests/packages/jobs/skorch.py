"""Jobs of skorch."""
from __future__ import annotations

import numpy as np
import torch
from skorch import NeuralNetClassifier


class Net(torch.nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(4, width), torch.nn.ReLU(), torch.nn.Linear(width, 2), torch.nn.Softmax(-1))

    def forward(self, x):
        return self.net(x)


def job_fit():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 4)).astype(np.float32), rng.integers(0, 2, 40)
    torch.manual_seed(0)
    model = NeuralNetClassifier(Net, max_epochs=4, lr=0.1, batch_size=8, verbose=0, iterator_train__shuffle=True)
    model.fit(x, y)
    model.save_params(f_params="p.pt")
    return model.history[:, "train_loss"], model.history[:, "valid_loss"], model.predict_proba(x[:5]).tolist()

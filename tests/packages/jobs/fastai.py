"""Jobs of fastai."""
from __future__ import annotations

import pandas as pd
import torch
from fastai.data.core import DataLoaders
from fastai.learner import Learner, load_learner
from fastai.losses import CrossEntropyLossFlat
from fastai.metrics import accuracy
from fastai.tabular.all import (
    Categorify,
    FillMissing,
    Normalize,
    RandomSplitter,
    TabularPandas,
    range_of,
    tabular_learner,
)
from fastcore.basics import noop


def _quiet(learner):
    for name in ("ProgressCallback",):
        callback = next((one for one in learner.cbs if type(one).__name__ == name), None)
        if callback:
            learner.remove_cb(callback)
    learner.logger = noop
    return learner


def job_learner():
    torch.manual_seed(0)
    rows = [(torch.randn(4), i % 2) for i in range(32)]
    loaders = DataLoaders.from_dsets(rows[:24], rows[24:], bs=8, num_workers=0, shuffle=False, device="cpu")
    net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.BatchNorm1d(16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
    learner = _quiet(Learner(loaders, net, loss_func=CrossEntropyLossFlat(), metrics=accuracy, path="."))
    learner.fit_one_cycle(2, 1e-2)
    learner.save("model")
    learner.load("model")
    return [list(map(float, row)) for row in learner.recorder.values], learner.get_preds()[0]


def job_tabular():
    torch.manual_seed(0)
    frame = pd.DataFrame({"a": [float(i % 7) for i in range(40)], "b": ["xyz"[i % 3] for i in range(40)], "y": ["no", "yes"] * 20})
    data = TabularPandas(frame, procs=[Categorify, FillMissing, Normalize], cat_names=["b"], cont_names=["a"], y_names="y", splits=RandomSplitter(seed=1)(range_of(frame)))
    loaders = data.dataloaders(bs=8, device="cpu")
    torch.manual_seed(0)
    learner = _quiet(tabular_learner(loaders, layers=[8], path="."))
    learner.fit(1, 1e-2)
    learner.export("all.pkl")
    back = load_learner("all.pkl")
    return [list(map(float, row)) for row in learner.recorder.values], learner.get_preds()[0], type(back).__name__

"""Jobs of pytorch_tabnet."""

from __future__ import annotations

import numpy as np
from pytorch_tabnet.multitask import TabNetMultiTaskClassifier
from pytorch_tabnet.pretraining import TabNetPretrainer
from pytorch_tabnet.tab_model import TabNetClassifier, TabNetRegressor


def job_classes():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(96, 5)).astype("float32")
    x[:, 4] = rng.integers(0, 3, 96)
    y = (x[:, 0] > 0).astype(int)
    options = {"n_d": 4, "n_a": 4, "n_steps": 2, "verbose": 0, "seed": 0, "device_name": "cpu"}
    fit = {"max_epochs": 2, "batch_size": 32, "virtual_batch_size": 16, "num_workers": 0, "drop_last": False}
    first = TabNetClassifier(cat_idxs=[4], cat_dims=[3], cat_emb_dim=2, **options)
    first.fit(x, y, eval_set=[(x, y)], eval_metric=["auc"], **fit)
    path = first.save_model("tabnet")
    again = TabNetClassifier()
    again.load_model(path)
    second = TabNetRegressor(**options)
    second.fit(x, x[:, :1], **fit)
    pre = TabNetPretrainer(**options)
    pre.fit(x, pretraining_ratio=0.5, **fit)
    several = TabNetMultiTaskClassifier(**options)
    several.fit(x, np.stack([y, 1 - y], 1), **fit)
    return [first.history.history["loss"], again.predict_proba(x)[:5], second.predict(x)[:5], pre.predict(x)[0][:3]]

"""Jobs of pycox."""

from __future__ import annotations

import numpy as np
import torch
import torchtuples as tt
from pycox.models import PMF, CoxPH, DeepHitSingle, LogisticHazard


def job_survival():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(64, 4)).astype("float32")
    time, event = rng.integers(1, 20, 64).astype("float32"), rng.integers(0, 2, 64)
    answers = []
    torch.manual_seed(0)
    cox = CoxPH(tt.practical.MLPVanilla(4, [8], 1, True, 0.1, output_bias=False), tt.optim.Adam(0.01))
    log = cox.fit(x, (time, event), 32, 3, verbose=False, shuffle=False)
    cox.compute_baseline_hazards()
    answers += [log.to_pandas().values, cox.predict_surv_df(x[:3]).values]
    for kind in (LogisticHazard, PMF, DeepHitSingle):
        torch.manual_seed(0)
        labels = kind.label_transform(6)
        y = labels.fit_transform(time, event)
        model = kind(tt.practical.MLPVanilla(4, [8], labels.out_features, True, 0.1), tt.optim.AdamWR(0.01), duration_index=labels.cuts)
        log = model.fit(x, y, 32, 2, verbose=False, shuffle=False)
        answers += [log.to_pandas().values, model.predict_surv(x[:3])]
    return answers

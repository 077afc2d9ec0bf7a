"""Jobs of torchtuples."""

from __future__ import annotations

import numpy
import torch
import torchtuples


def job_fit():
    torch.manual_seed(0)
    numpy.random.seed(0)
    x, y = numpy.random.randn(64, 4).astype("float32"), numpy.random.randn(64, 1).astype("float32")
    net = torchtuples.practical.MLPVanilla(4, [8], 1, batch_norm=True, dropout=None)
    model = torchtuples.Model(net, torch.nn.MSELoss(), torchtuples.optim.AdamW(0.01))
    log = model.fit(x, y, 16, 3, verbose=False, val_data=(x, y), shuffle=False)
    return [torch.tensor(model.predict(x)), [float(v) for v in log.to_pandas()["val_loss"]], torchtuples.tuplefy(x, (y, x)).shapes()]

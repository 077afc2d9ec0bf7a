"""Jobs of speechbrain."""
from __future__ import annotations

import speechbrain as sb
import torch
from speechbrain.lobes.features import Fbank
from speechbrain.lobes.models.ECAPA_TDNN import ECAPA_TDNN
from speechbrain.nnet.losses import ctc_loss


class Brain(sb.Brain):
    def compute_forward(self, batch, stage):
        return self.modules.net(batch[0])

    def compute_objectives(self, predictions, batch, stage):
        return torch.nn.functional.mse_loss(predictions, batch[1])

    def on_stage_end(self, stage, stage_loss, epoch=None):
        self.hparams.seen.append(stage_loss)


def job_brain():
    torch.manual_seed(0)
    seen = []
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    brain = Brain({"net": net}, lambda p: torch.optim.Adam(p, 1e-2), hparams={"seen": seen}, run_opts={"device": "cpu", "noprogressbar": True})
    data = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(4)]
    brain.fit(range(2), data, valid_set=data)
    return seen, net(torch.ones(1, 4))


def job_speech():
    torch.manual_seed(0)
    features = Fbank(n_mels=16)(torch.randn(2, 4000))
    # Its last batch norm sees two values: in single precision rounding decides the fourth digit of the gradients.
    model = ECAPA_TDNN(16, lin_neurons=8, channels=[8, 8, 8, 8, 24], attention_channels=8).double()
    out = model(features.double())
    out.square().sum().backward()
    logits = torch.randn(2, 12, 5).log_softmax(-1).requires_grad_()
    loss = ctc_loss(logits, torch.randint(1, 5, (2, 4)), torch.tensor([1.0, 0.8]), torch.tensor([1.0, 0.5]), blank_index=0)
    loss.backward()
    return features, out, [p.grad.abs().sum() for p in model.parameters() if p.grad is not None][:5], loss, logits.grad

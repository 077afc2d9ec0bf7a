"""Jobs of torcheval."""
from __future__ import annotations

import torch
from torcheval import metrics
from torcheval.metrics import functional as F


def job_metrics():
    torch.manual_seed(0)
    logits, target = torch.randn(40, 3), torch.randint(0, 3, (40,))
    scores, labels = torch.rand(30), torch.randint(0, 2, (30,))
    found = []
    for metric, inputs in (
        (metrics.MulticlassAccuracy(num_classes=3, average="macro"), (logits, target)), (metrics.MulticlassF1Score(num_classes=3), (logits, target)),
        (metrics.MulticlassConfusionMatrix(3), (logits, target)), (metrics.MulticlassAUROC(num_classes=3), (logits, target)),
        (metrics.BinaryAUROC(), (scores, labels)), (metrics.BinaryAUPRC(), (scores, labels)), (metrics.BinaryNormalizedEntropy(), (scores.double(), labels.double())),
        (metrics.MeanSquaredError(), (scores, labels.float())), (metrics.R2Score(), (scores, labels.float())), (metrics.Mean(), (scores,)),
        (metrics.PeakSignalNoiseRatio(), (scores.reshape(1, 5, 6), labels.float().reshape(1, 5, 6))), (metrics.Perplexity(), (logits[None], target[None])),
    ):  # fmt: skip
        metric.update(*inputs)
        metric.update(*inputs)
        again = type(metric).__new__(type(metric))
        again.__dict__.update(metric.__dict__)
        found.append((metric.compute(), {name: value for name, value in metric.state_dict().items() if isinstance(value, torch.Tensor)}))
    found.append(F.binary_precision_recall_curve(scores, labels))
    found.append(metrics.WordErrorRate().update(["a b c"], ["a c c"]).compute())
    return found

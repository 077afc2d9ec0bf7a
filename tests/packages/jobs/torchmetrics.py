"""Jobs of torchmetrics."""
from __future__ import annotations

import torch
import torchmetrics as tm


def job_metrics():
    logits, target = torch.randn(40, 3), torch.randint(0, 3, (40,))
    metrics = tm.MetricCollection({
        "acc": tm.Accuracy("multiclass", num_classes=3), "f1": tm.F1Score("multiclass", num_classes=3, average="macro"),
        "auroc": tm.AUROC("multiclass", num_classes=3), "ap": tm.AveragePrecision("multiclass", num_classes=3),
        "conf": tm.ConfusionMatrix("multiclass", num_classes=3),
    })  # fmt: skip
    metrics.update(logits[:20].softmax(-1), target[:20])
    metrics.update(logits[20:].softmax(-1), target[20:])
    a, b = torch.randn(30), torch.randn(30)
    others = [tm.MeanSquaredError()(a, b), tm.R2Score()(a, b), tm.PearsonCorrCoef()(a, b), tm.SpearmanCorrCoef()(a, b), tm.CosineSimilarity()(a[None], b[None])]
    images = torch.rand(2, 1, 16, 16), torch.rand(2, 1, 16, 16)
    others += [tm.image.StructuralSimilarityIndexMeasure(data_range=1.0)(*images), tm.image.PeakSignalNoiseRatio(data_range=1.0)(*images)]
    return metrics.compute(), others, tm.text.WordErrorRate()(["a b c"], ["a b d"])

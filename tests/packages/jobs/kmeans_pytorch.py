"""Jobs of kmeans_pytorch."""

from __future__ import annotations

import numpy as np
import torch
from kmeans_pytorch import kmeans, kmeans_predict


def job_clusters():
    np.random.seed(0)
    torch.manual_seed(0)
    x = torch.randn(60, 3) + torch.arange(3).repeat(20)[:, None] * 4
    ids, centers = kmeans(x, 3)
    return [ids, centers, kmeans_predict(x[:5], centers)]

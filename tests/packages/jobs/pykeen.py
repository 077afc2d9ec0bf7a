"""Jobs of pykeen."""
from __future__ import annotations

from pykeen.pipeline import pipeline


def job_embedding():
    quiet = {"use_tqdm": False}
    found = pipeline(
        dataset="nations", model="TransE", epochs=2, random_seed=1, device="cpu", training_kwargs=quiet, evaluation_kwargs=quiet,
        model_kwargs={"embedding_dim": 8},
    )  # fmt: skip
    return found.losses, found.metric_results.get_metric("mrr")

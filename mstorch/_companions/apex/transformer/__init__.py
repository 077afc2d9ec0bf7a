"""apex.transformer: rotary embeddings and masked softmax. Its tensor and pipeline parallelism is not here."""

from __future__ import annotations

from ... import absent
from . import enums as enums
from . import functional as functional


def __getattr__(name: str) -> object:
    if name in ("tensor_parallel", "pipeline_parallel", "parallel_state"):
        return absent(
            f"apex.transformer.{name}", "write torch.distributed.tensor.parallel and torch.distributed.pipelining"
        )
    raise AttributeError(f"module 'apex.transformer' has no attribute '{name}'")


__all__ = ["enums", "functional"]

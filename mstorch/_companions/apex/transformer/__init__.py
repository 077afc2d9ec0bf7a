"""apex.transformer: rotary embeddings and masked softmax. Its tensor and pipeline parallelism is not here."""

from __future__ import annotations

from ... import absent_names
from . import enums as enums
from . import functional as functional

__getattr__ = absent_names("apex.transformer", dict.fromkeys(
    ("tensor_parallel", "pipeline_parallel", "parallel_state"), "torch.distributed.tensor.parallel and torch.distributed.pipelining"
))  # fmt: skip
__all__ = ["enums", "functional"]

"""Other names of torch.nn.functional: annotations, dispatch on a flag, argument checks."""
from __future__ import annotations

from typing import Any

GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}

tf32_notes = {"tf32_note": "float32 is computed in float32, never in TensorFloat32."}
reproducibility_notes = {
    "forward_reproducibility_note": "The result of the same input is the same on CPU.",
    "backward_reproducibility_note": "The gradient of the same input is the same on CPU.",
    "cudnn_reproducibility_note": "cuDNN is not used.",
}
sparse_support_notes = {"sparse_beta_warning": "Sparse layouts are not supported."}


def assert_int_or_pair(arg: Any, arg_name: str, message: str) -> None:
    """Raise AssertionError unless the argument is an int or has two items."""
    if not (isinstance(arg, int) or len(arg) == 2):
        raise AssertionError(message.format(arg_name))

"""Other names of torch.nn.functional: annotations, dispatch on a flag, argument checks."""
from __future__ import annotations

from collections.abc import Callable, Sequence
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


class _BroadcastingList:
    """``BroadcastingList2[int]`` in annotations: one value, or one for each dimension."""

    def __getitem__(self, kind: Any) -> Any:
        return kind | Sequence[kind]


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = _BroadcastingList()


def assert_int_or_pair(arg: Any, arg_name: str, message: str) -> None:
    """Raise AssertionError unless the argument is an int or has two items."""
    if not (isinstance(arg, int) or len(arg) == 2):
        raise AssertionError(message.format(arg_name))


def boolean_dispatch(
    arg_name: str, arg_index: int, default: bool, if_true: Callable[..., Any], if_false: Callable[..., Any],
    module_name: str | None, func_name: str | None,
) -> Callable[..., Any]:  # fmt: skip
    """Return a function that calls ``if_true`` or ``if_false``, depending on its argument ``arg_name``."""
    if if_true.__doc__ is not None and if_false.__doc__ is not None:
        raise RuntimeError("only one function can have a docstring")

    def chosen(*args: Any, **kwargs: Any) -> int:
        flag = kwargs.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return (if_true if flag else if_false)(*args, **kwargs)

    chosen.__doc__ = if_true.__doc__ or if_false.__doc__
    chosen.__module__ = module_name or chosen.__module__
    chosen.__name__ = func_name or chosen.__name__
    return chosen

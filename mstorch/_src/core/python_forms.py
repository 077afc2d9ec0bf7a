"""Arguments that functions which torch writes in Python pass on to compiled functions, whose parsers refuse other types.

Only arguments that the compiled function gets unchanged are listed; what the Python functions look at first they check themselves.
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from .call_forms import Parameter, refusal_of_one, signature_of
from .refusals import bound_arguments

_DROPOUT = "training: Bool"
_UNPOOL = "indices: Tensor"
_BELOW = {
    "functional": {
        "alpha_dropout": _DROPOUT, "binary_cross_entropy_with_logits": "weight: Tensor | None, pos_weight: Tensor | None",
        "cross_entropy": "ignore_index: IntLike", "dropout": _DROPOUT, "dropout1d": _DROPOUT, "dropout2d": _DROPOUT, "dropout3d": _DROPOUT,
        "embedding_bag": "include_last_offset: Bool, padding_idx: Int | None", "feature_alpha_dropout": _DROPOUT,
        "grid_sample": "align_corners: Bool | None", "group_norm": "weight: Tensor | None, bias: Tensor | None, eps: Float",
        "linear_cross_entropy": "target: Tensor, weight: Tensor | None", "max_unpool1d": _UNPOOL, "max_unpool2d": _UNPOOL,
        "max_unpool3d": _UNPOOL, "triplet_margin_loss": "swap: Bool",
    },
    "torch": {
        "stft": "input: Tensor, n_fft: Int, hop_length: Int | None, win_length: Int | None, window: Tensor | None, normalized: Bool, "
                "onesided: Bool | None, return_complex: Bool | None",
        "tensordot": "a: Tensor, b: Tensor",
    },
    "Tensor": {"unique": "sorted: Bool, return_inverse: Bool, return_counts: Bool, dim: Int | None"},
}  # fmt: skip


@functools.cache
def _checked(room: str, name: str) -> tuple[Parameter, ...]:
    line = _BELOW.get(room, {}).get(name)
    return () if line is None else signature_of(line)


def refusal_below_python(room: str, name: str, function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> str | None:
    """Return the message of the compiled function for the first argument that it refuses; None if there is none."""
    checked = _checked(room, name)
    if not checked:
        return None
    given = bound_arguments(inspect.signature(function), args, named) or {}
    for parameter in checked:
        if parameter.name in given and (told := refusal_of_one(name, parameter, given[parameter.name][0])) is not None:
            return told
    return None

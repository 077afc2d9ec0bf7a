"""One sample call per kernel row, recorded by ``tools/kernel_samples.py``, for the kernel map and ``python -m mstorch check``."""
from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np

from .host.resample import Passes

PATH = pathlib.Path(__file__).with_name("kernel_samples.json")


def decoded(value: Any) -> Any:
    """Return the argument that ``encoded`` wrote; unspecified numbers are between 0.1 and 0.9, which most functions accept."""
    if not isinstance(value, dict):
        return value
    if "dtype" not in value:
        ((kind, items),) = value.items()
        made = [decoded(item) for item in items]
        return made if kind == "list" else tuple(made)
    kind, shape = np.dtype(value["dtype"]), tuple(value["shape"])
    if "values" in value:
        return np.asarray(value["values"], kind).reshape(shape)
    numbers = np.random.RandomState(len(shape)).uniform(0.1, 0.9, shape)
    return np.asarray(numbers < 0.5 if kind.kind == "b" else numbers.astype(kind))


def samples() -> dict[str, list[Any]]:
    """Return, for each kernel, the arguments of one sample call."""
    return {op: [decoded(item) for item in args] for op, args in {**json.loads(PATH.read_text()), **BY_HAND}.items()}


def _floats(*shape: int, dtype: str = "float32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": list(shape)}


def _indices(*values: int) -> dict[str, Any]:
    return {"dtype": "int64", "shape": [len(values)], "values": list(values)}


def _given(shape: list[int], *values: float) -> dict[str, Any]:
    return {"dtype": "float32", "shape": shape, "values": list(values)}


def _pair(*items: int | str | dict[str, Any]) -> dict[str, Any]:
    return {"tuple": list(items)}


def _heads(count: int) -> list[Any]:
    return [_floats(1, 2, 4, 16, dtype="float16") for _ in range(count)]


def _tokens(count: int) -> list[Any]:
    return [_floats(5, 2, 16, dtype="float16") for _ in range(count)]


# Samples of kernels that are not used in host memory: windows are views there, and matrices go to LAPACK.
_SQUARE = _floats(3, 3)
_TWICE = Passes([(axis, (np.repeat(np.arange(3), 2),)) for axis in (2, 3)])

BY_HAND: dict[str, list[Any]] = {
    "adamw_step": [*(_floats(3, 4) for _ in range(4)), _floats(), 0.01, 0.9, 0.999, 0.01, 1e-8, False],
    "momentum_step": [*(_floats(3, 4) for _ in range(3)), 0.01, 0.9],
    "add_scaled": [_floats(3, 4), _floats(3, 4), -0.1],
    "add_product": [_floats(3, 4), _floats(3, 4), _floats(3, 1), -1.0],
    "addmm": [_floats(4), _floats(3, 5), _floats(5, 4), 0.5, 2.0],
    "baddbmm": [_floats(3, 1), _floats(2, 3, 5), _floats(2, 5, 4), 0.5, 2.0],
    "attention": [*_heads(3), None, None, 0.25, True, "BNSD", 1.0],
    "attention_grad": [*_heads(4), None, None, *_heads(1), _floats(1, 2, 4, 8), _floats(1, 2, 4, 8), 0.25, True, "BNSD", 1.0],
    "packed_attention": [*_tokens(3), _pair(2, 5), _pair(2, 5), 0.25, _pair("last", 2147483647, 0)],
    "packed_attention_grad": [
        *_tokens(5), _floats(5, 2, 8), _floats(5, 2, 8), _pair(2, 5), _pair(2, 5), 0.25, _pair("last", 2147483647, 0),
    ],
    "bce_logits_loss": [_floats(2, 3), _floats(2, 3), "mean", None, None],
    "bce_logits_loss_grad": [_floats(), _floats(2, 3), _floats(2, 3), "mean", None, None],
    "bce_loss": [_floats(2, 3), _floats(2, 3), "mean"], "bce_loss_grad": [_floats(), _floats(2, 3), _floats(2, 3), "mean"],
    "batch_norm_parts": [_floats(2, 3, 4), _floats(3), _floats(3), _floats(3), _floats(3), 0.1, 1e-5],
    "batch_norm_parts_grad": [_floats(2, 3, 4), _floats(2, 3, 4), _floats(3), _floats(3), _floats(3), 1e-5],
    "col2im": [_floats(1, 4, 9), _pair(4, 4), _pair(2, 2), _pair(1, 1), _pair(0, 0), _pair(1, 1), _pair(3, 3)],
    "conv_grad": [
        _floats(1, 2, 2, 2), _floats(1, 2, 3, 3), _floats(2, 2, 2, 2), _pair(1, 1), _pair(0, 0), _pair(1, 1), False, _pair(0, 0), 1,
        _pair(1, 1, 1),
    ],
    "cross_entropy_grad": [_floats(), _floats(2, 3), _indices(0, 2), None, -100, "mean"],
    "cross_entropy_parts": [_floats(2, 3), _indices(0, 2), None, -100, "mean"],
    "embedding_grad": [_floats(2, 3), _indices(0, 4), 5, -1, False],
    "gelu_grad": [_floats(2, 3), _floats(2, 3), "none"],
    "elu": [_floats(2, 3), 1.0, 1.0, 1.0], "elu_grad": [_floats(2, 3), _floats(2, 3), 1.3, 1.0, 1.0],
    "grid_sample": [_floats(1, 2, 3, 3), _floats(1, 2, 2, 2), "bilinear", "zeros", False],
    "grid_sample_grad": [_floats(1, 2, 2, 2), _floats(1, 2, 3, 3), _floats(1, 2, 2, 2), "bilinear", "zeros", False, _pair(1, 1)],
    "group_norm_grad": [_floats(1, 2, 2), _given([1, 2, 2], 1, 3, 3, 1), _floats(2), _given([1, 1], 2), _given([1, 1], 1), 1],
    "group_norm_parts": [_floats(2, 4, 3), _floats(4), _floats(4), 2, 1e-5],
    "glu": [_floats(2, 4), 1], "glu_grad": [_floats(2, 2), _floats(2, 4), 1], "logsigmoid_grad": [_floats(2, 3), _floats(2, 3)],
    "prelu_grad": [_floats(2, 3), _floats(2, 3), _floats(3)],
    "hardshrink_grad": [_floats(2, 3), _floats(2, 3), 0.5],
    "hardsigmoid_grad": [_floats(2, 3), _floats(2, 3)],
    "leaky_relu_grad": [_floats(2, 3), _floats(2, 3), 0.1],
    "mish_grad": [_floats(2, 3), _floats(2, 3)],
    "softplus_grad": [_floats(2, 3), _floats(2, 3), 1.0, 20.0],
    "softshrink_grad": [_floats(2, 3), _floats(2, 3), 0.5],
    "threshold_grad": [_floats(2, 3), _floats(2, 3), 0.5],
    "index_placed": [_floats(2, 4), _pair(3, 4), _pair(0), _pair(_indices(0, 2)), _pair(2), True],
    "lerp_scalar": [_floats(2, 3), _floats(3), 0.3],
    "layer_norm_grad": [_floats(2, 4), _floats(2, 4), _floats(4), _floats(4), _floats(2, 1), _floats(2, 1), 1],
    "layer_norm_parts": [_floats(2, 4), _floats(4), _floats(4), 1, 1e-5],
    "max_pool_grad": [
        _floats(1, 2, 2, 2), _floats(1, 2, 4, 4), _pair(2, 2), _pair(2, 2), _pair(0, 0), _pair(1, 1), _pair(2, 2),
    ],
    "nll_grad": [_floats(), _floats(2, 3), _indices(0, 2), None, _floats(), -100, "mean"],
    "huber_loss": [_floats(2, 3), _floats(2, 3), "mean", 0.5], "huber_loss_grad": [_floats(), _floats(2, 3), _floats(2, 3), "mean", 0.5],
    "mse_loss": [_floats(2, 3), _floats(2, 3), "mean"], "mse_loss_grad": [_floats(), _floats(2, 3), _floats(2, 3), "mean"],
    "smooth_l1_loss": [_floats(2, 3), _floats(2, 3), "mean", 0.5],
    "smooth_l1_loss_grad": [_floats(), _floats(2, 3), _floats(2, 3), "mean", 0.5],
    "soft_margin_loss": [_floats(2, 3), _floats(2, 3), "mean"], "soft_margin_loss_grad": [_floats(), _floats(2, 3), _floats(2, 3), "mean"],
    "nll_parts": [_floats(2, 3), _indices(0, 2), None, -100, "mean"],
    "relu_grad": [_floats(2, 3), _floats(2, 3)],
    "scatter_reduce": [_floats(5), _floats(4), 0, _indices(0, 1, 4, 0), "amax", True],
    "sigmoid_grad": [_floats(2, 3), _floats(2, 3)],
    "silu_grad": [_floats(2, 3), _floats(2, 3)],
    "tanh_grad": [_floats(2, 3), _floats(2, 3)],
    "upsample": [_floats(1, 2, 3, 3), "nearest", _pair(6, 6), None, False, _TWICE],
    "upsample_grad": [_floats(1, 2, 6, 6), _pair(3, 3), "nearest", _pair(6, 6), None, False, _TWICE],
    "window": [_floats(6), _pair(2, 2), _pair(3, 1), 1],
    "window_placed": [_floats(2, 2), 6, _pair(2, 2), _pair(3, 1), 1, False],
    "expand": [_floats(2, 1), _pair(2, 3)],
    "gru_cell": [_floats(2, 9), _floats(2, 9), _floats(2, 3)],
    "integer_power": [_indices(1, 2, 3), _indices(2, 2, 2)],
    "kth_index": [_floats(3, 4), 1, 1],
    "lexicographic_order": [_floats(4, 2)],
    "linear_index": [_indices(0, 2), _pair(3, 4), _pair(0), _pair(_indices(0, 2)), _pair(2), True],
    "max_pool": [_floats(1, 2, 4, 4), _pair(2, 2), _pair(2, 2), _pair(0, 0), _pair(1, 1), _pair(2, 2)],
    "max_pool_indices": [_floats(1, 2, 4, 4), _pair(2, 2), _pair(2, 2), _pair(0, 0), _pair(1, 1), _pair(2, 2)],
    "where": [_floats(2, 3, dtype="bool"), _floats(2, 3), _floats(2, 3)],
    "permute": [_floats(2, 3), _pair(1, 0)],
    "searchsorted": [_indices(1, 3, 5, 7), _indices(0, 3, 9), False],
    "reshape": [_floats(2, 3), _pair(3, 2)],
    "select": [_floats(2, 3), 0, 1],
    "slice": [_floats(4, 3), 0, 1, 3, 1],
    "storage_gather": [_floats(2, 3), _indices(0, 4)],
    "storage_scatter": [_floats(2, 3), _indices(0, 4), _floats(2)],
    "var_mean": [_floats(2, 3, 4), _pair(0, 2), 1, False], "log_sum_exp": [_floats(2, 3), _pair(1), False],
    "drop": [_floats(4, 8), {"dtype": "uint8", "shape": [16], "values": [170] * 16}, 0.25],
    "cross": [_floats(2, 3), _floats(2, 3), 1],
    "pad_like_grad": [_floats(1, 2, 5, 6), _pair(1, 2, 3, 4), _pair(1, 1, 1, 1), "reflect"],
    "view_dtype": [_floats(4), "complex64"],
    "linalg_qr": [_SQUARE, "reduced"],
    "linalg_solve_triangular": [_SQUARE, _floats(3, 2), True, False],
}

"""Functions that torch has for CUDA or quantized tensors only: on a CPU they raise, as in torch."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ..._tensor import Tensor
from ..core.device import device
from ..core.dtype import dtype
from ..core.formats import layout, memory_format
from ..core.sparse_parts import is_sparse
from ..hook import not_yet
from ..sparse.reduce import norm


def _absent(name: str) -> NoReturn:
    raise NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the 'CPU' backend. torch has no such kernel for the CPU either."
    )


def batch_norm_stats(input: Tensor, eps: float) -> NoReturn:
    """Raise NotImplementedError: this is part of synchronized batch norm on GPUs."""
    _absent("batch_norm_stats")


def batch_norm_elemt(
    input: Tensor, weight: Any, bias: Tensor | None, mean: Tensor, invstd: Tensor, eps: float, *, out: Tensor | None = None
) -> NoReturn:
    """Raise NotImplementedError: this is part of synchronized batch norm on GPUs."""
    _absent("batch_norm_elemt")


def batch_norm_backward_reduce(
    grad_out: Any, input: Any, mean: Any, invstd: Any, weight: Any, input_g: bool, weight_g: bool, bias_g: bool
) -> NoReturn:
    """Raise NotImplementedError: this is part of synchronized batch norm on GPUs."""
    _absent("batch_norm_backward_reduce")


def batch_norm_backward_elemt(
    grad_out: Any, input: Any, mean: Any, invstd: Any, weight: Any, sum_dy: Any, sum_dy_xmu: Any, count: Any
) -> NoReturn:
    """Raise NotImplementedError: this is part of synchronized batch norm on GPUs."""
    _absent("batch_norm_backward_elemt")


def batch_norm_gather_stats(
    input: Tensor, mean: Tensor, invstd: Tensor, running_mean: Any, running_var: Any, momentum: float, eps: float, count: int
) -> NoReturn:
    """Raise NotImplementedError: this is part of synchronized batch norm on GPUs."""
    _absent("batch_norm_gather_stats")


def batch_norm_gather_stats_with_counts(
    input: Any, mean: Any, invstd: Any, running_mean: Any, running_var: Any, momentum: float, eps: float, counts: Any
) -> NoReturn:
    """Raise NotImplementedError: this is part of synchronized batch norm on GPUs."""
    _absent("batch_norm_gather_stats_with_counts")


def empty_quantized(
    size: Sequence[int], qtensor: Tensor, *, dtype: dtype | None = None, layout: layout | None = None,
    device: device | str | int | None = None,
    pin_memory: bool = False, requires_grad: bool = False, memory_format: memory_format | None = None,
) -> NoReturn:  # fmt: skip
    """Raise NotImplementedError: the tensor is not quantized."""
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"empty_quantized(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}")
    _absent("empty_quantized")


def native_norm(
    input: Tensor, p: int = 2, dim: int | None = None, keepdim: bool = False, dtype: dtype | None = None, *, out: Tensor | None = None
) -> Any:
    """Return the norm of a sparse tensor; raise NotImplementedError for a strided tensor, as in torch."""
    return norm(input, p, dim) if is_sparse(input) else _absent("native_norm")


_MIOPEN = "input weight bias padding {}stride dilation groups benchmark deterministic"
_CELL = "input hx w_ih w_hh b_ih b_hh packed_ih packed_hh col_offsets_ih col_offsets_hh scale_ih scale_hh zero_point_ih zero_point_hh"
_PACKED = "input weight packed col_offsets weight_scale weight_zero_point bias"
# Functions of AMD's library, which only torch's build for these devices has; of quantized tensors; of lower levels of autograd.
_ELSEWHERE = {
    "miopen_batch_norm": "input weight bias running_mean running_var training exponential_average_factor epsilon",
    "miopen_convolution": _MIOPEN.format(""), "miopen_depthwise_convolution": _MIOPEN.format(""),
    "miopen_convolution_transpose": _MIOPEN.format("output_padding "),
    "miopen_convolution_relu": "input weight bias stride padding dilation groups",
    "miopen_convolution_add_relu": "input weight z alpha bias stride padding dilation groups",
    "miopen_rnn": (
        "input weight weight_stride0 hx cx mode hidden_size num_layers batch_first dropout train bidirectional batch_sizes dropout_state"
    ),
    "q_scale": "input", "q_zero_point": "input", "q_per_channel_scales": "input", "q_per_channel_zero_points": "input",
    "q_per_channel_axis": "input",
}  # fmt: skip
# torch's CPU build has these, with FBGEMM's packed matrices.
_NOT_BUILT = {
    "fbgemm_linear_int8_weight": _PACKED, "fbgemm_linear_int8_weight_fp32_activation": _PACKED,
    "fbgemm_pack_quantized_matrix": "input a=None b=None",
    "quantized_lstm_cell": _CELL, "quantized_gru_cell": _CELL, "quantized_rnn_relu_cell": _CELL, "quantized_rnn_tanh_cell": _CELL,
    "quantized_batch_norm": "input weight bias mean var eps output_scale output_zero_point",
    "quantized_max_pool1d": "input kernel_size stride=() padding=0 dilation=1 ceil_mode=False",
    "quantized_max_pool2d": "input kernel_size stride=() padding=0 dilation=1 ceil_mode=False",
    "quantized_max_pool3d": "input kernel_size stride=() padding=0 dilation=1 ceil_mode=False",
    "choose_qparams_optimized": "input numel n_bins ratio bit_width",
    "_wrapped_linear_prepack": "weight weight_scale weight_zero_point bias",
    "_wrapped_quantized_linear_prepacked": "input input_scale input_zero_point prepacked out_scale out_zero_point out_channel",
}  # fmt: skip


def _parameter(text: str) -> inspect.Parameter:
    name, _, default = text.partition("=")
    values = {"": inspect.Parameter.empty, "None": None, "()": (), "0": 0, "1": 1, "False": False}
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=values[default])


def _refusing(name: str, parameters: str, unbuilt: bool) -> Callable[..., Any]:
    signature = inspect.Signature(list(map(_parameter, parameters.split())))

    def function(*args: Any, **kwargs: Any) -> NoReturn:
        signature.bind(*args, **kwargs)
        if unbuilt:
            raise NotImplementedError(f"torch.{name} is not built {not_yet()}")
        _absent(name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Raises NotImplementedError: {'it is not built' if unbuilt else 'torch has no kernel for the CPU either'}."
    function.__signature__ = signature  # type: ignore[attr-defined]
    if unbuilt:
        vars(function)["_unbuilt"] = f"torch.{name}"
    return function


FUNCTIONS = {
    **{name: _refusing(name, parameters, False) for name, parameters in _ELSEWHERE.items()},
    **{name: _refusing(name, parameters, True) for name, parameters in _NOT_BUILT.items()},
}

"""The dtypes that CANN documents for Ascend kernels: for those whose values cannot be verified on the CPU, and for those that take fewer
dtypes than MindSpore passes to them.

They are from the pages of the aclnn functions (``aclnn<name>.md``, first input, Atlas A2) in the public repositories of CANN's operators
(ops-math, ops-nn, ops-cv, ops-transformer) as of August 2026. Undocumented dtypes are computed on the CPU with a warning; half precision is
computed in float32 if a page documents only float32.
"""
from __future__ import annotations

_PAGES: dict[str, str] = {
    "float16 bfloat16 float32":
        "AdaptiveAvgPool2d Addmm ApplyAdamWV2 Baddbmm BatchNorm BatchNormBackward BinaryCrossEntropy BinaryCrossEntropyBackward "
        "BinaryCrossEntropyWithLogits BinaryCrossEntropyWithLogitsBackward Convolution ConvolutionBackward CrossEntropyLoss "
        "CrossEntropyLossGrad Elu EluBackward EmbeddingDenseBackward Expm1 FlashAttentionScore FlashAttentionScoreGrad "
        "GeluBackwardV2 GeluV2 GroupNorm GroupNormBackward HardshrinkBackward HardsigmoidBackward Hardswish Im2colBackward LayerNorm "
        "LayerNormBackward LeakyRelu Lerps LinalgVectorNorm LogSigmoid LogSigmoidBackward Matmul MaxPool2dWithIndices "
        "MaxPool2dWithMask MaxPool2dWithMaskBackward Mish MishBackward Mm MseLoss MseLossBackward NLLLoss PreluBackward "
        "Sigmoid Silu SiluBackward SmoothL1Loss SmoothL1LossBackward SoftMarginLoss SoftMarginLossBackward Softplus SoftshrinkBackward "
        "ThresholdBackward Trunc "
        "UpsampleBilinear2dBackward",
    "float32":
        "Polar",
    "float16 float32 float64":
        "Acosh Cosh",
    "float16 bfloat16 float32 float64":
        "AdaptiveMaxPool2d Glu GluBackward LeakyReluBackward LogSoftmax SoftplusBackward UpsampleBilinear2d",
    "bool int64 float16 float32 float64":
        "Erf Erfc",
    "int32 float16 bfloat16 float32":
        "Hardsigmoid",
    "int8 int32 int64 float16 bfloat16 float32":
        "Relu",
    "int8 int32 int64 float16 bfloat16 float32 float64 complex64 complex128":
        "Neg",
    "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32":
        "Erfinv Tanh",
    "uint8 int8 int16 int32 int64":
        "Bincount",
    "bool uint8 int8 int16 int32 int64":
        "BitwiseNot",
    "float16 float32 float64 complex64 complex128":
        "LinalgQr",
    "int32 int64 float16 bfloat16 float32 float64":
        "RemainderTensorTensor",
    "uint8 int8 int16 int32 int64 float16 bfloat16 float32":
        "Frac Threshold",
    "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64":
        "BitwiseOrTensor BitwiseXorTensor",
    "uint8 int8 int32 int64 float16 bfloat16 float32 float64":
        "FmodTensor",
    "bool uint8 int8 int16 int32 int64 float16 float32 float64":
        "Acos Asin Asinh Atanh",
    "uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64":
        "ArgMax ArgMin Hardtanh Topk",
    "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64":
        "Atan Atan2 Cummin Exp2 Index IndexAdd IndexPutImpl Log1p",
    "bool uint8 int8 int16 int32 int64 uint32 float16 bfloat16 float32":
        "Roll",
    "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32":
        "Sort",
    "uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128":
        "Cumsum",
    "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128":
        "Embedding InplacePut Log10 Log2 Scatter ScatterAdd",
    "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64":
        "LogAddExp LogAddExp2",
    "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64":
        "Tril",
    "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128":
        "ConstantPadNd IndexSelect InplaceCopy Repeat Stack Take",
}
"""Documentation pages by the dtypes that they list."""

PAGE_OF: dict[str, str] = {
    "acos": "Acos", "acosh": "Acosh", "adamw_step": "ApplyAdamWV2", "adaptive_avg_pool": "AdaptiveAvgPool2d", "addmm": "Addmm",
    "along": "Matmul", "argmax": "ArgMax", "argmin": "ArgMin", "argsort": "Sort", "asin": "Asin", "asinh": "Asinh", "atan": "Atan",
    "atan2": "Atan2", "attention": "FlashAttentionScore", "attention_grad": "FlashAttentionScoreGrad", "avg_pool": "Convolution",
    "baddbmm": "Baddbmm", "batch_norm_eval": "BatchNorm", "batch_norm_grad": "BatchNormBackward", "batch_norm_parts": "BatchNorm",
    "batch_norm_parts_grad": "BatchNormBackward", "batch_norm_train": "BatchNorm", "bce_logits_loss": "BinaryCrossEntropyWithLogits",
    "bce_logits_loss_grad": "BinaryCrossEntropyWithLogitsBackward", "bce_loss": "BinaryCrossEntropy",
    "bce_loss_grad": "BinaryCrossEntropyBackward", "bitwise_not": "BitwiseNot", "bitwise_or": "BitwiseOrTensor",
    "bitwise_xor": "BitwiseXorTensor", "bmm": "Matmul", "clone": "InplaceCopy", "col2im": "Im2colBackward", "conv": "Convolution",
    "conv2d": "Convolution", "conv2d_input": "ConvolutionBackward", "conv2d_weight": "ConvolutionBackward",
    "conv_grad": "ConvolutionBackward", "conv_transpose": "Convolution", "conv_transpose2d": "Convolution",
    "count_positions": "Bincount", "cross_entropy": "CrossEntropyLoss", "cross_entropy_grad": "CrossEntropyLossGrad",
    "cross_entropy_parts": "CrossEntropyLoss", "cummin_indices": "Cummin", "cumsum": "Cumsum", "elu": "Elu", "elu_grad": "EluBackward",
    "embedding": "Embedding", "embedding_grad": "EmbeddingDenseBackward", "exp2": "Exp2", "expm1": "Expm1", "fmod": "FmodTensor",
    "frac": "Frac", "gelu": "GeluV2", "gelu_grad": "GeluBackwardV2", "gelu_tanh": "GeluV2", "glu": "Glu", "glu_grad": "GluBackward",
    "group_norm_grad": "GroupNormBackward", "group_norm_parts": "GroupNorm", "hardshrink_grad": "HardshrinkBackward",
    "hardsigmoid_grad": "HardsigmoidBackward", "hardtanh": "Hardtanh", "huber_loss": "SmoothL1Loss",
    "huber_loss_grad": "SmoothL1LossBackward", "im2col": "ConstantPadNd", "index": "Index", "index_placed": "IndexPutImpl",
    "index_select": "IndexSelect", "index_write": "IndexAdd", "kth_index": "Sort", "layer_norm": "LayerNorm",
    "layer_norm_grad": "LayerNormBackward", "layer_norm_parts": "LayerNorm", "leaky_relu": "LeakyRelu",
    "leaky_relu_grad": "LeakyReluBackward", "lerp_scalar": "Lerps", "linalg_qr": "LinalgQr", "linear": "Matmul", "linear_bias": "Addmm",
    "log10": "Log10", "log1p": "Log1p", "log2": "Log2", "log_softmax": "LogSoftmax", "logaddexp": "LogAddExp",
    "logaddexp2": "LogAddExp2", "logsigmoid": "LogSigmoid", "logsigmoid_grad": "LogSigmoidBackward", "max_pool": "MaxPool2dWithMask",
    "max_pool_grad": "MaxPool2dWithMaskBackward", "max_pool_indices": "MaxPool2dWithIndices", "mish": "Mish",
    "mish_grad": "MishBackward", "mm": "Mm", "mse_loss": "MseLoss", "mse_loss_grad": "MseLossBackward", "nll": "NLLLoss",
    "nll_grad": "NLLLoss", "nll_parts": "NLLLoss", "p_norm": "LinalgVectorNorm", "packed_attention": "FlashAttentionScore",
    "packed_attention_grad": "FlashAttentionScoreGrad", "pad": "ConstantPadNd", "pad_like": "IndexSelect",
    "pick_along": "IndexSelect", "prelu_grad": "PreluBackward", "put": "InplacePut", "remainder": "RemainderTensorTensor",
    "roll": "Roll", "running_sum": "Cumsum", "scatter": "Scatter", "segment_sum": "ScatterAdd", "small_matmul": "Matmul",
    "smooth_l1_loss": "SmoothL1Loss", "smooth_l1_loss_grad": "SmoothL1LossBackward", "soft_margin_loss": "SoftMarginLoss",
    "soft_margin_loss_grad": "SoftMarginLossBackward", "softplus_grad": "SoftplusBackward", "softshrink_grad": "SoftshrinkBackward",
    "stack": "Stack", "storage_gather": "Take", "storage_scatter": "Scatter", "take": "Take", "threshold": "Threshold",
    "threshold_grad": "ThresholdBackward", "tile": "Repeat", "topk_indices": "Topk", "triangle": "Tril",
    "adaptive_max_pool": "AdaptiveMaxPool2d", "atanh": "Atanh", "cosh": "Cosh", "erf": "Erf", "erfc": "Erfc", "erfinv": "Erfinv",
    "hardsigmoid": "Hardsigmoid", "hardswish": "Hardswish", "neg": "Neg", "polar": "Polar", "relu": "Relu",
    "relu_grad": "ThresholdBackward",
    "sigmoid": "Sigmoid", "silu": "Silu", "silu_grad": "SiluBackward", "softplus": "Softplus", "tanh": "Tanh", "trunc": "Trunc",
    "upsample": "UpsampleBilinear2d", "upsample_grad": "UpsampleBilinear2dBackward",
}  # fmt: skip
"""Documentation page by row: that of the kernel which determines its dtypes."""

DOCUMENTED: dict[str, frozenset[str]] = {page: frozenset(dtypes.split()) for dtypes, pages in _PAGES.items() for page in pages.split()}
"""Dtypes by documentation page."""

"""torch.ops.quantized: layers on quantized tensors and packed weights."""
from .._src.quantized import layers, packed, recurrent

OPERATORS = {
    **{name: getattr(packed, name) for name in (
        "linear_prepack", "linear_prepack_fp16", "linear_unpack", "make_quantized_cell_params_dynamic", "make_quantized_cell_params_fp16",
        "conv1d_prepack", "conv2d_prepack", "conv3d_prepack", "conv1d_unpack",
    )},
    **{name: getattr(layers, name) for name in ("linear", "linear_relu", "linear_dynamic", "linear_relu_dynamic", "linear_dynamic_fp16")},
    "linear_unpack_fp16": packed.linear_unpack, "conv2d_unpack": packed.conv_unpack, "conv3d_unpack": packed.conv_unpack,
    "linear_relu_dynamic_fp16": layers.linear_relu_dynamic_fp16, "relu6": layers.relu6,
    **layers.CONVOLUTIONS, **layers.OTHERS, **recurrent.CELLS,
}  # fmt: skip

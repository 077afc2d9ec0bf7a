"""Write mstorch/_src/aten/overloads.txt: the overloads of torch's operators, their parameters and results, as torch itself gives them.

    python -m tools.aten_overloads

It also writes mstorch/_library/schemas.txt: every overload of every operator with its tags, for ``op._schema`` and ``op.tags``.

Needs real torch beside mstorch. overloads.txt lists the operators that are not composed of others (a TorchDispatchMode sees these) and that
mstorch has as a public function or method, or that INTERNAL names: a private name that mstorch comes to have adds no line.
"""
from __future__ import annotations

import pathlib

import torch

import mstorch

PAGE = pathlib.Path(__file__).resolve().parent.parent / "mstorch" / "_src" / "aten" / "overloads.txt"
SCHEMAS = PAGE.parents[2] / "_library" / "schemas.txt"
# Kinds of parameters that nothing here takes.
UNKNOWN = ("Dimname", "Stream", "Storage", "QScheme", "SymBool", "Dict", "Future", "__torch__")
INTERNAL = frozenset("""
    _adaptive_avg_pool2d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d _local_scalar_dense _log_softmax
    _log_softmax_backward_data _scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_flash_attention_for_cpu_backward
    _softmax _softmax_backward_data _to_copy _unsafe_view alias avg_pool2d avg_pool2d_backward convolution convolution_backward
    elu_backward embedding_dense_backward gelu_backward hardsigmoid_backward hardswish_backward hardtanh_backward
    huber_loss_backward index leaky_relu_backward lift_fresh linalg_vector_norm max_pool2d_with_indices
    max_pool2d_with_indices_backward mish_backward mse_loss_backward native_batch_norm native_batch_norm_backward native_dropout
    native_group_norm native_group_norm_backward native_layer_norm native_layer_norm_backward nll_loss2d_backward
    nll_loss2d_forward nll_loss_backward nll_loss_forward select_backward sigmoid_backward silu_backward slice slice_backward
    smooth_l1_loss_backward softplus_backward tanh_backward threshold_backward upsample_bilinear2d upsample_bilinear2d_backward
    upsample_nearest2d upsample_nearest2d_backward _embedding_bag _fused_rms_norm _safe_softmax _is_all_true _is_any_true
    _efficient_attention_forward _efficient_attention_backward _flash_attention_forward _flash_attention_backward
    binary_cross_entropy_backward glu_backward log_sigmoid_forward log_sigmoid_backward constant_pad_nd
    _addmm_activation _assert_async _coalesced_ _conj _convert_indices_from_coo_to_csr _convert_indices_from_csr_to_coo _cslt_compress
    _cslt_sparse_mm _dirichlet_grad _fake_quantize_learnable_per_channel_affine _fake_quantize_learnable_per_tensor_affine
    _fused_sdp_choice _grouped_mm _indices _int_mm _neg_view _sample_dirichlet _scaled_grouped_mm _scaled_mm
    _sparse_semi_structured_apply _sparse_semi_structured_apply_dense _sparse_semi_structured_tile _standard_gamma
    _standard_gamma_grad _unique _values _weight_int8pack_mm
""".split())
OTHERS = ("miopen_", "quantize", "to_mkldnn")
"""How names of operators begin that modes are not shown: of quantized tensors, and of libraries that mstorch has not."""


def has(name: str) -> bool:
    """Return whether mstorch has a function or method with this name, which is public, an operator of Python's or one of lists."""
    if name.startswith(OTHERS) or name.startswith("_") and not name.startswith(("__", "_foreach_")):
        return False
    return any(hasattr(place, name) for place in (mstorch, mstorch.Tensor, mstorch.nn.functional))


def lines() -> list[str]:
    """Return the lines of ``overloads.txt``, sorted by operator, each operator's overloads in torch's order."""
    found: dict[str, dict[str, str]] = {}
    for schema in torch._C._jit_get_all_schemas():
        space, _, name = schema.name.partition("::")
        overload, text = schema.overload_name, str(schema)
        if space != "aten" or any(argument.is_out for argument in schema.arguments) or any(word in text for word in UNKNOWN):
            continue
        full = f"{schema.name}.{overload}" if overload else schema.name
        try:
            torch._C._dispatch_find_schema_or_throw(schema.name, overload)
        except RuntimeError:
            continue
        if torch._C._dispatch_has_kernel_for_dispatch_key(full, "CompositeImplicitAutograd"):
            continue
        if name in INTERNAL or has(name):
            found.setdefault(name, {})[overload] = text.partition("::")[2]
    return [text for name in sorted(found) for text in found[name].values()]


def schemas() -> list[str]:
    """Return the lines of ``schemas.txt``: all overloads in torch's order, each with the numbers of its tags."""
    found = []
    for name in sorted({schema.name.partition("::")[2] for schema in torch._C._jit_get_all_schemas() if schema.name.startswith("aten::")}):
        packet = getattr(torch.ops.aten, name)
        for which in packet.overloads():
            operator = getattr(packet, which)
            found.append(str(operator._schema).partition("::")[2] + "|" + ",".join(str(int(tag)) for tag in operator.tags))
    return found


if __name__ == "__main__":
    PAGE.write_text("\n".join(lines()) + "\n")
    SCHEMAS.write_text("\n".join(schemas()) + "\n")
    print(f"{len(lines())} overloads in {PAGE}")

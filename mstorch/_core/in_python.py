"""What torch writes in Python: those functions bind in a class, and hand their arguments on in a form of their own.

``F.layer_norm(x, 8, w)`` reaches a ``__torch_function__``, and a graph of torch.fx, as
``layer_norm(x, 8, weight=w, bias=None, eps=1e-05)``: parameters without a default by place, those with one by keyword, all of them.
What torch writes in C is handed on as it was written.
"""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]
Call = tuple[str, tuple[Any, ...], dict[str, Any]]  # the public name, "" for the function's own, with what it is handed
Handed = Callable[[tuple[Any, ...], dict[str, Any]], Call]

_TORCH = frozenset((
    "are_deterministic_algorithms_enabled atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod "
    "cdist chain_matmul classproperty compile compiled_with_cxx11_abi cond eig einsum from_dlpack get_default_device "
    "get_deterministic_debug_mode get_file_path get_float32_matmul_precision get_rng_state initial_seed "
    "is_deterministic_algorithms_warn_only_enabled is_storage is_tensor is_warn_always_enabled load lobpcg lstsq lu manual_seed "
    "matrix_rank meshgrid norm pca_lowrank prepare_multiprocessing_environment profiler_allow_cudagraph_cupti_lazy_reinit_cuda12 save "
    "seed set_default_device set_default_dtype set_default_tensor_type set_deterministic_debug_mode set_float32_matmul_precision "
    "set_printoptions set_rng_state set_warn_always solve split stft svd_lowrank sym_float sym_fresh_size sym_int sym_ite sym_max "
    "sym_min sym_not sym_sqrt sym_sum symeig tensordot thread_safe_generator typename unique unique_consecutive unravel_index "
    "use_deterministic_algorithms vmap while_loop"
).split())  # fmt: skip
_FUNCTIONAL = frozenset((
    "adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool1d_with_indices adaptive_max_pool2d "
    "adaptive_max_pool2d_with_indices adaptive_max_pool3d adaptive_max_pool3d_with_indices affine_grid alpha_dropout assert_int_or_pair "
    "batch_norm binary_cross_entropy binary_cross_entropy_with_logits boolean_dispatch celu cosine_embedding_loss cross_entropy ctc_loss "
    "dropout dropout1d dropout2d dropout3d elu embedding embedding_bag feature_alpha_dropout fold fractional_max_pool2d "
    "fractional_max_pool2d_with_indices fractional_max_pool3d fractional_max_pool3d_with_indices gaussian_nll_loss glu grid_sample "
    "group_norm grouped_mm gumbel_softmax handle_torch_function hardsigmoid hardswish hardtanh hinge_embedding_loss huber_loss "
    "instance_norm interpolate kl_div l1_loss layer_norm leaky_relu linear_cross_entropy local_response_norm log_softmax lp_pool1d "
    "lp_pool2d lp_pool3d margin_ranking_loss max_pool1d max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool3d "
    "max_pool3d_with_indices max_unpool1d max_unpool2d max_unpool3d mish mse_loss multi_head_attention_forward multi_margin_loss "
    "multilabel_margin_loss multilabel_soft_margin_loss nll_loss normalize pad poisson_nll_loss relu relu6 rms_norm rrelu "
    "scaled_grouped_mm scaled_mm selu sigmoid silu smooth_l1_loss soft_margin_loss softmax softmin softsign tanh tanhshrink threshold "
    "triplet_margin_loss triplet_margin_with_distance_loss unfold upsample upsample_bilinear upsample_nearest"
).split())  # fmt: skip
_SPARSE = frozenset(("as_sparse_gradcheck", "sum", "to_sparse_semi_structured"))
_METHODS = frozenset((
    "backward dim_order index is_shared istft lu module_load norm register_hook register_post_accumulate_grad_hook resize resize_as "
    "share_memory_ split stft storage storage_type to_sparse_coo unflatten unique unique_consecutive"
).split())  # fmt: skip
_INIT = frozenset((
    "calculate_gain constant constant_ dirac dirac_ eye eye_ kaiming_normal kaiming_normal_ kaiming_uniform kaiming_uniform_ normal "
    "normal_ ones_ orthogonal orthogonal_ sparse sparse_ trunc_normal_ uniform uniform_ xavier_normal xavier_normal_ xavier_uniform "
    "xavier_uniform_ zeros_"
).split())  # fmt: skip
_NAMES = {"": _TORCH, "functional": _TORCH, "nn.functional": _FUNCTIONAL, "Tensor": _METHODS, "sparse": _SPARSE, "nn.init": _INIT}

# Given by keyword too, though they have no default.
_BY_KEYWORD = {"unravel_index": frozenset(("shape",))}
# Left out, as long as they have their default: torch's own function forgets them.
_LEFT_OUT = {"l1_loss": "weight", "chain_matmul": "out", "dim_order": "ambiguity_check"}
# Those that are another one's call in torch.
_RESIZED = {"recompute_scale_factor": None, "antialias": False}
_INSTEAD: dict[tuple[str, str], tuple[str, dict[str, Any]]] = {
    ("nn.functional", "upsample"): ("nn.functional.interpolate", _RESIZED),
    ("nn.functional", "upsample_nearest"): ("nn.functional.interpolate", {"mode": "nearest", "align_corners": None, **_RESIZED}),
    ("nn.functional", "upsample_bilinear"): ("nn.functional.interpolate", {"mode": "bilinear", "align_corners": True, **_RESIZED}),
    ("nn.functional", "sigmoid"): ("Tensor.sigmoid", {}),
    ("nn.functional", "tanh"): ("Tensor.tanh", {}),
}


def written_in_python(face: str, name: str) -> bool:
    """Whether torch writes a name of a namespace ("" or "nn.functional"), or of class Tensor, in Python."""
    return name.startswith("_") or name in _NAMES.get(face, ())


def handed_on(function: Function, face: str, name: str) -> Handed | None:
    """What puts the arguments of a call in the form in which torch's function hands them on; None for those handed on as written."""
    if not written_in_python(face, name) or name.startswith("_"):
        return None
    found: list[Handed] = []

    def handed(args: tuple[Any, ...], named: dict[str, Any]) -> Call:
        if not found:
            found.append(_form(inspect.signature(function), face, name))
        return found[0](args, named)

    return handed


def _form(signature: inspect.Signature, face: str, name: str) -> Handed:
    known = list(signature.parameters.values())
    named_too = frozenset(p.name for p in known) if face == "nn.init" else _BY_KEYWORD.get(name, frozenset())
    left_out = _LEFT_OUT.get(name, "")
    instead, further = _INSTEAD.get((face, name), ("", {}))
    kinds = {p.name: _BY_PLACE if p.default is p.empty and p.name not in named_too else _BY_NAME for p in known}
    for parameter in known:
        if parameter.kind is parameter.VAR_POSITIONAL:
            kinds[parameter.name] = _ALL
        elif parameter.kind is parameter.VAR_KEYWORD:
            kinds[parameter.name] = _NAMED

    def form(args: tuple[Any, ...], named: dict[str, Any]) -> Call:
        try:
            bound = signature.bind(*args, **named)
        except TypeError:  # a call that the function refuses itself
            return "", args, named
        bound.apply_defaults()
        places: list[Any] = []
        keywords: dict[str, Any] = {}
        for key, value in bound.arguments.items():
            kind = kinds[key]
            if kind is _BY_PLACE:
                places.append(value)
            elif kind is _ALL:
                places.extend(value)
            elif kind is _BY_NAME:
                keywords[key] = value
            else:
                keywords.update(value)
        if left_out and keywords[left_out] is signature.parameters[left_out].default:
            del keywords[left_out]
        indices = keywords.get("return_indices")
        return f"{face}.{name}_with_indices" if indices else instead, tuple(places), {**keywords, **further}

    return form


_BY_PLACE, _BY_NAME, _ALL, _NAMED = range(4)

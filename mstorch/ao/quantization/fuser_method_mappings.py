"""torch.ao.quantization.fuser_method_mappings: the functions that fuse layers."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from ... import nn
from ..._src.hook import missing as _missing
from ...nn.modules.module import Module
from ...nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval
from ..nn import intrinsic as nni
from .utils import get_combined_dict

__all__ = ["fuse_conv_bn", "fuse_conv_bn_relu", "fuse_convtranspose_bn", "fuse_linear_bn", "get_fuser_method", "get_fuser_method_new"]

_WITH_NORM: dict[Any, Any] = {nn.Conv1d: nni.ConvBn1d, nn.Conv2d: nni.ConvBn2d, nn.Conv3d: nni.ConvBn3d}
_WITH_BOTH = {nn.Conv1d: nni.ConvBnReLU1d, nn.Conv2d: nni.ConvBnReLU2d, nn.Conv3d: nni.ConvBnReLU3d}
_WITH_RELU = {nn.Conv1d: nni.ConvReLU1d, nn.Conv2d: nni.ConvReLU2d, nn.Conv3d: nni.ConvReLU3d}


def _check_mode(words: str, *layers: Module) -> None:
    if len({layer.training for layer in layers}) > 1:
        raise AssertionError(f"{words} both must be in the same mode (train or eval).")


def _check_norm(bn: Module, count: int, what: str, norm: str, end: str = ".") -> None:
    if bn.num_features != count:
        raise AssertionError(f"Output {what} must match num_features of {norm}{end}")
    if not bn.affine:
        raise AssertionError(f"Only support fusing {norm} with affine set to True")
    if not bn.track_running_stats:
        raise AssertionError(f"Only support fusing {norm} with tracking_running_stats set to True")


def fuse_conv_bn(is_qat: bool, conv: Any, bn: Module) -> Module:
    """Fuse a convolution and batch normalization: into one layer for training, else by folding."""
    _check_mode("Conv and BN", conv, bn)
    if not is_qat:
        return fuse_conv_bn_eval(conv, bn)
    _check_norm(bn, conv.out_channels, "channel of Conv2d", "BatchNorm2d")
    if type(conv) not in _WITH_NORM:
        raise NotImplementedError(f"Cannot fuse train modules: {(conv, bn)}")
    return _WITH_NORM[type(conv)](conv, bn)


def fuse_conv_bn_relu(is_qat: bool, conv: Any, bn: Module, relu: Module) -> Module:
    """Fuse a convolution, batch normalization and ReLU: into one layer for training, else with folding."""
    _check_mode("Conv and BN", conv, bn, relu)
    if is_qat:
        _check_norm(bn, conv.out_channels, "channel of Conv2d", "BatchNorm2d", "")
    kinds: dict[Any, Any] = _WITH_BOTH if is_qat else _WITH_RELU
    if type(conv) not in kinds:
        raise NotImplementedError(f"Cannot fuse {'train' if is_qat else 'eval'} modules: {(conv, bn, relu)}")
    return kinds[type(conv)](conv, bn, relu) if is_qat else kinds[type(conv)](fuse_conv_bn_eval(conv, bn), relu)


def fuse_linear_bn(is_qat: bool, linear: Any, bn: Module) -> Module:
    """Fuse a linear layer and batch normalization: into one layer for training, else by folding."""
    _check_mode("Linear and BN", linear, bn)
    if not is_qat:
        return fuse_linear_bn_eval(linear, bn)
    _check_norm(bn, linear.out_features, "features of Linear", "BatchNorm1d", "")
    return nni.LinearBn1d(linear, bn)


def fuse_convtranspose_bn(is_qat: bool, convt: Module, bn: Module) -> Any:
    """Fold batch normalization into a transposed convolution; not for training."""
    _check_mode("ConvTranspose and BN", convt, bn)
    if is_qat:
        raise Exception("Fusing ConvTranspose+BatchNorm not yet supported in QAT.")  # as in torch
    return fuse_conv_bn_eval(convt, bn, transpose=True)


def _sequential_wrapper2(sequential: type) -> Callable[..., Any]:
    """Return a fuser of two layers that ignores ``is_qat``."""
    return lambda is_qat, m1, m2: sequential(m1, m2)


_DEFAULT_OP_LIST_TO_FUSER_METHOD: dict[tuple[Any, ...], Any] = {
    **dict.fromkeys(zip(_WITH_NORM, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)), fuse_conv_bn),
    **{(conv, bn, nn.ReLU): fuse_conv_bn_relu for conv, bn in zip(_WITH_NORM, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d))},
    **{(conv, nn.ReLU): _sequential_wrapper2(fused) for conv, fused in _WITH_RELU.items()},
    (nn.Linear, nn.BatchNorm1d): fuse_linear_bn,
    (nn.Linear, nn.ReLU): _sequential_wrapper2(nni.LinearReLU),
    (nn.BatchNorm2d, nn.ReLU): _sequential_wrapper2(nni.BNReLU2d),
    (nn.BatchNorm3d, nn.ReLU): _sequential_wrapper2(nni.BNReLU3d),
    (nn.ConvTranspose1d, nn.BatchNorm1d): fuse_convtranspose_bn,
    (nn.ConvTranspose2d, nn.BatchNorm2d): fuse_convtranspose_bn,
    (nn.ConvTranspose3d, nn.BatchNorm3d): fuse_convtranspose_bn,
}


def get_fuser_method(op_list: tuple[Any, ...], additional_fuser_method_mapping: dict[Any, Any] | None = None) -> Callable[..., Any]:
    """Return the function that fuses layers of these types. Raise AssertionError if there is none."""
    found = get_combined_dict(_DEFAULT_OP_LIST_TO_FUSER_METHOD, additional_fuser_method_mapping or {}).get(op_list)
    if found is None:
        raise AssertionError(f"did not find fuser method for: {op_list} ")
    return found


def get_fuser_method_new(op_pattern: Any, fuser_method_mapping: dict[Any, Any]) -> Any:
    """Return the function that fuses a pattern of nested tuples. Raise AssertionError if there is none."""
    anything = object()

    def choices(pattern: Any) -> list[Any]:
        if isinstance(pattern, (tuple, list)):
            return list(itertools.product(*map(choices, pattern)))
        return [pattern, anything]

    for pattern in choices(op_pattern):
        found = fuser_method_mapping.get(pattern)
        if found is not None:
            return found
    raise AssertionError(f"did not find fuser method for: {op_pattern} ")


__getattr__ = _missing(__name__)

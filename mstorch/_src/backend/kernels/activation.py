"""Activation functions, each with a gradient of its own: MindSpore's gradients drop NaN, support float32 only or differ at kinks.

``Maximum(constant, x)`` propagates NaN in x; ReLU, clamp and ``Maximum(x, constant)`` return 0 (2.7.2 to 2.10). ``ReluGrad(g, x)`` is ``g``
where x > 0 and else 0, in one kernel; Select takes ten times as long.
"""
from __future__ import annotations

import math

from mindspore import ops
from mindspore.ops.operations._grad_ops import ReluGrad

from ..raw import Raw
from ..table import COMPLEX, FLOATS, INTS, VIA_HALF, define
from ._nodes import constant, node, sum_to
from .math import exp as _exp
from .math import expm1 as _expm1
from .math import log1p as _log1p
from .math import sigmoid as _sigmoid
from .math import tanh as _tanh

_add = ops.Add()
_sub = ops.Sub()
_mul = ops.Mul()
_div = ops.RealDiv()
_neg = ops.Neg()
_abs = ops.Abs()
_erf = ops.Erf()
_maximum = ops.Maximum()
_minimum = ops.Minimum()
_select = ops.Select()
_greater = ops.Greater()
_less_equal = ops.LessEqual()
_softsign = ops.Softsign()
_relu = ops.ReLU()
_where_positive = ReluGrad()


def _positive(x: Raw) -> Raw:
    return _maximum(constant(0, x), x)


def _negative(x: Raw) -> Raw:
    return _minimum(constant(0, x), x)


def _where_not_positive(g: Raw, x: Raw) -> Raw:
    """Return ``g`` where x <= 0, else 0."""
    return _sub(g, _where_positive(g, x))


def _relu_backward(g: Raw, y: Raw, x: Raw) -> Raw:
    return _where_positive(g, y)


def _hardtanh(x: Raw, low: float, high: float) -> Raw:
    return _minimum(constant(high, x), _maximum(constant(low, x), x))


def _hardtanh_backward(g: Raw, y: Raw, x: Raw, low: float, high: float) -> Raw:
    return _where_positive(_where_positive(g, _sub(x, constant(low, x))), _sub(constant(high, x), x))


def _leaky_relu(x: Raw, slope: float) -> Raw:
    return _add(_positive(x), _mul(_negative(x), constant(slope, x)))


def _leaky_relu_backward(g: Raw, y: Raw, x: Raw, slope: float) -> Raw:
    low = _mul(g, constant(slope, x))
    return _add(_where_positive(_sub(g, low), x), low)


def _prelu(x: Raw, weight: Raw) -> Raw:
    return _add(_positive(x), _mul(_negative(x), weight))


def _prelu_backward(g: Raw, y: Raw, x: Raw, weight: Raw) -> tuple[Raw, Raw]:
    low = _mul(g, weight)
    return _add(_where_positive(_sub(g, low), x), low), sum_to(_mul(g, _negative(x)), weight.shape)


def _elu(x: Raw, alpha: float, scale: float, input_scale: float) -> Raw:
    low = _mul(_expm1(_mul(_negative(x), constant(input_scale, x))), constant(alpha * scale, x))
    return _add(_mul(_positive(x), constant(scale, x)), low)


def _elu_backward(g: Raw, y: Raw, x: Raw, alpha: float, scale: float, input_scale: float) -> Raw:
    slope = _exp(_mul(_negative(x), constant(input_scale, x)))
    low = _mul(g, _mul(slope, constant(alpha * scale * input_scale, x)))
    return _add(_where_positive(_mul(g, constant(scale, x)), x), _where_not_positive(low, x))


def _normal_share(x: Raw) -> Raw:
    """Return the standard normal CDF at x."""
    return _mul(_add(_erf(_mul(x, constant(math.sqrt(0.5), x))), constant(1, x)), constant(0.5, x))


def _gelu(x: Raw) -> Raw:
    return _mul(x, _normal_share(x))


def _gelu_backward(g: Raw, y: Raw, x: Raw) -> Raw:
    density = _mul(_exp(_mul(_mul(x, x), constant(-0.5, x))), constant(1 / math.sqrt(2 * math.pi), x))
    return _mul(g, _add(_normal_share(x), _mul(x, density)))


_ROOT, _CUBE = math.sqrt(2 / math.pi), 0.044715


def _tanh_inner(x: Raw) -> Raw:
    inner = _mul(x, _add(_mul(_mul(x, x), constant(_ROOT * _CUBE, x)), constant(_ROOT, x)))
    return _tanh(inner)


def _gelu_tanh(x: Raw) -> Raw:
    return _mul(_mul(x, constant(0.5, x)), _add(_tanh_inner(x), constant(1, x)))


def _gelu_tanh_backward(g: Raw, y: Raw, x: Raw) -> Raw:
    t = _tanh_inner(x)
    one, half = constant(1, x), constant(0.5, x)
    inner_slope = _add(_mul(_mul(x, x), constant(3 * _ROOT * _CUBE, x)), constant(_ROOT, x))
    curve = _mul(_mul(_mul(x, half), _sub(one, _mul(t, t))), inner_slope)
    return _mul(g, _add(_mul(_add(t, one), half), curve))


def _silu(x: Raw) -> Raw:
    return _mul(x, _sigmoid(x))


def _silu_backward(g: Raw, y: Raw, x: Raw) -> Raw:
    s = _sigmoid(x)
    one = constant(1, x)
    return _mul(g, _mul(s, _add(_mul(x, _sub(one, s)), one)))


def composed_silu_complex(x: Raw) -> Raw:
    """Return x / (1 + exp(-x)); MindSpore's sigmoid does not support complex numbers."""
    return _div(x, _add(_exp(_neg(x)), constant(1, x)))


def _softplus_one(x: Raw) -> Raw:
    """Return log(1 + exp(x)) without overflow."""
    return _add(_positive(x), _log1p(_exp(_neg(_abs(x)))))


def _mish(x: Raw) -> Raw:
    return _mul(x, _tanh(_softplus_one(x)))


def _mish_backward(g: Raw, y: Raw, x: Raw) -> Raw:
    t = _tanh(_softplus_one(x))
    return _mul(g, _add(t, _mul(_mul(x, _sigmoid(x)), _sub(constant(1, x), _mul(t, t)))))


def _softplus(x: Raw, beta: float, threshold: float) -> Raw:
    scaled = _mul(x, constant(beta, x))
    return _select(_greater(scaled, constant(threshold, x)), x, _div(_softplus_one(scaled), constant(beta, x)))


def _softplus_backward(g: Raw, y: Raw, x: Raw, beta: float, threshold: float) -> Raw:
    scaled = _mul(x, constant(beta, x))
    return _select(_greater(scaled, constant(threshold, x)), g, _mul(g, _sigmoid(scaled)))


def _logsigmoid(x: Raw) -> Raw:
    return _sub(_negative(x), _log1p(_exp(_neg(_abs(x)))))


def _logsigmoid_backward(g: Raw, y: Raw, x: Raw) -> Raw:
    return _mul(g, _sigmoid(_neg(x)))


def _hardsigmoid(x: Raw) -> Raw:
    return _div(_hardtanh(_add(x, constant(3, x)), 0, 6), constant(6, x))


def _hardsigmoid_backward(g: Raw, y: Raw, x: Raw) -> Raw:
    return _hardtanh_backward(_div(g, constant(6, x)), y, x, -3, 3)


def _hardswish(x: Raw) -> Raw:
    return _div(_mul(x, _hardtanh(_add(x, constant(3, x)), 0, 6)), constant(6, x))


def _hardswish_backward(g: Raw, y: Raw, x: Raw) -> Raw:
    inside = _mul(g, _add(_div(x, constant(3, x)), constant(0.5, x)))
    high = _sub(constant(3, x), x)
    inside = _where_positive(_where_positive(inside, _add(x, constant(3, x))), high)
    return _add(inside, _where_not_positive(g, high))


def _softshrink(x: Raw, lambd: float) -> Raw:
    return _add(_positive(_sub(x, constant(lambd, x))), _negative(_add(x, constant(lambd, x))))


def _shrink_backward(g: Raw, y: Raw, x: Raw, lambd: float) -> Raw:
    return _where_positive(g, _sub(_abs(x), constant(lambd, x)))


def _hardshrink(x: Raw, lambd: float) -> Raw:
    return _select(_less_equal(_abs(x), constant(lambd, x)), constant(0, x), x)


def _threshold(x: Raw, threshold: float, value: float) -> Raw:
    return _select(_less_equal(x, constant(threshold, x)), constant(value, x), x)


def _threshold_backward(g: Raw, y: Raw, x: Raw, threshold: float, value: float) -> Raw:
    return _where_positive(g, _sub(x, constant(threshold, x)))


def _tanhshrink(x: Raw) -> Raw:
    return _sub(x, _tanh(x))


def _tanhshrink_backward(g: Raw, y: Raw, x: Raw) -> Raw:
    t = _tanh(x)
    return _mul(g, _mul(t, t))


def _softsign_backward(g: Raw, y: Raw, x: Raw) -> Raw:
    low = _add(_abs(x), constant(1, x))
    return _div(g, _mul(low, low))


def _define(op: str, name: str, forward, backward, traced=None, dtypes=FLOATS) -> None:
    kernel = node(name, forward, backward, traced or forward)

    def guarded(x: Raw, *args):
        # Several kernels reject empty tensors; addition does not.
        return kernel(x, *args) if x.size else _add(x, constant(0, x))

    define(op, cpu=guarded, dtypes=dtypes, via=VIA_HALF)


_define("relu", "ReluBackward0", _positive, _relu_backward, _relu, FLOATS + INTS)
_define("hardtanh", "HardtanhBackward0", _hardtanh, _hardtanh_backward, None, FLOATS + INTS)
_define("leaky_relu", "LeakyReluBackward0", _leaky_relu, _leaky_relu_backward)
_define("prelu", "PreluKernelBackward0", _prelu, _prelu_backward)
_define("elu", "EluBackward0", _elu, _elu_backward)
_define("gelu", "GeluBackward0", _gelu, _gelu_backward)
_define("gelu_tanh", "GeluBackward0", _gelu_tanh, _gelu_tanh_backward)
_define("mish", "MishBackward0", _mish, _mish_backward)
_define("softplus", "SoftplusBackward0", _softplus, _softplus_backward)
_define("logsigmoid", "LogSigmoidBackward0", _logsigmoid, _logsigmoid_backward)
_define("hardsigmoid", "HardsigmoidBackward0", _hardsigmoid, _hardsigmoid_backward)
_define("hardswish", "HardswishBackward0", _hardswish, _hardswish_backward)
_define("softshrink", "SoftshrinkBackward0", _softshrink, _shrink_backward)
_define("hardshrink", "HardshrinkBackward0", _hardshrink, _shrink_backward)
_define("threshold", "ThresholdBackward0", _threshold, _threshold_backward)
_define("tanhshrink", "SubBackward0", _tanhshrink, _tanhshrink_backward)
_define("softsign", "DivBackward0", _softsign, _softsign_backward)

_silu_float = node("SiluBackward0", _silu, _silu_backward, _silu)
define(
    "silu",
    cpu=lambda x: composed_silu_complex(x) if not x.dtype.is_floating_point else _silu_float(x),
    dtypes=FLOATS + COMPLEX,
    via=VIA_HALF,
)

"""Activation functions, each with a gradient of its own: MindSpore's gradients drop NaN, support float32 only or differ at kinks."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindspore import ops

from ..formulas import activation as formulas
from ..raw import Raw
from ..table import COMPLEX, FLOATS, INTS, VIA_HALF, define
from . import namespace as xp
from ._nodes import constant, node, sum_to


def _value(op: str) -> Callable[..., Raw]:
    formula = getattr(formulas, op)
    return lambda *args: formula(xp, *args)


def _gradient(op: str) -> Callable[..., Raw]:
    formula = getattr(formulas, f"{op}_gradient")
    return lambda g, result, *args: formula(xp, g, *args)


def _prelu_gradients(g: Raw, result: Raw, x: Raw, weight: Raw) -> tuple[Raw, Raw]:
    by_weight = formulas.prelu_weight_gradient(xp, g, x)
    return formulas.prelu_gradient(xp, g, x, weight), sum_to(by_weight, weight.shape)


def _define(
    op: str, name: str, backward: Callable[..., Any] | None = None, traced: Callable[..., Raw] | None = None,
    dtypes: tuple[str, ...] = FLOATS,
) -> None:  # fmt: skip
    value = _value(op)
    kernel = node(name, value, backward or _gradient(op), traced or value)

    def guarded(x: Raw, *args: Any) -> Raw:
        # Several kernels reject empty tensors; addition does not.
        return kernel(x, *args) if x.size else xp.add(x, constant(0, x))

    define(op, cpu=guarded, dtypes=dtypes, via=VIA_HALF)


_define("relu", "ReluBackward0", lambda g, result, x: formulas.relu_gradient(xp, g, result), ops.ReLU(), FLOATS + INTS)
_define("hardtanh", "HardtanhBackward0", dtypes=FLOATS + INTS)
_define("prelu", "PreluKernelBackward0", _prelu_gradients)
for _op, _name in {
    "leaky_relu": "LeakyReluBackward0", "elu": "EluBackward0", "gelu": "GeluBackward0", "gelu_tanh": "GeluBackward0",
    "mish": "MishBackward0", "softplus": "SoftplusBackward0", "logsigmoid": "LogSigmoidBackward0", "hardsigmoid": "HardsigmoidBackward0",
    "hardswish": "HardswishBackward0", "tanhshrink": "SubBackward0", "softsign": "DivBackward0",
}.items():  # fmt: skip
    _define(_op, _name)
for _op, _name in {"softshrink": "SoftshrinkBackward0", "hardshrink": "HardshrinkBackward0"}.items():
    _define(_op, _name, lambda g, result, x, bound: formulas.shrink_gradient(xp, g, x, bound))
_define("threshold", "ThresholdBackward0", lambda g, result, x, bound, value: formulas.threshold_gradient(xp, g, x, bound))


def composed_silu_complex(x: Raw) -> Raw:
    """Return x / (1 + exp(-x)); MindSpore's sigmoid does not support complex numbers."""
    return xp.div(x, xp.plus(xp.exp(xp.neg(x)), 1))


_silu_float = node("SiluBackward0", _value("silu"), _gradient("silu"), _value("silu"))
define(
    "silu",
    cpu=lambda x: composed_silu_complex(x) if not x.dtype.is_floating_point else _silu_float(x),
    dtypes=FLOATS + COMPLEX,
    via=VIA_HALF,
)

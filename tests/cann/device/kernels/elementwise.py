"""Elementwise operators."""
import inspect

import torch
from calling import F32, KERNELS, dt, kernel, put
from reading import F, aten

UNARY = {"Abs": torch.abs, "Acos": torch.acos, "Acosh": torch.acosh, "Asin": torch.asin, "Asinh": torch.asinh, "Atan": torch.atan, "Atanh": torch.atanh, "Ceil": torch.ceil, "Cos": torch.cos, "Cosh": torch.cosh,
             "Erf": torch.erf, "Erfc": torch.erfc, "Erfinv": torch.erfinv, "Exp": torch.exp, "Exp2": torch.exp2, "Expm1": torch.expm1, "Floor": torch.floor, "Frac": torch.frac, "Log": torch.log, "Log10": torch.log10,
             "Log1p": torch.log1p, "Log2": torch.log2, "Neg": torch.neg, "Reciprocal": torch.reciprocal, "Relu": torch.relu, "Rsqrt": torch.rsqrt, "Sigmoid": torch.sigmoid, "Sign": torch.sign, "Sin": torch.sin, "Sinc": torch.sinc,
             "Sinh": torch.sinh, "Sqrt": torch.sqrt, "Tan": torch.tan, "Tanh": torch.tanh, "Trunc": torch.trunc, "Silu": F.silu, "Mish": F.mish, "Gelu": F.gelu, "Hardswish": F.hardswish, "Hardsigmoid": F.hardsigmoid,
             "IsFinite": torch.isfinite, "IsInf": torch.isinf, "IsNegInf": torch.isneginf, "LogicalNot": torch.logical_not, "BitwiseNot": torch.bitwise_not, "Selu": F.selu, "Max": torch.max, "Min": torch.min, "Median": torch.median,
             "Inverse": torch.inverse, "Trace": torch.trace}

BINARY = {"Mul": torch.mul, "Div": torch.true_divide, "Atan2": torch.atan2, "BitwiseAndTensor": torch.bitwise_and, "BitwiseOrTensor": torch.bitwise_or, "BitwiseXorTensor": torch.bitwise_xor, "EqTensor": torch.eq,
              "NeTensor": torch.ne, "GtTensor": torch.gt, "GeTensor": torch.ge, "LtTensor": torch.lt, "LeTensor": torch.le, "Maximum": torch.maximum, "Minimum": torch.minimum, "LogicalAnd": torch.logical_and,
              "LogicalOr": torch.logical_or, "LogicalXor": torch.logical_xor, "FloorDivide": torch.floor_divide, "FmodTensor": torch.fmod, "Gcd": torch.gcd, "LeftShift": torch.bitwise_left_shift,
              "LogAddExp": torch.logaddexp, "LogAddExp2": torch.logaddexp2, "PowTensorTensor": torch.pow, "RemainderTensorTensor": torch.remainder, "XLogYTensor": torch.xlogy, "Dot": torch.dot,
              "SigmoidBackward": aten.sigmoid_backward, "TanhBackward": aten.tanh_backward, "SiluBackward": aten.silu_backward, "GeluBackward": aten.gelu_backward, "MishBackward": aten.mish_backward,
              "HardswishBackward": aten.hardswish_backward, "HardsigmoidBackward": aten.hardsigmoid_backward, "Prelu": F.prelu}

NUMBER = {"Muls": torch.mul, "Divs": torch.true_divide, "FloorDivides": torch.floor_divide, "EqScalar": torch.eq, "NeScalar": torch.ne, "GeScalar": torch.ge, "LtScalar": torch.lt, "PowTensorScalar": torch.pow,
              "RemainderTensorScalar": torch.remainder, "FmodScalar": torch.fmod, "BitwiseAndScalar": torch.bitwise_and, "BitwiseOrScalar": torch.bitwise_or, "BitwiseXorScalar": torch.bitwise_xor,
              "XLogYScalarOther": torch.xlogy, "ClampMin": lambda x, v: x.clamp(min=v), "LeakyRelu": F.leaky_relu, "Hardshrink": F.hardshrink, "Softshrink": F.softshrink}

for n, f in UNARY.items():
    kernel("aclnn" + n)(lambda self, out, f=f: put(out, f(self.to(out.dtype) if out.dtype.is_floating_point and not self.dtype.is_floating_point and not self.dtype.is_complex else self)))
    KERNELS["aclnn" + n] = KERNELS["aclnn" + n][0], [("self", inspect._empty), ("out", inspect._empty)]

for n, f in BINARY.items():
    KERNELS["aclnn" + n] = (lambda a, b, out, f=f: put(out, f(a, b))), [(k, inspect._empty) for k in ("self", "other", "out")]

for n, f in NUMBER.items():
    KERNELS["aclnn" + n] = (lambda a, b, out, f=f: put(out, f(a, b))), [(k, inspect._empty) for k in ("self", "number", "out")]

for n, f in {"PowScalarTensor": torch.pow, "RemainderScalarTensor": torch.remainder, "XLogYScalarSelf": torch.xlogy}.items():
    KERNELS["aclnn" + n] = (lambda a, b, out, f=f: put(out, f(a, b))), [(k, inspect._empty) for k in ("number", "other", "out")]

for n in ("Exp", "Log", "Floor", "Relu", "Sigmoid", "Tanh", "Erfinv"):
    KERNELS["aclnnInplace" + n] = (lambda a, f=UNARY[n]: put(a, f(a))), [("self", inspect._empty)]

for n in ("Mul", "Div", "FloorDivide", "RemainderTensorTensor"):
    KERNELS["aclnnInplace" + n] = (lambda a, b, f=BINARY[n]: put(a, f(a, b))), [(k, inspect._empty) for k in ("self", "other")]

for n in ("Muls", "Divs", "FloorDivides", "RemainderTensorScalar"):
    KERNELS["aclnnInplace" + n] = (lambda a, b, f=NUMBER[n]: put(a, f(a, b))), [(k, inspect._empty) for k in ("self", "number")]

def scaled(a, b, alpha, sign):
    return torch.add(a, b, alpha=alpha) if sign > 0 else torch.sub(a, b, alpha=alpha)

@kernel("aclnnAdd", "aclnnAdds")
def add(self, other, alpha, out): put(out, torch.add(self, other, alpha=alpha))

@kernel("aclnnSub", "aclnnSubs")
def sub(self, other, alpha, out): put(out, torch.sub(self, other, alpha=alpha))

@kernel("aclnnInplaceAdd", "aclnnInplaceAdds")
def add_(self, other, alpha): put(self, torch.add(self, other, alpha=alpha))

@kernel("aclnnInplaceSub", "aclnnInplaceSubs")
def sub_(self, other, alpha): put(self, torch.sub(self, other, alpha=alpha))

MODES = {0: None, 1: "trunc", 2: "floor"}

@kernel("aclnnDivMod", "aclnnDivMods")
def div_mod(self, other, mode: int, out): put(out, torch.div(self, other, rounding_mode=MODES[mode & 255]))

@kernel("aclnnInplaceDivMod", "aclnnInplaceDivMods")
def div_mod_(self, other, mode: int): put(self, torch.div(self, other, rounding_mode=MODES[mode & 255]))

@kernel("aclnnAddcmul")
def addcmul(self, a, b, value, out): put(out, torch.addcmul(self, a, b, value=value))

@kernel("aclnnAddcdiv")
def addcdiv(self, a, b, value, out): put(out, torch.addcdiv(self, a, b, value=value))

@kernel("aclnnLerp", "aclnnLerps")
def lerp(self, end, weight, out): put(out, torch.lerp(self, end, weight))

@kernel("aclnnClamp", "aclnnClampTensor")
def clamp(self, low, high, out): put(out, torch.clamp(self, low, high))

@kernel("aclnnSWhere")
def where(condition, self, other, out): put(out, torch.where(condition.bool(), self, other))

@kernel("aclnnSelectV2")
def select(condition, self, other, out): put(out, torch.where(condition.bool(), self, other))

@kernel("aclnnCast")
def cast(self, dtype: int, out): put(out, self.to(dt(dtype)))

@kernel("aclnnIsClose")
def isclose(self, other, rtol: float, atol: float, equal_nan: bool, out): put(out, torch.isclose(self, other, rtol, atol, equal_nan))

@kernel("aclnnEqual")
def equal(self, other, out): put(out, torch.tensor(torch.equal(self, other)).reshape(out.shape))

@kernel("aclnnNanToNum")
def nan_to_num(self, nan: F32, high: F32, low: F32, out): put(out, torch.nan_to_num(self, nan, high, low))

@kernel("aclnnRoundDecimals")
def round_(self, decimals: int, out): put(out, torch.round(self, decimals=decimals))

@kernel("aclnnPolar")
def polar(a, b, out): put(out, torch.polar(a, b))

for _n in (1, 2, 3):
    for _kind in ("reflection", "replication"):
        kernel(f"aclnn{_kind.title()}Pad{_n}d")(lambda self, pads, out, f=getattr(aten, f"{_kind}_pad{_n}d"): put(out, f(self, pads)))
        KERNELS[f"aclnn{_kind.title()}Pad{_n}d"] = KERNELS[f"aclnn{_kind.title()}Pad{_n}d"][0], [(k, inspect._empty) for k in ("self", "pads", "out")]
        KERNELS[f"aclnn{_kind.title()}Pad{_n}dBackward"] = (lambda grad, self, pads, out, f=getattr(aten, f"{_kind}_pad{_n}d_backward"): put(out, f(grad, self, pads))), [(k, inspect._empty) for k in ("grad", "self", "pads", "out")]

@kernel("aclnnMaxUnpool2d")
def max_unpool(self, indices, size, out): put(out, aten.max_unpool2d(self, indices.long(), size))

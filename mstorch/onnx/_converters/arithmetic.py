"""Elementwise operations."""
from __future__ import annotations

import math
from typing import Any

from ..._src.core.dtype import bool_, float32
from .._capture import Step, Value
from .._errors import OnnxExporterError
from .._writer import NUMBERS, Writer
from .table import CONVERTERS, common, converter, fixed, wrapped


def _unary(kind: str, *names: str) -> None:
    def convert(w: Writer, step: Step, self: Value, **_: Any) -> str:
        return w.op(kind, w.operand(self, step.results[0].dtype))

    for name in names:
        CONVERTERS[name] = convert


for _name in (
    "relu sigmoid tanh exp log sqrt abs neg erf floor ceil round sin cos tan asin acos atan sinh cosh reciprocal sign".split()
):
    _unary(_name.capitalize(), _name)
_unary("Sign", "sgn")
_unary("Not", "logical_not")


@converter("clone", "detach", "alias", "lift_fresh", "dropout")
def _same(w: Writer, step: Step, self: Value, **options: Any) -> str:
    if options.get("training") and options.get("p"):
        raise OnnxExporterError("mstorch: torch.onnx.export writes no dropout of training: call model.eval()")
    return w.t(self)


@converter("rsqrt")
def _rsqrt(w: Writer, step: Step, self: Value) -> str:
    return w.op("Reciprocal", w.op("Sqrt", w.t(self)))


@converter("log1p", "expm1", "log2", "log10", "exp2", "trunc", "frac")
def _composed(w: Writer, step: Step, self: Value) -> str:
    x, out = w.t(self), step.results[0]
    one = w.like(1, out)
    if step.name == "log1p":
        return w.op("Log", w.op("Add", x, one))
    if step.name == "expm1":
        return w.op("Sub", w.op("Exp", x), one)
    if step.name in ("log2", "log10"):
        return w.op("Div", w.op("Log", x), w.like(math.log(2 if step.name == "log2" else 10), out))
    if step.name == "exp2":
        return w.op("Pow", w.like(2, out), x)
    whole = w.op("Mul", w.op("Sign", x), w.op("Floor", w.op("Abs", x)))
    return whole if step.name == "trunc" else w.op("Sub", x, whole)


def _two(w: Writer, step: Step, kind: str, first: Any, second: Any) -> str:
    dtype = step.results[0].dtype
    return w.op(kind, w.operand(first, dtype), w.operand(second, dtype))


@converter("add", "sub", "rsub")
def _add(w: Writer, step: Step, self: Any, other: Any, alpha: Any = 1) -> str:
    dtype = step.results[0].dtype
    if dtype is bool_:
        return w.op("Or", w.t(self), w.operand(other, bool_))
    first, second = (other, self) if step.name == "rsub" else (self, other)
    right = w.operand(second, dtype)
    if alpha != 1:
        right = w.op("Mul", right, w.number(alpha, dtype))
    return w.op("Add" if step.name == "add" else "Sub", w.operand(first, dtype), right)


@converter("mul")
def _mul(w: Writer, step: Step, self: Any, other: Any) -> str:
    return _two(w, step, "And" if step.results[0].dtype is bool_ else "Mul", self, other)


@converter("div")
def _div(w: Writer, step: Step, self: Any, other: Any, rounding_mode: str | None = None) -> str:
    dtype = step.results[0].dtype
    if rounding_mode is None or dtype.is_floating_point:
        found = _two(w, step, "Div", self, other)
        if rounding_mode == "floor":
            return w.op("Floor", found)
        return found if rounding_mode is None else w.op("Mul", w.op("Sign", found), w.op("Floor", w.op("Abs", found)))
    if rounding_mode == "trunc":
        return _two(w, step, "Div", self, other)
    return _floored(w, step, self, other)


@converter("floor_divide")
def _floor_divide(w: Writer, step: Step, self: Any, other: Any) -> str:
    if step.results[0].dtype.is_floating_point:
        return w.op("Floor", _two(w, step, "Div", self, other))
    return _floored(w, step, self, other)


def _floored(w: Writer, step: Step, self: Any, other: Any) -> str:
    """Return (a - a mod b) / b for integers, where ONNX's Mod has the sign of b."""
    dtype = step.results[0].dtype
    first, second = w.operand(self, dtype), w.operand(other, dtype)
    return w.op("Div", w.op("Sub", first, w.op("Mod", first, second)), second)


@converter("remainder", "fmod")
def _remainder(w: Writer, step: Step, self: Any, other: Any) -> str:
    dtype = step.results[0].dtype
    first, second = w.operand(self, dtype), w.operand(other, dtype)
    if step.name == "fmod":
        return w.op("Mod", first, second, fmod=1)
    if not dtype.is_floating_point:
        return w.op("Mod", first, second)
    return w.op("Sub", first, w.op("Mul", w.op("Floor", w.op("Div", first, second)), second))


@converter("pow")
def _pow(w: Writer, step: Step, self: Any, exponent: Any) -> str:
    if exponent == 2 and isinstance(self, Value):
        return w.op("Mul", w.t(self), w.t(self))
    return _two(w, step, "Pow", self, exponent)


@converter("maximum", "minimum")
def _extreme(w: Writer, step: Step, self: Value, other: Value) -> str:
    return _two(w, step, "Max" if step.name == "maximum" else "Min", self, other)


@converter("eq", "ne", "lt", "le", "gt", "ge")
def _compare(w: Writer, step: Step, self: Value, other: Any) -> str:
    dtype = common(self, other)
    ordered = {"lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual"}
    if dtype is bool_ and step.name in ordered:
        first, second = (w.op("Cast", w.operand(one, bool_), to=NUMBERS["int32"]) for one in (self, other))
    else:
        first, second = w.operand(self, dtype), w.operand(other, dtype)
    found = w.op(ordered.get(step.name, "Equal"), first, second)
    return w.op("Not", found) if step.name == "ne" else found


@converter("logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor")
def _logical(w: Writer, step: Step, self: Any, other: Any) -> str:
    word = step.name.rpartition("_")[2].capitalize()
    dtype = step.results[0].dtype
    if dtype is bool_:
        return w.op(word, w.operand(self, bool_), w.operand(other, bool_))
    if w.opset < 18:
        raise OnnxExporterError("mstorch: bitwise operations of integers take opset 18")
    return w.op(f"Bitwise{word}", w.operand(self, dtype), w.operand(other, dtype))


@converter("bitwise_not")
def _bitwise_not(w: Writer, step: Step, self: Value) -> str:
    if self.dtype is bool_:
        return w.op("Not", w.t(self))
    return w.op("Sub", w.like(-1, self), w.t(self))


@converter("where")
def _where(w: Writer, step: Step, condition: Any = None, self: Any = None, other: Any = None) -> str:
    dtype = step.results[0].dtype
    return w.op("Where", w.operand(condition, bool_), w.operand(self, dtype), w.operand(other, dtype))


@converter("masked_fill")
def _masked_fill(w: Writer, step: Step, self: Value, mask: Value, value: Any) -> str:
    return w.op("Where", w.t(mask), w.operand(value, self.dtype), w.t(self))


@converter("_to_copy")
def _to_copy(w: Writer, step: Step, self: Value, **_: Any) -> str:
    return w.cast(w.t(self), self.dtype, step.results[0].dtype)


@converter("copy", "fill")
def _copy(w: Writer, step: Step, self: Value, src: Any = None, value: Any = None, **_: Any) -> str:
    found = w.operand(src if step.name == "copy" else value, self.dtype)
    source = src.shape if isinstance(src, Value) else ()
    return found if tuple(source) == self.shape else w.op("Expand", found, w.op("Shape", w.t(self)))


@converter("zero")
def _zero(w: Writer, step: Step, self: Value) -> str:
    return w.op("Expand", w.like(0, self), w.op("Shape", w.t(self)))


@converter("clamp", "hardtanh", "clamp_min", "clamp_max")
def _clamp(w: Writer, step: Step, self: Value, min: Any = None, max: Any = None, min_val: Any = -1.0, max_val: Any = 1.0) -> str:
    if step.name == "hardtanh":
        min, max = min_val, max_val
    dtype = step.results[0].dtype
    found = w.operand(self, dtype)
    if any(isinstance(one, Value) and one.shape for one in (min, max)):
        found = found if min is None else w.op("Max", found, w.operand(min, dtype))
        return found if max is None else w.op("Min", found, w.operand(max, dtype))
    return w.op("Clip", found, *("" if one is None else w.operand(one, dtype) for one in (min, max)))


@converter("gelu")
def _gelu(w: Writer, step: Step, self: Value, approximate: str = "none") -> str:
    x = w.t(self)
    if w.opset >= 20:
        return w.op("Gelu", x, approximate=approximate)
    half, one = w.like(0.5, self), w.like(1, self)
    if approximate == "tanh":
        cube = w.op("Mul", w.op("Mul", w.op("Mul", x, x), x), w.like(0.044715, self))
        inner = w.op("Tanh", w.op("Mul", w.op("Add", x, cube), w.like(math.sqrt(2 / math.pi), self)))
    else:
        inner = w.op("Erf", w.op("Mul", x, w.like(math.sqrt(0.5), self)))
    return w.op("Mul", w.op("Mul", x, half), w.op("Add", inner, one))


@converter("silu")
def _silu(w: Writer, step: Step, self: Value, **_: Any) -> str:
    return w.op("Mul", w.t(self), w.op("Sigmoid", w.t(self)))


@converter("mish")
def _mish(w: Writer, step: Step, self: Value, **_: Any) -> str:
    return w.op("Mul", w.t(self), w.op("Tanh", w.op("Softplus", w.t(self))))


@converter("hardsigmoid", "hardswish")
def _hard(w: Writer, step: Step, self: Value, **_: Any) -> str:
    gate = w.op("HardSigmoid", w.t(self), alpha=1 / 6, beta=0.5)
    return gate if step.name == "hardsigmoid" else w.op("Mul", w.t(self), gate)


@converter("leaky_relu")
def _leaky_relu(w: Writer, step: Step, self: Value, negative_slope: float = 0.01) -> str:
    return w.op("LeakyRelu", w.t(self), alpha=float(negative_slope))


@converter("_prelu_kernel")
def _prelu(w: Writer, step: Step, self: Value, weight: Value) -> str:
    return w.op("PRelu", w.t(self), w.t(weight))


@converter("glu")
def _glu(w: Writer, step: Step, self: Value, dim: int = -1) -> str:
    axis = wrapped(dim, len(self.shape))
    half = fixed(self.shape[axis], "glu") // 2
    first, second = w.op("Split", w.t(self), w.sizes([half, half]), results=2, axis=axis)
    return w.op("Mul", first, w.op("Sigmoid", second))


@converter("elu")
def _elu(w: Writer, step: Step, self: Value, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> str:
    if input_scale != 1:
        raise OnnxExporterError("mstorch: ONNX has no elu with another scale of its input")
    found = w.op("Elu", w.t(self), alpha=float(alpha))
    return found if scale == 1 else w.op("Mul", found, w.like(scale, self))


@converter("softplus")
def _softplus(w: Writer, step: Step, self: Value, beta: float = 1, threshold: float = 20) -> str:
    x = w.t(self) if beta == 1 else w.op("Mul", w.t(self), w.like(beta, self))
    found = w.op("Softplus", x)
    found = found if beta == 1 else w.op("Div", found, w.like(beta, self))
    return w.op("Where", w.op("Greater", x, w.like(threshold, self)), w.t(self), found)


@converter("addcmul", "addcdiv")
def _addc(w: Writer, step: Step, self: Value, tensor1: Value, tensor2: Value, value: Any = 1) -> str:
    dtype = step.results[0].dtype
    found = w.op("Mul" if step.name == "addcmul" else "Div", w.operand(tensor1, dtype), w.operand(tensor2, dtype))
    found = found if value == 1 else w.op("Mul", found, w.number(value, dtype))
    return w.op("Add", w.operand(self, dtype), found)


@converter("lerp")
def _lerp(w: Writer, step: Step, self: Value, end: Value, weight: Any) -> str:
    moved = w.op("Mul", w.op("Sub", w.t(end), w.t(self)), w.operand(weight, self.dtype))
    return w.op("Add", w.t(self), moved)


@converter("isnan", "isinf")
def _is_kind(w: Writer, step: Step, self: Value) -> str:
    x = w.cast(w.t(self), self.dtype, float32) if not self.dtype.is_floating_point else w.t(self)
    return w.op("IsNaN" if step.name == "isnan" else "IsInf", x)

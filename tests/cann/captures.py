"""More than 300 operators, layers and networks as graphs (torch.compile, fullgraph=True) on MindSpore's Ascend plugin, forward and backward, beside the same
calls without a graph; and failures while functions are captured, which leave no trace open.

    python -m tests.cann python -m tests.cann.captures [NAME …]            # "failures": the failures alone; 3/8: the third eighth of the calls
"""
from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import mstorch as torch
from mstorch import nn
from mstorch._commands.check.programs import CALLS
from tests.cann.networks import MADE, numbers, words

D = "npu"
F = nn.functional
# Functions of one tensor of numbers in (0.1, 0.9)
UNARY = (
    "abs acos asin asinh atan ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 floor frac lgamma log log10 log1p log2 logit neg positive "
    "rad2deg reciprocal relu round rsqrt sigmoid sign sin sinc sinh sqrt square tan tanh trunc sum mean prod std var norm logsumexp:0 softmax:0 "
    "log_softmax:1 cumsum:0 cumprod:1 logcumsumexp:0 flatten t numel flip:0 roll:1 diff triu tril diagonal diag_embed unsqueeze:1 squeeze max min amax "
    "amin aminmax argmax argmin median sort argsort topk:2 kthvalue:2 unbind chunk:2 split:2 repeat:2,1 tile:2 clone contiguous double half bfloat16 "
    "isnan isinf isfinite bool int count_nonzero any all nan_to_num clamp:0.3,0.6 clamp_min:0.4 clamp_max:0.4 pow:2.5 add:1 sub:2 mul:3 div:4 fmod:0.3 "
    "remainder:0.3 gt:0.5 ge:0.5 lt:0.5 le:0.5 eq:0.5 ne:0.5 floor_divide:0.3 true_divide:2 rsub:1 lerp_one expand_as_self narrow:0,0,2 select:0,1 "
    "movedim:0,1 swapaxes:0,1 permute:1,0 reshape:-1 view:-1 unflatten:0,(2,2) cov corrcoef trace renorm:2,0,1.0 hardshrink"
).split()
BINARY = (
    "add sub mul div pow maximum minimum fmax fmin atan2 hypot logaddexp logaddexp2 fmod remainder xlogy copysign floor_divide eq ne lt le gt ge "
    "dist cross:1 vdot_flat outer_flat mm_t dot_flat kron where_gt lerp:0.3 addcmul addcdiv isclose logical_and logical_or logical_xor heaviside nextafter"
).split()
LAYERS: dict[str, Callable[[], tuple[Any, tuple[int, ...]]]] = {
    **{name: (lambda name=name: (getattr(nn, name)(), (3, 4, 8))) for name in (
        "ReLU ReLU6 ELU SELU CELU GELU SiLU Mish Hardswish Hardsigmoid Hardtanh LeakyReLU LogSigmoid Sigmoid Softplus Softsign Softshrink Hardshrink Tanh "
        "Tanhshrink GLU PReLU Identity Flatten"
    ).split()},
    **{f"{name} of a dimension": (lambda name=name: (getattr(nn, name)(-1), (3, 4, 8))) for name in ("Softmax", "LogSoftmax", "Softmin")},
    "Linear": lambda: (nn.Linear(8, 3), (3, 4, 8)), "Linear without bias": lambda: (nn.Linear(8, 3, bias=False), (4, 8)),
    "Conv1d": lambda: (nn.Conv1d(4, 3, 3), (2, 4, 8)), "Conv2d": lambda: (nn.Conv2d(4, 3, 3, padding=1), (2, 4, 6, 6)),
    "Conv2d of groups": lambda: (nn.Conv2d(4, 8, 3, groups=4), (2, 4, 6, 6)), "Conv2d with strides": lambda: (nn.Conv2d(4, 3, 3, 2), (2, 4, 7, 7)),
    "Conv3d": lambda: (nn.Conv3d(2, 3, 2), (2, 2, 4, 4, 4)), "ConvTranspose1d": lambda: (nn.ConvTranspose1d(4, 3, 3, 2), (2, 4, 5)),
    "ConvTranspose2d": lambda: (nn.ConvTranspose2d(4, 3, 2, 2), (2, 4, 4, 4)), "MaxPool1d": lambda: (nn.MaxPool1d(2), (2, 4, 8)),
    "MaxPool2d": lambda: (nn.MaxPool2d(2), (2, 4, 6, 6)), "MaxPool3d": lambda: (nn.MaxPool3d(2), (2, 2, 4, 4, 4)),
    "AvgPool1d": lambda: (nn.AvgPool1d(2), (2, 4, 8)), "AvgPool2d": lambda: (nn.AvgPool2d(3, 2, 1), (2, 4, 6, 6)),
    "AvgPool3d": lambda: (nn.AvgPool3d(2), (2, 2, 4, 4, 4)), "AdaptiveAvgPool1d": lambda: (nn.AdaptiveAvgPool1d(3), (2, 4, 8)),
    "AdaptiveAvgPool2d": lambda: (nn.AdaptiveAvgPool2d(3), (2, 4, 6, 6)), "AdaptiveMaxPool2d": lambda: (nn.AdaptiveMaxPool2d(2), (2, 4, 6, 6)),
    "LPPool2d": lambda: (nn.LPPool2d(2.0, 2), (2, 4, 6, 6)), "BatchNorm1d": lambda: (nn.BatchNorm1d(4), (3, 4, 8)),
    "BatchNorm2d": lambda: (nn.BatchNorm2d(4), (2, 4, 6, 6)), "BatchNorm2d in evaluation": lambda: (nn.BatchNorm2d(4).eval(), (2, 4, 6, 6)),
    "InstanceNorm2d": lambda: (nn.InstanceNorm2d(4), (2, 4, 6, 6)), "GroupNorm": lambda: (nn.GroupNorm(2, 4), (2, 4, 6, 6)),
    "LayerNorm": lambda: (nn.LayerNorm(8), (3, 4, 8)), "RMSNorm": lambda: (nn.RMSNorm(8), (3, 4, 8)),
    "LocalResponseNorm": lambda: (nn.LocalResponseNorm(2), (2, 4, 6, 6)), "ConstantPad2d": lambda: (nn.ConstantPad2d(1, 0.5), (2, 4, 6, 6)),
    "ReflectionPad2d": lambda: (nn.ReflectionPad2d(1), (2, 4, 6, 6)), "ReplicationPad2d": lambda: (nn.ReplicationPad2d(1), (2, 4, 6, 6)),
    "ZeroPad2d": lambda: (nn.ZeroPad2d(1), (2, 4, 6, 6)), "PixelShuffle": lambda: (nn.PixelShuffle(2), (2, 4, 6, 6)),
    "PixelUnshuffle": lambda: (nn.PixelUnshuffle(2), (2, 4, 6, 6)), "ChannelShuffle": lambda: (nn.ChannelShuffle(2), (2, 4, 6, 6)),
    "Upsample, nearest": lambda: (nn.Upsample(scale_factor=2), (2, 4, 3, 3)),
    "Upsample, bilinear": lambda: (nn.Upsample(scale_factor=2, mode="bilinear"), (2, 4, 3, 3)),
    "Fold": lambda: (nn.Fold((4, 4), 2, stride=2), (2, 8, 4)), "Unfold": lambda: (nn.Unfold(2), (2, 4, 4, 4)),
    "MultiheadAttention": lambda: (_Alone(nn.MultiheadAttention(8, 2, batch_first=True)), (2, 4, 8)),
    "TransformerEncoderLayer": lambda: (nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), (2, 4, 8)),
    "RNNCell": lambda: (nn.RNNCell(8, 4), (3, 8)), "GRUCell": lambda: (nn.GRUCell(8, 4), (3, 8)),
    "LSTMCell": lambda: (nn.LSTMCell(8, 4), (3, 8)), "GRU": lambda: (nn.GRU(8, 4), (3, 2, 8)), "LSTM": lambda: (nn.LSTM(8, 4), (3, 2, 8)),
}  # fmt: skip


class _Alone(nn.Module):
    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Any) -> Any:
        return self.layer(x, x, x, need_weights=False)[0]


def _positive(*shape: int) -> Any:
    return numbers(*shape) * 0.4 + 0.5


_OWN: dict[str, Callable[[Any], Any]] = {"lerp_one": lambda x: x.lerp(x.flip(0), 0.3), "expand_as_self": lambda x: x[:1].expand_as(x), "cov": torch.cov,
    "hardshrink": F.hardshrink, "rsub": lambda x: torch.rsub(x, 1), "floor_divide": lambda x: x.detach().floor_divide(0.3), "numel": lambda x: x * x.numel()}  # fmt: skip
_OWN_OF_TWO: dict[str, Callable[[Any, Any], Any]] = {
    "floor_divide": lambda x, y: x.detach().floor_divide(y.detach()), "heaviside": lambda x, y: x.detach().heaviside(y.detach()),  # no derivative
    "vdot_flat": lambda x, y: torch.vdot(x.flatten(), y.flatten()), "outer_flat": lambda x, y: torch.outer(x[0], y[0]), "mm_t": lambda x, y: x @ y.t(),
    "dot_flat": lambda x, y: torch.dot(x[0], y[0]), "where_gt": lambda x, y: torch.where(x > y, x, y * 2), "addcmul": lambda x, y: x.addcmul(x, y),
    "addcdiv": lambda x, y: x.addcdiv(x, y), "cross": lambda x, y: torch.linalg.cross(x[:, :3], y[:, :3]), "kron": torch.kron,
}  # fmt: skip


def _arguments(text: str) -> tuple[Any, ...]:
    return eval(f"({text},)") if text else ()


def cases() -> dict[str, tuple[Callable[..., Any], list[Any]]]:
    """Return functions and their inputs by name: numbers require grad."""
    known: dict[str, tuple[Callable[..., Any], list[Any]]] = {}
    for entry in UNARY:
        name, _, rest = entry.partition(":")
        function = _OWN.get(name, lambda x, name=name, rest=_arguments(rest): getattr(x, name)(*rest))
        known[f"x.{entry}"] = function, [_positive(4, 6)]
    for entry in BINARY:
        name, _, rest = entry.partition(":")
        function_of_two = _OWN_OF_TWO.get(name, lambda x, y, name=name, rest=_arguments(rest): getattr(x, name)(y, *rest))
        known[f"x.{entry}(y)"] = function_of_two, [_positive(4, 6), _positive(4, 6).flip(1)]
    for name, call in CALLS.items():
        known[f"check: {name}"] = call, [numbers(4, 6, 8), words(4, 6, below=6)]
    for name, make in LAYERS.items():
        torch.manual_seed(0)
        layer, shape = make()
        known[f"nn: {name}"] = layer.to(D), [numbers(*shape)]
    for name, model in MADE.items():
        torch.manual_seed(0)
        net, inputs = model()
        known[f"network: {name}"] = net.to(D), list(inputs)
    return known


def _flat(result: Any) -> list[Any]:
    if isinstance(result, (tuple, list)):
        return [item for part in result for item in _flat(part)]
    return [result] if isinstance(result, torch.Tensor) else []


def _outcome(call: Callable[..., Any], inputs: list[Any]) -> list[Any]:
    leaves = [item.to(D).requires_grad_() if item.is_floating_point() else item.to(D) for item in inputs]
    results = _flat(call(*leaves))
    for item in results:
        if item.requires_grad:
            (item * numbers(*item.shape).to(D).to(item.dtype)).sum().backward(retain_graph=True)
    gradients = [item.grad for item in leaves if item.grad is not None]
    return [item.detach().cpu() for item in (*results, *gradients)]


def difference(name: str, call: Callable[..., Any], inputs: list[Any]) -> str:
    """Return how a graph differs from the same call without one; "" if it does not."""
    state = {key: value.clone() for key, value in call.state_dict().items()} if isinstance(call, nn.Module) else None
    wanted = _outcome(call, inputs)
    if state is not None:
        call.load_state_dict(state)  # running statistics
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = _outcome(torch.compile(call, fullgraph=True), inputs)
    if [(item.shape, item.dtype) for item in wanted] != [(item.shape, item.dtype) for item in got]:
        return f"{[(item.dtype, list(item.shape)) for item in got]} for {[(item.dtype, list(item.shape)) for item in wanted]}"
    close = (2e-2, 2e-2) if "half" in name or "bfloat16" in name else (1e-4, 1e-5)
    apart = [number for number, (one, other) in enumerate(zip(wanted, got)) if not torch.allclose(one.double(), other.double(), *close, equal_nan=True)]
    return f"results {apart} differ" if apart else ""


def failures_leave_nothing_open() -> str:
    """Let 100 functions fail at another of their operations each while they are captured; return what is wrong afterwards."""
    x = torch.ones(3, device=D)
    for number in range(100):
        def fails(a: Any, steps: int = number) -> Any:
            for _ in range(steps % 10):
                a = a * 2 + 1
            if steps % 3 == 0:
                raise KeyError("the function's own")
            return a @ torch.ones(7, 7, device=a.device) if steps % 3 == 1 else a.reshape(5, 5)

        try:
            torch.compile(fails, fullgraph=True)(x)
        except (KeyError, RuntimeError):
            pass
        else:
            return f"{number}: nothing was raised"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            if torch.compile(lambda a, n=number: (a * 2 + n).sum(), fullgraph=True)(x).item() != 6 + 3 * number:
                return f"{number}: the next graph is wrong"
    return ""


def main(names: list[str]) -> int:
    """Print what differs or has no graph, and how many are right."""
    known = cases()
    right, began = 0, time.monotonic()
    chosen = [name for name in names if name in known] or list(known)
    for part in (name for name in names if name.replace("/", "", 1).isdigit()):
        number, _, count = part.partition("/")
        chosen = list(known)[int(number) - 1::int(count)]
    if names == ["failures"]:
        chosen = []
    for name in chosen:
        try:
            told = difference(name, *known[name])
        except Exception as error:  # noqa: BLE001 - whatever is raised is shown
            told = f"{type(error).__name__}: {error}"
        right += not told
        if told:
            print(f"{name}: {told[:300]}", flush=True)
    print(f"{right} of {len(chosen)} are graphs with the same results and gradients, {time.monotonic() - began:.0f} s", flush=True)
    failed = ""
    if not names or "failures" in names:
        failed = failures_leave_nothing_open()
        print(failed or "100 captures that failed left nothing open")
    return int(right != len(chosen) or bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

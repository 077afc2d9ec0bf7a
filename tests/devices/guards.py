"""Extreme values on a device, compared with the CPU: ``python -m tests.devices.guards`` prints differences."""
from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import mstorch as torch
from mstorch._src.backend import fake

F, nn = torch.nn.functional, torch.nn
INF = float("inf")


def _attended(mask: Any, kind: Any = torch.float32, **rest: Any) -> Callable[[str], list[Any]]:
    """Return the result of attention with a mask that hides some rows completely, and the gradients of queries, keys and values."""

    def run(place: str) -> list[Any]:
        torch.manual_seed(0)
        q, k, v = (torch.randn(2, 2, 4, 6).to(kind).to(place).requires_grad_() for _ in range(3))
        found = F.scaled_dot_product_attention(q, k, v, None if mask is None else mask.to(place), **rest)
        found.float().square().sum().backward()
        return [found.detach(), q.grad, k.grad, v.grad]

    return run


def _hidden(*shape: int) -> Any:
    mask = torch.zeros(shape)
    mask[..., 1, :] = -INF
    mask[..., 2, :2] = -INF
    return mask


def _scores(place: str) -> list[Any]:
    """Return scores that are -inf in a whole row, under a causal mask; in float64, which no fused kernel computes."""
    q, k, v = (item.double() for item in (torch.ones(1, 1, 3, 4), torch.ones(1, 1, 3, 4), torch.arange(12.0).reshape(1, 1, 3, 4)))
    q[0, 0, 1, 0] = -INF
    leaves = [item.to(place).requires_grad_() for item in (q, k, v)]
    found = F.scaled_dot_product_attention(*leaves, is_causal=True)
    found.sum().backward()
    return [found.detach(), leaves[2].grad]


def _layer(make: Callable[[], Any], call: Callable[..., Any]) -> Callable[[str], list[Any]]:
    """Return a layer's result in training, and the gradients of its input and parameters."""

    def run(place: str) -> list[Any]:
        torch.manual_seed(0)
        layer = make().to(place)
        x = torch.randn(3, 4, 8).to(place).requires_grad_()
        found = call(layer, x, place)
        found.square().sum().backward()
        return [found.detach(), x.grad, *(p.grad for p in layer.parameters())]

    return run


_PADDED = torch.tensor([[False, False, False, True], [True, True, True, True], [False, True, True, True]])
_LEFT = torch.tensor([[True, True, False, False], [False, False, False, False], [True, False, False, False]])


def _encoder() -> Any:
    return nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)


def _causal(place: str) -> Any:
    return nn.Transformer.generate_square_subsequent_mask(4).to(place)


ATTENTION: dict[str, Callable[[str], list[Any]]] = {
    "float mask of two dimensions": _attended(_hidden(4, 4)), "float mask of four": _attended(_hidden(2, 1, 4, 4)),
    "float mask of each head": _attended(_hidden(2, 2, 4, 4)), "padding": _attended(torch.zeros(2, 1, 1, 4).index_fill(0, torch.tensor([1]), -INF)),
    "half precision": _attended(_hidden(4, 4).half(), torch.float16), "bfloat16": _attended(_hidden(4, 4).bfloat16(), torch.bfloat16),
    "boolean": _attended(_hidden(4, 4) == 0), "boolean, half": _attended(_hidden(4, 4) == 0, torch.float16), "all hidden": _attended(torch.full((4, 4), -INF)),
    "scores of -inf": _scores,
    "encoder, one sequence padded": _layer(_encoder, lambda layer, x, place: layer(x, src_key_padding_mask=_PADDED.to(place))),
    "encoder, left padding, causal": _layer(
        _encoder, lambda layer, x, place: layer(x, _causal(place), _LEFT.float().masked_fill(_LEFT, -INF).to(place))
    ),
    "memory's padding": _layer(
        lambda: nn.Transformer(8, 2, 1, 1, 16, dropout=0.0, batch_first=True),
        lambda layer, x, place: layer(x, x * 2, memory_key_padding_mask=_PADDED.to(place)),
    ),
    "multihead, float padding": _layer(
        lambda: nn.MultiheadAttention(8, 2, batch_first=True),
        lambda layer, x, place: layer(x, x, x, key_padding_mask=torch.zeros(3, 4).masked_fill(_PADDED, -INF).to(place), need_weights=False)[0],
    ),
}  # fmt: skip


def attention() -> list[str]:
    """Check attention with completely masked rows: the result must equal the CPU's, and be NaN only where the CPU's is."""
    wrong = []
    for name, run in ATTENTION.items():
        here, there = run("cpu"), [item.cpu() for item in run("npu")]
        most = 2e-2 if here[0].dtype in (torch.float16, torch.bfloat16) else 1e-5
        if not all(torch.allclose(a.float(), b.float(), most, most, equal_nan=True) for a, b in zip(here, there, strict=True)):
            wrong.append(f"{name}: {sum(int(b.isnan().sum()) for b in there)} NaN")
    return wrong


NUMBERS = (
    0.0, -0.0, 1e-30, 1e-20, -1e-20, 1e-10, -1e-10, 1e-7, -1e-7, 1e-5, -1e-5, 1e-4, -1e-4, 1e-3, 0.01, 0.0999, 0.1001, 0.3, -0.3, 0.5, 0.9, 1.0, -1.0, 1.5, -1.5, 2.0, 3.5, -3.5,
    10.0, -10.0, 20.0, -20.0, 80.0, -80.0, 1e4, -1e4, 1e10, -1e10, 1e37, -1e37, INF, -INF, float("nan"),
)  # fmt: skip
UNARY = (
    "exp log tanh sigmoid expm1 log1p log2 log10 exp2 sin cos tan asin acos atan sinh cosh asinh acosh atanh sinc floor ceil trunc round frac abs sgn sign square "
    "sqrt rsqrt reciprocal erf erfc erfinv neg relu isnan isinf isfinite signbit nan_to_num special.entr special.ndtr special.xlog1py special.xlogy logit"
).split()
CUT = ("F.elu", "F.selu", "F.celu", "F.softshrink", "F.hardshrink", "F.hardtanh", "F.relu6", "F.hardswish")
"""Layers whose gradient at NaN is one number at the end of a row and another within it, in torch itself: of the branch that NaN falls into, or NaN."""
LAYERS = "elu selu celu gelu silu mish softplus logsigmoid hardsigmoid hardswish hardtanh softshrink hardshrink tanhshrink softsign relu6 leaky_relu".split()


def _named(name: str) -> Callable[[Any], Any]:
    function = torch
    for part in name.split("."):
        function = getattr(function, part)
    return (lambda x: function(x, x)) if name.startswith("special.xlog") else function


def edges() -> list[str]:
    """Return pointwise functions whose values or gradients differ by more than 1e-5 at zeros, small, large and infinite numbers."""
    wrong = []
    values = torch.tensor(NUMBERS)
    functions = {**{name: _named(name) for name in UNARY}, **{f"F.{name}": getattr(F, name) for name in LAYERS}}
    for name, function in functions.items():
        results = []
        for place in ("cpu", "npu"):
            x = values.clone().to(place).requires_grad_()
            found = function(x)
            if found.requires_grad:
                found.sum().backward()
            results.append([found.detach().cpu().double(), *([] if x.grad is None else [x.grad.cpu().double()])])
        for way, here, there in zip(("forward", "backward"), *results):
            least = 2e-38 if way == "forward" else 1e-15  # smaller differences are denormal, or differences of nearly equal numbers
            if name == "F.gelu" and way == "backward":
                least = 6e-8  # the rounding of 1: torch adds 1 to erf, which is nearly -1
            near = (here - there).abs() <= 1e-5 * here.abs() + least
            bad = ~(near | (here == there) | (here.isnan() & there.isnan()))
            if name in CUT and way == "backward":
                bad &= ~values.isnan()
            if bad.any():
                wrong.append(f"{name}, {way}: {[(float(v), float(a), float(b)) for v, a, b in zip(values[bad], here[bad], there[bad])][:3]}")
    return wrong


def after_inference() -> list[str]:
    """Check causal attention in training after a call of the same shape in inference mode."""
    results = []
    for place in ("cpu", "npu"):
        torch.manual_seed(0)
        x = torch.randn(1, 2, 5, 6).to(place)
        with torch.inference_mode():
            F.scaled_dot_product_attention(x, x, x, is_causal=True)
        leaf = x.clone().requires_grad_()
        F.scaled_dot_product_attention(leaf, leaf, leaf, is_causal=True).square().sum().backward()
        results.append(leaf.grad.cpu())
    return [] if torch.allclose(*results, 1e-4, 1e-5) else ["after inference mode"]


def multiples() -> list[str]:
    """Check that sums with an ``alpha`` that the dtype cannot hold raise, as on the CPU."""
    x = torch.ones(3, device="npu")
    wrong = []
    for name, call in {"add": lambda: x.add(x, alpha=1e60), "sub": lambda: x.sub(x, alpha=1e60), "addcmul": lambda: torch.addcmul(x, x, x, value=1e60),
                       "addcdiv": lambda: torch.addcdiv(x, x, x, value=1e60)}.items():  # fmt: skip
        try:
            call()
            wrong.append(f"{name} of a number too large")
        except RuntimeError as error:
            if "without overflow" not in str(error):
                wrong.append(f"{name}: {error}")
    return wrong


def losses() -> list[str]:
    """Check losses at probabilities of 0 and 1."""
    wrong = []
    p, t = torch.tensor([0.0, 0.0, 1.0, 1.0, 0.5, 1e-6]), torch.tensor([1.0, 0.0, 1.0, 0.0, 0.25, 0.0])
    for name, call in {
        "bce": lambda p, t: F.binary_cross_entropy(p, t, reduction="none"),
        "bce with logits": lambda p, t: F.binary_cross_entropy_with_logits((p - 0.5) * 2000, t, reduction="none"),
        "kl_div": lambda p, t: F.kl_div(p, t, reduction="none"), "poisson": lambda p, t: F.poisson_nll_loss(p, t, log_input=False, reduction="none"),
    }.items():
        results = []
        for place in ("cpu", "npu"):
            x = p.clone().to(place).requires_grad_()
            found = call(x, t.to(place))
            found.sum().backward()
            results.append((found.detach().cpu(), x.grad.cpu()))
        if not all(torch.allclose(a, b, 1e-5, 1e-6, equal_nan=True) for a, b in zip(*results)):
            wrong.append(f"{name}: {results}")
    return wrong


def at_infinity() -> list[str]:
    """Check losses of classes at infinite logits and of ignored rows, in memory that held other numbers before."""
    wrong = []
    rows = [[-INF, 0.0, 0.0], [-INF, 0.0, -INF], [INF, 0.0, 1.0], [-1e38, INF, 0.0], [0.0, float("nan"), 1.0], [0.0, 1.0, 2.0]]
    for reduction in ("none", "sum", "mean"):
        for smoothing in (0.0, 0.1):
            for classes in ([-100] * 6, [1] * 6, [-100, 1, 2, 0, -100, 1]):
                results = []
                for place in ("cpu", "npu"):
                    x, y = torch.tensor(rows, device=place).requires_grad_(), torch.tensor(classes, device=place)
                    spoiled = [torch.full((6,), 7.0, device=place) * 2 for _ in range(4)]
                    del spoiled
                    found = F.cross_entropy(x, y, reduction=reduction, label_smoothing=smoothing)
                    found.sum().backward()
                    results.append((found.detach().cpu(), x.grad.cpu(), F.nll_loss(x.detach(), y, reduction=reduction).cpu()))
                if not all(torch.allclose(a, b, 1e-5, 1e-6, equal_nan=True) for a, b in zip(*results)):
                    wrong.append(f"cross_entropy, {reduction}, {smoothing}, {classes}: {results}")
    return wrong


# Rows whose primitives failed or were wrong on a 910B: they must not be called again.
REFUSED = ("AvgPool1D", "AvgPool2D", "Im2ColExt", "IsInf", "Square", "ReduceAny", "Var", "SoftmaxBackward", "LogSoftmaxGrad", "Index")


def _batched(x: Any) -> Any:
    """Return the gradients of a sum for each row of a matrix; they are expanded views of a row."""
    y = x.detach()[0, 0].requires_grad_()
    (found,) = torch.autograd.grad(y.sum(0), y, torch.eye(8, device=x.device), is_grads_batched=True)
    return x[0, 0] * found


def ways_round() -> list[str]:
    """Check operations that avoid primitives that fail on a 910B: results must equal the CPU's, without these primitives."""
    wrong = []
    x = torch.randn(2, 4, 6, 8)
    calls: dict[str, Callable[[Any], Any]] = {
        "avg_pool2d": lambda x: F.avg_pool2d(x, 2), "avg_pool2d, strides": lambda x: F.avg_pool2d(x, 3, 2, 1), "avg_pool2d, ceil": lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True),
        "avg_pool2d, ceil without padding": lambda x: F.avg_pool2d(x, (4, 3), 3, ceil_mode=True), "avg_pool2d, count": lambda x: F.avg_pool2d(x, 3, 1, 1, count_include_pad=False),
        "avg_pool2d, divisor": lambda x: F.avg_pool2d(x, 2, divisor_override=3), "avg_pool1d": lambda x: F.avg_pool1d(x[0], 3, 2, 1), "avg_pool1d, count": lambda x: F.avg_pool1d(x[0], 3, 2, 1, count_include_pad=False),
        "unfold": lambda x: F.unfold(x, 3), "unfold, padded": lambda x: F.unfold(x, (2, 3), (1, 2), (1, 2), (2, 1)), "isinf": lambda x: (x / 0).isinf() * x, "square": lambda x: x.square(),
        "any": lambda x: (x > 2).any(1) * x[:, 0], "any, all": lambda x: (x > 2).any() * x, "var": lambda x: x.var((0, 2)), "softmax": lambda x: x.softmax(-1), "log_softmax": lambda x: x.log_softmax(1),
        "columns": lambda x: x[:, torch.tensor([1, -1, 0], device=x.device)], "inner columns": lambda x: x[..., torch.tensor([2, -3], device=x.device)],
        "batch_norm": lambda x: F.batch_norm(x, None, None, training=True), "instance_norm": lambda x: F.instance_norm(x), "silu of halves": lambda x: F.silu(x[..., :4]) * x[..., 4:],
        "rotated": lambda x: torch.cat((-x[..., 4:], x[..., :4]), -1), "products": lambda x: x.transpose(1, 2) @ x.transpose(1, 2).transpose(-1, -2), "hypot": lambda x: torch.hypot(x, x + 1),
        "gradients of a batch": lambda x: _batched(x), "linear of heads": lambda x: F.linear(x.transpose(1, 2), x[0, 0]), "fmax": lambda x: torch.fmax(x, x.flip(0)),
    }  # fmt: skip
    for name, call in calls.items():
        results = []
        for place in ("cpu", "npu"):
            leaf = x.clone().to(place).requires_grad_()
            found = call(leaf)
            found.square().sum().backward()
            results.append((found.detach().cpu(), leaf.grad.cpu()))
        if not all(torch.allclose(a, b, 1e-4, 1e-5) for a, b in zip(*results)):
            wrong.append(f"{name}: {[float((a - b).abs().max()) for a, b in zip(*results)]}")
    return wrong + [f"{name} was asked for" for name in REFUSED if fake.asked[name]] + [f"{name} was given steps" for name in fake.strided]


def regions() -> list[str]:
    """Check that autocast regions of a device type cast the tensors of this device, and no others."""
    wrong, bf16, f16 = [], torch.bfloat16, torch.float16
    for regions, expected in {
        (("cpu", bf16),): (bf16, torch.float32), (("npu", f16),): (torch.float32, f16), (("cpu", bf16), ("npu", f16)): (bf16, f16),
        (("npu", f16), ("cpu", bf16)): (bf16, f16), (): (torch.float32, torch.float32),
    }.items():
        for name, call in {
            "product": lambda x: x @ x, "linear": lambda x: torch.nn.Linear(4, 4, device=x.device)(x), "baddbmm": lambda x: torch.baddbmm(x, x[None], x[None]),
            "lstm": lambda x: torch.nn.LSTM(4, 4, device=x.device)(x)[0], "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
        }.items():
            with contextlib.ExitStack() as stack:
                for place, kind in regions:
                    stack.enter_context(torch.autocast(place, dtype=kind))
                found = tuple(call(torch.ones(4, 4, device=place)).dtype for place in ("cpu", "npu"))
            if found != expected:
                wrong.append(f"{name} within {regions}: {found}")
    with torch.autocast("npu", dtype=f16):
        sums = torch.ones(4).half().exp().dtype, torch.ones(4, device="npu").half().exp().dtype, torch.is_autocast_enabled("cpu")
    return wrong + ([] if sums == (f16, torch.float32, False) else [f"exp within npu: {sums}"])


def overlaps() -> list[str]:
    """Check writes whose operands overlap the written memory (the stand-in device refuses to read memory that it writes)."""
    wrong = []
    programs: dict[str, Callable[[Any, Any], Any]] = {
        "shifted": lambda x, i: x[1:].copy_(x[:-1]), "shifted back": lambda x, i: x[:-1].copy_(x[1:]), "turned": lambda x, i: x.copy_(x.t()),
        "itself": lambda x, i: x.copy_(x), "put": lambda x, i: x.__setitem__(i, x[:3]), "put, turned": lambda x, i: x.__setitem__(i, x.t()[:3]),
        "accumulated": lambda x, i: x.index_put_((i,), x[:3], accumulate=True), "added": lambda x, i: x.index_add_(0, i, x[1:]),
        "copied by index": lambda x, i: x.index_copy_(1, i, x[:, :3]), "put_": lambda x, i: x.put_(i, x[0, :3]), "flipped": lambda x, i: x[:2].copy_(x[1:3]),
        "another part": lambda x, i: x[:2].copy_(x[2:]), "scattered": lambda x, i: x.scatter_(0, i.expand(2, 3).clone(), x[:2, :3]),
        "masked": lambda x, i: x.masked_scatter_(x > 5, x), "divided": lambda x, i: x.div_(x[:, :1]), "out": lambda x, i: torch.add(x[1:], 1, out=x[1:]),
        "rolled": lambda x, i: x.copy_(x.roll(1)), "positions": lambda x, i: i.__setitem__(i, i.flip(0)), "sorted": lambda x, i: x.copy_(x.flip(0).sort(0)[0]),
    }  # fmt: skip
    for name, program in programs.items():
        results = []
        for place in ("cpu", "npu"):
            x, i = torch.arange(1.0, 17, device=place).view(4, 4), torch.tensor([2, 0, 1], device=place)
            try:
                program(x, i)
            except RuntimeError as error:  # torch refuses some of them
                results.append((str(error), x.tolist(), i.tolist()))
            else:
                results.append(("", x.tolist(), i.tolist()))
        if results[0] != results[1]:
            wrong.append(f"{name}: {results}")
    return wrong


if __name__ == "__main__":
    print(regions() + overlaps() + after_inference() + attention() + edges() + multiples() + losses() + at_infinity() + ways_round())

"""Functions that are one kernel on the stand-in device, forward and backward, compared with the CPU: ``python -m
tests.devices.one_kernel``.

Values, gradients and second derivatives in all floating dtypes, of contiguous and of transposed operands; and the number of kernels.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mstorch as torch
from mstorch._src.backend import cost

F = torch.nn.functional
SINGLE = (torch.float32,)
SINGLE_AND_HALF = torch.float32, torch.float16
NEAR = {torch.float32: 1e-4, torch.float64: 1e-9, torch.float16: 2e-2, torch.bfloat16: 1e-1}


class Case:
    """A function of tensors, made from random numbers of some shapes, of which the first ``leaves`` require grad.

    ``forward`` and ``backward`` are the most kernels that it launches in single precision. ``other`` maps the other numbers to those that
    the function gets; ``own``: the node has another name than the CPU's, which takes it from its last step. ``in_single``: the device
    computes half precision in single, as torch's devices do and its CPU does not: the CPU gets the same numbers in single precision."""

    def __init__(
        self, function: Callable[..., Any], *shapes: tuple[int, ...], leaves: int = 1, forward: int = 1, backward: int = 1, second: bool = True,
        other: Callable[[Any], Any] = lambda y: y, kinds: Any = None, own: bool = False, in_single: bool = False,
    ) -> None:  # fmt: skip
        self.kinds, self.own, self.in_single = kinds or tuple(NEAR), own, in_single
        self.function, self.shapes, self.leaves, self.most, self.second, self.other = function, shapes, leaves, (forward, backward), second, other

    def computed(self, place: str, kind: Any, transposed: bool) -> tuple[list[Any], list[int], str]:
        """Return the result and the gradients, the kernels of forward and backward, and the name of the node."""
        torch.manual_seed(3)
        given = []
        for number, shape in enumerate(self.shapes):
            made = torch.randn(shape).to(kind)
            made = (made if number < self.leaves else self.other(made)).to(place)
            if self.in_single and place == "cpu" and kind is torch.float16:
                made = made.float()
            given.append(made.transpose(0, -1).contiguous().transpose(0, -1) if transposed and made.dim() > 1 else made)
        leaves = [item.requires_grad_() for item in given[: self.leaves]]
        with cost.counted() as there:
            found = self.function(*given)
        g = torch.linspace(0.5, 1.5, found.numel()).to(kind).reshape(found.shape).to(place, found.dtype)
        with cost.counted() as back:
            slopes = torch.autograd.grad(found, leaves, g)
        parts = [found, *slopes]
        if self.second and kind in (torch.float32, torch.float64):
            again = torch.autograd.grad((self.function(*given) ** 2).sum(), leaves, create_graph=True)
            parts += [item for item in torch.autograd.grad(sum((item**2).sum() for item in again), leaves, allow_unused=True) if item is not None]
        many = [sum(counted.kernels.values()) + sum(counted.casts.values()) for counted in (there, back)]
        return [part.detach().cpu().double() for part in parts], many, found.grad_fn.name()


def _loss(name: str, other: Callable[[Any], Any] = lambda y: y, leaves: int = 1, extra: int = 0, **rest: Any) -> dict[str, Case]:
    """Return the cases of a loss of a target and ``extra`` weights, with each reduction, and for Python numbers."""
    probability, huber = int(name == "binary_cross_entropy"), int(name == "huber_loss")

    def of(how: str) -> Callable[..., Any]:
        def loss(x: Any, y: Any, *more: Any) -> Any:
            return getattr(F, name)(x.sigmoid() if probability else x, y, reduction=how, **rest, **dict(zip(("weight", "pos_weight"), more)))

        return loss

    most = {"forward": 1 + probability + huber, "backward": 1 + probability + huber + leaves - 1}
    sizes = {"mean": (4, 6), "sum": (4, 6), "none": (4, 6), "sum of numbers": ()}
    return {f"{name}, {how}, {rest}, {leaves}, {extra}": Case(of(how.split()[0]), *[size] * (2 + extra), leaves=leaves, other=other, **most) for how, size in sizes.items()}


def _hot(y: Any) -> Any:
    return (y > 0).to(y.dtype) + 0.25


def _dropped(x: Any, p: float) -> Any:
    torch.manual_seed(5)  # the device's numbers are a stream of their own
    return F.dropout(x, p)


def _rows(x: Any) -> tuple[Any]:
    """Return two positions in the first dimension."""
    return (torch.tensor([1, -1]).to(x.device),)


CASES: dict[str, Case] = {
    **_loss("mse_loss"), **_loss("mse_loss", leaves=2), **_loss("smooth_l1_loss", beta=0.7), **_loss("smooth_l1_loss", leaves=2), **_loss("huber_loss", delta=0.7),
    **_loss("binary_cross_entropy", torch.sigmoid), **_loss("binary_cross_entropy_with_logits", torch.sigmoid),
    **_loss("binary_cross_entropy_with_logits", _hot, extra=1), **_loss("binary_cross_entropy_with_logits", _hot, extra=2),
    **_loss("soft_margin_loss", torch.sign),
    "glu": Case(F.glu, (4, 6)), "glu, rows": Case(lambda x: F.glu(x, 0), (4, 6, 3)), "logsigmoid": Case(F.logsigmoid, (4, 6)), "elu": Case(F.elu, (4, 6)),
    "celu": Case(lambda x: F.celu(x, 0.7), (4, 6), forward=3, backward=2), "prelu": Case(F.prelu, (4, 6), (6,), leaves=2), "prelu, one": Case(F.prelu, (4, 6, 3), (1,), leaves=2),
    **{f"{function.__name__}, a number": Case(function, (), forward=3, backward=3) for function in (
        F.elu, F.celu, F.selu, F.relu, F.gelu, F.silu, F.mish, F.softplus, F.leaky_relu, F.hardsigmoid, F.relu6, F.logsigmoid, torch.tanh, torch.sigmoid, torch.expm1,
    )},
    **{f"{name} of {shape}": Case(lambda x, name=name: getattr(torch, name)(x, 0), shape, forward=2, backward=20) for name in ("cumprod", "prod") for shape in ((0, 3), (3, 0), (4, 3))},
    "instance norm": Case(lambda x, w, b: F.instance_norm(x, None, None, w, b), (3, 4, 5, 6), (4,), (4,), leaves=3, kinds=SINGLE, own=True, second=False),
    "instance norm, plain": Case(F.instance_norm, (3, 4, 7), forward=3, kinds=SINGLE),
    "prelu, vector": Case(F.prelu, (6,), (1,), leaves=2, backward=7),
    **{f"{name}, {dims}": Case(lambda x, name=name, dims=dims: getattr(torch, name)(x, dims), (3, 4, 5), backward=7 if name == "std" else 3, kinds=SINGLE)
       for name in ("var", "std") for dims in (None, 1, (0, 2), (0, 1, 2))},
    "var, biased": Case(lambda x: x.var(1, unbiased=False, keepdim=True), (3, 4, 5), backward=3, kinds=SINGLE), "std of half": Case(lambda x: x.std(1), (3, 4, 5), forward=3, backward=9, own=True),
    "std of zero": Case(lambda x: (x * 0).std(1), (3, 4), forward=2, backward=8, kinds=SINGLE), "std_mean": Case(lambda x: sum(torch.std_mean(x, 0)), (4, 6), forward=3, backward=13),
    "var_mean": Case(lambda x: sum(torch.var_mean(x, (0, 1), correction=0)), (4, 6), forward=3, backward=9), "logsumexp": Case(lambda x: x.logsumexp(1), (4, 6), backward=5),
    "logsumexp, all": Case(lambda x: x.logsumexp((0, 1)), (4, 6), backward=5), "cross": Case(lambda x, y: torch.linalg.cross(x, y, dim=1), (4, 3, 2), (4, 3, 2), leaves=2, backward=2),
    **{f"pad, {mode}, {len(pads)}, {len(size)}": Case(lambda x, mode=mode, pads=pads: F.pad(x, pads, mode), size) for mode in ("reflect", "replicate")
       for pads, size in (((1, 2), (2, 3, 5)), ((1, 2), (3, 5)), ((1, 2, 0, 3), (2, 3, 5, 6)), ((1, 2, 0, 3), (3, 5, 6)), ((1, 1, 2, 1, 0, 1), (2, 3, 4, 5, 4)))},
    "max_pool3d": Case(lambda x: F.max_pool3d(x, 2), (2, 3, 4, 5, 4), backward=2, second=False), "layer norm, plain": Case(lambda x: F.layer_norm(x + F.layer_norm(x, (6,)), (6,)), (4, 6), kinds=SINGLE, forward=5, backward=3),
    "layer norm without bias": Case(lambda x, w: F.layer_norm(x, (6,), w), (4, 6), (6,), leaves=2, kinds=SINGLE), "group norm, plain": Case(lambda x: F.group_norm(x, 2), (3, 4, 5), kinds=SINGLE, second=False),
    "dropout": Case(lambda x: _dropped(x, 0.4), (4, 7)), "dropout of a number": Case(lambda x: _dropped(x, 0.4), ()),
    **{f"index_put, {adding}, {len(sizes)}": Case(lambda x, y, adding=adding: x.index_put(_rows(x), y, accumulate=adding), (4, 6), sizes, leaves=2, forward=2, backward=7, own=True)
       for adding in (False, True) for sizes in ((2, 6), (6,))},
    "index_put, pairs": Case(lambda x, y: x.index_put((*_rows(x), *_rows(x)), y), (4, 6), (2,), leaves=2, forward=2, backward=7), "index_put, one leaf": Case(lambda x, y: x.index_put(_rows(x), y), (4, 6), (2, 6), forward=2, backward=5),
    "conv1d": Case(F.conv1d, (2, 4, 9), (6, 4, 3), (6,), leaves=3), "conv2d": Case(lambda x, w, b: F.conv2d(x, w, b, 2, 1, 1, 2), (2, 4, 7, 8), (6, 2, 3, 2), (6,), leaves=3),
    "conv3d": Case(F.conv3d, (2, 4, 4, 5, 4), (6, 4, 2, 2, 2), (6,), leaves=3), "conv2d, input": Case(F.conv2d, (2, 4, 7, 8), (6, 4, 3, 2), (6,), backward=2),
    "conv2d, weight": Case(lambda w, b, x: F.conv2d(x, w, b), (6, 4, 3, 2), (6,), (2, 4, 7, 8), leaves=2, backward=2), "conv2d, bias": Case(lambda b, w, x: F.conv2d(x, w, b), (6,), (6, 4, 3, 2), (2, 4, 7, 8)),
    "conv_transpose1d": Case(F.conv_transpose1d, (2, 4, 9), (4, 6, 3), (6,), leaves=3), "conv_transpose3d": Case(F.conv_transpose3d, (2, 4, 3, 4, 3), (4, 6, 2, 2, 2), (6,), leaves=3),
    "conv_transpose2d": Case(lambda x, w, b: F.conv_transpose2d(x, w, b, 2, 1, 1, 2, 1), (2, 4, 5, 4), (4, 3, 3, 2), (6,), leaves=3),
    "grid_sample, bicubic": Case(lambda x, g: F.grid_sample(x, g, "bicubic", "reflection", False), (2, 3, 4, 5), (2, 3, 6, 2), leaves=2, kinds=SINGLE_AND_HALF, forward=77, backward=40, in_single=True),
    **{f"grid_sample, {mode}, {padding}, {corners}, {len(size)}": Case(
        lambda x, g, mode=mode, padding=padding, corners=corners: F.grid_sample(x, g, mode, padding, corners), (2, 3, *size), (2, *out, len(size)), leaves=2, kinds=SINGLE_AND_HALF, second=mode != "nearest", in_single=True,
    ) for mode in ("bilinear", "nearest") for padding in ("zeros", "border", "reflection") for corners in (False, True)
      for size, out in (((4, 5), (3, 6)), ((3, 4, 5), (2, 3, 4)))},
}  # fmt: skip


def ends() -> list[str]:
    """Return losses that differ from the CPU's at infinities, NaN and the ends of their branches."""
    wrong = []
    inf, nan = float("inf"), float("nan")
    x = torch.tensor([-inf, -200.0, -1.0, -0.5, 0.0, 0.5, 1.0, 200.0, inf, nan])
    for name, values in (("mse_loss", x), ("smooth_l1_loss", x), ("huber_loss", x), ("binary_cross_entropy_with_logits", x), ("soft_margin_loss", x), ("binary_cross_entropy", torch.tensor([0.0, 1e-30, 0.5, 1.0]))):
        found = []
        for place in ("cpu", "npu"):
            leaf = values.clone().to(place).requires_grad_()
            y = getattr(F, name)(leaf, torch.ones_like(leaf), reduction="none")
            y.backward(torch.ones_like(y))
            found.append((y.detach().cpu(), leaf.grad.cpu()))
        if not all(torch.allclose(a, b, 1e-5, 1e-6, equal_nan=True) for a, b in zip(*found)):
            wrong.append(f"ends of {name}: {found}")
    return wrong


def values() -> list[str]:
    """Return cases that differ from the CPU, or launch more kernels than necessary."""
    wrong = []
    for name, case in CASES.items():
        for kind in case.kinds:
            near = NEAR[kind]
            for transposed in (False, True):
                here, _, label = case.computed("cpu", kind, transposed)
                there, many, own = case.computed("npu", kind, transposed)
                if (label != own and not case.own) or len(here) != len(there) or not all(a.shape == b.shape and torch.allclose(a, b, near, near) for a, b in zip(here, there)):
                    far = [float((a - b).abs().max()) if a.shape == b.shape else (a.shape, b.shape) for a, b in zip(here, there)]
                    wrong.append(f"{name}, {kind}, transposed {transposed}: {label} {own} {far}")
                if kind is torch.float32 and not transposed and any(count > most for count, most in zip(many, case.most)):
                    wrong.append(f"{name}: kernels {many}, not {case.most}")
    return wrong


if __name__ == "__main__":
    print(values() + ends())

"""Limited-memory BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._src.core.above import above
from .._src.core.dtype import float32
from .._src.tape.ways import in_arrays
from .._tensor import Tensor
from ..autograd import enable_grad, no_grad
from ._options import check_lr, refuse_spread
from .optimizer import Optimizer, ParamsT, _get_value, _to_scalar

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    """Limited-memory BFGS over all parameters as one vector; `line_search_fn` is None or "strong_wolfe".

    Nocedal and Wright, "Numerical Optimization", 2006, algorithms 7.4, 3.5 and 3.6. Raises ValueError for more than one
    parameter group.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
        *,
        maximize: bool = False,
    ) -> None:
        check_lr(lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        if maximize:  # torch 2.13, and its checkpoints, have no such option
            defaults["maximize"] = True
        super().__init__(params, defaults)
        refuse_spread(self)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @property
    def _params(self) -> list[Tensor]:
        return self.param_groups[0]["params"]

    @property
    def _sign(self) -> int:
        return -1 if self.param_groups[0].get("maximize", False) else 1

    @no_grad()
    def step(self, closure):
        """Run up to ``max_iter`` iterations, evaluating ``closure`` at least once. Return the first value of ``closure``."""
        closure = enable_grad()(closure)
        group = self.param_groups[0]
        lr = _to_scalar(group["lr"])
        max_iter, max_eval = group["max_iter"], group["max_eval"]
        smallest_grad, smallest_change = group["tolerance_grad"], group["tolerance_change"]
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")

        # torch stores the state of the whole vector with the first parameter, as do checkpoints.
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        loss = self._sign * float(first_loss)
        evaluations = 1
        state["func_evals"] += 1
        grad = self._flat_grad()
        flat_enough = grad.abs().max() <= smallest_grad
        if flat_enough:
            return first_loss

        d, t = state.get("d"), state.get("t")
        history = {name: state.get(name) for name in ("old_dirs", "old_stps", "ro", "H_diag")}
        last_grad, last_loss = state.get("prev_flat_grad"), state.get("prev_loss")
        iteration = 0
        while iteration < max_iter:
            iteration += 1
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                history = {"old_dirs": [], "old_stps": [], "ro": [], "H_diag": 1}
                d = grad.neg()
                t = min(1.0, 1.0 / grad.abs().sum()) * lr
            else:
                _remember(history, grad.sub(last_grad), d.mul(t), group["history_size"])
                d = _direction(history, state.setdefault("al", [None] * group["history_size"]), grad)
                t = lr
            if last_grad is None:
                last_grad = grad.clone()
            else:
                last_grad.copy_(grad)
            last_loss = loss

            slope = grad.dot(d)
            if slope > -smallest_change:
                break
            tried = 0
            if group["line_search_fn"] is not None:
                start = [param.clone() for param in self._params]
                found, tried = _search(
                    lambda t, d=d, start=start: self._probe(closure, start, t, d),
                    _Point(0, loss, grad, slope),
                    t,
                    d,
                    max_ls=max_eval - evaluations,
                )
                t, loss, grad = found.t, found.f, found.g
                self._move(t, d)
                flat_enough = grad.abs().max() <= smallest_grad
            else:
                self._move(t, d)
                if iteration != max_iter:
                    # After the last step the loss is not needed.
                    loss = self._sign * float(closure())
                    grad = self._flat_grad()
                    flat_enough = grad.abs().max() <= smallest_grad
                    tried = 1
            evaluations += tried
            state["func_evals"] += tried

            if iteration == max_iter or evaluations >= max_eval or flat_enough:
                break
            if d.mul(t).abs().max() <= smallest_change or abs(loss - last_loss) < smallest_change:
                break

        state.update(d=d, t=t, **history, prev_flat_grad=last_grad, prev_loss=last_loss)  # in torch's order, which checkpoints keep
        return first_loss

    def _flat_grad(self) -> Tensor:
        parts = []
        for param in self._params:
            grad = above.torch.zeros_like(param) if param.grad is None else param.grad
            if grad.is_sparse:
                grad = grad.to_dense()
            if grad.is_complex():
                grad = above.torch.view_as_real(grad)
            parts.append(grad.reshape(-1))
        found = above.torch.cat(parts, 0)
        return found.neg() if self._sign < 0 else found

    def _move(self, t, d: Tensor) -> None:
        offset = 0
        for param in self._params:
            if param.is_complex():
                param = above.torch.view_as_real(param)
            size = param.numel()
            _add_fused(param, d[offset : offset + size].view_as(param), _get_value(t))
            offset += size

    def _probe(self, closure, start: list[Tensor], t, d: Tensor) -> _Point:
        """Return the loss and its slope at ``start + t·d``, and restore ``start``."""
        self._move(t, d)
        loss = self._sign * float(closure())
        grad = self._flat_grad()
        for param, value in zip(self._params, start, strict=True):
            param.copy_(value)
        return _Point(t, loss, grad, grad.dot(d))


def _add_fused(place: Tensor, step: Tensor, factor: float) -> None:
    """Add ``factor * step`` with one rounding, as torch's fused multiply-add does.

    Near the minimum, the losses that a line search compares differ only by rounding; with two roundings the search would take other
    branches.
    """
    if place.dtype is not float32 or not in_arrays(place):  # a device rounds as it does
        place.add_(step, alpha=factor)
        return
    place.copy_(place.double().add(step.double(), alpha=float(np.float32(factor))))


def _remember(history: dict[str, Any], y: Tensor, s: Tensor, history_size: int) -> None:
    """Append a change of the gradient, ``y``, and of the parameters, ``s``, to the history, unless the curvature is not positive."""
    curvature = y.dot(s)
    if not curvature > 1e-10:
        return
    if len(history["old_dirs"]) == history_size:
        for name in ("old_dirs", "old_stps", "ro"):
            history[name].pop(0)
    history["old_dirs"].append(y)
    history["old_stps"].append(s)
    history["ro"].append(1.0 / curvature)
    history["H_diag"] = curvature / y.dot(y)


def _direction(history: dict[str, Any], weights: list[Any], grad: Tensor) -> Tensor:
    """Return minus the approximate inverse Hessian times the gradient, by the two-loop recursion."""
    ys, ss, ro = history["old_dirs"], history["old_stps"], history["ro"]
    q = grad.neg()
    for i in reversed(range(len(ys))):
        weights[i] = ss[i].dot(q) * ro[i]
        _add_fused(q, ys[i], -_get_value(weights[i]))
    d = q.mul(history["H_diag"])
    for i in range(len(ys)):
        _add_fused(d, ss[i], _get_value(weights[i] - ys[i].dot(d) * ro[i]))
    return d


class _Point(NamedTuple):
    """A point on the search line: step, loss, gradient, slope along the direction."""

    t: float | Tensor
    f: float
    g: Tensor
    slope: Tensor


def _cubic_interpolate(x1, f1, g1, x2, f2, g2, bounds=None):
    """Return the minimizer of the cubic with values ``f1`` and ``f2`` and slopes ``g1`` and ``g2`` at two points, clamped to the bounds;
    the middle of the bounds if it has none.

    The bounds are the two points by default."""
    low, high = bounds if bounds is not None else (x1, x2) if x1 <= x2 else (x2, x1)
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1**2 - g1 * g2
    if not square >= 0:
        return (low + high) / 2.0
    d2 = square.sqrt()
    if x1 > x2:
        x1, g1, x2, g2 = x2, g2, x1, g1
    best = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    return min(max(best, low), high)


def _cubic_minimum(a: _Point, b: _Point, bounds=None):
    return _cubic_interpolate(a.t, a.f, a.slope, b.t, b.f, b.slope, bounds)


def _search(probe, start: _Point, t, d: Tensor, c1=1e-4, c2=0.9, tolerance_change=1e-9, max_ls=25):
    """Return a point that satisfies the strong Wolfe conditions, or the best one found, and the number of evaluations."""

    def too_high(point: _Point) -> bool:
        return point.f > (start.f + c1 * point.t * start.slope)

    def flat(point: _Point) -> bool:
        return abs(point.slope) <= -c2 * start.slope

    longest = d.abs().max()
    last, new = start, probe(t)
    evaluations, iteration = 1, 0
    bracket = None
    while iteration < max_ls:
        if too_high(new) or (iteration > 1 and new.f >= last.f):
            bracket = [last, new]
            break
        if flat(new):
            return new, evaluations
        if new.slope >= 0:
            bracket = [last, new]
            break
        t = _cubic_minimum(last, new, (new.t + 0.01 * (new.t - last.t), new.t * 10))
        last, new = new, probe(t)
        evaluations += 1
        iteration += 1
    if bracket is None:
        bracket = [start, new]

    stalled = False
    low, high = (0, 1) if bracket[0].f <= bracket[1].f else (1, 0)
    while iteration < max_ls:
        if abs(bracket[1].t - bracket[0].t) * longest < tolerance_change:
            break
        t = _cubic_minimum(bracket[0], bracket[1])
        left, right = min(bracket[0].t, bracket[1].t), max(bracket[0].t, bracket[1].t)
        # A minimum so near an end that the bracket would hardly shrink is moved inside, at the second occurrence.
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:
            if stalled or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stalled = False
            else:
                stalled = True
        else:
            stalled = False

        new = probe(t)
        evaluations += 1
        iteration += 1
        if too_high(new) or new.f >= bracket[low].f:
            bracket[high] = new
            low, high = (0, 1) if bracket[0].f <= bracket[1].f else (1, 0)
            continue
        done = flat(new)
        if not done and new.slope * (bracket[high].t - bracket[low].t) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = new
        if done:
            break
    return bracket[low], evaluations


def _strong_wolfe(
    obj_func: Callable[[Any, Any, Tensor], tuple[float, Tensor]], x: Any, t: float | Tensor, d: Tensor, f: float, g: Tensor, gtd: Tensor,
    c1: float = 1e-4, c2: float = 0.9, tolerance_change: float = 1e-9, max_ls: int = 25,
) -> tuple[float, Tensor, float | Tensor, int]:  # fmt: skip
    """Return loss, gradient, step and number of evaluations of a line search from ``x`` along ``d``; ``obj_func(x, t, d)`` returns loss and
    gradient."""

    def probe(step: float | Tensor) -> _Point:
        loss, grad = obj_func(x, step, d)
        return _Point(step, loss, grad, grad.dot(d))

    found, evaluations = _search(probe, _Point(0, f, g.clone(), gtd), t, d, c1, c2, tolerance_change, max_ls)
    return found.f, found.g, found.t, evaluations

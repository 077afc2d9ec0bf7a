"""SparseAdam: Adam that updates only the rows in a sparse gradient."""

from __future__ import annotations

import math
from typing import Any

from .._src.core.above import above
from .._src.sparse.base import like
from .._tensor import Tensor
from ..autograd import no_grad
from ._options import check_options, require
from ._stepping import evaluate
from .optimizer import Optimizer, ParamsT, _to_scalar

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam for sparse gradients: moments and parameters are updated only where the gradient has elements.

    Raises ValueError for options out of range and for sparse or complex parameters, RuntimeError for dense gradients.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        require(lr > 0.0, f"Invalid learning rate: {lr}")
        require(eps > 0.0, f"Invalid epsilon value: {eps}")
        check_options(betas=betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        for word, text, wrong in (
            ("Sparse", "requires dense parameter tensors", lambda param: param.is_sparse),
            ("Complex", "does not support complex parameters", lambda param: param.is_complex()),
        ):
            places = [
                [i, j] for i, group in enumerate(self.param_groups) for j, param in enumerate(group["params"]) if wrong(param)
            ]
            require(not places, f"{word} params at indices {places}: SparseAdam {text}")

    @no_grad()
    def step(self, closure=None):
        """Update the parameters once; return the value of ``closure``."""
        loss = evaluate(closure)
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is None:
                    continue
                if not param.grad.is_sparse:
                    raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
                state = self.state[param]
                if not state:
                    state.update(step=0, exp_avg=above.torch.zeros_like(param), exp_avg_sq=above.torch.zeros_like(param))
                state["step"] += 1
                _update(param, param.grad, state, group)
        return loss


def _update(param: Tensor, grad: Tensor, state: dict[Any, Any], group: dict[Any, Any]) -> None:
    # Indices are unique, because the update is not linear in the gradient.
    rows = (-grad if group["maximize"] else grad).coalesce()
    values = rows.values()
    if values.numel() == 0:
        return
    beta1, beta2 = group["betas"]
    mean = _update_average(state["exp_avg"], rows, values, beta1)
    square = _update_average(state["exp_avg_sq"], rows, values.pow(2), beta2)
    step = state["step"]
    size = _to_scalar(group["lr"]) * math.sqrt(1 - beta2**step) / (1 - beta1**step)
    param.add_(like(rows, mean.div(square.sqrt().add(group["eps"])).mul(-size)))


def _update_average(average: Tensor, rows: Tensor, values: Tensor, beta: float) -> Tensor:
    """Update a running average at the given rows towards ``values``, in place, and return it there."""
    old = average.sparse_mask(rows)._values()
    change = values.sub(old).mul(1 - beta)
    average.add_(like(rows, change))
    return old + change

"""Optimizer steps compared with real torch's on the same parameters, gradients and state."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..._src.core.tensor_base import TensorBase
from .compare import Comparison
from .differences import Scale, difference
from .messages import Encoder, Message, NotComparable, encoded_result
from .places import call_text, place_of_call

_HOME = __name__.partition(".")[0]


class Steps:
    """Compares the steps of the optimizers of ``torch.optim``, except those with a closure."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    def watched(self, step: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap an optimizer's ``step`` to be compared."""
        comparison = self.comparison

        @functools.wraps(step)
        def compared(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            ours = type(optimizer).__module__.startswith((f"{_HOME}.optim.", "torch.optim."))
            closure = any(item is not None for item in (*args, *kwargs.values()))
            if comparison.busy.now or closure or not ours or not comparison.can_compare():
                return step(optimizer, *args, **kwargs)
            comparison.busy.now = True
            try:
                try:
                    request = _request(optimizer)
                except NotComparable:
                    return step(optimizer, *args, **kwargs)
                result = step(optimizer, *args, **kwargs)
                with comparison.apart():
                    self._compare(optimizer, request)
                return result
            finally:
                comparison.busy.now = False

        return compared

    def _compare(self, optimizer: Any, request: Message) -> None:
        answer = self.comparison.client.ask(request)
        if "params" not in answer:
            return
        scale = Scale([value for value, _ in request["params"]])
        for number, (want, param) in enumerate(zip(answer["params"], _params(optimizer))):
            found = difference(want, encoded_result(param), f"parameter {number}", scale, True, False)
            if found is not None:
                name = f"torch.optim.{request['optimizer']}.step"
                options = {key: value for key, value in optimizer.param_groups[0].items() if key != "params"}
                return self.comparison.tell(name, place_of_call(), call_text("", (param,), options, strides=True), found)


def _params(optimizer: Any) -> list[Any]:
    return [param for group in optimizer.param_groups for param in group["params"]]


def _request(optimizer: Any) -> Message:
    params = _params(optimizer)
    places = {id(param): number for number, param in enumerate(params)}
    groups = [
        ([places[id(param)] for param in group["params"]], Encoder().encode({k: v for k, v in group.items() if k != "params"}))
        for group in optimizer.param_groups
    ]
    states = {places[id(param)]: Encoder().encode(dict(state)) for param, state in optimizer.state.items() if isinstance(param, TensorBase)}
    values = [(Encoder().encode(param), None if param.grad is None else Encoder().encode(param.grad)) for param in params]
    return {"optimizer": type(optimizer).__name__, "params": values, "groups": groups, "states": states}

"""Functions that are exported as one ONNX operator, and the names of their arguments."""
from __future__ import annotations

import inspect
from typing import Any

from .._src.core.above import above

_BY_POSITION = {
    "lstm": "self hx params has_biases num_layers dropout train bidirectional batch_first",
    "gru": "self hx params has_biases num_layers dropout train bidirectional batch_first",
    "rnn_tanh": "self hx params has_biases num_layers dropout train bidirectional batch_first",
    "rnn_relu": "self hx params has_biases num_layers dropout train bidirectional batch_first",
}
# Functions that are one operator of ONNX, or few, and that torch composes of many.
_BY_SIGNATURE = frozenset(
    "interpolate normalize dropout grid_sample instance_norm silu hardswish mish pixel_shuffle pixel_unshuffle one_hot".split()
)


def whole_name(func: Any) -> str | None:
    """Return the name of a function that is exported as one operator; None for other functions."""
    name = getattr(func, "__name__", "")
    if name in _BY_POSITION:
        return name
    if name in _BY_SIGNATURE and func is getattr(above.torch.nn.functional, name, None):
        return name
    return None


def bound(name: str, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by name, the first one as "self"."""
    words = _BY_POSITION.get(name)
    if words is not None:
        return dict(zip(words.split(), args))
    found = inspect.signature(func).bind(*args, **kwargs)
    found.apply_defaults()
    first = next(iter(found.arguments))
    return {("self" if key == first else key): value for key, value in found.arguments.items()}

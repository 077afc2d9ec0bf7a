"""Functions that are exported as one ONNX operator, and the names of their arguments."""
from __future__ import annotations

import inspect
from typing import Any

from .._src.core.above import above
from .._src.core.declared import declared

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


_UNDER_OTHER_NAMES: dict[str, Any] = {}


def _resized(mode: str, corners: bool) -> Any:
    def resize(input: Any, output_size: Any, *rest: Any, **options: Any) -> Any:
        align = (rest[0] if rest else options.get("align_corners")) if corners else None
        factors = options.get("scale_factors", rest[corners] if len(rest) > corners else None)
        factors = factors if isinstance(factors, (list, tuple)) else None
        size = None if output_size is None else list(output_size)
        return above.torch.nn.functional.interpolate(input, size, None if size is not None else factors, mode, align)

    return resize


@declared(_UNDER_OTHER_NAMES, "grid_sampler")
@declared(_UNDER_OTHER_NAMES, "grid_sampler_2d")
def _sampled(input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    modes, paddings = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    return above.torch.nn.functional.grid_sample(input, grid, modes[interpolation_mode], paddings[padding_mode], align_corners)


@declared(_UNDER_OTHER_NAMES, "_convolution")
def _convolved(*args: Any) -> Any:
    return above.torch.ops.aten.convolution.default(*args[:9])


for _rank in (1, 2, 3):
    _UNDER_OTHER_NAMES[f"upsample_nearest{_rank}d"] = _resized("nearest", False)
    _UNDER_OTHER_NAMES[f"_upsample_nearest_exact{_rank}d"] = _resized("nearest-exact", False)
for _mode, _rank in (("linear", 1), ("bilinear", 2), ("bicubic", 2), ("trilinear", 3)):
    _UNDER_OTHER_NAMES[f"upsample_{_mode}{_rank}d"] = _resized(_mode, True)


@declared(_UNDER_OTHER_NAMES, "unsafe_chunk")
def _chunked(input: Any, chunks: int, dim: int = 0) -> Any:
    return input.chunk(chunks, dim)


@declared(_UNDER_OTHER_NAMES, "unsafe_split")
def _split(input: Any, size: int, dim: int = 0) -> Any:
    return input.split(size, dim)


def public_of(name: str) -> Any:
    """Return the public function that computes an operator, with the operator's arguments; None if there is none."""
    torch = above.torch
    other = _UNDER_OTHER_NAMES.get(name)
    if other is not None:
        return other
    for place in (torch, torch.nn.functional, torch.Tensor):
        function = vars(place).get(name)
        if callable(function):
            return function
    return None

"""torch._C._nn: parsing of the arguments of ``Module.to``, and in-place GELU."""
from __future__ import annotations

from typing import Any

from .._src.core.device import device
from .._src.hook import missing
from .._src.ops.memory.copying import parse_to
from .._tensor import Tensor
from ..nn.functional import conv3d, gelu


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """Parse the arguments of ``Module.to``: return device, dtype, ``non_blocking`` and memory format."""
    kind, target, _, format_ = parse_to(args, kwargs)
    other = args[0] if args and isinstance(args[0], Tensor) else kwargs.get("tensor", kwargs.get("other"))
    target = other.device if other is not None else target
    flags = [value for value in args if isinstance(value, bool)]
    return None if target is None else device(target), kind, bool(kwargs.get("non_blocking", flags[:1] == [True])), format_


def gelu_(input: Any, *, approximate: str = "none") -> Any:
    """In-place version of ``gelu``."""
    return input.copy_(gelu(input, approximate=approximate))


def slow_conv3d(
    self: Tensor, weight: Tensor, kernel_size: Any, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, *, out: Any = None
) -> Tensor:
    """Return ``conv3d`` without dilation and groups. Raise torch's error for an input without elements per sample."""
    if self.dim() == 5 and not all(self.shape[1:]):
        raise RuntimeError(f"non-empty 5D input tensor expected but got: {list(self.shape)}")
    found = conv3d(self, weight, bias, stride, padding)
    return found if out is None else out.resize_(found.shape).copy_(found)


__getattr__ = missing("mstorch._C._nn")

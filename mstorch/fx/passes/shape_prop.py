"""torch.fx.passes.shape_prop: the shape and dtype of every value in a graph, for given inputs."""
from __future__ import annotations

from typing import Any, NamedTuple

from ..._src.core.formats import channels_last, channels_last_3d, contiguous_format
from ..._tensor import Tensor
from ..interpreter import Interpreter
from ..node import Node, map_aggregate


class TensorMetadata(NamedTuple):
    """A tensor's shape, dtype, strides and layout, which shape propagation records on nodes."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    """Return a tensor's TensorMetadata."""
    kind = None
    if include_contiguity:
        candidates = [contiguous_format] + {4: [channels_last], 5: [channels_last_3d]}.get(result.dim(), [])
        kind = next((one for one in candidates if result.is_contiguous(memory_format=one)), None)
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, tuple(result.stride()), kind, False, {})


class ShapeProp(Interpreter):
    """Runs a graph and writes ``meta["tensor_meta"]`` and ``meta["type"]`` of each node."""

    def run_node(self, n: Node) -> Tensor:
        """Run the node, write its metadata, and return its value."""
        result = super().run_node(n)
        found = [False]

        def described(value: Tensor) -> TensorMetadata:
            if isinstance(value, Tensor):
                found[0] = True
                return _extract_tensor_metadata(value)
            return value

        meta = map_aggregate(result, described)
        if found[0]:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Tensor:
        """Run the graph with these inputs."""
        return super().run(*args)


__all__ = ["ShapeProp", "TensorMetadata"]

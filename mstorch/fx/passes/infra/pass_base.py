"""torch.fx.passes.infra.pass_base: the base of graph passes."""
from __future__ import annotations

import abc
from collections import namedtuple

from ...graph_module import GraphModule


class PassResult(namedtuple("PassResult", ["graph_module", "modified"])):
    """A pass's resulting module, and whether it was modified."""

    __slots__ = ()


class PassBase(abc.ABC):
    """A pass: runs ``requires``, ``call`` and ``ensures``."""

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """Run the pass."""

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027  # a pass need not check anything
        """Check the pass's preconditions."""

    def ensures(self, graph_module: GraphModule) -> None:  # noqa: B027
        """Check the pass's postconditions."""


__all__ = ["PassBase", "PassResult"]

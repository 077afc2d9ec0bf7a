"""torch.fx.passes.infra.pass_base: the form of a pass over graphs."""
from __future__ import annotations

import abc
from collections import namedtuple

from ...graph_module import GraphModule


class PassResult(namedtuple("PassResult", ["graph_module", "modified"])):
    """A pass's module, and whether it was changed."""

    __slots__ = ()


class PassBase(abc.ABC):
    """A pass: ``requires``, ``call`` and ``ensures``, one after the other."""

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """Run the pass."""

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027  # a pass need not check anything
        """Check what has to hold before the pass."""

    def ensures(self, graph_module: GraphModule) -> None:  # noqa: B027
        """Check what has to hold after the pass."""


__all__ = ["PassBase", "PassResult"]

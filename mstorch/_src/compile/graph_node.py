"""The autograd node of a captured graph: its backward is another graph, or MindSpore's gradient of this one."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..backend import tape
from ..backend.turns import LOCK
from ..tape.node import Node
from .memory import gradient_of, seed_of


class GraphNode(Node):
    """Node of a captured graph, which MindSpore differentiates as a whole."""

    __slots__ = ("results", "ends", "places", "backward")
    backward: Any  # the graph of the gradients, or None where MindSpore differentiates this one
    results: Any
    ends: Any
    places: Any

    label = "CompiledFunctionBackward"

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Return the gradients of the graph's inputs."""
        if recorded:
            # MindSpore's second derivative of a captured graph silently lacks terms (2.7.2 to 2.10).
            raise RuntimeError("torch.compile with aot_autograd does not currently support double backward")
        chosen = [number for number, gradient in enumerate(gradients) if gradient is not None]
        if self.backward is not None:
            return self._own_gradients(gradients, chosen)
        with LOCK:
            seeds = [seed_of(gradients[number]) for number in chosen]
            found = tape.run_backward([self.results[number] for number in chosen], seeds, self.ends, True, False)
        full: list[Any] = [None] * len(self.edges)
        for place, raw in zip(self.places, found):
            full[place] = gradient_of(raw)
        return full

    def _own_gradients(self, gradients: Sequence[Any], chosen: list[int]) -> Sequence[Any]:
        given = [gradients[number] if number < len(gradients) else None for number in self.backward.numbers]
        found = self.backward.run([None if gradient is None else seed_of(gradient) for gradient in given], self.results)
        full: list[Any] = [None] * len(self.edges)
        for place, raw in zip(self.backward.places, found):
            if self.edges[place] is not None and any(place in self.backward.reached.get(number, ()) for number in chosen):
                full[place] = gradient_of(raw)
        return full

    def release(self) -> None:
        """Free the graph's results."""
        self.saved = None
        self.results = self.ends = ()

"""A captured graph with the conditions under which it may be used, and its runs."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..backend import tape
from ..backend.raw import ON_CPU, Raw
from ..backend.tape import native_set_to
from ..backend.trace import Graph, GraphBreak, StepBreak
from ..backend.turns import LOCK
from ..core.modes import modes
from ..core.tensor_base import is_tracked
from ..ops._dispatch import write
from ..tape.node import edge_of
from ..tape.saved_values import USED_UP
from . import backward, steps
from .functional import Plan, delivered
from .graph_node import GraphNode
from .guards import Guards
from .memory import input_of, put_state, result_of, state_value
from .trees import unflatten


class Entry:
    """A captured graph, or the reason why the function has none, with the conditions under which it may be used."""

    def __init__(self) -> None:
        self.guards: Guards | None = None
        self.reason: GraphBreak | None = None
        self.graph: Graph | None = None
        self.plan = Plan()
        self.numbers: list[int] = []  # which arguments are inputs of the graph
        self.identical: list[tuple[int, Any]] = []  # arguments that are known tensors
        self.states: list[Any] = []  # one known tensor for each storage that the function can reach
        self.memories: dict[int, Raw] = {}  # states' memory that is passed to the graph as it is
        self.known: list[Any] = []
        self.depends: list[int] = []  # for each output of the graph, the inputs that it depends on, as bits
        self.natives: list[Raw] = []
        self.draws: list[Callable[[], Raw]] = []
        self.drawn: list[Raw] = []
        self.cut: list[bool] = []  # inputs that need no gradient
        self.follows = False  # whether the gradients are to be captured as a graph of their own, and are not MindSpore's
        self.backward: backward.Backward | None = None
        self.step: steps.Step | None = None  # of a function that computes gradients
        self.lasting: list[bool] = []  # for each output of the graph, whether it is a new tensor or an argument's value

    def settle(self) -> None:
        """Set ``lasting`` and ``cut``: an input of the graph gets no gradient if none of the outputs that require grad depends on it."""
        self.lasting = self.plan.kept()
        wanted = 0
        for bits, tracked in zip(self.depends, self.plan.tracked):
            wanted |= bits if tracked else 0
        self.cut = [not (wanted >> i) & 1 for i in range(len(self.numbers) + len(self.states))]

    def fits(self, arguments: Sequence[Any]) -> bool:
        """Return True if the entry's guards hold for these arguments, whose signature already matches."""
        for i, tensor in self.identical:
            if arguments[i] is not tensor:
                return False
        if self.step is not None and not self.step.fits():
            return False
        return self.guards is None or isinstance(self.reason, StepBreak) or self.guards.holds()

    def run(self, arguments: Sequence[Any]) -> Any:
        """Return the function's result, computed by the graph."""
        used = list(map(arguments.__getitem__, self.numbers))
        drawn = [make() for make in self.draws] if self.draws else []
        tensors: list[Any] = []
        if self.graph is not None:
            inputs = [*map(input_of, used), *(map(state_value, self.states) if ON_CPU else self._state_values())]
            if self.step is not None:
                return self._stepped(self.step, used, inputs, drawn)
            follow = modes.grad and True in self.plan.tracked
            tensors = self._recorded(used, inputs, drawn) if follow else self._computed(inputs, drawn)
        return self._deliver(tensors, used)

    def _state_values(self) -> list[Raw]:
        """Return the values of the states on a device; most of them are the same memory as at the last run."""
        values: list[Raw] = []
        for place, tensor in enumerate(self.states):
            base = tensor._ms_storage.base
            raw = self.memories.get(place)
            if raw is not base:
                raw = state_value(tensor)
                if raw is base:
                    self.memories[place] = raw
            values.append(raw)
        return values

    def _stepped(self, step: steps.Step, used: list[Any], inputs: list[Raw], drawn: list[Raw]) -> Any:
        """Run a training step: its graph, what it writes, and the calls that waited."""
        assert self.graph is not None
        with LOCK, native_set_to(False):
            raws = self.graph([*inputs, *steps.input_values(step.inputs), *self.natives, *drawn])
            own = len(self.plan.raws)
            tensors = [*map(result_of, raws[:own], self.lasting)]
            step.deliver(raws[own:])
        for tensor, tracked in zip(tensors, self.plan.tracked):
            if tracked:
                steps.use_up(tensor)
        result = self._deliver(tensors, used)
        step.make_calls(raws[own:])
        return result

    def _computed(self, inputs: list[Raw], drawn: list[Raw]) -> list[Any]:
        with LOCK, native_set_to(False):
            raws = self.graph(inputs + self.natives + drawn)
        return [*map(result_of, raws, self.lasting)]

    def _recorded(self, used: list[Any], inputs: list[Raw], drawn: list[Raw]) -> list[Any]:
        """Return the graph's outputs, connected to the autograd graph where the eager function's results require grad."""
        owners = [*used, *self.states]
        edges = [
            edge_of(owner) if not cut and is_tracked(owner) and not owner._ms_dtype.is_integral else None
            for owner, cut in zip(owners, self.cut)
        ]
        places = [i for i, edge in enumerate(edges) if edge is not None]
        if not places:
            return self._computed(inputs, drawn)
        if self.backward is not None:
            return self._with_backward(edges, inputs + self.natives + drawn)
        with LOCK, native_set_to(True):
            graph: Any = self.graph
            inputs = graph.shown(inputs + self.natives + drawn)
            for place in places:
                inputs[place] = tape.detached(inputs[place])
                tape.mark_leaf(inputs[place])
            tape.start_recording()
            try:
                raws = list(graph.run(inputs))
            finally:
                tape.stop_recording()  # the following operations are not part of the graph
        with native_set_to(False):
            tensors = [*map(result_of, raws, self.lasting)]
        node: Any = GraphNode(edges)
        node.saved = USED_UP
        node.results, node.ends, node.places = raws, [inputs[place] for place in places], places
        node.saved, node.backward = (True,), None
        for number, (tensor, raw, tracked) in enumerate(zip(tensors, raws, self.plan.tracked)):
            if tracked and raw._requires_grad:
                tensor._ms_node, tensor._ms_number = node, number
        return tensors

    def _with_backward(self, edges: list[Any], inputs: list[Raw]) -> list[Any]:
        """Return the graph's outputs, connected to the graph of their gradients."""
        assert self.graph is not None and self.backward is not None
        with LOCK, native_set_to(False):
            raws = self.graph(inputs)
            tensors = [*map(result_of, raws, self.lasting)]
        node: Any = GraphNode(edges)
        node.backward, node.saved = self.backward, (True,)
        node.results = self.backward.kept(inputs, raws)
        for number, (tensor, tracked) in enumerate(zip(tensors, self.plan.tracked)):
            if tracked and number in self.backward.numbers:
                tensor._ms_node, tensor._ms_number = node, number
        return tensors

    def _deliver(self, tensors: Sequence[Any], used: Sequence[Any]) -> Any:
        """Apply the function's writes, and return its result, rebuilt from the graph's outputs."""
        made = self.plan
        fresh = [delivered(number, tensors) for number in made.fresh]
        for tensor, number in made.states:
            put_state(tensor, delivered(number, tensors))
        for i, number in made.arguments:
            write(used[i], delivered(number, tensors))
        found = []
        for recipe in made.recipes:
            if recipe.owner == "fresh":
                found.append(recipe.make(fresh[recipe.number]))
            elif recipe.owner == "same":
                found.append(used[recipe.number])
            elif recipe.owner == "known":
                found.append(recipe.number)
            elif recipe.owner == "state":
                found.append(recipe.make(recipe.number))
            else:
                found.append(recipe.make(used[recipe.number]))
        return unflatten(made.form, iter(found))

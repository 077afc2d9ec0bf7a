"""The operations that one run of a model executes, in order and in functional form, without in-place writes."""
from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from .._src.aten.calling import unseen
from .._src.aten.kinds import gives_view
from .._src.core.trees import tree_flatten, tree_unflatten
from .._tensor import Tensor
from ..overrides import TorchFunctionMode
from ..utils._python_dispatch import TorchDispatchMode
from ._errors import OnnxExporterError
from ._whole import bound, public_of, whole_name

# Views of all elements: a write to one writes all of the memory, in another shape.
_REVERSED = frozenset("alias detach lift_fresh permute squeeze t transpose unsqueeze view".split())


class Value:
    """The value of a tensor at one point of the run. ``array`` holds its elements, if they do not depend on an input."""

    __slots__ = ("step", "shape", "dtype", "depends", "name", "array")

    def __init__(self, tensor: Any, step: Step | None = None, name: str = "") -> None:
        self.step, self.name = step, name
        self.shape, self.dtype = tuple(tensor.shape), tensor.dtype
        self.depends: bool = step.depends if step is not None else False
        self.array: Any = None


class Step:
    """One operation: its name without namespace, its arguments by name with Values for tensors, and its results."""

    __slots__ = ("name", "overload", "arguments", "results", "depends")

    def __init__(self, name: str, overload: str, arguments: dict[str, Any]) -> None:
        self.name, self.overload, self.arguments = name, overload, arguments
        self.results: list[Value] = []
        self.depends: bool = any(isinstance(leaf, Value) and leaf.depends for leaf in tree_flatten(arguments)[0])


class _Held:
    """A tensor of the run with its current Value; a view also has its base, and the operation that makes it from the base."""

    __slots__ = ("tensor", "value", "version", "base", "step", "place", "seen")

    def __init__(self, tensor: Any, value: Value) -> None:
        self.tensor, self.value, self.version = tensor, value, 0
        self.base: _Held | None = None
        self.step: Step | None = None
        self.place = self.seen = 0


class Run:
    """One run of a model: its operations, inputs and results."""

    def __init__(self, names: dict[int, str]) -> None:
        self.steps: list[Step] = []
        self.inputs: list[Value] = []
        self.within = False  # an operator runs, which is recorded itself
        self._names = names  # names of parameters and buffers, by id
        self._held: dict[int, _Held] = {}

    def enter(self, tensor: Any) -> None:
        """Register a tensor as the next input of the model."""
        value = Value(tensor)
        value.depends = True
        self.inputs.append(value)
        self._held[id(tensor)] = _Held(tensor, value)

    def value_of(self, tensor: Any) -> Value:
        """Return the current Value of a tensor; a tensor that no operation made becomes a constant."""
        return self._present(self._hold(tensor))

    def _hold(self, tensor: Any) -> _Held:
        held = self._held.get(id(tensor))
        if held is None:
            value = Value(tensor, name=self._names.get(id(tensor), ""))
            with unseen():
                value.array = tensor.detach()
            held = self._held[id(tensor)] = _Held(tensor, value)
        return held

    def keep(self, tensor: Any) -> None:
        """Note the elements of a constant, which is about to be modified in place."""
        value = self.value_of(tensor)
        if value.step is None and value.array is not None:
            self._note(value, tensor)

    def _present(self, held: _Held) -> Value:
        base, step = held.base, held.step
        if base is None or step is None:
            return held.value
        whole = self._present(base)
        if base.version != held.seen:  # the memory was modified in place: compute the view again
            again = Step(step.name, step.overload, {**step.arguments, "self": whole})
            again.results = [Value(value, again) for value in step.results]
            self._add(again, [None] * len(again.results))
            held.value, held.seen = again.results[held.place], base.version
            self._note(held.value, held.tensor)
        return held.value

    @staticmethod
    def _note(value: Value, tensor: Any) -> None:
        if not value.depends and tensor is not None:
            with unseen():
                value.array = tensor.detach().clone()

    def _add(self, step: Step, tensors: list[Any]) -> None:
        self.steps.append(step)
        for value, tensor in zip(step.results, tensors):
            self._note(value, tensor)

    def record(self, name: str, overload: str, arguments: dict[str, Any], result: Any) -> None:
        """Append an operation and its results to the run."""
        leaves, form = tree_flatten(arguments)
        valued = tree_unflatten([self.value_of(leaf) if isinstance(leaf, Tensor) else leaf for leaf in leaves], form)
        found = [leaf for leaf in tree_flatten(result)[0] if isinstance(leaf, Tensor)]
        if name.endswith("_") and not name.startswith("_"):
            step = Step(name[:-1], overload, valued)
            step.results = [Value(found[0], step)]
            self._add(step, found[:1])
            self._write(self._hold(arguments["self"]), step.results[0])
            return
        step = Step(name, overload, valued)
        step.results = [Value(leaf, step) for leaf in found]
        self._add(step, found)
        for place, (leaf, value) in enumerate(zip(found, step.results)):
            if leaf is arguments.get("self"):
                continue  # the operation returned its argument
            held = self._held[id(leaf)] = _Held(leaf, value)
            if gives_view(name):
                held.base, held.step, held.place = self._hold(arguments["self"]), step, place
                held.seen = held.base.version

    def _write(self, held: _Held, value: Value) -> None:
        """Update the Values of a tensor written in place and of its base."""
        base, view = held.base, held.step
        if base is not None and view is not None:
            whole = self._present(base)
            more = {key: one for key, one in view.arguments.items() if key != "self"}
            if view.name in ("slice", "select"):
                step = Step(f"{view.name}_scatter", "", {"self": whole, "src": value, **more})
            elif view.name in _REVERSED:
                step = Step("reversed_view", "", {"self": value, "view": view.name, "like": whole, **more})
            else:
                raise OnnxExporterError(f"mstorch: torch.onnx.export cannot express a write to the memory of {view.name}'s result")
            step.results = [Value(whole, step)]
            self._add(step, [base.tensor])
            self._write(base, step.results[0])
            held.seen = base.version
        held.value = value
        held.version += 1


class _Operators(TorchDispatchMode):
    """Mode that records each operator; one that is not ``known`` runs as the public function of its name, whose operators are recorded."""

    def __init__(self, run: Run, known: Collection[str]) -> None:
        super().__init__()
        self._run, self._known = run, known
        self._opened: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        if func.namespace != "aten":
            raise OnnxExporterError(f"mstorch: torch.onnx.export has no translation of {func} to ONNX")
        public = None if func._opname.removesuffix("_") in self._known or func._opname in self._opened else public_of(func._opname)
        if public is not None:
            self._opened.append(func._opname)
            try:
                with self:
                    return public(*args, **kwargs)
            finally:
                self._opened.pop()
        schema = func._known
        names = [argument.name for argument in schema.arguments]
        given = {argument.name: argument.default for argument in schema.arguments if argument.has_default}
        given |= dict(zip(names, args)) | kwargs
        given = {("self" if key == names[0] == "input" else key): value for key, value in given.items()}
        for leaf in tree_flatten(given)[0]:
            if isinstance(leaf, Tensor):
                self._run.value_of(leaf)  # the value before the operation writes
        if func._opname.endswith("_") and isinstance(given["self"], Tensor):
            self._run.keep(given["self"])
        # The function behind an operator may be one that the other mode records: the operator is one step.
        self._run.within = True
        try:
            result = func(*args, **kwargs)
        finally:
            self._run.within = False
        self._run.record(func._opname, "" if func._overloadname == "default" else func._overloadname, given, result)
        return result


class _Functions(TorchFunctionMode):
    """Mode that captures each function that ONNX has as one operator as one step."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self._run = run

    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        name = None if self._run.within else whole_name(func)
        if name is None:
            return func(*args, **kwargs)
        given = bound(name, func, args, kwargs)
        if given.get("inplace"):
            name += "_"
            self._run.keep(given["self"])
        with unseen():
            result = func(*args, **kwargs)
        self._run.record(name, "", given, result)
        return result


def captured(
    model: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], names: dict[int, str], known: Collection[str]
) -> tuple[Run, Any]:
    """Run a model on its arguments, whose tensors are its inputs; return the Run, of ``known`` operators, and the result."""
    run = Run(names)
    for leaf in tree_flatten((args, kwargs))[0]:
        if isinstance(leaf, Tensor):
            run.enter(leaf)
    with _Functions(run), _Operators(run, known):
        result = model(*args, **kwargs)
    return run, result

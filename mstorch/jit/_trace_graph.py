"""``torch.jit._get_trace_graph``: the operators of one run of a module, as a graph.

A call of a public function becomes torch's operator of the same name, with the arguments of the operator's schema. A function that torch
composes in Python (``multi_head_attention_forward``) becomes the operators that it calls below autograd.
"""
from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .._jit_internal import mode, states
from .._src.aten.binding import NUMBERS_AS_TENSORS
from .._src.aten.calling import unseen
from .._src.core.above import above
from .._src.core.declared import declared
from .._src.core.trees import tree_flatten
from .._tensor import Tensor
from ..nn import Module
from ..overrides import TorchFunctionMode
from ..utils._python_dispatch import TorchDispatchMode
from ._graph import Graph, Type, Value, type_of

_OURS = str(Path(__file__).parents[1]) + os.sep
_LIBRARY = str(Path(__file__).parents[1] / "nn") + os.sep


class State:
    """The state of a running trace, as ``torch._C._get_tracing_state`` returns it: the scopes around calls."""

    def __init__(self) -> None:
        self._scopes: list[str] = []

    def push_scope(self, scope_name: str) -> None:
        """Enter a scope of this name."""
        self._scopes.append(scope_name)

    def pop_scope(self) -> None:
        """Leave the current scope."""
        self._scopes.pop()

    def current_scope(self) -> str:
        """Return the names of the active scopes, joined by slashes."""
        return "/".join(self._scopes)


_FORMS: dict[str, Callable[..., Any]] = {}
"""Functions whose operator has another name, or its arguments in another order."""


def _convolved(rank: int, transposed: bool) -> Callable[..., Any]:
    def form(
        input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = 1,
        padding: int | str | Sequence[int] = 0, dilation: int | Sequence[int] = 1, groups: int = 1,
        output_padding: int | Sequence[int] = 0,
    ) -> tuple[Any, ...]:  # fmt: skip
        def spread(value: int | Sequence[int]) -> list[int]:
            return [value] * rank if isinstance(value, int) else list(value)

        if isinstance(padding, str):
            return "_convolution_mode", (input, weight, bias, spread(stride), padding, spread(dilation), groups)
        return "_convolution", (
            input, weight, bias, spread(stride), spread(padding), spread(dilation), transposed, spread(output_padding), groups, False,
            False, True, True,
        )  # fmt: skip

    return form


def _transposed(rank: int) -> Callable[..., Any]:
    form = _convolved(rank, True)

    def turned(
        input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = 1, padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0, groups: int = 1,
        dilation: int | Sequence[int] = 1,
    ) -> tuple[Any, ...]:  # fmt: skip
        return form(input, weight, bias, stride, padding, dilation, groups, output_padding)

    return turned


@declared(_FORMS, "batch_norm")
def _normalized(
    input: Tensor, running_mean: Tensor, running_var: Tensor, weight: Tensor | None = None, bias: Tensor | None = None,
    training: bool = False, momentum: float = 0.1,
    eps: float = 1e-5,
) -> tuple[Any, ...]:  # fmt: skip
    return "batch_norm", (input, weight, bias, running_mean, running_var, training, momentum, eps, True)


@declared(_FORMS, "embedding")
def _embedded(
    input: Tensor, weight: Tensor, padding_idx: Any = None, max_norm: Any = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> tuple[Any, ...]:  # fmt: skip
    return "embedding", (weight, input, -1 if padding_idx is None else padding_idx, scale_grad_by_freq, sparse)


@declared(_FORMS, "dropout")
def _dropped(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> tuple[Any, ...]:
    return "dropout_" if inplace else "dropout", (input, p, training)


@declared(_FORMS, "layer_norm")
def _layer_normed(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> tuple[Any, ...]:
    return "layer_norm", (input, list(normalized_shape), weight, bias, eps, True)


@declared(_FORMS, "group_norm")
def _group_normed(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> tuple[Any, ...]:
    return "group_norm", (input, num_groups, weight, bias, eps, True)


def _soft(name: str) -> Callable[..., Any]:
    def form(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
        return name, (input, dim, dtype)

    return form


for _rank in (1, 2, 3):
    _FORMS[f"conv{_rank}d"], _FORMS[f"conv_transpose{_rank}d"] = _convolved(_rank, False), _transposed(_rank)
for _name in ("softmax", "log_softmax"):
    _FORMS[_name] = _soft(_name)


def _fits(value: Any, kind: str) -> bool:
    """Return whether a value is valid for a schema type."""
    if value is None:
        return kind.startswith("Optional") or kind.endswith("?")
    kind = kind.removeprefix("Optional[").removesuffix("]") if kind.startswith("Optional") else kind
    if kind == "Tensor":
        return isinstance(value, (Tensor, int, float, complex)) and not isinstance(value, bool) or isinstance(value, bool)
    if kind.startswith("List"):
        return isinstance(value, (list, tuple)) or kind.startswith("List[int") and isinstance(value, int)
    if kind in ("int", "SymInt"):
        return isinstance(value, int)
    if kind == "bool":
        return isinstance(value, bool)
    if kind in ("float", "number"):
        return isinstance(value, (int, float, complex))
    return not isinstance(value, Tensor)


_Bound = tuple[list[tuple[Any, str]], bool]


def _bound(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Bound | None:
    """Return the arguments of an operator in schema order, with their types, and whether the operator has a single result.

    Return None if no overload accepts them.
    """
    packet = getattr(above.torch.ops.aten, name, None)
    if packet is None or not hasattr(packet, "overloads"):
        return None
    numbers = name.strip("_") in _OF_TENSORS
    return _in_form(packet, numbers, args, kwargs) or (None if numbers else _in_form(packet, True, args, kwargs))


_OF_TENSORS = NUMBERS_AS_TENSORS | {"true_divide", "remainder"}  # operators for which a graph has tensors in place of numbers


def _in_form(packet: Any, numbers: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Bound | None:
    """Return the arguments in the order of the first overload that accepts them; with ``numbers``, a number is accepted for a tensor."""
    for overload in packet.overloads():
        if "out" in overload:
            continue
        wanted = getattr(packet, overload)._schema.arguments
        given, rest = list(args), dict(kwargs)
        if len(given) > len(wanted):
            places = [number for number, one in enumerate(wanted) if str(one.type).startswith("List[int")]
            if len(places) != 1 or places[0] != len(wanted) - 1:
                continue  # sizes may be given one by one
            given = [*given[: places[0]], given[places[0] :]]
        found = []
        for number, one in enumerate(wanted):
            if number < len(given) and not one.kwarg_only:
                value = given[number]
            elif one.name in rest or (one.name == "self" and "input" in rest):
                value = rest.pop(one.name if one.name in rest else "input")
            elif one.has_default_value():
                value = one.default_value
            else:
                break
            kind = str(one.type)
            if not _fits(value, kind) or kind == "Tensor" and not numbers and not isinstance(value, Tensor):
                break
            if isinstance(value, int) and kind.startswith("List[int") and one.N:
                value = [value] * one.N
            found.append((value, kind))
        else:
            if not rest:
                return found, len(getattr(packet, overload)._schema.returns) == 1
    return None


class _Functions(TorchFunctionMode):
    """Writes public calls that are operators into the graph; the operators of other calls are written below autograd."""

    def __init__(self, writer: _Writer) -> None:
        super().__init__()
        self._writer = writer

    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name == "__get__":
            return func(*args, **kwargs)
        form = self._form(func, name, args, kwargs)
        if form is None:
            return func(*args, **kwargs)  # its calls are recorded below autograd
        for tensor in tree_flatten([value for value, _ in form[1][0]])[0]:
            if isinstance(tensor, Tensor):
                self._writer.value_of(tensor)  # before it is written to
        with unseen():
            result = func(*args, **kwargs)
        self._writer.write(form[0], *form[1], result)
        return result

    def _form(self, func: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, _Bound] | None:
        if name == "to" and len(args) == 2 and not kwargs and isinstance(args[1], above.torch.dtype):
            return name, ([(args[0], "Tensor"), (args[1], "int"), (False, "bool"), (False, "bool"), (None, "Optional[int]")], True)
        special = _FORMS.get(name) if getattr(Tensor, name, None) is not func else None
        if special is not None:
            try:
                name, args = special(*args, **kwargs)
                kwargs = {}
            except TypeError:
                return None
        elif name.startswith("__"):
            plain = name.strip("_")
            if name in ("__rpow__", "__rmatmul__", "__rfloordiv__", "__rmod__"):
                args, plain = (args[1], args[0]), plain[1:]
            elif name in ("__radd__", "__rmul__"):
                plain = plain[1:]
            name = plain
        found = _bound(name, args, kwargs)
        if found is None and special is None and not name.startswith("_"):
            try:
                bound = inspect.signature(func).bind(*args, **kwargs)
            except (TypeError, ValueError):
                return None
            bound.apply_defaults()
            given = dict(bound.arguments)
            if given.pop("inplace", False):
                name += "_"
            for word in ("return_indices", "_stacklevel", "out"):
                if not given.get(word) or word == "_stacklevel":
                    given.pop(word, None)
            found = _bound(name, (), given)
        return None if found is None else (name, found)


class _Operators(TorchDispatchMode):
    """Dispatch mode that writes ATen operators into the graph, for calls that are not operators themselves."""

    def __init__(self, writer: _Writer) -> None:
        super().__init__()
        self._writer = writer

    def __torch_dispatch__(self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        wanted = func._schema.arguments
        given = {one.name: one.default_value for one in wanted if one.has_default_value()}
        given |= dict(zip((one.name for one in wanted), args)) | (kwargs or {})
        for tensor in tree_flatten(given)[0]:
            if isinstance(tensor, Tensor):
                self._writer.value_of(tensor)
        result = func(*args, **(kwargs or {}))
        taken = [(given.get(one.name), str(one.type)) for one in wanted]
        self._writer.write(func._opname, taken, len(func._schema.returns) == 1, result)
        return result


class _Writer:
    """Adds calls to a graph."""

    def __init__(self, own: State) -> None:
        self.graph, self.state = Graph(), own
        self._values: dict[int, Value] = {}
        self._held: list[Any] = []  # keeps the objects alive, so that ids stay unique

    def enter(self, tensor: Tensor) -> None:
        """Register a tensor as the next input."""
        self._values[id(tensor)] = self.graph.addInput(tensor)
        self._held.append(tensor)

    def value_of(self, tensor: Tensor) -> Value:
        """Return the Value of a tensor; a tensor that no node produced becomes a constant."""
        found = self._values.get(id(tensor))
        if found is None:
            found = self._values[id(tensor)] = self.graph.constant(tensor, *self._where())
            self._held.append(tensor)
        return found

    def _where(self) -> tuple[str, str]:
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(_OURS) and not self._is_library(frame.f_code.co_filename):
            frame = frame.f_back  # type: ignore[assignment]  # the program is below
        place = "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}:0"
        return self.state.current_scope(), place

    @staticmethod
    def _is_library(file: str) -> bool:
        return file.startswith(_LIBRARY) and not file.endswith("module.py")

    def _given(self, value: Any, kind: str) -> Value:
        where = self._where()
        if isinstance(value, Tensor):
            return self.value_of(value)
        if isinstance(value, (list, tuple)) or kind.startswith(("List", "Optional[List")) and isinstance(value, int):
            items = [value] if isinstance(value, int) else list(value)
            element = "Tensor" if "Tensor" in kind else ""
            parts = [self._given(item, element) for item in items]
            word = parts[0].type() if parts else type_of(0)
            listed = Type(f"List[{word}]", "ListType", element=word)
            return self.graph.add("prim::ListConstruct", parts, [listed], where[0]).output()
        if "Tensor" in kind and value is not None:  # torch converts numbers combined with tensors to tensors
            with unseen():
                value = above.torch.tensor(value)
        return self.graph.constant(_code(value), *where)

    def write(self, name: str, given: list[tuple[Any, str]], single: bool, result: Any) -> None:
        """Add an operator call and its results; a ``single`` result may be a list."""
        leaves = [leaf for leaf in tree_flatten(result)[0] if isinstance(leaf, Tensor)]
        if not leaves:
            return
        inputs = [self._given(value, kind) for value, kind in given]
        scope, place = self._where()
        if single and isinstance(result, (list, tuple)):
            listed = Type("List[Tensor]", "ListType", element=Type("Tensor", "TensorType"))
            whole = self.graph.add(f"aten::{name}", inputs, [listed], scope, place).output()
            node = self.graph.add("prim::ListUnpack", [whole], [type_of(leaf) for leaf in leaves], scope)
        else:
            node = self.graph.add(f"aten::{name}", inputs, [type_of(leaf) for leaf in leaves], scope, place)
        for leaf, value in zip(leaves, node.outputs()):
            self._values[id(leaf)] = value
            self._held.append(leaf)

    def leave(self, result: Any) -> None:
        """Make a result the output: a tensor, or nested tuples, lists and dicts."""
        self.graph.registerOutput(self._packed(result))

    def _packed(self, result: Any) -> Value:
        if isinstance(result, Tensor):
            return self.value_of(result)
        if isinstance(result, dict):
            result = tuple(result.values())
        if not isinstance(result, (tuple, list)):
            return self.graph.constant(result)
        parts = [self._packed(item) for item in result]
        kind = Type(f"Tuple[{', '.join(str(part.type()) for part in parts)}]", "TupleType")
        kind._text = f"({', '.join(part.type().shown() for part in parts)})"
        return self.graph.add("prim::TupleConstruct", parts, [kind]).output()


_CODES = {"uint8": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float16": 5, "float32": 6, "float64": 7, "complex64": 9,
          "complex128": 10, "bool": 11, "bfloat16": 15}  # fmt: skip


def _code(value: Any) -> Any:
    """Return a constant as graphs store it: a dtype as its number, other values unchanged."""
    return _CODES.get(value.name, value.name) if isinstance(value, above.torch.dtype) else value


def _get_trace_graph(
    f: Module | Callable[..., Any], args: Any = (), kwargs: Any = None, strict: bool = True, _force_outplace: bool = False,
    return_inputs: bool = False,
    _return_inputs_states: bool = False,
) -> tuple[Any, ...]:  # fmt: skip
    """Return the graph of one run of a function or module, and its result; with ``return_inputs`` also the graph's inputs.

    A module's parameters and buffers are inputs of the graph, after the arguments.
    """
    kwargs = kwargs or {}
    args = args if isinstance(args, tuple) else (args,)
    own = State()
    writer = _Writer(own)
    inputs = [leaf for leaf in tree_flatten((args, kwargs))[0] if isinstance(leaf, Tensor)]
    if isinstance(f, Module):
        inputs += list(f.state_dict(keep_vars=True).values())
    for tensor in inputs:
        writer.enter(tensor)
    states.append(own)
    try:
        with mode(traced=True), _Functions(writer), _Operators(writer):
            result = f(*args, **kwargs)
    finally:
        states.pop()
    writer.leave(result)
    found = (writer.graph, result)
    return (*found, tuple(inputs)) if return_inputs or _return_inputs_states else found

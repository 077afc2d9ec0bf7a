"""Calls of operators below autograd: they are passed to the mode or the tensors that handle them, and added to the autograd graph.

Within ``__torch_dispatch__`` gradients are disabled; the node is attached to the result afterwards. A node made here saves the call's
arguments and computes its gradient with tensor operations (``derivatives``), so that handlers see the operators of backward too; without a
formula, by one call that runs the operator again. Views and operators without a formula keep the operation's usual node as well, which
runs once no mode is active.
"""
from __future__ import annotations

import functools
import re
import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from ..._tensor import Tensor
from ..core.decorating import plain_method
from ..core.dtype import dtype
from ..core.generator import default_generator
from ..core.modes import grad_set_to, modes
from ..core.overriding import MODES, PLAIN, WITHOUT_SUBCLASSES, dispatches, level_set_to, state
from ..core.storage import Storage
from ..core.tensor_base import TensorBase, array_of, auto_of, is_tracked, tensors_in
from ..leaving import Block, values_again, values_set_to
from ..tape import engine
from ..tape.bare import bare_of, bare_twin, dressed
from ..tape.node import Accumulate, Node, edge_of, named, node_of
from ..tape.saved_values import Saved, saved_input
from .operators import Operator
from .reads import reads

Call = Callable[..., Any]


class NotInTerms(NotImplementedError):
    """Raised when a function cannot be decomposed into ATen calls; it is then handled as one call."""


class _Below(threading.local):
    """Thread-local stack of the calls below autograd that are being handled, the innermost last."""

    def __init__(self) -> None:
        self.pending: list[_Pending] = []


below = _Below()


class _Pending:
    """A call that a handler is processing. If an operation is computed meanwhile with these very arguments, the node of its result becomes
    the node of the call."""

    __slots__ = ("operator", "args", "records", "found")

    def __init__(self, operator: Operator, args: Sequence[Any], records: bool) -> None:
        self.operator, self.args, self.records = operator, args, records
        self.found: Any = None  # the tracked result, and detached twins for the handler

    def takes(self, operator: Operator, args: Sequence[Any]) -> bool:
        return self.records and self.found is None and operator is self.operator and len(args) == len(self.args) and all(
            one is other for one, other in zip(args, self.args)
        )  # fmt: skip


# Handlers of calls


def takers(values: Any, found: list[Any]) -> list[Any]:
    """Return the tensors among the values (also in containers) whose class handles calls, one per class, subclasses first."""
    if state.unseen:
        return found
    for value in values:
        kind = type(value)
        if kind in PLAIN:
            continue
        if isinstance(value, (tuple, list)):
            takers(value, found)
        elif kind is dict:
            takers(value.values(), found)
        elif isinstance(value, TensorBase) and dispatches(kind) and all(kind is not type(other) for other in found):
            place = next((i for i, other in enumerate(found) if issubclass(kind, type(other))), len(found))
            found.insert(place, value)
    return found


def active(args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Return whether a mode or a tensor handles a call with these arguments."""
    return bool(MODES and state.dispatchers) or bool(takers(args, []) or kwargs and takers(kwargs.values(), []))


class without_innermost(Block):
    """Context manager that disables the innermost mode of the thread."""

    def __enter__(self) -> Any:
        *others, mode = state.dispatchers
        self.at_end(values_again(state, "dispatchers"))
        state.dispatchers = others
        return mode


def unseen() -> values_set_to:
    """Context manager that disables all modes of the thread."""
    return values_set_to(state, dispatchers=[])


RULES: dict[tuple[str, type], Callable[..., Any]] = {}
"""The functions given to ``torch.library.register_torch_dispatch``, by operator name and by class of mode or tensor."""


def _handle(handler: Any, operator: Operator, kinds: tuple[type, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of a mode, or of a class of tensors: by a rule for the operator or by its ``__torch_dispatch__``."""
    is_mode = not isinstance(handler, type)
    rule = RULES.get((operator.name(), type(handler) if is_mode else handler)) if RULES else None
    if rule is not None:
        return rule(handler, operator, kinds, args, kwargs)
    return (plain_method(handler, "__torch_dispatch__") if is_mode else handler.__torch_dispatch__)(operator, kinds, args, kwargs)


def _handler_result(operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of the innermost mode, or of the first tensor that handles the call."""
    found = takers(kwargs.values(), takers(args, []))
    kinds = tuple(map(type, found))
    with level_set_to(WITHOUT_SUBCLASSES) if found and not state.dispatchers else nullcontext():
        if state.dispatchers:
            with without_innermost() as mode:
                result = _handle(mode, operator, kinds, args, kwargs)
            if result is not NotImplemented:
                return _written_argument(operator, args, result)
        for value in found:
            result = _handle(type(value), operator, kinds, args, kwargs)
            if result is not NotImplemented:
                return _written_argument(operator, args, result)
    listed = "".join(f"\n  - tensor subclass {kind}" for kind in kinds)
    raise TypeError(
        f"Multiple dispatch failed for '{operator.name()}'; all __torch_dispatch__ handlers returned NotImplemented:\n{listed}\n\n"
        "For more information, try re-running with TORCH_LOGS=not_implemented"
    )


def _written_argument(operator: Operator, args: tuple[Any, ...], result: Any) -> Any:
    """Return the first argument, which was written to, for an in-place operator whatever its handler returned; the result of any other
    operator unchanged."""
    return args[0] if operator._is_in_place and isinstance(result, TensorBase) and isinstance(args[0], TensorBase) else result


# Recording


class Derived(Node):
    """Node whose gradient is computed by ATen calls."""

    __slots__ = ("formula", "operator", "plan", "options", "shapes", "kinds", "results", "places", "unpacked")
    formula: Any
    operator: Any
    plan: Any  # the arguments; tensors are replaced by Place, which has the number of the saved tensor
    options: Any
    shapes: Any
    kinds: Any
    results: Any
    places: Any  # output numbers of the results at the node that autograd runs
    unpacked: dict[int, Any]  # saved tensors of the current run: hooks are asked for each once

    @property
    def width(self) -> int:
        """Number of results of the operation."""
        return self.results

    def needs(self, number: int) -> bool:
        """Return whether the gradient of the tensor argument with this number is needed."""
        return self.edges[number] is not None

    def arg(self, number: int) -> Any:
        """Return argument ``number`` as it was passed; a tensor is still attached to the autograd graph."""
        return _filled(self.plan[number], self)

    def option(self, place: int, default: Any) -> Any:
        """Return an argument that is not a tensor, or the default if it was not passed."""
        return self.plan[place] if len(self.plan) > place else default

    def named(self, name: str) -> Any:
        """Return the argument of that name as it was passed."""
        if name in self.options:
            return _filled(self.options[name], self)
        return self.arg(next(place for place, argument in enumerate(self.operator._known.arguments) if argument.name == name))

    def result(self, number: int = 0) -> Tensor:
        """Return a saved result."""
        return self._unpacked_at(len(self.shapes) + number)

    def _unpacked_at(self, place: int) -> Any:
        if place not in self.unpacked:
            self.unpacked[place] = self.saved[place].value(self, True)
        return self.unpacked[place]

    def shape(self, number: int) -> tuple[int, ...]:
        """Return the shape of the tensor argument with this number."""
        return self.shapes[number]

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Return the formula's gradients, reduced to the shapes of broadcast operands."""
        given = [dressed(gradient) for gradient in gradients]
        given += [None] * (self.results - len(given))
        self.unpacked = {}
        try:
            found = self.formula(self, *given)
        except NotInTerms:
            found = _by_itself(self.operator, self, *given)
        finally:
            self.unpacked = {}
        found = found if isinstance(found, (tuple, list)) else (found,)
        return [
            None if edge is None or gradient is None else _gradient_to_pass(_fitted(gradient, self.shapes[i], self.kinds[i]), recorded)
            for i, (edge, gradient) in enumerate(zip(self.edges, found))
        ]


class _Place:
    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


def _filled(value: Any, node: Derived) -> Any:
    if isinstance(value, _Place):
        return node._unpacked_at(value.number)
    return [_filled(item, node) for item in value] if isinstance(value, (list, tuple)) else value


def _gradient_to_pass(gradient: Tensor, recorded: bool) -> Any:
    return gradient if MODES and state.dispatchers else bare_of(gradient, recorded)


def _fitted(gradient: Tensor, shape: tuple[int, ...], kind: dtype) -> Any:
    """Sum a gradient over broadcast dimensions and cast it to the operand's dtype."""
    own = tuple(gradient.shape)
    if own != shape and not shape:
        gradient = gradient.sum()
    elif own != shape:
        lead = len(own) - len(shape)
        axes = [i for i in range(len(own)) if i < lead or shape[i - lead] == 1 and own[i] != 1]
        gradient = gradient.sum(axes, True) if axes else gradient
        if lead:
            gradient = gradient.view(shape)
    if gradient.dtype is not kind:
        if gradient.dtype.is_complex and not kind.is_complex:
            gradient = gradient.real
        gradient = gradient.to(kind)
    return gradient


# In-place operators whose gradient needs the old value; for two operands, the gradient of the second needs it.
_NEED_SELF = frozenset((
    "mul_.Tensor", "div_.Tensor", "pow_.Scalar", "clamp_.default", "abs_.default", "log_.default", "silu_.default", "mish_.default",
    "hardswish_.default", "hardsigmoid_.default",
))  # fmt: skip
# In-place operators whose gradient is the same as that of the functional operator.
_AS_FUNCTIONAL = frozenset((
    "add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "div.Scalar", "relu.default", "tanh.default", "sigmoid.default", "exp.default",
    "neg.default", "sqrt.default", "rsqrt.default", "leaky_relu.default", "elu.default", "hardtanh.default", "clamp.default", "abs.default",
    "masked_fill.Scalar", "silu.default", "mish.default", "hardswish.default", "hardsigmoid.default",
))  # fmt: skip
Formula = tuple[str, Call]  # the node's name, and the gradient function
DERIVATIVES: dict[str, Formula | None] = {}  # by overload
fallbacks: list[Callable[[str], Formula | None]] = []  # called for overloads that are not in DERIVATIVES


def derivative(*overloads: str, label: str) -> Callable[[Call], Call]:
    """Register a function of the node and its gradients as the backward formula of overloads. The function returns one gradient per tensor
    argument.
    """

    def enter(function: Call) -> Call:
        for overload in overloads:
            DERIVATIVES[overload] = (label, function)
        return function

    return enter


def formula_of(operator: Operator) -> Formula | None:
    """Return the node's name and the gradient of an overload in terms of ATen operators; None if it has none."""
    functional = operator.__name__.replace("_.", ".")
    name = functional if operator._is_in_place and functional in _AS_FUNCTIONAL else operator.__name__
    if name not in DERIVATIVES and operator.namespace == "aten":
        DERIVATIVES[name] = next(filter(None, (fallback(name) for fallback in fallbacks)), None)
    return DERIVATIVES.get(name)


def _planned(values: Sequence[Any], tensors: list[Any]) -> list[Any]:
    plan: list[Any] = []
    for value in values:
        if isinstance(value, TensorBase):
            tensors.append(value)
            plan.append(_Place(len(tensors) - 1))
        else:
            plan.append(_planned(value, tensors) if isinstance(value, (tuple, list)) else value)
    return plan


def _node(operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Derived:
    """Return the node of a call, without its results."""
    label, formula = formula_of(operator) or (label_of(operator._opname), functools.partial(_by_itself, operator))
    tensors: list[Any] = []
    plan = _planned(args, tensors)
    options = dict(zip(kwargs, _planned(tuple(kwargs.values()), tensors)))
    node: Derived = named(Derived, label)([edge_of(tensor) for tensor in tensors])
    node.formula, node.operator, node.plan, node.options = formula, operator, plan, options
    node.shapes = [tensor._ms_shape for tensor in tensors]
    node.kinds = [tensor._ms_dtype for tensor in tensors]
    if operator._is_in_place and operator.__name__ in _NEED_SELF and (
        len(tensors) == 2 and node.edges[1] is not None or operator.__name__ not in ("mul_.Tensor", "div_.Tensor")
    ):
        tensors[0] = operator.before(tensors[0])
    read = reads(formula).arguments
    places = getattr(formula, "places", None)  # of those that it reads, where that depends on the gradients that are needed
    read_places = range(len(tensors)) if read and places is None else places(node) if read else ()
    node.saved = [saved_input(tensor) if number in read_places else None for number, tensor in enumerate(tensors)]
    node.results = 1
    return node


def label_of(name: str) -> str:
    """Return the name of an operator's node: ``NllLoss2DBackward0`` of ``nll_loss2d_forward``."""
    words = "".join(word.capitalize() for word in name.removesuffix("_forward").split("_"))
    return re.sub(r"(?<=\d)d", "D", words) + "Backward0"


def _by_itself(operator: Operator, node: Derived, *gradients: Tensor | None) -> list[Tensor | None]:
    """Return the gradients of an operator without a formula in ``derivatives``, computed by one call of ``operator.gradient``, which
    handlers see as a single operator."""
    args = [_filled(value, node) for value in node.plan]
    options = {key: _filled(value, node) for key, value in node.options.items()}
    wanted = [edge is not None for edge in node.edges]
    found = iter(operator.gradient(list(gradients), args, options, wanted))
    return [next(found) if want else None for want in wanted]


def _attach(node: Derived, result: Tensor | tuple[Tensor, ...]) -> Any:
    """Set the autograd node of the call's results; a result that is one of the arguments stays unchanged."""
    results: list[Any] = list(result) if isinstance(result, (tuple, list)) else [result]
    node.results = len(results)
    made = []
    for number, item in enumerate(results):
        if isinstance(item, TensorBase) and not item._ms_dtype.is_integral and not modes.inference:
            if item._ms_node is not None or item._ms_auto is not None and (item._ms_auto.leaf or item._ms_auto.base is not None):
                item = bare_twin(item)
            item._ms_node, item._ms_number = node, number
        made.append(item)
    node.saved = [*node.saved, *_saved_results(node, made)]
    if not isinstance(result, (tuple, list)):
        return made[0]
    return type(result)(*made) if hasattr(result, "_fields") else type(result)(made)


def _saved_results(node: Derived, results: list[Any]) -> list[Saved | None]:
    read = reads(node.formula).results
    return [Saved(item, True) if read and isinstance(item, TensorBase) else None for item in results]


# Calls


def call(operator: Operator, *args: Any, **kwargs: Any) -> Any:
    """Call an overload through its handlers, and add it to the autograd graph."""
    tensors = tensors_in((*args, *kwargs.values()))
    recorded = modes.grad and any(is_tracked(tensor) for tensor in tensors)
    if not recorded or operator._is_detached:
        return _shown(operator, args, kwargs, False)[0]
    known = formula_of(operator) is not None
    if takers((*args, *kwargs.values()), []):
        return _call_of_tensors(operator, args, kwargs, known)
    if known and not (operator._is_view or operator._is_in_place):
        return _call_of_node(operator, args, kwargs)
    edges = [edge_of(tensor) for tensor in tensors]
    seen = _node(operator, args, kwargs) if known or not (operator._is_in_place or operator._nondeterministic_seeded) else None
    before = b"" if known else default_generator.engine.get_state()
    result, found = _shown(operator, args, kwargs, True)
    if found is None or result is not found[1]:
        if found is None:
            with grad_set_to(True):
                found = (operator.recorded(result, args, kwargs), None)
        if not _same_items(result, found[1]):
            _take_over(operator, found[0], result)
    if seen is not None and (known or before == default_generator.engine.get_state()):
        return _replace_node(seen, found[0], edges)
    return found[0]


def _call_of_tensors(operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any], known: bool) -> Any:
    """Call an overload on tensors whose class handles the call. If its gradient has no formula, backward runs the overload again.

    Raise NotImplementedError if that would not reproduce the floating-point results: the overload writes in place, or draws random numbers.
    """
    if known:
        return _call_of_node(operator, args, kwargs)
    if not (operator._is_in_place or operator._nondeterministic_seeded):
        before = default_generator.engine.get_state()
        result = _call_of_node(operator, args, kwargs)
        if before == default_generator.engine.get_state():
            return result
    else:
        result = _shown(operator, args, kwargs, False)[0]
    if any(not tensor._ms_dtype.is_integral for tensor in tensors_in((result,))):
        raise NotImplementedError(
            f"mstorch: the gradient of {operator} on tensors with __torch_dispatch__ is not known; compute it under torch.no_grad()"
        )
    return result


def _call_of_node(operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an overload whose gradient is computed by ATen calls."""
    node = _node(operator, args, kwargs)
    result = _shown(operator, args, kwargs, False)[0]
    if operator._is_in_place and result is args[0]:
        return _attach_in_place(node, args[0])
    _save_what_was_written(node, args)
    return _attach(node, result)


def _save_what_was_written(node: Derived, args: tuple[Any, ...]) -> None:
    """Save the arguments that the operator writes to (the slopes of ``rrelu_with_noise``) for backward again, after the call."""
    known = node.operator._known
    for place, argument, value in zip(node.plan, known.arguments if known is not None else (), args):
        if argument.is_write and isinstance(place, _Place):
            node.saved[place.number] = saved_input(value) if reads(node.formula).arguments else None


def _attach_in_place(node: Derived, tensor: Tensor) -> Tensor:
    tensor._ms_node, tensor._ms_number = node, 0
    auto_of(tensor).leaf = False
    node.saved = [*node.saved, *_saved_results(node, [tensor])]
    return tensor


def _same_items(result: list[Any] | tuple[Tensor, ...], twins: list[Any] | tuple[Any, ...] | None) -> bool:
    if not (isinstance(result, (tuple, list)) and isinstance(twins, (tuple, list)) and len(result) == len(twins)):
        return False
    return all(one is other for one, other in zip(result, twins))


def _take_over(operator: Operator, recorded: tuple[Tensor, Tensor], result: tuple[Tensor, Tensor]) -> None:
    """Copy the values that ``__torch_dispatch__`` returned into the results that have a gradient. Raise NotImplementedError if shape, dtype
    or memory do not fit."""
    pairs = list(zip(tensors_in((recorded,)), tensors_in((result,))))
    for own, other in pairs:
        fits = own._ms_shape == other._ms_shape and own._ms_dtype is other._ms_dtype
        fits = fits and own._ms_storage.__class__ is other._ms_storage.__class__ is Storage
        if operator._is_view or operator._is_in_place or not fits or len(pairs) != len(tensors_in((recorded,))):
            raise NotImplementedError(f"mstorch: __torch_dispatch__ gave another result for {operator}, whose gradient is then not known")
    for own, other in pairs:
        if not own._ms_dtype.is_integral or own._ms_storage is not other._ms_storage:
            array_of(own)[...] = array_of(other)


def _replace_node(node: Derived, result: Tensor | tuple[Tensor, ...], edges: list[Any]) -> Any:
    """Make backward run ``node`` instead of the result's own node while a mode is active, and return the result. If several nodes made the
    results, ``node`` replaces them permanently."""
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    tensors = [item for item in results if isinstance(item, TensorBase)]  # an operator of the user's may return numbers, too
    nodes = [item._ms_node for item in tensors if item._ms_node is not None] if len(results) > 1 else [node_of(results[0])]
    real = nodes[0] if nodes else None
    if real is None:
        return result
    alone = all(other is real for other in nodes)
    if alone and [edge for edge in real.edges if edge is not None] == [edge for edge in edges if edge is not None]:
        node.results = len(results)
        node.saved = [*node.saved, *_saved_results(node, results)]
        # Output numbers at the operation's node, which may have further outputs.
        node.places = [item._ms_number if isinstance(item, TensorBase) else 0 for item in results]
        real.__dict__["seen"] = node
        return result
    return result if node.operator._is_view or node.operator._is_in_place else _attach(node, result)


def _shown(operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any], records: bool) -> tuple[Any, Any]:
    """Return (result of the handler, tracked result). The tracked result has an autograd node; it is None unless the handler ran the
    operation itself."""
    pending = _Pending(operator, args, records)
    below.pending.append(pending)
    before, modes.grad = modes.grad, False
    try:
        return _handler_result(operator, args, kwargs), pending.found
    finally:
        modes.grad = before
        below.pending.pop()


def compute(operator: Any, function: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute an overload without handlers; add it to the autograd graph if it is the pending call."""
    pending = below.pending[-1] if below.pending else None
    if pending is None or not pending.takes(operator, args):
        return function(*args, **kwargs)
    modes.grad = True
    try:
        result = function(*args, **kwargs)
    finally:
        modes.grad = False
    given = {id(tensor) for tensor in tensors_in(args)}

    def shown(item: Tensor) -> TensorBase:
        return bare_twin(item) if isinstance(item, TensorBase) and id(item) not in given else item

    twins = type(result)(map(shown, result)) if type(result) in (tuple, list) else (
        tuple(map(shown, result)) if isinstance(result, tuple) else shown(result)
    )  # fmt: skip
    pending.found = (result, twins)
    return twins


def _run_watched(node: Node, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
    """Run a node's backward while a mode is active, as calls of ATen operators that the mode sees. Raise NotImplementedError if the node's
    gradient is not available in these terms."""
    seen = node.__dict__.get("seen") if not isinstance(node, Derived) else None
    if seen is not None:
        found = iter(seen.run([gradients[place] if place < len(gradients) else None for place in seen.places], recorded))
        kept = [gradient for edge, gradient in zip(seen.edges, found) if edge is not None]
        places = iter(kept)
        return [None if edge is None else next(places) for edge in node.edges]
    if isinstance(node, (Derived, Accumulate)) or node.in_the_open:
        return node.run(gradients, recorded)
    raise NotImplementedError(
        f"mstorch: a TorchDispatchMode does not see the gradient of {node.name()}: it was recorded before the mode was entered, or "
        "its operator has no gradient in the terms of torch.ops.aten"
    )


engine.watchers.append(_run_watched)

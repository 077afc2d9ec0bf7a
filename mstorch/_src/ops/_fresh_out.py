"""``out=`` of factories: which tensors torch lets them write to, and the autograd state of these tensors afterwards."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.modes import grad_set_to, modes
from ..core.tensor_base import TensorBase, is_tracked, require_grad
from ..core.writable import may_not_be_asked
from ..tape.composite import refuse
from ..tape.moving import beside
from ..tape.ways import ways
from ._dispatch import deliver, expect_out_dtype

_RESIZING = ("empty", "randn")  # in torch, autograd tracks their resizing of ``out``


def no_derivative(name: str) -> RuntimeError:
    """Return torch's error for a call with ``out=`` in which an argument requires grad."""
    return RuntimeError(
        f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."
    )


def is_of_leaf(tensor: TensorBase) -> bool:
    """Return whether a tensor is a leaf that requires grad, or a view of such a leaf."""
    base = None if tensor._ms_auto is None else tensor._ms_auto.base
    return is_tracked(tensor) and (_is_leaf(tensor) or (base is not None and base.is_leaf))


def _is_leaf(tensor: TensorBase) -> bool:
    """Return ``is_leaf``, or True for a view whose ``grad_fn`` raises because its base was modified in place."""
    return may_not_be_asked(tensor) or bool(tensor.is_leaf)


def underivable(word: str, input: TensorBase, out: TensorBase) -> TensorBase:
    """Return ``out`` with a node whose backward raises "derivative for NAME is not implemented", if ``input`` is tracked by autograd."""
    return refuse("NotImplemented", word, input, out, RuntimeError(f"derivative for {word} is not implemented"))


def all_underivable(word: str, inputs: Sequence[Any], results: Sequence[TensorBase]) -> None:
    """Give the results such a node if any of the inputs, some of which may be None or numbers, is tracked by autograd."""
    tracked = next((item for item in inputs if isinstance(item, TensorBase) and is_tracked(item)), None)
    if tracked is not None:
        for result in results:
            underivable(word, tracked, result)


def _stored(name: str, result: Any, out: Any, requires_grad: bool = False, store: Callable[[Any, Any], Any] = deliver) -> Any:
    return store(result, out)


@ways(at=2, captured=_stored)
def fresh_out(
    name: str, result: TensorBase, out: TensorBase, requires_grad: bool = False, store: Callable[[Any, Any], Any] = deliver
) -> TensorBase:
    """Store new values in ``out`` and return it. Raise RuntimeError if it is a leaf that requires grad, in grad mode.

    With grad disabled, a leaf has requires_grad set to ``requires_grad`` afterwards. A tensor that is not a leaf gets a node that raises in
    backward.
    """
    if not isinstance(out, TensorBase):
        return store(result, out)
    result = beside(result, out)
    expect_out_dtype(out, result._ms_dtype, "dtype {kind} does not match dtype of out parameter ({out})")
    tracked, leaf = is_tracked(out), _is_leaf(out)
    if tracked and name in _RESIZING:
        raise RuntimeError("cannot resize variables that require grad")
    if modes.grad and is_of_leaf(out):
        raise no_derivative(f"aten::{name}")
    with grad_set_to(False):
        store(result, out)
    if tracked and not leaf:
        return underivable(f"aten::{name}", out, out)
    if tracked is not requires_grad:
        require_grad(out, requires_grad)
    return out

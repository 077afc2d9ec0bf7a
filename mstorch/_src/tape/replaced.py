"""Checks of gradients returned by hooks: type and size must not change."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.promotion import WORDS, type_text
from ..core.tensor_base import TensorBase, is_meta


def replaced(
    hook: Callable[..., Any] | str, held: TensorBase | None, changed: TensorBase | int | Sequence[TensorBase]
) -> TensorBase | None:
    """Return a hook's gradient; raise TypeError if it is not a tensor, RuntimeError if its type or size differs."""
    if changed is None:
        return None
    if not isinstance(changed, TensorBase):
        raise TypeError(f"expected Variable, but hook returned '{type(changed).__name__}'")
    if held is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    before, after = _type_of(held), _type_of(changed)
    if before != after:
        raise RuntimeError(f"hook '{_name(hook)}' has changed the type of value (was {before} got {after})")
    if tuple(held.shape) != tuple(changed.shape):
        raise RuntimeError(f"hook '{_name(hook)}' has changed the size of value")
    return changed


def all_replaced(hook: Callable[..., Any], held: Sequence[Any], changed: TensorBase | int | Sequence[Any]) -> tuple[Any, ...]:
    """Apply ``replaced`` to the tuple of all gradients of a node."""
    if not isinstance(changed, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(changed).__name__}'")
    if len(changed) != len(held):
        raise RuntimeError(
            f"hook '{_name(hook)}' has returned an incorrect number of values (got {len(changed)}, but expected {len(held)})"
        )
    return tuple(replaced(hook, *pair) for pair in zip(held, changed))


def _name(hook: Callable[..., Any] | str) -> str:
    return hook if isinstance(hook, str) else getattr(hook, "__name__", "<unknown>")


def _type_of(tensor: TensorBase) -> str:
    """Return the tensor's type name for this message, which includes the layout and, for newer backends, the device."""
    kind, layout = tensor.dtype, str(tensor.layout)
    if layout == "torch.strided":
        return f"Meta{WORDS[kind.name]}Type" if is_meta(tensor) else type_text(kind)
    return type_text(kind, "sparse" if layout == "torch.sparse_coo" else layout.removeprefix("torch."))

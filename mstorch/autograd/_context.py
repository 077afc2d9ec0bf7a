"""The context of an autograd.Function: what ``forward`` saves for ``backward``."""
from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from .._src.core.dtype import dtype
from .._src.core.tensor_base import TensorBase
from .._src.core.warned import warn
from .._src.tape.node import FREED
from .._tensor import Tensor


class FunctionCtx:
    """The context that ``forward`` passes to ``backward``."""

    saved_for_forward: tuple[Any, ...] = ()
    _forward_now = False
    if TYPE_CHECKING:  # programs set any attributes on a context

        def __getattr__(self, name: str) -> Any: ...

        def __setattr__(self, name: str, value: Any) -> None: ...

    def __init__(self, needs_input_grad: tuple[bool, ...] = ()) -> None:
        self.needs_input_grad = needs_input_grad
        self.materialize_grads = self._materialize_non_diff_grads = True
        self._to_save: tuple[Any, ...] = ()
        self._saved: list[Any] | None = None
        self._dirty: tuple[Any, ...] = ()
        self._non_differentiable: tuple[Any, ...] = ()
        self._ms_node: weakref.ref[Any] | None = None
        self._output_grad_dtypes: tuple[dtype | None, ...] | None = None

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save tensors (inputs, outputs, or None) for backward."""
        for position, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, TensorBase):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {position} is of type {type(tensor).__name__}"
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Save tensors for ``jvp``."""
        self.saved_for_forward = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors saved by ``save_for_backward``; within ``jvp``, by ``save_for_forward``."""
        if self._forward_now:
            return self.saved_for_forward
        if self._saved is None:
            return self._to_save
        node = None if self._ms_node is None else self._ms_node()
        if node is not None and node.saved is None:
            raise RuntimeError(FREED)
        return tuple(None if item is None else item.value(node, True) for item in self._saved)

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """Deprecated name of ``saved_tensors``."""
        warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Mark the inputs that forward modified in place; forward has to return these inputs too."""
        self._dirty = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Mark the outputs that have no gradient."""
        self._non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether backward receives zeros (the default) or None for unused outputs."""
        self.materialize_grads = value

    def set_output_grad_dtype(self, *dtypes: dtype | None) -> None:
        """Declare the dtype in which backward gets the gradient of each output (torch 2.14). Raise RuntimeError if it is called twice.

        Differs from torch: with None a gradient comes in the output's dtype, as without the declaration, also where another was given.
        """
        if self._output_grad_dtypes is not None:
            raise RuntimeError("set_output_grad_dtype can only be called once")
        self._output_grad_dtypes = dtypes

    def name(self) -> str:
        """Return the name of the node."""
        node = None if self._ms_node is None else self._ms_node()
        return type(self).__name__ if node is None else node.name()

    @property
    def next_functions(self) -> tuple[Any, ...]:
        """The nodes that receive the gradients."""
        node = None if self._ms_node is None else self._ms_node()
        return () if node is None else node.next_functions

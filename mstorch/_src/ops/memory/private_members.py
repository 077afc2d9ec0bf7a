"""Members of Tensor that torch keeps for other layouts, for internal use or for compatibility; they answer or raise as in torch."""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NoReturn

from ...core.above import above
from ...core.dtype import dtype
from ...core.tensor_base import TensorBase
from .memory import not_here

PUBLIC_IN = "Tensor"
Function = Callable[..., Any]


def _nonzero(self: Any) -> bool:
    """Return ``bool(self)``, for a tensor of one element."""
    return bool(self)


def _long(self: Any) -> int:
    """Return ``int(self)``, for a tensor of one element."""
    return int(self)


def _nothing(self: Any) -> None:
    """Do nothing: mstorch's tensors hold nothing that cannot be pickled, and their weak references need no repair."""


def _set_state(self: Any, state: Any) -> None:
    """Set the state from a pickle of torch's earliest versions: storage, offset, sizes and strides, or data and hooks."""
    if not self.is_leaf:
        raise RuntimeError("__setstate__ can be only called on leaf Tensors")
    if len(state) == 4:
        self.set_(*state)
        return
    if len(state) == 5:  # the state of a Variable, before torch 0.4
        self.data = state[0]
        state = state[3], state[4], state[2]
    self.requires_grad, _, hooks = state
    for hook in (hooks or {}).values():
        self.register_hook(hook)


def _to_mkldnn(self: Any, dtype: dtype | None = None) -> NoReturn:
    """Raise NotImplementedError: tensors laid out for oneDNN are not built."""
    raise NotImplementedError("torch.Tensor.to_mkldnn: tensors of layout torch._mkldnn are not built")


vars(_to_mkldnn)["_unbuilt"] = "torch.Tensor.to_mkldnn"


def _no_cuda_array(self: Any) -> NoReturn:
    """Raise AttributeError: the tensor is not on a CUDA device."""
    raise AttributeError(
        f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {self.type()} If CUDA data is required use tensor.cuda() to copy "
        "tensor to device memory."
    )


def _read(name: str, read: Function, doc: str, write: Function | None = None) -> property:
    def remove(self: Any) -> NoReturn:
        raise RuntimeError(f"Deleting tensor attribute '{name}' is not allowed")

    read.__doc__ = doc
    return property(read, write, remove, doc)


def _detached(self: Any, value: Any) -> None:
    if value is not None:
        raise TypeError("_grad_fn can be only set to None")
    self.detach_()


def _hooks(self: TensorBase) -> OrderedDict[int, Function] | None:
    found = above.autograd.graph.hooks_of(self)
    return vars(self).get("_given_hooks") if found is None else found


def _set_hooks(self: Any, hooks: dict[int, Any]) -> None:
    vars(self)["_given_hooks"] = hooks  # stored as an attribute of the tensor
    for hook in hooks.values() if isinstance(hooks, dict) and self.requires_grad else ():
        self.register_hook(hook)


def _post_hooks(self: Any) -> OrderedDict[int, Function] | None:
    return None if self._ms_auto is None else self._ms_auto.post


# Methods of sparse and nested tensors that torch defines on all tensors.
NAMED_METHODS: dict[str, Function] = {
    **{name: not_here(name, "torch has it for tensors of other layouts") for name in (
        "_dimI", "_dimV", "_nnz", "_to_dense", "_nested_tensor_size", "_nested_tensor_strides", "_nested_tensor_storage_offsets",
        "_sparse_mask_projection",
    )},
    "__nonzero__": _nonzero, "__long__": _long, "_clear_non_serializable_cached_data": _nothing, "_fix_weakref": _nothing,
    "__setstate__": _set_state, "to_mkldnn": _to_mkldnn,
}  # fmt: skip
PROPERTIES = {
    "_grad_fn": _read("_grad_fn", lambda self: self.grad_fn, "``grad_fn``; set to None it takes the history away.", _detached),
    "_backward_hooks": _read("_backward_hooks", _hooks, "The hooks of ``register_hook``, None without any.", _set_hooks),
    "_post_accumulate_grad_hooks": _read(
        "_post_accumulate_grad_hooks", _post_hooks, "The hooks of ``register_post_accumulate_grad_hook``, None without any."
    ),
    "_cdata": _read("_cdata", lambda self: id(self), "A number that tells tensors apart."),
    "__cuda_array_interface__": _no_cuda_array,
}

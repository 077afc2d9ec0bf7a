"""Selective activation checkpointing: a policy, or a list of operators, chooses the results to save."""
from __future__ import annotations

import enum
import functools
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from .._src.core.tensor_base import TensorBase
from .._tensor import Tensor
from ..ops import OpOverload, OpOverloadPacket, aten
from ._python_dispatch import TorchDispatchMode
from ._pytree import tree_map


class CheckpointPolicy(enum.Enum):
    """Decision to save or recompute an operator's result. mstorch recomputes where torch would offload to the CPU."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


class SelectiveCheckpointContext:
    """The context passed to a policy, with the operator's result. ``is_recompute`` is always False."""

    def __init__(self, *, is_recompute: bool, op_output: Tensor | tuple[Tensor, Tensor] | None = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


@functools.cache
def ignored() -> set[Any]:
    """Return the operators that bypass policies, because autograd may call them any number of times."""
    return {aten.detach.default}


_RECOMPUTE, _CONSUMED = object(), object()


class _VersionWrapper:
    """A saved value, with its tensor version at the time of saving."""

    def __init__(self, val: Tensor) -> None:
        self.val = val
        self.version = val._version if isinstance(val, TensorBase) else None

    def get_val(self, allow_cache_entry_mutation: bool) -> Tensor:
        """Return the value. Raise RuntimeError if it was modified in place since."""
        if self.version is not None and not allow_cache_entry_mutation and self.val._version != self.version:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return self.val


class _CachingTorchDispatchMode(TorchDispatchMode):
    """The mode of the first run, which saves results."""

    def __init__(self, policy_fn: Callable[..., Any], storage: dict[Any, dict[int, Any]]) -> None:
        super().__init__()
        self.policy_fn = policy_fn
        self.storage = storage
        self.func_counter: dict[Any, int] = defaultdict(int)

    def __torch_dispatch__(
        self, func: OpOverload, types: tuple[Any, ...], args: tuple[Tensor | int | Sequence[int], ...] = (),
        kwargs: dict[Any, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        if func in ignored():
            return out
        number = self.func_counter[func]
        self.func_counter[func] += 1
        policy = self.policy_fn(SelectiveCheckpointContext(is_recompute=False, op_output=out), func, *args, **kwargs)
        if policy is True or policy in (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE):
            kept = tree_map(lambda x: _VersionWrapper(x.detach() if isinstance(x, TensorBase) else x), out)
        else:
            kept = _RECOMPUTE
        self.storage[func][number] = kept
        return out


_MISMATCH = (
    "This can happen if the operations in the checkpointed region are nondeterministic or depend on global state that changed between "
    "forward and backward."
)


class _CachedTorchDispatchMode(TorchDispatchMode):
    """The mode of the recomputation, which returns saved results."""

    def __init__(self, policy_fn: Any, storage: dict[Any, dict[int, Any]], allow_cache_entry_mutation: bool = False) -> None:
        super().__init__()
        self.storage = storage
        self.allow_cache_entry_mutation = allow_cache_entry_mutation
        self.func_counter: dict[Any, int] = defaultdict(int)

    def __enter__(self) -> TorchDispatchMode:
        self.func_counter.clear()
        return super().__enter__()

    def __torch_dispatch__(
        self, func: OpOverload, types: tuple[Any, ...], args: tuple[Tensor | int | Sequence[int], ...] = (),
        kwargs: dict[Any, Any] | None = None,
    ) -> Any:
        if func in ignored():
            return func(*args, **(kwargs or {}))
        number = self.func_counter[func]
        self.func_counter[func] += 1
        if func not in self.storage:
            raise RuntimeError(f"{func} encountered during backward but not found in storage. {_MISMATCH}")
        entry = self.storage[func].get(number)
        if entry is None:
            raise RuntimeError(f"{func} invocation index {number} encountered during backward but not found in storage. {_MISMATCH}")
        if entry is _CONSUMED:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under selective "
                "activation checkpoint."
            )
        if entry is _RECOMPUTE:
            return func(*args, **(kwargs or {}))
        self.storage[func][number] = _CONSUMED
        return tree_map(lambda x: x.get_val(self.allow_cache_entry_mutation), entry)


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[Any, Any]:
    """Return the two contexts for ``checkpoint(..., context_fn=...)``.

    ``policy_fn_or_list`` is a list of operators (``torch.ops.aten.mm.default``) whose results are saved, or a function of a
    ``SelectiveCheckpointContext``, the operator and its arguments that returns a ``CheckpointPolicy``.
    """
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not isinstance(op, OpOverload):
                further = (
                    "Please update the OpOverloadPacket to a specific OpOverload.For example, if you have `torch.ops.aten.mm`, change it "
                    "to `torch.ops.aten.mm.default`." if isinstance(op, OpOverloadPacket) else ""
                )  # fmt: skip
                raise ValueError(f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. {further}")

        def policy(ctx: SelectiveCheckpointContext, op: OpOverload, *args: Any, **kwargs: Any) -> CheckpointPolicy:
            return CheckpointPolicy.MUST_SAVE if op in policy_fn_or_list else CheckpointPolicy.PREFER_RECOMPUTE
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    storage: dict[Any, dict[int, Any]] = defaultdict(dict)
    return _CachingTorchDispatchMode(policy, storage), _CachedTorchDispatchMode(None, storage, allow_cache_entry_mutation)

"""Module wrappers whose activations backward recomputes, or fetches from the host."""
from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ....autograd.graph import save_on_cpu
from ....nn import Module
from ....utils.checkpoint import checkpoint
from ...fsdp.wrap import _Policy, _recursive_wrap, apply_policy, lambda_auto_wrap_policy

_CHECKPOINT_WRAPPED_MODULE = "_checkpoint_wrapped_module"
_CHECKPOINT_PREFIX = f"{_CHECKPOINT_WRAPPED_MODULE}."


class CheckpointImpl(enum.Enum):
    """Implementation of ``checkpoint``: reentrant or not."""

    REENTRANT = enum.auto()
    NO_REENTRANT = enum.auto()


def _renamed(state: dict[str, Any], old: str, new: str) -> None:
    for key in [key for key in state if key.startswith(old)]:
        value = state.pop(key)
        state[new + key[len(old) :]] = value


class ActivationWrapper(Module):
    """A module wrapper that does not show in state dicts and parameter names."""

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._register_state_dict_hook(
            lambda module, state, prefix, *rest: _renamed(state, f"{prefix}{_CHECKPOINT_PREFIX}", prefix)
        )
        self.register_load_state_dict_pre_hook(
            lambda module, state, prefix, *rest: _renamed(state, prefix, f"{prefix}{_CHECKPOINT_PREFIX}")
        )

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._checkpoint_wrapped_module, name)

    def __getitem__(self, key: int) -> Any:
        return self._checkpoint_wrapped_module[key]  # type: ignore[index]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """Yield the parameters with their names without the wrapper."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(_CHECKPOINT_PREFIX, ""), parameter


class OffloadWrapper(ActivationWrapper):
    """Module wrapper that keeps tensors saved for backward on the host."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the wrapped module, with tensors saved for backward kept on the host."""
        with save_on_cpu(pin_memory=True):
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """Module wrapper that saves only its inputs; backward recomputes the rest."""

    def __init__(
        self, mod: Module, checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT, checkpoint_fn: Any = None,
        **checkpoint_fn_kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        if checkpoint_fn is None:
            checkpoint_fn = partial(checkpoint, use_reentrant=checkpoint_impl is CheckpointImpl.REENTRANT)
        self.checkpoint_fn = partial(checkpoint_fn, **checkpoint_fn_kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the wrapped module under ``checkpoint``."""
        if self.checkpoint_impl is CheckpointImpl.NO_REENTRANT or not kwargs:
            return self.checkpoint_fn(self._checkpoint_wrapped_module, *args, **kwargs)
        names, count = list(kwargs), len(args)  # re-entrant checkpointing accepts positional tensors only

        def run(*given: Any) -> Any:
            return self._checkpoint_wrapped_module(*given[:count], **dict(zip(names, given[count:])))

        return self.checkpoint_fn(run, *args, *kwargs.values())


def offload_wrapper(module: Module) -> Module:
    """Wrap a module so that tensors saved for backward are kept on the host."""
    return OffloadWrapper(module)


def checkpoint_wrapper(
    module: Module, checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT, checkpoint_fn: Any = None,
    **checkpoint_fn_kwargs: Any,
) -> Module:  # fmt: skip
    """Wrap a module so that backward recomputes its activations."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def apply_activation_checkpointing(
    model: Module, checkpoint_wrapper_fn: Callable[..., Any] = checkpoint_wrapper, check_fn: Callable[[Any], bool] = lambda _: True,
    auto_wrap_policy: Callable[..., Any] | None = None,
) -> None:  # fmt: skip
    """Wrap the submodules that ``check_fn``, or a policy, selects."""
    policy = partial(lambda_auto_wrap_policy, lambda_fn=check_fn) if auto_wrap_policy is None else auto_wrap_policy
    if callable(policy):
        _recursive_wrap(model, policy, checkpoint_wrapper_fn, set(), set(), only_wrap_children=True)
    elif isinstance(policy, _Policy):
        apply_policy(model, policy._run_policy(model, set(), {}), checkpoint_wrapper_fn)
    else:
        raise ValueError(f"Expected {policy} to be callable or be a pre-defined wrap policy")


__all__ = [
    "ActivationWrapper", "CheckpointImpl", "CheckpointWrapper", "OffloadWrapper", "apply_activation_checkpointing",
    "checkpoint_wrapper", "offload_wrapper",
]  # fmt: skip

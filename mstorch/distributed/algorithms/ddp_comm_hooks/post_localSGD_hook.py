"""Gradients averaged over all processes at first, and over parts of them later (post-local SGD)."""
from __future__ import annotations

from typing import Any

from ..._start import new_subgroups
from . import debugging_hooks, default_hooks


class PostLocalSGDState:
    """Over whom is averaged: all of ``process_group`` before iteration ``start_localSGD_iter``, ``subgroup`` from then on.

    Without ``post_local_gradient_allreduce`` gradients are left as they are from then on.
    """

    def __init__(
        self, process_group: Any, subgroup: Any, start_localSGD_iter: int, post_local_gradient_allreduce: bool = True
    ) -> None:
        self.process_group, self.start_localSGD_iter = process_group, start_localSGD_iter
        self.subgroup = new_subgroups()[0] if subgroup is None else subgroup
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter = 0

    def maybe_increase_iter(self, bucket: Any) -> None:
        """Count an iteration at its last bucket."""
        if bucket.is_last():
            self.iter += 1


def post_localSGD_hook(state: PostLocalSGDState, bucket: Any) -> Any:
    """Return the mean of the gradients over those that the state names; later each process's own, if it says so."""
    if state.iter < state.start_localSGD_iter:
        state.maybe_increase_iter(bucket)
        return default_hooks.allreduce_hook(state.process_group, bucket)
    if not state.post_local_gradient_allreduce:
        return debugging_hooks.noop_hook(state, bucket)
    return default_hooks.allreduce_hook(state.subgroup, bucket)


__all__ = ["PostLocalSGDState", "post_localSGD_hook"]

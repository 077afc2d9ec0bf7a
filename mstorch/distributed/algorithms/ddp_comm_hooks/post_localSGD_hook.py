"""Communication hook of post-local SGD: gradients are averaged over all ranks at first, later over subgroups."""
from __future__ import annotations

from typing import Any

from ..._group import ProcessGroup
from ..._reducer import GradBucket
from ..._start import new_subgroups
from . import debugging_hooks, default_hooks


class PostLocalSGDState:
    """State of ``post_localSGD_hook``: gradients are averaged over ``process_group`` before iteration ``start_localSGD_iter``, over
    ``subgroup`` from then on.

    Without ``post_local_gradient_allreduce``, gradients are not averaged from then on.
    """

    def __init__(
        self, process_group: ProcessGroup | None, subgroup: ProcessGroup | None, start_localSGD_iter: int,
        post_local_gradient_allreduce: bool = True
    ) -> None:
        self.process_group, self.start_localSGD_iter = process_group, start_localSGD_iter
        self.subgroup = new_subgroups()[0] if subgroup is None else subgroup
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter = 0

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count an iteration at its last bucket."""
        if bucket.is_last():
            self.iter += 1


def post_localSGD_hook(state: PostLocalSGDState, bucket: GradBucket) -> Any:
    """Return a future of the bucket's mean: over the process group before iteration ``start_localSGD_iter``, later over the subgroup. Later
    buckets remain unchanged if ``post_local_gradient_allreduce`` is False."""
    if state.iter < state.start_localSGD_iter:
        state.maybe_increase_iter(bucket)
        return default_hooks.allreduce_hook(state.process_group, bucket)
    if not state.post_local_gradient_allreduce:
        return debugging_hooks.noop_hook(state, bucket)
    return default_hooks.allreduce_hook(state.subgroup, bucket)


__all__ = ["PostLocalSGDState", "post_localSGD_hook"]

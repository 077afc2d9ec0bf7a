"""Leaves of MindSpore's tape that stand for tensors of ours."""
from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from .._backend import tape
from .._backend.raw import Raw


class Ends:
    """The leaves of MindSpore's tape that stand for our tensors, by MindSpore's identity of them."""

    def __init__(self) -> None:
        self._known: dict[Any, tuple[weakref.ref[Raw], Any]] = {}

    def add(self, raw: Raw, tensor: Any) -> None:
        """Let a leaf of MindSpore's tape stand for a tensor, and keep the tensor's history alive as long as the leaf."""
        key = id(raw)
        self._known[key] = (weakref.ref(raw, lambda _: self._known.pop(key, None)), tensor)

    def below(self, raws: Sequence[Raw]) -> list[tuple[Raw, Any]]:
        """Return the ends that recorded tensors depend on, with the tensors they stand for."""
        identities = tape.ends_below(raws)
        found = []
        for reference, tensor in list(self._known.values()):
            raw = reference()
            tensor = tensor() if isinstance(tensor, weakref.ref) else tensor
            if raw is not None and tensor is not None and tape.leaf_identity(raw) in identities:
                found.append((raw, tensor))
        return found


ENDS = Ends()

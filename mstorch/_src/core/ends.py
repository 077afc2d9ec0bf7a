"""Leaves of MindSpore's autograd graph that correspond to mstorch's tensors."""
from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from ..backend import tape
from ..backend.raw import Raw


class Ends:
    """Map from leaves of MindSpore's autograd graph, by identity, to the corresponding tensors."""

    def __init__(self) -> None:
        self._known: dict[Any, tuple[weakref.ref[Raw], Any]] = {}

    def add(self, raw: Raw, tensor: Any) -> None:
        """Register a leaf of MindSpore's autograd for a tensor, and keep the tensor, with its autograd graph, alive as long as the leaf."""
        key = id(raw)
        self._known[key] = (weakref.ref(raw, lambda _: self._known.pop(key, None)), tensor)

    def below(self, raws: Sequence[Raw]) -> list[tuple[Raw, Any]]:
        """Return the leaves that MindSpore tensors depend on in MindSpore's autograd graph, with the corresponding tensors."""
        identities = tape.ends_below(raws)
        found = []
        for reference, tensor in list(self._known.values()):
            raw = reference()
            tensor = tensor() if isinstance(tensor, weakref.ref) else tensor
            if raw is not None and tensor is not None and tape.leaf_identity(raw) in identities:
                found.append((raw, tensor))
        return found


ENDS = Ends()

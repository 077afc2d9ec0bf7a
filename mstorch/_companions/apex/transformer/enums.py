"""apex.transformer.enums: kinds of masks."""

from __future__ import annotations

import enum


class AttnMaskType(enum.Enum):
    """A mask that the caller gives, or that of later places."""

    padding = 1
    causal = 2


__all__ = ["AttnMaskType"]

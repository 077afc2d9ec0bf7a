"""Replicas of a network on several devices, of which a MindSpore process has one."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..modules.module import Module
from .scatter_gather import _one


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> list[Module]:
    """Return a list with the network alone. Raise NotImplementedError for several devices."""
    _one(devices, "replicate")
    return [network]


__all__ = ["replicate"]

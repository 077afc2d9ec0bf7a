"""Copies of a network for several devices, for the one device that a process of MindSpore has."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..modules.module import Module
from .scatter_gather import _one


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> list[Module]:
    """Return a list with the network itself. Raise NotImplementedError for several devices."""
    _one(devices, "replicate")
    return [network]


__all__ = ["replicate"]

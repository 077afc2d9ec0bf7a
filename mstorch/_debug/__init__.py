"""``MSTORCH_DEBUG``: what a program's operations give beside real torch, or which operations and kernels it runs.

    MSTORCH_DEBUG=compare python -m mstorch train.py         # the first operation or gradient that differs from torch's raises
    MSTORCH_DEBUG=compare,all python -m mstorch train.py     # each that differs is printed once, and the program goes on
    MSTORCH_DEBUG=trace python -m mstorch train.py           # operations, kernels, gradients and host copies, as they happen

The variable is read once, as mstorch is imported, before the public functions are made: where it is not set they are made as ever.
"""
from __future__ import annotations

import os

from .._backend import cast, raw, table
from .._core import overriding
from .._core.above import copy_watchers, step_watchers
from . import profile
from .compare import Comparison
from .steps import Steps
from .trace import Tracer

VARIABLE = "MSTORCH_DEBUG"
_begun: list[Comparison] = []
_WORDS = frozenset(("compare", "trace", "all"))


def begin(wanted: str) -> None:
    """Watch operations as the variable's words say. Raises ValueError for other words, ImportError where torch is not installed."""
    words = {word for word in wanted.replace(" ", "").split(",") if word}
    unknown = sorted(words - _WORDS)
    if unknown or words == {"all"}:
        raise ValueError(f"mstorch: {VARIABLE}={wanted!r} is not known; it takes 'compare', 'compare,all', 'trace', or 'compare,trace'")
    if "compare" in words:
        comparison = Comparison(goes_on="all" in words)
        _begun.append(comparison)
        overriding.watchers.append(comparison.watched)
        step_watchers.append(Steps(comparison).watched)
    if "trace" in words:
        tracer = Tracer()
        overriding.watchers.append(tracer.watched)
        table.tracers.append(tracer.traced_kernel)
        copy_watchers.append(tracer.host_copy)


def ready() -> None:
    """Wait for real torch, which was imported beside mstorch. Raises ImportError where there is none."""
    for comparison in _begun:
        assert comparison.client.version


def begin_profile(file: str) -> None:
    """Time what the process does, and write it to a file as it ends."""
    found = profile.Profile(file)
    overriding.watchers.append(found.watched)
    step_watchers.append(found.stepped)
    table.tracers.append(found.kernel)
    copy_watchers.append(found.host_copy)
    cast.casts.append(found.cast)
    raw.uploads.append(found.upload)


if os.environ.get(VARIABLE):
    begin(os.environ[VARIABLE])
if os.environ.get(profile.VARIABLE):
    begin_profile(os.environ.pop(profile.VARIABLE))  # processes that it starts write no such file

"""``MSTORCH_DEBUG``: compares a program's operations with real torch, or traces the operations and kernels that it runs.

    MSTORCH_DEBUG=compare python -m mstorch train.py         # raise at the first operation or gradient that differs from torch's
    MSTORCH_DEBUG=compare,all python -m mstorch train.py     # print each one that differs once, and continue
    MSTORCH_DEBUG=trace python -m mstorch train.py           # print operations, kernels, gradients and host copies, as they happen

The variable is read once, when mstorch is imported and before the public functions are created; without it they are unaffected.
"""
from __future__ import annotations

import os

from ..._src.backend import cast, raw, table
from ..._src.core import overriding
from ..._src.core.above import copy_watchers, step_watchers
from . import profile
from .compare import Comparison
from .steps import Steps
from .trace import Tracer

VARIABLE = "MSTORCH_DEBUG"
_begun: list[Comparison] = []
_WORDS = frozenset(("compare", "trace", "all"))


def begin(wanted: str) -> None:
    """Watch operations as the variable requests. Raise ValueError for unknown words, ImportError if torch is not installed."""
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
    """Wait until real torch has been imported in its process. Raise ImportError if there is none."""
    for comparison in _begun:
        assert comparison.client.version


def begin_profile(file: str) -> None:
    """Profile the process, and write the result to a file when it ends."""
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
    begin_profile(os.environ.pop(profile.VARIABLE))  # so that child processes write no such file

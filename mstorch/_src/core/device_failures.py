"""Errors of an accelerator's runtime (a kernel that failed, memory, communication), in MindSpore's own words, as torch's class."""
from __future__ import annotations

import contextlib
import os

from ..backend import runtime
from ..backend.mindspore_errors import DEVICE, meaning
from ..backend.tape import wait_for_launches

_BLOCKING = {"npu": "ASCEND_LAUNCH_BLOCKING", "cuda": "CUDA_LAUNCH_BLOCKING"}

_QUEUES = 4
"""MindSpore queues a call to infer, to prepare, to launch and to differentiate it; each queue raises the first of its errors."""


class AcceleratorError(RuntimeError):
    """Raised for an error of an accelerator."""


AcceleratorError.__module__ = "torch"


def device_failure(error: BaseException) -> AcceleratorError | None:
    """Return the error to raise for one that MindSpore's device runtime raised: its own text, and a sentence that another call may have
    failed; return None for any other error.
    """
    if error.__class__ is AcceleratorError or not isinstance(error, RuntimeError) or meaning(error) is not DEVICE:
        return None
    text = str(error).rstrip()
    _drop_consequences()
    name = _BLOCKING.get(runtime.device_type(), "ASCEND_LAUNCH_BLOCKING")
    if os.environ.get(name) != "1":
        text += (
            f"\n\nKernels run asynchronously: the call that is shown here may not be the one that failed. Set {name}=1, and the error is "
            "raised by the call that failed."
        )
    return AcceleratorError(text)


def _drop_consequences() -> None:
    """Wait for the calls that MindSpore has queued, and forget their errors: they were made before this one was seen, and read what the
    failed kernel did not write. The next call, which is innocent, would raise them.
    """
    for _ in range(_QUEUES):
        with contextlib.suppress(RuntimeError):
            wait_for_launches()
            return

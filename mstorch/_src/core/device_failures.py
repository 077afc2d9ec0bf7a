"""Errors of an accelerator's runtime (a kernel that failed, memory, communication), in MindSpore's own words, as torch's class."""
from __future__ import annotations

import os

from ..backend import runtime
from ..backend.mindspore_errors import DEVICE, meaning

_BLOCKING = {"npu": "ASCEND_LAUNCH_BLOCKING", "cuda": "CUDA_LAUNCH_BLOCKING"}


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
    name = _BLOCKING.get(runtime.device_type(), "ASCEND_LAUNCH_BLOCKING")
    if os.environ.get(name) != "1":
        text += (
            f"\n\nKernels run asynchronously: the call that is shown here may not be the one that failed. Set {name}=1, and the error is "
            "raised by the call that failed."
        )
    return AcceleratorError(text)

"""Classify errors of MindSpore by their messages.

MindSpore raises RuntimeError, TypeError and ValueError for all causes, so that only the message tells them apart. Messages are parsed in
this module and nowhere else in the package (``tests/test_layout.py``).
"""
from __future__ import annotations

NO_MEMORY, DEVICE, TWICE, CHANGED, NO_KERNEL = "no memory", "device", "backward twice", "changed in place", "no kernel"

_UNWRITTEN, _OF_CANN = "The device memory is null", "- Ascend Error Message:"
_WORDS = {
    NO_MEMORY: (
        "Memory not enough", "memory isn't enough", "memory not enough", "Memory isn't enough", "Allocate memory failed",
        _UNWRITTEN, "Allocate device memory failed", "Tried to allocate",
    ),
    # What the runtimes of devices say of a kernel, a copy, a wait or a message that failed. The section is MindSpore's own, for CANN.
    DEVICE: (
        _OF_CANN, "GetWorkspaceSize call failed", "Call aclnn", "Sync all streams failed", "SyncCopy failed", "aclrt",
        "SyncStream failed", "Hccl", "HCCL", "CUDA Error", "cudaError", "cudnnStatus", "Launch kernel failed",
    ),
    TWICE: ("backward the graph twice",),
    CHANGED: ("modified by an inplace operation",),
    NO_KERNEL: (  # messages of the CPU's kernels (2.10)
        "unregistered", "Unsupported op", "Create kernelmod", "not support on CPU", "Select CPU operator", "KernelMod Init Failed",
        "does not support this kernel", "unsupported reduce operation", "bad_function_call", "only support decimals",
    ),
}  # fmt: skip
# What MindSpore says of arguments, before it launches anything.
_OF_ARGUMENTS = ("For '", "For primitive", "For ops", "Failed calling", "For `", "The input", "The value", "The shape", "The dtype")


def meaning(error: BaseException) -> str:
    """Return the cause of an error of MindSpore, one of the names above, or "" for all others."""
    text = str(error)
    if _UNWRITTEN in text and _OF_CANN in text:
        return DEVICE  # the kernel that should have made an operand was refused; without CANN's words there was no memory for it
    return next((name for name, words in _WORDS.items() if any(word in text for word in words)), "")


def checks_arguments(error: BaseException) -> bool:
    """Return whether an error is one that MindSpore raises while it checks the arguments of a call."""
    return not isinstance(error, RuntimeError) or str(error).startswith(_OF_ARGUMENTS)

"""Classify errors of MindSpore by their messages.

MindSpore raises RuntimeError, TypeError and ValueError for all causes, so that only the message tells them apart. Messages are parsed in
this module and nowhere else in the package (``tests/test_layout.py``).
"""
from __future__ import annotations

NO_MEMORY, TWICE, CHANGED, NO_KERNEL = "no memory", "backward twice", "changed in place", "no kernel"

_WORDS = {
    NO_MEMORY: ("Memory not enough", "memory isn't enough", "memory not enough", "Memory isn't enough"),
    TWICE: ("backward the graph twice",),
    CHANGED: ("modified by an inplace operation",),
    NO_KERNEL: (  # messages of the CPU's kernels (2.10)
        "unregistered", "Unsupported op", "Create kernelmod", "not support on CPU", "Select CPU operator", "KernelMod Init Failed",
        "Launch kernel failed", "does not support this kernel", "unsupported reduce operation", "bad_function_call",
        "only support decimals",
    ),
}  # fmt: skip


def meaning(error: BaseException) -> str:
    """Return the cause of an error of MindSpore, one of the names above, or "" for all others."""
    text = str(error)
    return next((name for name, words in _WORDS.items() if any(word in text for word in words)), "")

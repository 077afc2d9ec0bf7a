"""Subclasses whose ``__torch_dispatch__`` computes their sizes and strides."""
from __future__ import annotations

from typing import Any

import pytest

ASKED = [
    "t.size()", "t.size(0)", "t.size(-1)", "t.size(5)", "t.shape", "t.dim()", "t.ndim", "t.ndimension()", "len(t)", "t.numel()", "t.nelement()",
    "t.stride()", "t.stride(0)", "t.is_contiguous()", "t.is_contiguous(memory_format=torch.channels_last)", "t.storage_offset()",
    "t.layout", "t.dtype", "list(t.shape)", "t.add(1).shape", "t.view(6).shape", "t.detach().shape",
]  # fmt: skip


def wrapper(torch: Any, policy: str | None, log: list[str], answer: str, wraps: bool) -> Any:
    class Wrapper(torch.Tensor):  # type: ignore[misc]
        @staticmethod
        def __new__(cls: Any, inner: Any) -> Any:
            if not wraps:
                return torch.Tensor._make_subclass(cls, inner, dispatch_sizes_strides_policy=policy)
            return torch.Tensor._make_wrapper_subclass(
                cls, inner.size(), inner.stride(), dtype=inner.dtype, dispatch_sizes_strides_policy=policy
            )

        def __init__(self, inner: Any) -> None:
            self.inner = inner

        @classmethod
        def __torch_dispatch__(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.append(str(func) + str(args[1:]))
            if answer == "none" and "size" in str(func):
                return None
            if answer == "other" and func is torch.ops.aten.sym_size.default:
                return (7, 5)
            found = func(*[a.inner if isinstance(a, cls) else a for a in args], **(kwargs or {}))
            return cls(found) if isinstance(found, torch.Tensor) else found

    return Wrapper


@pytest.mark.parametrize("policy", [None, "sizes", "strides", "neither"])
@pytest.mark.parametrize("answer", ["own", "none", "other"])
@pytest.mark.parametrize("wraps", [True, False])
def test_what_a_class_is_asked(both: Any, policy: str | None, answer: str, wraps: bool) -> None:
    def body(torch: Any) -> Any:
        log: list[str] = []
        t = wrapper(torch, policy, log, answer, wraps)(torch.ones(2, 3))
        found = []
        for text in ASKED:
            log.clear()
            try:
                value = eval(text, {"t": t, "torch": torch})
            except IndexError as error:
                value = str(error)
            found.append((text, str(value), list(log)))
        return found

    both(body)


def test_a_class_that_defines_its_members_keeps_them(both: Any) -> None:
    def body(torch: Any) -> Any:
        log: list[str] = []
        kind = wrapper(torch, "sizes", log, "own", True)
        mine = type("Mine", (kind,), {"size": lambda self, dim=None: "mine", "__len__": lambda self: 9})
        t = mine(torch.ones(2, 3))
        return t.size(), len(t), t.shape, kind(torch.ones(4)).size()

    both(body)

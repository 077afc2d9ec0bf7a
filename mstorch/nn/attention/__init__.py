"""torch.nn.attention: kernel selection (mstorch has one kernel), causal biases, attention with score functions."""
from __future__ import annotations

import operator
import threading
from contextlib import AbstractContextManager
from enum import Enum
from typing import Any

from ..._src.hook import missing as _missing
from ..._src.leaving import END, Undo, undoing, values_again
from ..._src.namespace.attention_choice import ALLOWED
from ._registry import (
    activate_flash_attention_impl,
    current_flash_attention_impl,
    list_flash_attention_impls,
    register_flash_attention_impl,
    restore_flash_attention_impl,
)

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(Enum):
    """The kernels among which torch selects. mstorch has one kernel that serves for all of them."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __repr__(self) -> str:
        return f"<SDPBackend.{self.name}: {self.value}>"

    def __str__(self) -> str:
        return f"SDPBackend.{self.name}"

    def __int__(self) -> int:
        return self.value

    __index__ = __int__

    def __hash__(self) -> int:
        return hash(self.value)


_NAMES = {
    "cudnn": "CUDNN_ATTENTION", "flash": "FLASH_ATTENTION", "mem_efficient": "EFFICIENT_ATTENTION", "math": "MATH",
    "overrideable": "OVERRIDEABLE",
}  # fmt: skip


class _Chosen(threading.local):
    """The enabled kernels, in the order of ``_NAMES``, and their priority, for each thread."""

    def __init__(self) -> None:
        self.enabled = [SDPBackend[name] for name in _NAMES.values()]
        self.priority = [SDPBackend(n) for n in (1, 2, 0, 3, 4)]


_chosen = _Chosen()
# Not ``int``, whose call is Python's: attention asks at each call.
_number_of = operator.attrgetter("_value_")
ALLOWED.append(lambda: list(map(_number_of, _chosen.enabled)))


def _backend_from_string(name: str) -> SDPBackend:
    return SDPBackend[name]


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:
    return sorted(_chosen.enabled, key=_chosen.priority.index) if with_priority else list(_chosen.enabled)


@undoing
def sdpa_kernel(undo: Undo, backends: SDPBackend | list[SDPBackend], set_priority: bool = False) -> dict[Any, Any]:
    """Context manager that enables only the given kernels for ``scaled_dot_product_attention``; with ``set_priority`` in this order.

    Attention raises RuntimeError if none of them is applicable. Differs from torch: no warnings say why.
    """
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            f"Backend must be an instance of SDPBackend or a list of SDPBackend instances, got {type(backends).__name__}"
        )
    wanted = list(dict.fromkeys([backends] if isinstance(backends, SDPBackend) else backends))
    values = {"enabled": [SDPBackend[name] for name in _NAMES.values() if SDPBackend[name] in wanted]}
    if set_priority:
        values["priority"] = wanted + [backend for backend in _chosen.priority if backend not in wanted]
    undo[END:] = (values_again(_chosen, *values),)
    vars(_chosen).update(values)
    return {}


def _sdpa_kernel_variadic(*backends: SDPBackend) -> AbstractContextManager[Any]:
    return sdpa_kernel(list(backends))


__all__ = [
    "SDPBackend", "WARN_FOR_UNFUSED_KERNELS", "activate_flash_attention_impl", "current_flash_attention_impl",
    "list_flash_attention_impls", "register_flash_attention_impl", "restore_flash_attention_impl", "sdpa_kernel",
]  # fmt: skip

__getattr__ = _missing(__name__)

"""torch.jit.annotations: type names for TorchScript."""
from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035  # torch's module has these names

from .._jit_internal import (
    BroadcastingList1,
    BroadcastingList2,
    BroadcastingList3,
    BroadcastingList4,
    BroadcastingList5,
    BroadcastingList6,
    is_dict,
    is_list,
    is_optional,
    is_tuple,
    is_union,
)
from .._src.hook import missing as _missing

__all__ = [
    "Any", "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "BroadcastingList4", "BroadcastingList5",
    "BroadcastingList6", "Dict", "List", "Optional", "Tuple", "Union", "is_dict", "is_list", "is_optional", "is_tuple", "is_union",
]  # fmt: skip

__getattr__ = _missing(__name__)

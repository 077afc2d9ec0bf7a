"""What needs a process group: torch's names and parameters, and its error where there is no group."""
from __future__ import annotations

import ast
import inspect
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

from mstorch import Tensor

from ._types import ReduceOp

MISSING = "Default process group has not been initialized, please make sure to call init_process_group."


def without_group() -> NoReturn:
    """Raises torch's ValueError of a program that has made no group."""
    raise ValueError(MISSING)


_ENDS = "group=None, async_op=False"
_COALESCED = "`torch.distributed.{}` will be deprecated. If you must use it, please revisit our documentation later at " + (
    "https://pytorch.org/docs/main/distributed.html#collective-functions"
)
_SINGLE = "`torch.distributed.{}` is deprecated. Please use `torch.distributed.{}` instead."

# name: (parameters, what it does with a group)
_TABLE = {
    "all_gather": (f"tensor_list, tensor, {_ENDS}", "Collects the tensors of a group."),
    "all_gather_coalesced": (f"output_tensor_lists, input_tensor_list, {_ENDS}", "Collects lists of tensors."),
    "all_gather_into_tensor": (f"output_tensor, input_tensor, {_ENDS}", "Collects the tensors of a group in one."),
    "all_gather_object": ("object_list, obj, group=None", "Collects the objects of a group."),
    "all_gather_single": (f"output_tensor, input_tensor, {_ENDS}", "Collects the tensors of a group in one."),
    "all_reduce": (f"tensor, op=SUM, {_ENDS}", "Sums a tensor over a group."),
    "all_reduce_coalesced": (f"tensors, op=SUM, {_ENDS}", "Sums several tensors over a group."),
    "all_to_all": (f"output_tensor_list, input_tensor_list, {_ENDS}", "Sends a tensor to each process of a group."),
    "all_to_all_single": (
        f"output, input, output_split_sizes=None, input_split_sizes=None, {_ENDS}", "Sends a part of a tensor to each process of a group."
    ),
    "barrier": (f"{_ENDS}, device_ids=None, timeout=None", "Waits for the group's other processes."),
    "broadcast": ("tensor, src=None, group=None, async_op=False, group_src=None", "Sends a tensor to a group."),
    "broadcast_object_list": ("object_list, src=None, group=None, device=None, group_src=None", "Sends objects to a group."),
    "gather": ("tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None", "Collects tensors in one process."),
    "gather_object": ("obj, object_gather_list=None, dst=None, group=None, group_dst=None", "Collects objects in one process."),
    "get_backend": ("group=None", "The name of a group's backend."),
    "get_backend_config": ("group=None", "The backends of a group by kind of device."),
    "get_process_group_ranks": ("group", "The numbers of a group's processes."),
    "get_rank": ("group=None", "The number of this process in a group."),
    "get_world_size": ("group=None", "The number of processes in a group."),
    "irecv": ("tensor, src=None, group=None, tag=0, group_src=None", "Begins to receive a tensor."),
    "isend": ("tensor, dst=None, group=None, tag=0, group_dst=None", "Begins to send a tensor."),
    "monitored_barrier": ("group=None, timeout=None, wait_all_ranks=False", "Waits for the others, and tells who did not come."),
    "new_group": (
        "ranks=None, timeout=None, backend=None, pg_options=None, use_local_synchronization=False, group_desc=None, device_id=None, "
        "sort_ranks=True", "A further group.",
    ),
    "new_subgroups_by_enumeration": (
        "ranks_per_subgroup_list, timeout=None, backend=None, pg_options=None, group_desc=None", "Groups of given processes."
    ),
    "recv": ("tensor, src=None, group=None, tag=0, group_src=None", "Receives a tensor."),
    "recv_object_list": ("object_list, src=None, group=None, device=None, group_src=None, use_batch=False", "Receives objects."),
    "reduce": ("tensor, dst=None, op=SUM, group=None, async_op=False, group_dst=None", "Sums a tensor for one process."),
    "reduce_scatter": (f"output, input_list, op=SUM, {_ENDS}", "Sums tensors, one for each process."),
    "reduce_scatter_single": (f"output, input, op=SUM, {_ENDS}", "Sums a tensor, of which each process gets a part."),
    "reduce_scatter_tensor": (f"output, input, op=SUM, {_ENDS}", "Sums a tensor, of which each process gets a part."),
    "scatter": ("tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None", "Receives one of a process's tensors."),
    "scatter_object_list": (
        "scatter_object_output_list, scatter_object_input_list=None, src=None, group=None, group_src=None",
        "Receives one of a process's objects.",
    ),
    "send": ("tensor, dst=None, group=None, tag=0, group_dst=None", "Sends a tensor."),
    "send_object_list": ("object_list, dst=None, group=None, device=None, group_dst=None, use_batch=False", "Sends objects."),
    "shrink_group": ("ranks_to_exclude, group=None, shrink_flags=0, pg_options=None", "A group without some of its processes."),
}  # fmt: skip
_DEPRECATED = {
    "all_gather_coalesced": _COALESCED.format("all_gather_coalesced"),
    "all_reduce_coalesced": _COALESCED.format("all_reduce_coalesced"),
    "all_gather_into_tensor": _SINGLE.format("all_gather_into_tensor", "all_gather_single"),
    "reduce_scatter_tensor": _SINGLE.format("reduce_scatter_tensor", "reduce_scatter_single"),
}


def _signature(parameters: str) -> inspect.Signature:
    found = []
    for part in parameters.split(", "):
        name, given, default = part.partition("=")
        value: Any = inspect.Parameter.empty
        if given:
            value = ReduceOp.SUM if default == "SUM" else ast.literal_eval(default)
        found.append(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=value))
    return inspect.Signature(found)


def _made(name: str, parameters: str, text: str) -> Callable[..., Any]:
    """A function that takes torch's parameters and says that there is no group."""
    signature = _signature(parameters)

    def function(*args: Any, **kwargs: Any) -> NoReturn:
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}() {error}") from None
        if name in _DEPRECATED:
            warnings.warn(_DEPRECATED[name], FutureWarning, stacklevel=2)
        without_group()

    function.__name__ = function.__qualname__ = name
    function.__module__ = __package__
    function.__doc__ = f"{text} ValueError without a group."
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


FUNCTIONS = {name: _made(name, *row) for name, row in _TABLE.items()}


def new_subgroups(
    group_size: int | None = None, group: Any = None, timeout: Any = None, backend: Any = None, pg_options: Any = None,
    group_desc: str | None = None,
) -> NoReturn:  # fmt: skip
    """Groups of as many processes each. ValueError without a group, and without a size where there are no devices to count."""
    if group_size is None:
        raise ValueError(
            "Default group size only takes effect when CUDA is available."
            "If your subgroup using a backend that does not depend on CUDA,please pass in 'group_size' correctly."
        )
    without_group()


def split_group(
    parent_pg: Any = None, split_ranks: list[Any] | None = None, timeout: Any = None, pg_options: Any = None,
    group_desc: str | None = None, backend: Any = None,
) -> NoReturn:  # fmt: skip
    """Parts of a group. ValueError without one."""
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    without_group()


def _registered(group: Any) -> None:
    if group is not None:
        raise ValueError(f"Group {group} is not registered, please create group with torch.distributed.new_group API")


def get_global_rank(group: Any, group_rank: int) -> int:
    """The number among all processes of one of a group: the same for the group of all. ValueError for another group."""
    _registered(group)
    return group_rank


def get_group_rank(group: Any, global_rank: int) -> int:
    """The number in a group of one of all processes: the same for the group of all. ValueError for another group."""
    _registered(group)
    return global_rank


def get_pg_count() -> int:
    """How many groups there are: 0."""
    return 0


class P2POp:
    """A sending or receiving for ``batch_isend_irecv``. ValueError without a group."""

    def __init__(
        self, op: Callable[..., Any], tensor: Any, peer: int | None = None, group: Any = None, tag: int = 0, group_peer: int | None = None
    ) -> None:
        if op not in (FUNCTIONS["isend"], FUNCTIONS["irecv"]):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or ``torch.distributed.irecv``."
            )
        if not isinstance(tensor, Tensor):
            raise TypeError(
                "Invalid function argument. Expected parameter `tensor` of type torch.Tensor\n"
                f"             but got {type(tensor)} instead."
            )
        without_group()


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> NoReturn:
    """Begins several sendings and receivings. None can be made here, so the list is wrong: ValueError, IndexError if it is empty."""
    p2p_op_list[0]
    raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")

"""Process groups under ``TORCH_DISTRIBUTED_DEBUG=DETAIL``: all ranks compare their calls before each collective."""
from __future__ import annotations

import json
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from .._tensor import Tensor
from ._group import _TITLES, ProcessGroup, _listed
from ._settings import DebugLevel, get_debug_level
from ._types import ReduceOp
from ._work import Work

_NAMES = {**_TITLES, "float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "int16": "Short"}


def group_class() -> type[ProcessGroup]:
    """Return the class of new groups: ComparedGroup at debug level DETAIL, else ProcessGroup."""
    return ComparedGroup if get_debug_level() is DebugLevel.DETAIL else ProcessGroup


def _shown(call: dict[str, Any]) -> str:
    """Format a call as in torch's messages."""
    said = {"SequenceNumber": call["number"], "OpType": call["op"]}
    if call["shapes"]:
        titles = {"TensorShape": "shapes", "TensorDtypes": "dtypes", "TensorDeviceTypes": "devices"}
        said |= {title: " ".join(map(str, call[key])) for title, key in titles.items()}
    return f"CollectiveFingerPrint({', '.join(f'{title}={value}' for title, value in said.items())})"


# Aspects in which two calls may differ, in torch's words. "Root" is mstorch's: in torch, ranks wait for one another until a timeout.
_ASPECTS = {"op": "Op type", "shapes": "Tensor shapes", "dtypes": "Tensor dtypes", "devices": "Tensor devices", "root": "Root"}


class ComparedGroup(ProcessGroup):
    """A group whose ranks compare their calls first: all raise RuntimeError, before any transfer, if the calls differ."""

    _compared = 0

    def _compare(self, op: str, tensors: Sequence[Any] = (), timeout: Any = None, root: int | None = None) -> None:
        if self._mesh is None or self.size() == 1:
            return
        number, self._compared = self._compared, self._compared + 1
        mine: dict[str, Any] = {
            "number": number, "op": op, "root": root, "shapes": [list(tensor.shape) for tensor in tensors],
            "dtypes": [_NAMES.get(tensor.dtype.name, tensor.dtype.name) for tensor in tensors],
            "devices": [tensor.device.type for tensor in tensors],
        }  # fmt: skip
        exchange = self._exchange(b"/same %d/" % number, timeout)
        exchange.publish(exchange.others, 0, np.frombuffer(json.dumps(mine).encode(), np.uint8))
        late, found = [], {}
        deadline = time.monotonic() + exchange.seconds
        for member in exchange.others:
            try:
                message = exchange.mesh.receive(exchange.ranks[member], exchange.key + bytes(4), max(deadline - time.monotonic(), 0.01))
            except RuntimeError as error:
                late.append((exchange.ranks[member], error))
                continue
            found[exchange.ranks[member]] = json.loads(bytes(message.data))
            message.free()
        if late:
            names = ", ".join(str(rank) for rank, _ in late)
            raise RuntimeError(
                f"ProcessGroupWrapper: Monitored Barrier encountered error running collective: {_shown(mine)}. Error: \n[Rank "
                f"{self._ranks[self._me]}]: Ranks {names} failed to pass monitoredBarrier in {exchange.seconds * 1000:.0f} ms\n"
                f" Original exception: \n{late[0][1]}"
            )
        for rank, other in found.items():
            aspects = [f"\t {title}: {mine[key]} vs {other[key]}" for key, title in _ASPECTS.items() if mine[key] != other[key]]
            if aspects:
                raise RuntimeError(
                    f"Detected mismatch between collectives on ranks. Rank {self._ranks[self._me]} is running collective: {_shown(mine)}, "
                    f"but Rank {rank} is running collective: {_shown(other)}. Collectives differ in the following aspects: "
                    + "".join(aspects)
                )

    def allreduce(self, tensors: Sequence[Tensor], opts: Any = None, timeout: timedelta | None = None) -> Work:
        """Compare the call with the other ranks', then run ``ProcessGroup.allreduce``."""
        self._compare("ALLREDUCE", _listed(tensors), getattr(opts, "timeout", timeout))
        return super().allreduce(tensors, opts, timeout)

    def broadcast(self, tensors: Sequence[Tensor], opts: Any = None, timeout: timedelta | None = None, root: int = 0) -> Work:
        """Compare the call with the other ranks', then run ``ProcessGroup.broadcast``."""
        source = opts if isinstance(opts, int) else getattr(opts, "rootRank", root)
        self._compare("BROADCAST", _listed(tensors), getattr(opts, "timeout", timeout), source)
        return super().broadcast(tensors, opts, timeout, root)

    def allgather(
        self, output_lists: Sequence[list[Tensor]], inputs: Sequence[Tensor], opts: Any = None, timeout: timedelta | None = None
    ) -> Work:
        """Compare the call with the other ranks', then run ``ProcessGroup.allgather``."""
        self._compare("ALLGATHER", _listed(inputs), getattr(opts, "timeout", timeout))
        return super().allgather(output_lists, inputs, opts, timeout)

    def _allgather_base(self, output: Tensor, input: Tensor, opts: Any = None) -> Work:
        self._compare("_ALLGATHER_BASE", [input], getattr(opts, "timeout", None))
        return super()._allgather_base(output, input, opts)

    all_gather_single = _allgather_base

    def _allgather_pieces(self, outputs: Sequence[Sequence[Any]], inputs: Sequence[Any]) -> Work:
        self._compare("ALLGATHER_PIECES")  # members have pieces of different sizes
        return super()._allgather_pieces(outputs, inputs)

    def _reduce_scatter_pieces(self, outputs: Sequence[Any], inputs: Sequence[Sequence[Any]], op: ReduceOp) -> Work:
        if outputs:
            self._compare("REDUCE_SCATTER_PIECES")
        return super()._reduce_scatter_pieces(outputs, inputs, op)

    def reduce(self, tensors: Sequence[Tensor], opts: Any = None, timeout: timedelta | None = None, root: int = 0, op: Any = None) -> Work:
        """Compare the call with the other ranks', then run ``ProcessGroup.reduce``."""
        self._compare("REDUCE", _listed(tensors), getattr(opts, "timeout", timeout), getattr(opts, "rootRank", root))
        return super().reduce(tensors, opts, timeout, root, op)

    def reduce_scatter(
        self, outputs: Sequence[Tensor], input_lists: Sequence[list[Tensor]], opts: Any = None, timeout: timedelta | None = None
    ) -> Work:
        """Compare the call with the other ranks', then run ``ProcessGroup.reduce_scatter``."""
        self._compare("REDUCE_SCATTER", _listed(outputs), getattr(opts, "timeout", timeout))
        return super().reduce_scatter(outputs, input_lists, opts, timeout)

    def _reduce_scatter_base(self, output: Tensor, input: Tensor, opts: Any = None) -> Work:
        self._compare("_REDUCE_SCATTER_BASE", [output, input], getattr(opts, "timeout", None))
        return super()._reduce_scatter_base(output, input, opts)

    reduce_scatter_single = _reduce_scatter_base

    def gather(
        self, output_lists: Sequence[list[Tensor]], inputs: Sequence[Tensor], opts: Any = None, timeout: timedelta | None = None,
        root: int = 0
    ) -> Work:
        """Compare the call with the other ranks', then run ``ProcessGroup.gather``."""
        self._compare("GATHER", _listed(inputs), getattr(opts, "timeout", timeout), getattr(opts, "rootRank", root))
        return super().gather(output_lists, inputs, opts, timeout, root)

    def scatter(
        self, outputs: Sequence[Tensor], input_lists: Sequence[list[Tensor]], opts: Any = None, timeout: timedelta | None = None,
        root: int = 0
    ) -> Work:
        """Compare the call with the other ranks', then run ``ProcessGroup.scatter``."""
        self._compare("SCATTER", _listed(outputs), getattr(opts, "timeout", timeout), getattr(opts, "rootRank", root))
        return super().scatter(outputs, input_lists, opts, timeout, root)

    def alltoall(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], opts: Any = None) -> Work:
        """Compare the call, but not its sizes, with the other ranks', then run ``ProcessGroup.alltoall``."""
        self._compare("ALLTOALL", (), getattr(opts, "timeout", None))
        return super().alltoall(outputs, inputs, opts)

    def alltoall_base(self, output: Tensor, input: Tensor, output_sizes: Any, input_sizes: Any, opts: Any = None) -> Work:
        """Compare the call, but not its sizes, with the other ranks', then run ``ProcessGroup.alltoall_base``."""
        self._compare("ALLTOALL_BASE", (), getattr(opts, "timeout", None))
        return super().alltoall_base(output, input, output_sizes, input_sizes, opts)

    all_to_all_single = alltoall_base

    def barrier(self, opts: Any = None, timeout: timedelta | None = None) -> Work:
        """Compare the call with the other ranks', then run ``ProcessGroup.barrier``."""
        self._compare("BARRIER", (), getattr(opts, "timeout", timeout))
        return super().barrier(opts, timeout)

"""torch._subclasses.fake_utils: real calls cross-checked with fake tensors."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import ops
from .._src.core.device import device
from .._src.core.formats import strided
from .._src.core.overriding import dispatches
from .._src.hook import missing as _missing
from .._tensor import Tensor
from ..utils._python_dispatch import TorchDispatchMode
from ..utils._pytree import tree_leaves, tree_map
from .fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    MetadataMismatchError,
    UnsupportedFakeTensorException,
)

aten = ops.aten
_NOT_COMPARED = (  # operators that make tensors of numbers, that read values, or whose result depends on the kernel
    aten.lift_fresh.default, aten.lift_fresh_copy.default, aten._local_scalar_dense.default, aten.set_.source_Storage_storage_offset,
)  # fmt: skip


def _tensors(value: Any) -> list[Any]:
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, Tensor)]


def _memory(tensor: Tensor) -> int:
    return id((tensor._held if isinstance(tensor, FakeTensor) else tensor)._ms_storage)


def _sharing(results: list[Any], given: list[Any]) -> list[bool]:
    """Return for each result whether it shares memory with an argument."""
    own = {_memory(tensor) for tensor in given}
    return [_memory(tensor) in own for tensor in results]


def _check(what: str, real: Tensor, fake: Tensor, strides: bool) -> None:
    """Raise MetadataMismatchError if the metadata of a result differ from those of the fake result."""
    named = [("Shapes", tuple(real.shape), tuple(fake.shape)), ("Dtypes", real.dtype, fake.dtype), ("Devices", real.device, fake.device)]
    if strides:
        named.append(("Strides", real.stride(), fake.stride()))
    for name, one, other in named:
        if one != other and not (name == "Strides" and real.numel() < 2):
            raise MetadataMismatchError(
                f"When comparing the output of {what} on FakeTensor and concrete Tensors, found mismatched tensor metadata: "
                f"{name} {one} and {other} are not equal!"
            )


class CrossRefFakeMode(TorchDispatchMode):
    """Mode that repeats each call on fake tensors, and compares the metadata of the results.

    ``ignore_op_fn`` returns whether to skip an operator.
    """

    def __init__(
        self, ignore_op_fn: Callable[[Any], bool] | None = None, *, check_strides: bool = True, check_aliasing: bool = True,
        only_check_ops_with_meta: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.ignore_op_fn = ignore_op_fn if ignore_op_fn is not None else lambda function: False
        self.check_strides, self.check_aliasing, self.only_check_ops_with_meta = check_strides, check_aliasing, only_check_ops_with_meta

    def _worked_out(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], list[bool]] | None:
        """Return the fake results, and for each whether it shares memory with an argument; None for a call that fake tensors do not
        support.
        """
        fakes: dict[int, Any] = {}
        mode = FakeTensorMode()
        with mode:
            def faked(value: Tensor | int | device | None) -> Any:
                return fakes.setdefault(id(value), mode.from_tensor(value)) if isinstance(value, Tensor) else value

            try:
                given = tree_map(faked, args), tree_map(faked, kwargs)
                results = _tensors(func(*given[0], **given[1]))
            except (UnsupportedFakeTensorException, DataDependentOutputException, DynamicOutputShapeException, NotImplementedError):
                return None
            return results, _sharing(results, _tensors(given))

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run the operator. Raise MetadataMismatchError if the fake results have other metadata."""
        kwargs = kwargs or {}
        compared = func not in _NOT_COMPARED and not self.ignore_op_fn(func) and all(
            not dispatches(type(tensor)) and tensor.layout is strided for tensor in _tensors((args, kwargs))
        )
        told = self._worked_out(func, args, kwargs) if compared else None
        result = func(*args, **kwargs)
        if told is not None:
            results = _tensors(result)
            if len(results) != len(told[0]):
                raise MetadataMismatchError(f"{func} gives {len(results)} tensors, and {len(told[0])} on FakeTensor")
            for number, (real, fake) in enumerate(zip(results, told[0])):
                _check(f"{func}" if len(results) == 1 else f"{func}, result {number},", real, fake, self.check_strides)
            sharing = _sharing(results, _tensors((args, kwargs)))
            if self.check_aliasing and sharing != told[1]:
                raise MetadataMismatchError(f"{func} gives results that share memory with arguments: {sharing}, on FakeTensor {told[1]}")
        return result


__all__ = ["CrossRefFakeMode", "MetadataMismatchError"]

__getattr__ = _missing(__name__)

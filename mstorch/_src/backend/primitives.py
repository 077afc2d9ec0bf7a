"""MindSpore's primitives by name, for device kernels: each primitive is one kernel of the device (mostly aclnn)."""
from __future__ import annotations

from collections.abc import Callable
from dis import get_instructions
from functools import lru_cache
from typing import Any

from mindspore import Tensor as Raw
from mindspore.ops import operations
from mindspore.ops.auto_generate import gen_ops_prim

from . import runtime
from .forked import forked
from .raw import is_contiguous, raw_shape
from .turns import LOCK

watchers: list[Callable[..., Any]] = []
"""Handlers that call the kernel in its place: ``watcher(name, primitive, args)``; used by the kernel map and the stand-in device."""


# Primitives whose own call passes the arguments in a different order than the kernel expects (MindSpore 2.10).
DIRECT: dict[str, str] = {"BatchNormGradExt": "pyboost_batch_norm_grad_ext"}


@lru_cache(4096)
def primitive(name: str, *attributes: Any) -> Any:
    """Return a primitive with its attributes; raise NotImplementedError if this MindSpore lacks it."""
    found = getattr(gen_ops_prim, name, None) or getattr(operations, name, None)
    if found is None:
        raise NotImplementedError(f"mstorch: this release of MindSpore has no primitive {name}")
    return found(*attributes)


VIEWS = frozenset(
    "AsStrided BroadcastTo BroadcastToView ChunkView Diagonal DiagonalView ExpandDims ExpandDimsView ImagView NarrowView RealView Reshape "
    "SelectExt SelectExtView Slice SliceExt SliceExtView Split SplitTensor SplitTensorView SplitWithSize Squeeze StridedSlice Transpose "
    "TransposeExtView TransposeView UnfoldView UnstackExtView View".split()
)
"""Primitives that change metadata only and run no kernel: their results refer to the input, whose memory they may share, as ``_shown``."""


# Kernels of the 910B that rejected strided tensors: SiLU and Neg of halves, products of three and more dimensions, and Concat, whose
# failed call made later calls in the process fail.
_IN_ROWS = frozenset(("SiLU", "Neg", "Concat", "StackExt"))
_PRODUCTS = frozenset(("MatMulExt", "Dense", "BatchMatMul"))
LOOK_AT_STEPS = _IN_ROWS | _PRODUCTS
"""Primitives some of whose arguments have to be copied if they have strides."""


def with_steps(name: str, item: Any) -> bool:
    """Return whether a tensor has strides that the primitive's kernel on Ascend rejects."""
    if name in _IN_ROWS:
        return not is_contiguous(item)
    return name in _PRODUCTS and len(raw_shape(item)) > 2 and not is_contiguous(item)


def refuses_steps(name: str, args: tuple[Any, ...]) -> bool:
    """Return whether one of the arguments has strides that the primitive's kernel rejects."""
    if name not in LOOK_AT_STEPS:
        return False
    for item in args:
        if item.__class__ is Raw:
            if not is_contiguous(item) and with_steps(name, item):
                return True
        elif refuses_steps(name, item) if item.__class__ is tuple else isinstance(item, Raw) and with_steps(name, item):
            return True
    return False


@lru_cache(4096)
def _kernel_below(name: str, *attributes: Any) -> tuple[Any, Any, int, dict[str, Any]]:
    """Return a primitive, the C function that its call hands all its arguments to in their order (None if the call does more), their
    number, and the names in which MindSpore keeps the trace that the call looks for afterwards.

    The call itself, and its look for a trace, take as long as the C function, which is why it is left out where no trace is being made."""
    called = primitive(name, *attributes)
    call: Any = type(called).__call__
    code: Any = getattr(call, "__code__", None)
    if code is None:
        return called, None, -1, {}
    steps = [step for step in get_instructions(code) if step.opname not in _WITHOUT_EFFECT]
    parameters = code.co_varnames[: code.co_argcount]
    expected = [("LOAD_GLOBAL", None), *(("LOAD_FAST", parameter) for parameter in parameters), ("BUILD_LIST", None)]
    kinds = [(step.opname, step.argval if step.opname == "LOAD_FAST" else None) for step in steps]
    rest = [step.opname.partition("_")[0] for step in steps[len(expected) : len(expected) + 2]]
    look = steps[len(expected) + 2].argval if len(steps) > len(expected) + 2 else None
    if kinds[: len(expected)] != expected or rest != ["CALL", "STORE"] or look != "jit_context":
        return called, None, -1, {}
    return called, call.__globals__[steps[0].argval], len(parameters) - 1, call.__globals__[look].__globals__


_WITHOUT_EFFECT = frozenset(("RESUME", "PUSH_NULL", "PRECALL", "CACHE", "NOP"))


def run(name: str, *args: Any, at: tuple[Any, ...] = ()) -> Any:
    """Run the primitive ``name`` with the attributes ``at``, on contiguous copies of the arguments whose strides its kernel rejects."""
    if forked.here:
        forked.refuse_device()
    if name in LOOK_AT_STEPS and refuses_steps(name, args):
        args = _in_rows(name, args)
    called, below, count, tracing = _kernel_below(name, *at)
    try:
        with LOCK:
            if name in DIRECT:
                return run_direct(name, called, args)
            if watchers:
                result = watchers[-1](name, called, args)
            elif len(args) == count and tracing["_jit_context"] is None:
                result = below(called, list(args))
            else:
                result = called(*args)
    except Exception:
        _forget()
        raise
    if name in VIEWS:
        for part in result if result.__class__ is tuple else (result,):
            if part is not args[0]:
                part._shown = args[0]
    return result


def _in_rows(name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    rows: list[Any] = []
    for item in args:
        if item.__class__ is tuple:
            item = _in_rows(name, item)
        elif isinstance(item, Raw) and with_steps(name, item):
            item = dense(item)
        rows.append(item)
    return tuple(rows)


def dense(x: Raw) -> Raw:
    """Return the tensor if it is contiguous, else a contiguous copy."""
    return x if is_contiguous(x) else run("Contiguous", x)


def _forget() -> None:
    """Forget the primitives that are kept. A call that failed may have had True or 1.0 for an attribute, even in a tuple. They
    equal 1 as keys, and later right calls would be handed the primitive that MindSpore refuses.
    """
    _kernel_below.cache_clear()
    primitive.cache_clear()


def run_direct(name: str, found: Any, args: tuple[Any, ...]) -> Any:
    """Run the low-level function of a primitive."""
    function = getattr(gen_ops_prim, DIRECT[name])

    def call(*given: Any) -> Any:
        return function(found, list(given))

    return watchers[-1](name, call, args) if watchers else call(*args)


def _copy_views_in_turn() -> None:
    """Make ``asnumpy`` copy a view of a device's memory as other kernels are called: MindSpore's own would launch the copy from the
    thread that reads, beside the launches of others."""
    read, has_steps = Raw.asnumpy, getattr(Raw, "_need_contiguous", lambda raw: not is_contiguous(raw))

    def asnumpy(self: Raw) -> Any:
        return read(run("Contiguous", self) if "_shown" in self.__dict__ or has_steps(self) else self)

    Raw.asnumpy = asnumpy


if runtime.HOST_TARGET != "CPU":
    _copy_views_in_turn()

"""Find the primitives that a kernel row calls: run it on the CPU under a profile hook, with stand-ins for kernels that the CPU lacks."""
from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from mindspore import Tensor as Raw
from mindspore.ops import Primitive

from mstorch._src.backend import primitives
from mstorch._src.backend.raw import NAME_OF, NP_DTYPE, from_numpy, instances

# Primitives of several results, whose stand-ins are as many.
_RESULTS = {
    "BatchNormGradExt": 3, "LayerNormExt": 3, "LayerNormGradExt": 3, "SortExt": 2, "TopkExt": 2, "CrossEntropyLoss": 4,
    "ConvolutionGrad": 3, "MaxPoolWithMask": 2, "MaxPoolWithIndices": 2, "AdaptiveMaxPool2D": 2, "Cummax": 2, "CumminExt": 2,
    "LinalgQr": 2, "FlashAttentionScore": 4, "FlashAttentionScoreGrad": 4, "AdamW": 3,
    "PReLUGrad": 2, "TriangularSolve": 2, "GridSampler2DGrad": 2, "GridSampler3DGrad": 2, "VarMean": 2, "StdMean": 2,
}  # fmt: skip
# Primitives that MindSpore's own Python code calls on shapes and arguments.
_ON_THE_HOST = {"IsDimUnKnown", "IsShapeUnKnown", "DtypeToEnum", "StringToEnum", "ListToTuple"}
_OVERLOADS = os.path.join("ops", "functional_overload.py")
# Kernels of the CPU that are wrong, so that they prove nothing: Scatter leaves out elements at times, GridSampler2DGrad writes beyond the
# ends of short rows (2.10).
UNTRUSTED = {"Scatter", "GridSampler2DGrad"}
MISSING = ("unregistered", "Unsupported op", "Create kernelmod", "not support on CPU", "Select CPU operator")


@dataclass
class Trace:
    """The result of tracing a row: its primitives in call order, those without a CPU kernel, the number of value reads, and why it ended
    early."""

    primitives: list[str] = field(default_factory=list)
    absent: set[str] = field(default_factory=set)
    overloads: list[str] = field(default_factory=list)
    reads: int = 0
    ended: str = ""
    result: Any = None


def lacks_kernel(error: BaseException) -> bool:
    """Return whether a MindSpore error says that the CPU has no kernel for a primitive."""
    return any(words in str(error) for words in MISSING)


def _stand_in(name: str, args: Any) -> Any:
    if name == "BatchNormExt":  # the image, and two numbers for each channel
        return args[0], args[1], args[1]
    first = next(instances(args, Raw), None)
    if name == "Arange":
        return from_numpy(np.arange(*args[:3]))
    if name == "FillScalar":
        return from_numpy(np.full(args[0], args[1], NP_DTYPE[NAME_OF[args[2]]]))
    if name == "Take":
        return from_numpy(np.zeros(args[1].shape, NP_DTYPE[NAME_OF[args[0].dtype]]))
    if name == "SortExt":
        return first, from_numpy(np.zeros(first.shape, np.int64))
    made = first if first is not None else from_numpy(np.zeros(args[0], np.float32))
    count = _RESULTS.get(name, 1)
    return made if count == 1 else (made,) * count


def _kept(result: Any) -> Any:
    """Return a copy of a result's values, taken before anything else runs."""
    if isinstance(result, (tuple, list)):
        return tuple(map(_kept, result))
    return result.asnumpy().copy() if isinstance(result, Raw) else result


def _watcher(trace: Trace) -> Callable[..., Any]:
    def watch(name: str, primitive: Any, args: Any) -> Any:
        if name in primitives.DIRECT:
            trace.primitives.append(name)
        if name in UNTRUSTED:
            trace.absent.add(name)
            return _stand_in(name, args)
        try:
            return primitive(*args)
        except (RuntimeError, TypeError, ValueError) as error:
            if not lacks_kernel(error):
                raise
            trace.absent.add(name)
            return _stand_in(name, args)

    return watch


@contextmanager
def _profiled(trace: Trace) -> Iterator[None]:
    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            code = frame.f_code
            if code.co_name == "__call__":
                owner = frame.f_locals.get("self")
                back = frame.f_back
                again = back is not None and back.f_locals.get("self") is owner
                if isinstance(owner, Primitive) and owner.name not in _ON_THE_HOST and not again:
                    trace.primitives.append(owner.name)
            elif code.co_filename.endswith(_OVERLOADS):
                trace.overloads.append(code.co_name)
        elif event == "c_call" and getattr(argument, "__name__", "") == "asnumpy":
            trace.reads += 1

    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)


def raw_of(value: Any) -> Any:
    """Return the value that a row receives for a recorded argument."""
    if isinstance(value, np.ndarray):
        return from_numpy(np.ascontiguousarray(value).reshape(value.shape))
    if isinstance(value, (list, tuple)):
        return type(value)(map(raw_of, value))
    return value


def trace(function: Callable[..., Any], args: list[Any]) -> Trace:
    """Run a row's function on a sample call and return its Trace."""
    found = Trace()
    given = [raw_of(item) for item in args]
    primitives.watchers.append(_watcher(found))
    try:
        with _profiled(found):
            result = function(*given)
        found.result = _kept(result)
    except Exception as error:  # noqa: BLE001 - whatever ends it, the map says so
        found.ended = f"{type(error).__name__}: {str(error).splitlines()[0][:90] if str(error) else ''}"
    finally:
        primitives.watchers.pop()
    return found

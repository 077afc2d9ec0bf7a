"""MindSpore's primitives by name, as the rows of Ascend call them: each is one kernel of the device (aclnn's, mostly)."""
from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

from mindspore.ops import operations
from mindspore.ops.auto_generate import gen_ops_prim

from ..raw import NAME_OF, Raw
from ..table import ALL, Function, Mapping, absent_on, define_on, kernel, same_on

watchers: list[Callable[..., Any]] = []
"""What is asked to make a call in the kernel's place: ``watcher(name, primitive, args)``; the kernel map and the stand-in device."""


# The primitive's own call gives its arguments in another order than the kernel takes (MindSpore 2.10).
DIRECT: dict[str, str] = {"BatchNormGradExt": "pyboost_batch_norm_grad_ext"}


@lru_cache(4096)
def primitive(name: str, *attributes: Any) -> Any:
    """A primitive with its attributes; NotImplementedError where this MindSpore has none of that name."""
    found = getattr(gen_ops_prim, name, None) or getattr(operations, name, None)
    if found is None:
        raise NotImplementedError(f"mstorch: this release of MindSpore has no primitive {name}")
    return found(*attributes)


def run(name: str, *args: Any, at: tuple[Any, ...] = ()) -> Any:
    """What the primitive ``name`` with the attributes ``at`` gives."""
    found = primitive(name, *at)
    if name in DIRECT:
        return run_direct(name, found, args)
    return watchers[-1](name, found, args) if watchers else found(*args)


def dense(x: Raw) -> Raw:
    """A tensor without steps: kernels of the 910B were seen to refuse others, and windows are taken of memory in rows."""
    return x if x.is_contiguous() else run("Contiguous", x)


def run_direct(name: str, found: Any, args: tuple[Any, ...]) -> Any:
    """The same by the function under the primitive's call."""
    function = getattr(gen_ops_prim, DIRECT[name])

    def call(*given: Any) -> Any:
        return function(found, list(given))

    return watchers[-1](name, call, args) if watchers else call(*args)


def one(name: str) -> Function:
    """The primitive as a row: its arguments are the row's."""
    return partial(run, name)


def enter(op: str, function: Function | str, dtypes: tuple[str, ...] = ALL, via: Mapping[str, str] | None = None) -> None:
    """Enter the Ascend kernel of a row: a function of raw tensors, or the name of the one primitive that it is."""
    define_on("Ascend", op, one(function) if isinstance(function, str) else function, dtypes, via)


def enter_all(rows: Mapping[str, Function | str]) -> None:
    """Enter the kernels of several rows, for all dtypes."""
    for op, function in rows.items():
        enter(op, function)


def by_host(op: str, x: Raw, *args: Any) -> Any:
    """What the CPU gives where the device has no kernel of some form of a row."""
    return kernel(op).by_host(NAME_OF[x.dtype])(x, *args)


def of_vectors(function: Function) -> Function:
    """A row along a dimension, for a tensor without dimensions too, which the device's kernels do not take."""

    def call(x: Any, *args: Any) -> Any:
        if x.shape:
            return function(x, *args)
        return run("Reshape", function(run("Reshape", x, (1,)), *args), ())

    return call


same = partial(same_on, "Ascend")
absent = partial(absent_on, "Ascend")

__all__ = ["absent", "by_host", "dense", "enter", "enter_all", "of_vectors", "one", "primitive", "run", "same", "watchers"]

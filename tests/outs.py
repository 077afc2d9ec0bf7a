"""``out=`` of torch's operators: which accept it, what is stored, resized and refused, and that the result is ``out`` itself.

    python -m tests.outs     # the whole sweep; -k TEXT for operators whose name contains the text

A sample or two of each operator, and of its second names, is called with ``out=`` of no elements, of another size, as a strided view, of
other dtypes, on a leaf that requires gradients, and of inputs that do.
"""
from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import mstorch
from tests import databases
from tests.databases import _flat

SAMPLES, LARGEST = 2, 3000
ERRORS = (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, AttributeError, AssertionError)


def _empty(library: Any, like: Any) -> Any:
    return library.empty(0, dtype=_dtype(library, like))


def _dtype(library: Any, like: Any) -> Any:
    return getattr(library, str(like.dtype).partition(".")[2])


def _larger(library: Any, like: Any) -> Any:
    return library.full((*like.shape, 2), 3, dtype=_dtype(library, like))


def _strided(library: Any, like: Any) -> Any:
    return library.zeros((*like.shape, 2), dtype=_dtype(library, like))[..., 0]


def _leaf(library: Any, like: Any) -> Any:
    made = _empty(library, like)
    return made.requires_grad_() if made.is_floating_point() else made


KINDS: dict[str, Callable[[Any, Any], Any]] = {
    "empty": _empty,
    "larger": _larger,
    "strided": _strided,
    "int64": lambda library, like: library.zeros(like.shape, dtype=library.int64),
    "float64": lambda library, like: library.zeros(like.shape, dtype=library.float64),
    "bool": lambda library, like: library.zeros(like.shape, dtype=library.bool),
    "complex": lambda library, like: library.zeros(like.shape, dtype=library.complex64),
    "a leaf": _leaf,
}


def _like(result: Any, make: Callable[[Any], Any]) -> Any:
    """Return an ``out=`` for a result: a tensor, or a tuple of as many."""
    if isinstance(result, torch.Tensor):
        return make(result)
    return tuple(make(part) for part in result)


def _called(library: Any, function: Callable[..., Any], sample: Any, out: Any, tracked: bool) -> tuple[str, Any]:
    """Return the class of the error, and the results (the contents of ``out``)."""
    leaves: list[Any] = []
    convert = databases.theirs if library is torch else databases.ours
    input, args, kwargs = convert((sample.input, sample.args, sample.kwargs), leaves)
    if tracked and isinstance(input, library.Tensor) and input.is_floating_point():
        input.requires_grad_()
    databases._seed()
    try:
        result = function(input, *args, **{**kwargs, "out": out})
    except databases.Missing:
        raise
    except ERRORS as error:
        return type(error).__name__ + ": " + str(error).split("\n")[0], None
    return "", result


def _same(result: Any, out: Any) -> bool:
    return [a is b for a, b in zip(_flat(result), _flat(out))] == [True] * len(list(_flat(out)))


def _layout(tensors: Any) -> list[Any]:
    return [(tuple(t.shape), t.stride(), t.requires_grad) for t in _flat(tensors) if hasattr(t, "stride")]


def _check_kind(info: Any, pair: tuple[Any, Any], sample: Any, plain: Any, kind: str, tracked: bool) -> None:
    outs = [_like(plain, functools.partial(KINDS[kind], library)) for library in (torch, mstorch)]
    want, kept = _called(torch, pair[0], sample, outs[0], tracked)
    got, mine = _called(mstorch, pair[1], sample, outs[1], tracked)
    what = f"{kind}{', tracked' * tracked}"
    assert bool(want) == bool(got), f"{what}: {want or 'no error'} expected, {got or 'no error'} given"
    if want:
        assert want.partition(":")[0] == got.partition(":")[0], f"{what}: {want} expected, {got} given"
        return
    assert _same(kept, outs[0]) == _same(mine, outs[1]), f"{what}: the result is not out"
    shapes_only = bool(databases._SHAPES_ONLY.match(info.name))
    databases._compare(outs[0], outs[1], shapes_only, what)
    assert _layout(outs[0]) == _layout(outs[1]), f"{what}: {_layout(outs[0])} expected, {_layout(outs[1])} given"


def check_outs(info: Any, oracle: Callable[..., Any], function: Callable[..., Any]) -> None:
    """Raise unless an operator takes ``out=`` as torch's does."""
    kind = next(d for d in (torch.float32, torch.int64, torch.bool, torch.complex64) if d in info.dtypes)
    databases._seed()
    samples = [
        sample for sample in info.sample_inputs("cpu", kind, requires_grad=False)
        if sum(t.numel() for t in _flat((sample.input, sample.args, sample.kwargs)) if isinstance(t, torch.Tensor)) <= LARGEST
    ]  # fmt: skip
    for number, sample in enumerate(samples[:: max(1, len(samples) // SAMPLES)][:SAMPLES]):
        databases._seed()
        arguments = databases.theirs((sample.input, sample.args, sample.kwargs), [])
        plain = oracle(arguments[0], *arguments[1], **arguments[2])
        if not list(_flat(plain)) or not all(isinstance(part, torch.Tensor) for part in _flat(plain)):
            continue
        refused, _ = _called(torch, oracle, sample, _like(plain, functools.partial(_empty, torch)), False)
        kinds = ["empty"] if refused.startswith("TypeError") else list(KINDS)
        for name in kinds:
            try:
                _check_kind(info, (oracle, function), sample, plain, name, False)
            except AssertionError as error:
                raise AssertionError(f"sample {number}, {' '.join(str(error).split())}") from None
        if len(kinds) > 1:
            _check_kind(info, (oracle, function), sample, plain, "empty", True)


def items() -> dict[str, Callable[[], None]]:
    """Return the checks by operator, in the database's order, including aliases."""
    found: dict[str, Callable[[], None]] = {}
    for name, info in databases.operators():
        try:
            found[name] = functools.partial(check_outs, info, info.op, databases._counterpart(info.name, info.op))
        except databases.Missing:
            continue
        for alias in info.aliases or ():
            found[f"{name} as {alias.name}"] = functools.partial(check_outs, info, alias.op, databases._counterpart(alias.name, alias.op))
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    databases.print_sweep("out=", __doc__, items())

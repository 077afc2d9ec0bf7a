"""The operators of torch's database on a wrapper subclass with ``__torch_dispatch__``, compared with torch's: values, and the calls that it
receives.

    python -m tests.wrapped             # the whole sweep; -k TEXT for operators whose name contains the text; --calls counts what they see
    python -m tests.wrapped --refusals  # numbers that torch refuses, on the class

What torch does not compute there is left out. ``tests/utils/test_wrapped.py`` runs a part of this in the suite.
"""
from __future__ import annotations

import argparse
import functools
import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import mstorch
from tests import databases
from tests.databases import _flat, _mapped

LARGEST = 3000


def _class_of(library: Any) -> Any:
    """Return a class that holds a tensor, computes with it, and records the calls that it receives."""

    def unwrapped(value: Any) -> Any:
        if isinstance(value, Wrapped):
            return value.held
        return _mapped(value, unwrapped) if isinstance(value, (tuple, list, dict)) else value

    def wrapped(value: Any) -> Any:
        if isinstance(value, library.Tensor) and not isinstance(value, Wrapped):
            return Wrapped(value)
        return _mapped(value, wrapped) if isinstance(value, (tuple, list, dict)) else value

    class Wrapped(library.Tensor):  # type: ignore[misc, name-defined]
        calls: list[str] = []

        @staticmethod
        def __new__(cls: Any, inner: Any) -> Any:
            made = library.Tensor._make_wrapper_subclass(cls, inner.shape, strides=inner.stride(), dtype=inner.dtype, device=inner.device)
            made.held = inner
            return made

        def __repr__(self) -> str:  # type: ignore[override]
            return "Wrapped"

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            Wrapped.calls.append(str(func))
            target = (kwargs or {}).get("out")
            found = func(*unwrapped(args), **unwrapped(kwargs or {}))
            if target is not None:
                return target
            return args[0] if func._schema.name.endswith("_") and args and isinstance(args[0], Wrapped) else wrapped(found)

    return Wrapped


CLASSES = {torch: _class_of(torch), mstorch: _class_of(mstorch)}


def _moved(value: Any, library: Any, leaves: list[Any]) -> Any:
    if isinstance(value, torch.Tensor):
        one = value.detach().clone() if library is torch else databases.ours(value.detach(), [])
        made = CLASSES[library](one)
        if value.requires_grad:
            leaves.append(made.requires_grad_())
        return made
    if isinstance(value, (tuple, list, dict)):
        return _mapped(value, lambda item: _moved(item, library, leaves))
    return value if library is torch else databases.ours(value, [])


def _plain(value: Any) -> list[Any]:
    return [getattr(item, "held", item) for item in _flat(value)]


def _samples(info: Any) -> Iterator[Any]:
    kind = next(d for d in (torch.float32, torch.int64, torch.bool, torch.complex64) if d in info.dtypes)
    databases._seed()
    needs_grad = bool(info.supports_autograd) and kind is torch.float32
    kinds = set()
    for sample in info.sample_inputs("cpu", kind, requires_grad=needs_grad):
        tensors = [item for item in _flat((sample.input, sample.args, sample.kwargs)) if isinstance(item, torch.Tensor)]
        told = str([item.dim() for item in tensors] + sorted(sample.kwargs))
        if told not in kinds and len(kinds) < 4 and sum(item.numel() for item in tensors) <= LARGEST and all(
            item.layout is torch.strided and not databases._is_part(item) for item in tensors
        ):
            kinds.add(told)
            yield sample


def _run(library: Any, function: Callable[..., Any], whole: Any) -> tuple[list[Any], list[Any], list[str]]:
    """Return the result of a call, the gradients, and the calls that the class received."""
    leaves: list[Any] = []
    args, kwargs = _moved(whole, library, leaves)
    CLASSES[library].calls.clear()
    databases._seed()
    found = function(*args, **kwargs)
    calls = list(CLASSES[library].calls)
    _backward(found)
    return _plain(found), [None if leaf.grad is None else getattr(leaf.grad, "held", leaf.grad) for leaf in leaves], calls


def _of_torch(function: Callable[..., Any], whole: Any) -> tuple[list[Any], list[Any]]:
    """Do the same with torch's own tensors."""
    leaves: list[Any] = []
    args, kwargs = databases.theirs(whole, leaves)
    databases._seed()
    found = function(*args, **kwargs)
    _backward(found)
    return list(_flat(found)), [leaf.grad for leaf in leaves]


def _backward(found: Any) -> None:
    loss = [item.sum() for item in _flat(found) if getattr(item, "requires_grad", False)]
    loss = [item.abs() if "complex" in str(item.dtype) else item for item in loss]
    if loss:
        sum(loss[1:], loss[0]).backward()


def check_operator(info: Any, calls: bool = False) -> None:
    """Raise unless an operator on the class returns torch's values; with ``calls``, also unless the class receives the same calls."""
    function = databases._counterpart(info.name, info.op)
    shapes_only = bool(databases._SHAPES_ONLY.match(info.name))
    for number, sample in enumerate(_samples(info)):
        whole = ((sample.input, *sample.args), sample.kwargs)
        try:
            wanted = _run(torch, info.op, whole)
            plain = _of_torch(info.op, whole)
        except Exception:  # noqa: BLE001 - what torch's own library refuses below autograd
            continue
        got = _run(mstorch, function, whole)
        databases._compare(plain[0], got[0], shapes_only, f"sample {number}")
        slopes = [None if one is None and other is not None and not other.any() else other for one, other in zip(plain[1], got[1])]
        databases._compare(plain[1], slopes, shapes_only, f"sample {number}, gradients")
        assert bool(wanted[2]) == bool(got[2]), f"sample {number}: the class was asked {wanted[2]} by torch, {got[2]} here"
        if calls:
            assert wanted[2] == got[2], f"sample {number}: calls {wanted[2]} expected, {got[2]} given"


def _exchanged(value: Any) -> Iterator[Any]:
    """Yield a value with each integer in it replaced in turn by extreme ones."""
    if isinstance(value, int) and not isinstance(value, bool):
        yield from (other for other in (97, -97, -1, 0) if other != value)
    elif type(value) in (tuple, list):
        for place, part in enumerate(value):
            yield from (type(value)((*value[:place], other, *value[place + 1 :])) for other in _exchanged(part))
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from ({**value, key: other} for other in _exchanged(part))


def _refusal(function: Callable[[], Any]) -> type[Exception] | None:
    """Return the class of the error that a call raises; None if it raises none."""
    try:
        function()
    except Exception as error:  # noqa: BLE001 - which one is what is told
        return type(error)
    return None


def check_refusals(info: Any) -> None:
    """Raise unless numbers that an operator refuses, as torch does, are refused on the class too, by the same class of errors."""
    function, wrong = databases._counterpart(info.name, info.op), []
    for sample in _samples(info):
        for whole in itertools.islice(_exchanged(((sample.input, *sample.args), sample.kwargs)), 40):
            def wrapped(library: Any, call: Callable[..., Any], whole: Any = whole) -> type[Exception] | None:
                args, kwargs = _moved(whole, library, [])
                return _refusal(lambda: call(*args, **kwargs))

            def plain(move: Callable[..., Any], call: Callable[..., Any], whole: Any = whole) -> type[Exception] | None:
                args, kwargs = move(whole, [])
                return _refusal(lambda: call(*args, **kwargs))

            wanted = wrapped(torch, info.op)
            if wanted is None or wanted is not plain(databases.theirs, info.op) or wanted is not plain(databases.ours, function):
                continue
            got = wrapped(mstorch, function)
            if got is not wanted:
                told = [value for value in whole[0] if not isinstance(value, torch.Tensor)], {k: v for k, v in whole[1].items() if isinstance(v, int)}
                wrong.append(f"{tuple(getattr(sample.input, 'shape', ()))} with {told}: {got} instead of {wanted}")
    assert not wrong, "\n  ".join(wrong)


def items(calls: bool = False) -> dict[str, Callable[[], None]]:
    """Return the checks by operator, in the database's order."""
    return {name: functools.partial(check_operator, info, calls) for name, info in databases.operators()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-k", default="", help="only names that contain this text")
    parser.add_argument("--calls", action="store_true", help="the calls have to be torch's, one by one")
    parser.add_argument("--refusals", action="store_true", help="numbers that torch refuses are refused")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    refusals = {name: functools.partial(check_refusals, info) for name, info in databases.operators()}
    checks = refusals if options.refusals else items(options.calls)
    databases.print_share("wrapped", {name: check for name, check in checks.items() if options.k in name})

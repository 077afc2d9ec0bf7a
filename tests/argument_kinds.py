"""Arguments of other types: each argument of a call replaced in turn by a bool, an int, a float, a number of NumPy, a 0-d tensor, None, a
str, a list in place of a tuple, a torch.Size, an array. mstorch accepts what torch accepts, with torch's result, and refuses the rest with
torch's class of error.

    python -m tests.argument_kinds                  # all operators of torch's database and all forms of its stubs (about ten minutes)
    python -m tests.argument_kinds -k TEXT -v       # operators whose name contains the text; each call that differs

``tests/ops/calls/test_argument_kinds.py`` runs a part of it in the suite.
"""
from __future__ import annotations

import argparse
import contextlib
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

import mstorch
from tests import databases, overloads
from tests.databases import _compare, _flat, _mapped

SAMPLES, LARGEST = 3, 2000
# Their results are undefined memory, random or not unique, they write to the process's settings or files, or read beyond wrong arguments.
_LEFT_OUT = (
    "empty", "new_empty", "resize", "rand", "from_file", "set_", "normal", "bernoulli", "multinomial", "poisson", "dropout", "rrelu", "cauchy",
    "exponential", "geometric", "log_normal", "uniform", "random", "gumbel", "binomial", "svd", "lobpcg", "pca_lowrank", "linalg.eig",
    "linalg.qr", "qr", "geqrf", "linalg.householder", "linalg.ldl", "linalg.svd", "alpha_dropout", "feature_", "native_", "_native",
    "batch_norm", "instance_norm", "_segment", "nn.functional.scaled_dot", "nn.functional.fractional", "nn.functional.alpha_dropout",
    "nn.functional.feature_alpha", "nn.functional.multi_head", "nn.functional.batch_norm", "nn.functional.instance_norm",
)  # fmt: skip
# torch's own assertions: what it says of a bool in the place of a whole number, and of a tensor that is not there.
_ASSERTIONS = ("INTERNAL ASSERT", "Expected scalar.isIntegral")
# What Python and NumPy say in torch's Python code, which does not check its arguments: mstorch refuses these calls, too, with a class of
# its own.
_ACCIDENTS = re.compile(
    "object is not callable|object has no attribute|not iterable|truth value of an|index out of range|not supported between|"
    "unsupported operand|invalid literal|not subscriptable|iteration over a 0-d|has no len|cannot be interpreted as an integer|"
    "bad operand type|must be str, not|can only concatenate|not implemented for .* and|object does not support|too many values|not enough values|can't multiply sequence"
)


class Call(NamedTuple):
    """A call that torch computes: the functions of both libraries, and the arguments, of torch."""

    name: str
    oracle: Callable[..., Any]
    function: Callable[..., Any]
    args: tuple[Any, ...]
    named: dict[str, Any]

    def replaced(self, place: int | str, value: Any) -> Call:
        """Return the call with one argument replaced."""
        if isinstance(place, str):
            return self._replace(named={**self.named, place: value})
        return self._replace(args=(*self.args[:place], value, *self.args[place + 1 :]))


_NUMBERS = {
    "True": True, "False": False, "0": 0, "1": 1, "0.5": 0.5, "1.0": 1.0, "np.int64(1)": np.int64(1),
    "np.float32(1)": np.float32(1), "np.bool_(True)": np.bool_(True), "tensor(1)": torch.tensor(1), "tensor(1.0)": torch.tensor(1.0), "tensor(True)": torch.tensor(True),
}  # fmt: skip
_OTHERS = {
    "None": None, "'a'": "a", "[1]": [1], "(1,)": (1,), "()": (), "array": np.array([1, 1]), "dtype": torch.float32, "[True]": [True],
}  # fmt: skip


def instead(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the objects that replace an argument, each with its name."""
    for name, other in {**_NUMBERS, **_OTHERS}.items():
        if type(other) is not type(value) or isinstance(other, (bool, torch.Tensor)) and other is not value:
            yield name, other
    if isinstance(value, torch.Tensor):
        if not value.is_complex() and value.layout is torch.strided and value.numel() < 100:
            yield "its array", value.detach().numpy()
            yield "its list", value.detach().tolist()
        yield "[itself]", [value]
    elif isinstance(value, (tuple, list)):
        yield "as a list" if isinstance(value, tuple) else "as a tuple", list(value) if isinstance(value, tuple) else tuple(value)
        if value and all(type(item) is int for item in value):
            yield "as a Size", torch.Size(value)
            yield "as an array", np.array(value)
            yield "as a tensor", torch.tensor(value)
        for name, other in {**_NUMBERS, "None": None, "'a'": "a"}.items():
            if value and type(other) is not type(value[0]):
                yield f"its first item {name}", (list if isinstance(value, list) else tuple)((other, *value[1:]))


def variants(call: Call) -> Iterator[tuple[str, str, Call]]:
    """Yield the calls that replace one argument, with the argument's name or place and the name of its replacement."""
    for place, value in (*enumerate(call.args), *call.named.items()):
        for name, other in instead(value):
            yield str(place), name, call.replaced(place, other)


class Later(NamedTuple):
    """An argument that each library gets anew, such as an iterator: a function of the items."""

    make: Callable[[Any], Any]
    items: Any


def _ours(value: Any) -> Any:
    if isinstance(value, Later):
        return value.make(_ours(value.items))
    if isinstance(value, torch.Size):
        return mstorch.Size(value)
    if isinstance(value, (tuple, list, dict)):
        return _mapped(value, _ours)
    return databases.ours(value, [])


def _theirs(value: Any) -> Any:
    if isinstance(value, Later):
        return value.make(_theirs(value.items))
    if isinstance(value, torch.Size):
        return value
    if isinstance(value, (tuple, list, dict)):
        return _mapped(value, _theirs)
    return databases.theirs(value, [])


def _outcome(function: Callable[..., Any], args: Any, named: Any) -> tuple[Any, str]:
    """Return the result of a call, or the class of its error."""
    try:
        return function(*args, **named), ""
    except databases.Missing:
        raise
    except Exception as error:  # noqa: BLE001 - whatever torch raises is what is compared
        return error, type(error).__name__


def difference(call: Call) -> str:
    """Return how mstorch differs from torch on a call; "" if it does not. Its first word is the kind."""
    databases._seed()
    want, refused = _outcome(call.oracle, _theirs(call.args), _theirs(call.named))
    if refused and any(text in str(want) for text in _ASSERTIONS):
        return ""
    databases._seed()
    got, ours = _outcome(call.function, _ours(call.args), _ours(call.named))
    if refused and ours and _ACCIDENTS.search(str(want)):
        return ""
    if refused != ours:
        kind = "class" if refused and ours else "accepts" if refused else "refuses"
        return f"{kind}: torch {_told(want, refused)}; mstorch {_told(got, ours)}"
    if refused:
        return ""
    try:
        if isinstance(want, (torch.dtype, torch.layout, torch.device, str)):
            assert str(want) == str(got), f"{want} expected, {got} given"
            return ""
        _compare(want, got, False, "result")
        kinds = [[type(item).__name__ for item in _flat(result)] for result in (want, got)]
        assert kinds[0] == kinds[1], f"types {kinds[0]} expected, {kinds[1]} given"
    except (AssertionError, TypeError) as error:
        return f"value: {' '.join(str(error).split())[:120]}"
    return ""


def _told(result: Any, refused: str) -> str:
    return f"{refused}: {' '.join(str(result).split())[:110]}" if refused else "computes"


def _is_left_out(name: str) -> bool:
    return name.removeprefix("Tensor.").removeprefix("torch.").startswith(_LEFT_OUT)


def of_database(text: str = "") -> Iterator[Call]:
    """Yield calls of the operators of torch's database: of each a few samples that together have all arguments that any sample has."""
    for name, info in databases.operators():
        if text not in name or _is_left_out(name):
            continue
        dtype = next(d for d in (torch.float32, torch.int64, torch.bool, torch.complex64) if d in info.dtypes)
        databases._seed()
        seen: set[Any] = set()
        chosen = 0
        try:
            function = databases._counterpart(info.name, info.op)
        except databases.Missing:
            continue
        for sample in info.sample_inputs("cpu", dtype, requires_grad=False):
            whole = (sample.input, *sample.args)
            tensors = [item for item in _flat((whole, sample.kwargs)) if isinstance(item, torch.Tensor)]
            slots = {(place, type(value)) for place, value in (*enumerate(whole), *sample.kwargs.items())}
            is_large = sum(item.numel() for item in tensors) > LARGEST
            if slots <= seen or is_large or any(item.layout is not torch.strided for item in tensors):
                continue
            seen |= slots
            chosen += 1
            yield Call(name, info.op, function, whole, sample.kwargs)
            if chosen == SAMPLES:
                break


def of_stubs(text: str = "") -> Iterator[Call]:
    """Yield a call of each overload of torch's stubs, and one with each optional argument, as ``tests.overloads`` makes them."""
    for owner in ("torch", "Tensor", "functional"):
        for form in overloads.forms(owner):
            if text not in form.name or form.kind == "by keyword" or _is_left_out(form.name) or form.title.endswith("out=)"):
                continue
            oracle = overloads.target_of(torch, form)
            ours = getattr({"torch": mstorch, "Tensor": mstorch.Tensor, "functional": mstorch.nn.functional}[owner], form.name, None)
            found = None if oracle is None or ours is None else _arguments(form, oracle)
            if found is not None:
                yield Call(form.title, oracle, ours, *found)


def _arguments(form: Any, oracle: Callable[..., Any]) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    for arrays in overloads.ARRAYS:
        first = [torch.tensor(overloads.ARRAYS[arrays](0))] if form.owner == "Tensor" else []
        try:
            args = [*first, *(overloads.value(torch, name, kind, arrays, place + len(first), form.name)
                              for place, (name, kind) in enumerate(form.positional))]  # fmt: skip
            named = {name: overloads.value(torch, name, kind, arrays, len(args) + place, form.name)
                     for place, (name, kind) in enumerate(form.keywords)}  # fmt: skip
            oracle(*_theirs(args), **_theirs(named))
        except overloads.Unknown:
            return None
        except Exception:  # noqa: BLE001 - torch refuses these arrays: the next are tried
            continue
        return tuple(args), named
    return None


SOURCES = {"database": of_database, "stubs": of_stubs}


Variants = Callable[[Call], Iterator[tuple[str, str, Call]]]


def differences(calls: Iterator[Call], variants: Variants = variants) -> Iterator[tuple[Call, str, str, str]]:
    """Yield each call, the argument and its replacement with the difference, "" without one; equal replacements of one name once."""
    seen: set[tuple[str, str, str, str]] = set()
    for call in calls:
        if difference(call):
            continue  # this is another sweep's
        for place, name, other in variants(call):
            value = dict(enumerate(call.args)).get(int(place)) if place.isdigit() else call.named[place]
            key = (call.name if "(" not in call.name else call.name.partition("(")[0], place, name, type(value).__name__)
            if key not in seen or "(" not in call.name:
                seen.add(key)
                yield call, place, name, difference(other)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Ignore warnings, of NumPy too, within a block."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def main(variants: Variants = variants) -> None:
    """Print the share of the calls on which both agree, and the differences by kind."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-k", default="", help="only names that contain this text")
    parser.add_argument("-v", action="store_true", help="print each call that differs")
    parser.add_argument("--only", choices=sorted(SOURCES), help="one of the two sources of calls")
    options = parser.parse_args()
    for source, calls in SOURCES.items():
        if options.only not in (None, source):
            continue
        count: Counter[str] = Counter()
        with quiet():
            for call, place, name, wrong in differences(calls(options.k), variants):
                count[wrong.partition(":")[0] or "equal"] += 1
                if wrong and options.v:
                    print(f"{call.name}: {place} = {name}: {wrong}", flush=True)
        print(source, dict(count), f"{100 * count['equal'] / max(1, sum(count.values())):.2f} %", flush=True)
    os._exit(0)  # threads of torch's and of MindSpore's may wait for each other at the end of the process


if __name__ == "__main__":
    main()

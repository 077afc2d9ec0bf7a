"""Every public function and method has the result types and the parameter names of torch's stubs."""
from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

import mstorch
from tests.types.checker import revealed

pytestmark = pytest.mark.sweep

pytest.importorskip("mypy")

PLACES = ("torch", "torch.nn.functional", "torch.Tensor", "torch.nn.init")
# Results whose types differ from torch's stubs, and why.
RESULTS = {
    "torch.compile": "other names of type variables", "torch.vmap": "other names of type variables",
    "torch.Tensor.storage_offset": "never symbolic",
    **dict.fromkeys(
        ("torch.split_copy", "torch.split_with_sizes_copy", "torch.unbind_copy"), "torch's stub has the form with out= alone, and None of it"
    ),
    # NumPy 1.26 shows both alike.
    **({} if np.__version__ < "2" else {"torch.Tensor.numpy": "NumPy 2 has defaults for the parameters of an array's type, which torch's stub leaves out"}),
}  # fmt: skip
# Parameters of torch's stubs that mstorch lacks, and why.
NAMES = {
    **dict.fromkeys(
        ("torch.range", "torch.Tensor.add", "torch.Tensor.floor_divide", "torch.Tensor.mul", "torch.Tensor.sub",
         "torch.Tensor.true_divide", "torch.Tensor.requires_grad_", "torch.nn.functional.one_hot"),
        "torch refuses them as it runs",
    ),
    **dict.fromkeys(
        ("torch.set_flush_denormal", "torch.set_num_interop_threads", "torch.set_num_threads", "torch.Tensor.__ipow__",
         "torch.set_autocast_cpu_enabled", "torch.set_autocast_cpu_dtype", "torch.set_autocast_gpu_dtype"),
        "by position alone",
    ),
    **dict.fromkeys(("torch.split_copy", "torch.split_with_sizes_copy", "torch.unbind_copy"), "out="),
    "torch.Tensor.new": "old forms, of which a constructor's arguments here take any",
}  # fmt: skip
# Parameters that accept fewer types than in torch's stubs, and why.
TAKES = {
    **dict.fromkeys(
        ("torch.add: alpha", "torch.sub: alpha", *(f"torch.Tensor.{name}: alpha" for name in ("add", "add_", "sub", "sub_")),
         "torch.linspace: steps", "torch.logspace: steps", "torch.index_put: indices", "torch.index_put_: indices",
         "torch.Tensor.index_put: indices", "torch.Tensor.index_put_: indices"),
        "torch refuses None as it runs",
    ),
    **dict.fromkeys([f"torch.nn.functional.gaussian_nll_loss: {name}" for name in ("eps", "full", "reduction")], "no None"),
    **dict.fromkeys(("torch.compile: model", "torch.compile: shapes_spec", "torch.vmap: func"), "other names of type variables"),
    "torch.compile: options": "any mapping",
}


class Known(NamedTuple):
    """The revealed type of a callable: the results of its overloads, and the types that their parameters accept."""

    results: frozenset[str]
    takes: dict[str, frozenset[str]]


def _parts(text: str, separator: str) -> Iterator[str]:
    depth, start = 0, 0
    for position, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if not depth and text.startswith(separator, position):
            yield text[start:position].strip()
            start = position + len(separator)
    yield text[start:].strip()


def known(said: str) -> Known | None:
    """Parse the revealed type of a callable; return None for Any and for a type that is not callable."""
    forms = _parts(said.removeprefix("Overload(")[:-1], ",") if said.startswith("Overload(") else [said]
    results, takes = set(), {}
    for form in forms:
        found = re.match(r"def (?:\[[^]]*\] )?\(", form)
        if found is None:
            return None
        given, result = form[found.end() :].rsplit(") -> ", 1) if ") -> " in form else (form[found.end() : -1], "None")
        results.add(" | ".join(sorted(_parts(result, " | "))))
        for parameter in _parts(given, ","):
            name, colon, kind = parameter.partition(":")
            if colon:
                takes.setdefault(name.strip("* "), set()).update(_parts(kind.removesuffix("=").strip(), " | "))
    takes.pop("self", None)
    return Known(frozenset(results), {name: frozenset(kinds) for name, kinds in takes.items()})


def names_of(place: str) -> list[str]:
    """Return the functions of a namespace that torch has too."""
    theirs: Any = torch
    ours: Any = mstorch
    for part in place.split(".")[1:]:
        theirs, ours = getattr(theirs, part), getattr(ours, part)
    special = ("__class__", "__new__", "__init__", "__init_subclass__", "__subclasshook__", "__torch_function__")
    return [
        name for name in sorted(vars(ours))
        if callable(getattr(theirs, name, None)) and not inspect.isclass(getattr(theirs, name))
        and (not name.startswith("_") or (place == "torch.Tensor" and name.endswith("__") and name not in special))
    ]  # fmt: skip


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Known | None, Known]]:
    """Return, for each name in torch's stubs, the types that are revealed for mstorch and for torch."""
    folder = tmp_path_factory.mktemp("sweep")
    every = [f"{place}.{name}" for place in PLACES for name in names_of(place)]
    head = ["import torch", "import torch.nn.functional", "import torch.nn.init"]
    source = "\n".join([*head, *(f"reveal_type({name})" for name in every), ""])
    ours, theirs = (revealed(source, folder, library) for library in ("mstorch", "torch"))
    pairs = {name: (known(ours[line][0]), known(theirs[line][0])) for line, name in enumerate(every, len(head) + 1)}
    return {name: (here, there) for name, (here, there) in pairs.items() if there is not None and "Any" not in there.results}


def test_results(swept: dict[str, tuple[Known | None, Known]]) -> None:
    other = {name for name, (here, there) in swept.items() if here is None or here.results != there.results}
    print(f"\n{len(swept) - len(other)} of {len(swept)} give what torch's stubs say: {1 - len(other) / len(swept):.1%}")
    assert len(swept) > 1300
    assert other == set(RESULTS)


def test_names_of_parameters(swept: dict[str, tuple[Known | None, Known]]) -> None:
    lacking = {
        name for name, (here, there) in swept.items()
        if here is not None and there.takes.keys() - here.takes.keys() - {"names"}  # there are no named dimensions here
    }
    assert lacking == set(NAMES)


def _taken(kinds: frozenset[str], by: frozenset[str]) -> bool:
    """Return whether a parameter with the types ``by`` accepts all of these kinds; a sequence of numbers stands for lists, tuples and sizes
    of them."""
    for kind in kinds - by:
        if kind.startswith("Literal['") and "str" in by:
            continue
        if kind == "Storage" and "TypedStorage" in by:
            continue
        member = re.fullmatch(r"(?:list|Sequence)\[(.*)\]|tuple\[(.*?)(?:, .*)?\]", "list[int]" if kind == "Size" else kind)
        each = member and frozenset((member[1] or member[2]).split(" | "))
        if not each or not any(each <= frozenset(other[9:-1].split(" | ")) for other in by if other.startswith("Sequence[")):
            return False
    return True


def test_what_parameters_take(swept: dict[str, tuple[Known | None, Known]]) -> None:
    lacking = {
        f"{name}: {parameter}" for name, (here, there) in swept.items() if here is not None
        for parameter, kinds in there.takes.items()
        if parameter in here.takes and "Any" not in kinds | here.takes[parameter] and not _taken(kinds, here.takes[parameter])
    }  # fmt: skip
    assert lacking == set(TAKES)

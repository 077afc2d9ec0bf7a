"""Layers, optimizers and data sets: a type checker sees the types of attributes and methods that torch's annotations declare."""
from __future__ import annotations

import inspect
import pathlib
from typing import Any

import pytest
import torch

import mstorch
from tests.types.checker import revealed
from tests.types.test_sweep import known

pytestmark = pytest.mark.sweep

pytest.importorskip("mypy")

# Reasons why annotations differ from torch's, by member or by class and member.
OTHERWISE = {
    "padding_mode": "any text", "acc_policy": "any text", "all_weights": "lists of tensors",
    "LSTM.permute_hidden": "of any number of states", "T_destination": "a type variable",
    "Embedding.freeze": "torch's annotation alone has it", "Optimizer.step": "a closure gives anything",
    **dict.fromkeys(("OptimizerPreHook", "OptimizerPostHook"), "an alias, in torch in the class too"),
    **dict.fromkeys(
        "boxed_grads_call clear_saved_tensors_on_access dirty_tensors materialize_grads needs_input_grad non_differentiable "
        "saved_for_forward saved_tensors to_save".split(),
        "of the context alone, in torch of Function too",
    ),
    **dict.fromkeys(
        ("profile_hook_step", "backward", "set_default_mp_sharing_strategy"), "other names of type variables"
    ),
}  # fmt: skip
PLACES = ("nn", "optim", "optim.lr_scheduler", "utils.data", "autograd", "amp")


def members() -> dict[str, list[str]]:
    """Return the public members of each public class except tensors: annotated attributes, and methods."""
    found = {}
    for place in PLACES:
        theirs: Any = torch
        ours: Any = mstorch
        for part in place.split("."):
            theirs, ours = getattr(theirs, part), getattr(ours, part)
        for name, cls in sorted(vars(theirs).items()):
            if not inspect.isclass(cls) or name.startswith("_") or not hasattr(ours, name) or issubclass(cls, torch.Tensor):
                continue
            if not cls.__module__.startswith("torch") or name.startswith("Lazy"):
                continue
            bases = [base for base in cls.__mro__ if base.__module__.startswith("torch") and (base is not torch.nn.Module or base is cls)]
            own = {member for base in bases for member in (*base.__dict__.get("__annotations__", {}), *base.__dict__)}
            found[f"torch.{place}.{name}"] = sorted(member for member in own if not member.startswith("_"))
    return found


@pytest.mark.long
def test_members_of_classes(tmp_path: pathlib.Path) -> None:
    lines = ["import torch", *(f"import torch.{place}" for place in PLACES)]
    where = {}
    for name, each in members().items():
        lines.append(f"def of_{name.replace('.', '_')}(x: {name}) -> None:")
        for member in each:
            lines.append(f"    reveal_type(x.{member})")
            where[len(lines)] = name, member
        lines.append("    pass")
    ours, theirs = (revealed("\n".join([*lines, ""]), tmp_path, library) for library in ("mstorch", "torch"))
    other, count = [], 0
    for line, (name, member) in where.items():
        (here, *_), (there, *_) = ours[line], theirs[line]
        if "Any" in there or "[attr-defined]" in there:
            continue
        count += 1
        called, shown = known(there), known(here)
        same = here == there if called is None else shown is not None and shown.results == called.results
        if not same and member not in OTHERWISE and f"{name.rpartition('.')[2]}.{member}" not in OTHERWISE:
            other.append(f"{name}.{member}: {here} for {there}")
    assert count > 700
    assert not other, "\n".join(other)

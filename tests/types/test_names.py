"""Public names of each namespace: mypy --strict finds those that mstorch has, and no others."""
from __future__ import annotations

import importlib
import pathlib
import types

import pytest

from tests.types.checker import revealed

pytestmark = pytest.mark.sweep

pytest.importorskip("mypy")

ROOMS = (
    "nn nn.utils nn.utils.rnn nn.init nn.parameter optim optim.lr_scheduler utils.data utils.checkpoint autograd autograd.functional "
    "cuda mps amp distributed distributions func fx jit random serialization types overrides testing multiprocessing backends.cudnn sparse "
    "special linalg fft accelerator distributed.fsdp distributed.tensor"
).split()


@pytest.mark.filterwarnings("ignore")
def test_public_names_are_exported(tmp_path: pathlib.Path) -> None:
    lines, where = ["import torch", *(f"import torch.{room}" for room in ROOMS)], {}
    for room in ROOMS:
        theirs, ours = (importlib.import_module(f"{library}.{room}") for library in ("torch", "mstorch"))
        for name in sorted(set(getattr(theirs, "__all__", vars(theirs)))):
            if not name.startswith("_") and hasattr(ours, name) and not isinstance(getattr(theirs, name, None), types.ModuleType):
                lines.append(f"reveal_type(torch.{room}.{name})")
                where[len(lines)] = f"{room}.{name}"
    lines += ["torch.nn.Linera", "torch.optim.Adman", "torch.nonsense"]
    ours, theirs = (revealed("\n".join([*lines, ""]), tmp_path, library) for library in ("mstorch", "torch"))
    unknown = {name for line, name in where.items() if "[attr-defined]" in ours[line][0] and "[attr-defined]" not in theirs[line][0]}
    assert len(where) > 900
    assert not unknown
    assert [len(lines) - back in ours for back in (2, 1, 0)] == [True] * 3

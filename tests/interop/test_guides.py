"""Each step of MindSpore's guides in three forms: MindSpore alone, a Module in a Cell, a Cell in a Module. All give the same numbers."""
from __future__ import annotations

import gc
import re
from pathlib import Path
from typing import Any

import mindspore
import numpy as np
import pytest
from mindspore import nn as msnn

import mstorch as torch
from tests.interop.guides import STEPS

pytestmark = pytest.mark.sweep

nn = torch.nn


def native_features() -> Any:
    conv = msnn.Conv2d(2, 3, 3, pad_mode="pad", padding=1, has_bias=False)
    return msnn.SequentialCell(conv, msnn.BatchNorm2d(3, momentum=0.9), msnn.ReLU())


def features() -> Any:
    return nn.Sequential(nn.Conv2d(2, 3, 3, padding=1, bias=False), nn.BatchNorm2d(3), nn.ReLU())


class Alone(msnn.Cell):
    """MindSpore's layers in a Cell."""

    def __init__(self) -> None:
        super().__init__()
        self.features, self.head = native_features(), msnn.Dense(48, 3)

    def construct(self, x: Any) -> Any:
        return self.head(self.features(x).reshape(-1, 48))


class ModuleInCell(msnn.Cell):
    """Torch's layers in a Cell."""

    def __init__(self) -> None:
        super().__init__()
        self.features, self.head = features(), msnn.Dense(48, 3)

    construct = Alone.construct


class CellInModule(nn.Module):
    """MindSpore's layers in a Module."""

    def __init__(self) -> None:
        super().__init__()
        self.features, self.head = native_features(), nn.Linear(48, 3)

    forward = Alone.construct


class Whole(nn.Module):
    """Torch's layers in a Module."""

    def __init__(self) -> None:
        super().__init__()
        self.features, self.head = features(), nn.Linear(48, 3)

    forward = Alone.construct


FORMS = [ModuleInCell, CellInModule, Whole]
WEIGHTS = [np.random.RandomState(7).uniform(-0.5, 0.5, shape).astype(np.float32) for shape in ((3, 2, 3, 3), (3,), (3,), (3, 48), (3,))]
_GRAPHS = RuntimeError, "cannot read a torch module. mstorch.interop.export_mindir writes its graph to a file"
_RECOMPUTED = NotImplementedError, "torch.utils.checkpoint.checkpoint"
# Steps that work in MindSpore alone, and the errors that they raise with a Module.
REFUSED: dict[tuple[str, Any], tuple[type[Exception], str]] = {
    **{(step, form): _GRAPHS for step in ("a function under jit", "a step under jit", "export") for form in FORMS},
    ("graph mode", ModuleInCell): _GRAPHS, ("a recomputed part", ModuleInCell): _RECOMPUTED, ("a recomputed part", Whole): _RECOMPUTED,
}  # fmt: skip
# Steps that MindSpore does not support on a CPU.
NOT_HERE = "a step with scaled loss", "model with dynamic loss scale"


def made(kind: Any, device: str = "cpu") -> Any:
    net = kind().set_train()  # as in the guides: a new Cell is in evaluation mode, a new Module in training mode
    for _, cell in net.cells_and_names():
        if isinstance(cell, nn.Module):
            cell.to(device)
    parameters = net.trainable_params()
    assert [tuple(p.shape) for p in parameters] == [w.shape for w in WEIGHTS]
    for parameter, weight in zip(parameters, WEIGHTS):
        parameter.set_data(mindspore.Tensor(weight))
    return net


def compare(step: str, form: Any, folder: str, device: str = "cpu") -> None:
    """Compare a step on torch's layers with MindSpore's numbers, or its error with the lists above."""
    if (step, form) in REFUSED:
        kind, text = REFUSED[step, form]
        with pytest.raises(kind, match=text):
            STEPS[step](made(form, device), folder)
        return
    if step in NOT_HERE:
        with pytest.raises((RuntimeError, ValueError)) as alone:
            STEPS[step](made(Alone), folder)
        with pytest.raises(alone.type, match=re.escape(str(alone.value).strip().splitlines()[0])):
            STEPS[step](made(form, device), folder)
        return
    expected = STEPS[step](made(Alone), folder)
    found = STEPS[step](made(form, device), folder)
    assert len(found) == len(expected) and all(array.size for array in expected)
    rough = "float" in step or "mixed" in step or "dynamic" in step
    for mine, theirs in zip(found, expected):
        if theirs.dtype.kind in "US":
            assert mine.tolist() == theirs.tolist()
        else:
            np.testing.assert_allclose(mine, theirs, rtol=2e-2 if rough else 1e-4, atol=5e-3 if rough else 1e-5)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("step", STEPS)
def test_a_step_gives_mindspores_numbers(step: str, form: Any, tmp_path: Path) -> None:
    compare(step, form, str(tmp_path))


def test_collectors_of_garbage_do_not_end_a_capture(tmp_path: Path) -> None:
    """MindSpore collects garbage while it compiles a Cell; functions that the collector calls do not belong to the network."""
    seen: list[str] = []

    def told(phase: str, details: Any) -> None:
        seen.append(phase)

    gc.callbacks.append(told)
    try:
        found = STEPS["graph mode"](made(CellInModule), str(tmp_path))
    finally:
        gc.callbacks.remove(told)
    assert seen
    for mine, expected in zip(found, STEPS["graph mode"](made(Alone), str(tmp_path)), strict=True):
        assert np.allclose(mine, expected, rtol=1e-5, atol=1e-6)

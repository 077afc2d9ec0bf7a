"""Functions with an implementation per kind of memory: the operand's memory selects it, and every kind works."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mstorch
from mstorch._src.core import mirrors, storage
from mstorch._src.core.storage import NativeBlock, home
from mstorch._src.tape import operands
from mstorch._src.tape.ways import ways

pytestmark = pytest.mark.core


@ways(
    array=lambda x: "array", raw=lambda x: "raw", host=lambda x: "host" if x.dim() else None, device=lambda x: "device",
    captured=lambda x: "captured", absent=lambda x: "absent",
)  # fmt: skip
def _answer(x: Any) -> str:
    return "itself"


@ways(at=1, native=lambda label, x: label)
def _of_second(label: str, x: Any) -> str:
    return "itself"


def test_the_home_of_an_operand_chooses() -> None:
    x = mstorch.ones(2, device="cpu")
    assert _answer(x) == "host" and _answer(mstorch.ones(2, device="meta")) == "absent" and _answer(np.ones(2)) == "array"
    assert _answer(mstorch.ones((), device="cpu")) == "itself"  # whose implementation returned None
    assert _answer(x.to_mindspore()) == "raw"
    there = mstorch.ones(2)  # on the stand-in device, if the tests run on one
    assert _answer(there) == ("host" if there.device.type == "cpu" else "device")
    with NativeBlock():
        assert _answer(x) == "captured" and home(x).has_elements
    with NativeBlock(captured=True):
        assert _answer(x) == "captured" and not home(x).has_elements and not home(x).reads_are_free


def test_one_way_serves_all_that_mindspore_holds() -> None:
    x = mstorch.ones(2, device="cpu")
    assert _of_second("there", x) == "itself" and _of_second("there", x.to_mindspore()) == "there"
    assert _of_second("there", [x.to_mindspore(), None]) == "there"  # gradients of several results
    with NativeBlock():
        assert _of_second("there", x) == "there"


def test_every_kind_of_home_answers_and_computes() -> None:
    kinds = {cls for module in (storage, mirrors) for cls in vars(module).values() if isinstance(cls, type) and "kind" in vars(cls)}
    assert {cls.__name__ for cls in kinds} == {"Storage", "Absent", "DeviceMemory", "Value", "Mirror", "NativeBlock"}
    for cls in kinds:
        assert cls.kind in operands._COMPUTE  # type: ignore[attr-defined]
        assert all(hasattr(cls, name) for name in ("grows", "fuses", "is_free")), cls
    assert {"reads_are_free", "has_elements"} <= set(dir(storage.DeviceMemory)) & set(dir(mirrors.Mirror)) & set(dir(storage.Absent))


def test_a_value_that_is_left_of_a_block_is_computed_with() -> None:
    x = mstorch.tensor([1.0, 2.0], device="cpu")
    with NativeBlock():
        y = mstorch.mul(x, 2)
    z = mstorch.ones(2, device=y.device)
    assert (y + z).tolist() == (z + y).tolist() == [3.0, 5.0]
    assert mstorch.cat([y, z]).tolist() == [2.0, 4.0, 1.0, 1.0]

"""Rows of devices use primitives that MindSpore's plugins contain, which is read from the plugins' files without a device."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

from tools import plugins

ROOT = pathlib.Path(__file__).parents[2]

CHECK = """
import inspect
from tools import kernel_map
listed = kernel_map.entries("Ascend")
good, count = kernel_map.shares(listed)
assert good >= 0.95 * count and count > 80, (good, count)
by_row = {entry.row: entry for entry in listed}
many = {op: by_row[op].kernels for op in kernel_map.FEW.values() if not 0 < by_row[op].kernels <= 2}
assert not many, many
assert kernel_map.launches(listed) == kernel_map.json.loads(kernel_map.LAUNCHES.read_text())
from mstorch._src.backend.table import ROWS
assert len(ROWS) > 200
for op, row in ROWS.items():
    for device in ("Ascend", "GPU"):
        same = inspect.unwrap(row.functions.get(device, len)) is row.functions["CPU"]
        assert (device in row.functions) != (device in row.reasons) or (same and row.reasons[device]), (op, device)
found = kernel_map.faults(listed) + kernel_map.faults(kernel_map.entries("GPU"))
assert not found, found
from mstorch._src.backend.ascend._primitives import one
from mstorch._src.backend.table import ROWS
ROWS["relu"].functions["Ascend"] = one("BesselJ0")   # a primitive of MindSpore's that the plugin has not
ROWS["gelu"].functions["Ascend"] = one("GeluExtt")   # no primitive at all
del ROWS["silu"].functions["Ascend"]
print(kernel_map.faults(kernel_map.entries("Ascend")))
"""


@pytest.mark.slow
@pytest.mark.skipif(not (plugins.home() / plugins.ASCEND).exists(), reason="this MindSpore ships no Ascend plugin of this name")
def test_rows_name_what_their_devices_have() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHECK], cwd=ROOT, capture_output=True, text=True, env={**os.environ, "MSTORCH_FAKE_DEVICE": "Ascend"}
    )
    assert done.returncode == 0, done.stderr[-2000:]
    planted = done.stdout.strip().splitlines()[-1]
    assert planted.count(" on Ascend") == 3
    for words in ("relu on Ascend: BesselJ0 not in the plugin", "gelu on Ascend: cannot be followed", "silu on Ascend: no entry"):
        assert words in planted


def test_names_in_a_plugin() -> None:
    """Kernels that are known to be in the plugin are found, and another one is not."""
    if not (plugins.home() / plugins.ASCEND).exists():
        pytest.skip("this MindSpore ships no Ascend plugin of this name")
    found = plugins.ascend()
    assert found["GeluExt"] == found["MatMul"] == found["LayerNormExt"] == "aclnn"
    assert found["Reshape"] == found["Transpose"] == "view"
    assert "BesselJ0" not in found
    assert "aclnnGelu" in plugins.aclnn()

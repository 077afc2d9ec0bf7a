"""``python -m mstorch check`` on the stand-in, as it is and with planted faults: ``python -m tests.devices.checked`` names what it misses."""
from __future__ import annotations

import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
from typing import Any

import numpy as np

import mstorch as torch
from mstorch._backend import device_memory, table
from mstorch._devices import check

PLANTED = "MSTORCH_TEST_PLANTED"


def _changed(op: str, name: str, change: Any) -> None:
    kernel = table.kernel(op)
    own = kernel[name]
    kernel[name] = lambda *args: change(own(*args))


def _raises(result: Any) -> Any:
    raise RuntimeError("aclnnSigmoid failed, detail: EZ1001")


def _nothing(base: Any, *rest: Any) -> Any:
    return base


def plant() -> None:
    """Ten faults: wrong values in one dtype, a wrong gradient, errors, a crash, a lost write, numbers that do not repeat, a wrong step."""
    add = table.kernel("add")["float32"]
    wrong = {"float32": lambda raw: add(raw, table.kernel("add")["float32"](raw, raw))}
    _changed("tanh", "float32", wrong["float32"])
    _changed("ceil", "float32", wrong["float32"])
    _changed("gelu_grad", "float32", wrong["float32"])
    _changed("sigmoid", "float32", _raises)
    _changed("erf", "float32", lambda raw: os.kill(os.getpid(), 9))
    _changed("sqrt", "float16", lambda raw: table.kernel("neg")["float16"](raw))
    _changed("amax", "float32", lambda raw: table.kernel("neg")["float32"](raw))
    _changed("adamw_step", "float32", lambda raws: (table.kernel("neg")["float32"](raws[0]), *raws[1:]))
    device_memory.fill = _nothing
    torch._core.generator.Generator.manual_seed = lambda self, seed: self  # type: ignore[method-assign]


# What names each planted fault, by group.
FOUND = {
    "rows": ("tanh, float32", "ceil, float32", "gelu_grad, float32", "sigmoid, float32", "erf, float32", "sqrt, float16", "amax, float32", "adamw_step, float32"),
    "memory": ("zeros",), "random": ("rand",),
}  # fmt: skip


def _report(planted: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "report.json"
        if planted:
            os.environ[PLANTED] = "1"
        arguments = [item for group in FOUND for item in ("--only", group)] if planted else []
        with contextlib.redirect_stdout(io.StringIO()):
            status = check.main(["--json", str(path), *arguments])
        found: dict[str, Any] = json.loads(path.read_text())
        return {**found, "status": status}


def _worker() -> list[str]:
    return [sys.executable, "-m", "tests.devices.checked"]


if __name__ == "__main__":
    if "--group" in sys.argv:
        if os.environ.get(PLANTED):
            plant()
        sys.exit(check.main(sys.argv[1:]))
    check.WORKER[:] = _worker()
    missed = []
    sound = _report(False)
    for group, outcomes in sound["groups"].items():
        missed += [f"{group}, {name}: {one['text']}" for name, one in outcomes.items() if one["text"] and not one["text"].startswith(("absent", "alone"))]
    if sound["status"] or len(sound["groups"]) != len(check.GROUPS) or "mindspore" not in sound["versions"]:
        missed.append("the report of a sound device")
    faulty = _report(True)
    for group, names in FOUND.items():
        outcomes = faulty["groups"][group]
        missed += [f"planted: {group}, {name}" for name in names if not outcomes.get(name, {"text": ""})["text"]]
    rows = faulty["groups"]["rows"]
    if "ended with -9" not in rows["erf, float32"]["text"] or len(rows) != len(sound["groups"]["rows"]):
        missed.append("a crash, after which the group goes on")
    if not faulty["status"] or not np.isfinite(faulty["status"]):
        missed.append("the status")
    print(missed)

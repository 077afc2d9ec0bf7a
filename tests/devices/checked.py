"""``python -m mstorch check`` on the stand-in device, without and with planted faults: ``python -m tests.devices.checked`` prints the
faults that it misses."""
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

from mstorch._commands import check
from mstorch._src.backend import device_memory, table
from mstorch._src.backend.raw import from_numpy
from mstorch._src.core import generator

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
    """Plant ten faults (wrong values in one dtype, a wrong gradient, errors, a crash, a lost write, numbers that do not repeat, a wrong
    step), and ten that affect only tensors of one layout or size.

    And ten that only tensors of one layout or size meet.
    """
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
    for op, (name, met, change) in AMONG.items():
        _where(op, name, met, change)
    generator.Generator.manual_seed = lambda self, seed: self  # type: ignore[method-assign]


def _where(op: str, name: str, met: Any, change: Any) -> None:
    """Change a kernel's result if its first operand meets a condition."""
    kernel = table.kernel(op)
    own = kernel[name]
    kernel[name] = lambda first, *rest: change(own(first, *rest)) if met(first) else own(first, *rest)


def _lies_transposed(raw: Any) -> bool:
    return len(raw.shape) > 1 and 1 not in raw.shape[-2:] and raw.stride()[-1] != 1 and raw.stride()[-2] == 1


def _has_steps(raw: Any) -> bool:
    return len(raw.shape) > 1 and raw.stride()[-1] == 2


def _one(raw: Any) -> bool:
    return raw.shape == ()


def _none(raw: Any) -> bool:
    return 0 in raw.shape


def _negative(name: str) -> Any:
    return lambda raw: table.kernel("neg")[name](raw)


def _longer(raw: Any) -> Any:
    return from_numpy(np.ones((1, *raw.shape[1:]), np.float32))


# By row: the dtype, the operands that meet the fault, and the kernel's wrong result.
AMONG: dict[str, Any] = {
    "cos": ("float32", _lies_transposed, _negative("float32")), "sinh": ("float32", _has_steps, _negative("float32")),
    "relu": ("float16", _lies_transposed, _negative("float16")), "log1p": ("bfloat16", _has_steps, _negative("bfloat16")),
    "tan": ("float32", _lies_transposed, _raises), "floor": ("float32", _has_steps, _raises), "reciprocal": ("float32", _one, _negative("float32")),
    "rsqrt": ("float16", _one, _raises), "expm1": ("float32", _none, _longer), "trunc": ("float32", _none, _raises),
}  # fmt: skip

# The names under which the planted faults have to be reported, by group.
FOUND = {
    "rows": ("tanh, float32", "ceil, float32", "gelu_grad, float32", "sigmoid, float32", "erf, float32", "sqrt, float16", "amax, float32", "adamw_step, float32"),
    "layouts": (
        "cos, float32, transposed", "sinh, float32, sliced", "relu, float16, transposed", "log1p, bfloat16, sliced", "tan, float32, transposed", "floor, float32, sliced",
    ),
    "sizes": ("reciprocal, float32, 0-d", "rsqrt, float16, 0-d", "expm1, float32, empty", "trunc, float32, empty"),
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
    missed += [f"memory of {group}" for group, told in sound["memory"].items() if set(told) != {"before", "after"} or told["after"]["host"] < 1 << 20]
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

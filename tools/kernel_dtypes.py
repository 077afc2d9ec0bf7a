"""Writes mstorch/_src/backend/ascend/refused.json: the dtypes that MindSpore's own checks of arguments refuse, for each row of Ascend.

    MSTORCH_FAKE_DEVICE=Ascend python -m tools.kernel_dtypes

The checks come before a kernel is looked for, so that the CPU shows them. Each row runs on its sample call, in every dtype.
"""
from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np

PAGE = pathlib.Path(__file__).parents[1] / "mstorch" / "_src" / "backend" / "ascend" / "refused.json"
ELSEWHERE = {"view_dtype", "adamw_step", "momentum_step", "add_scaled"}  # the sample says nothing of other dtypes, or the row names its own


def _in_dtype(value: Any, name: str, first: np.dtype) -> Any:
    from mstorch._src.backend.cast import numpy_cast  # late: the import runs MindSpore
    from mstorch._src.backend.raw import NP_DTYPE

    if isinstance(value, np.ndarray):
        return numpy_cast(value, NP_DTYPE[name]) if value.dtype == first else value
    return type(value)(_in_dtype(item, name, first) for item in value) if isinstance(value, (list, tuple)) else value


def refused() -> dict[str, list[str]]:
    """Return the refused dtypes of each row. Raise RuntimeError if no check refused anything: then the rows did not run."""
    import mstorch  # noqa: F401 - the import fills the table
    from mstorch._src.backend.samples import samples
    from mstorch._src.backend.table import ALL, ROWS
    from tools.kernel_trace import trace

    found: dict[str, list[str]] = {}
    for op, args in sorted(samples().items()):
        function = ROWS[op].functions.get("Ascend")
        flat = [item for arg in args for item in (arg if isinstance(arg, (list, tuple)) else (arg,))]
        first = next(item.dtype for item in flat if isinstance(item, np.ndarray))
        for name in ALL if function is not None and op not in ELSEWHERE else ():
            ended = trace(function, [_in_dtype(item, name, first) for item in args]).ended
            if ended.startswith("TypeError"):
                found.setdefault(op, []).append(name)
    if not found:
        raise RuntimeError("no check of MindSpore's refused a dtype: MSTORCH_FAKE_DEVICE=Ascend has to be set, so that Ascend's rows run")
    return found


def main() -> None:
    """Write the file."""
    PAGE.write_text(json.dumps({op: " ".join(names) for op, names in refused().items()}, indent=0) + "\n")


if __name__ == "__main__":
    main()

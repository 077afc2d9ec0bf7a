"""Writes mstorch/_backend/ascend/refused.py: the dtypes that MindSpore's own checks of arguments refuse, for each row of Ascend.

    MSTORCH_FAKE_DEVICE=Ascend python -m tools.kernel_dtypes

The checks come before a kernel is looked for, so that the CPU shows them. Each row runs on its sample call, in every dtype.
"""
from __future__ import annotations

import pathlib
from typing import Any

import numpy as np

PAGE = pathlib.Path(__file__).parents[1] / "mstorch" / "_backend" / "ascend" / "refused.py"
ELSEWHERE = {"view_dtype", "adamw_step", "add_scaled"}  # the sample says nothing of other dtypes, or the row names its own
HEAD = '''"""Written by ``python -m tools.kernel_dtypes``: dtypes that MindSpore's checks of arguments refuse, by row of Ascend."""
from __future__ import annotations

REFUSED: dict[str, str] = {
'''


def _in_dtype(value: Any, name: str, first: np.dtype) -> Any:
    from mstorch._backend.cast import numpy_cast  # late: the import runs MindSpore
    from mstorch._backend.raw import NP_DTYPE

    if isinstance(value, np.ndarray):
        return numpy_cast(value, NP_DTYPE[name]) if value.dtype == first else value
    return type(value)(_in_dtype(item, name, first) for item in value) if isinstance(value, (list, tuple)) else value


def refused() -> dict[str, list[str]]:
    """Return the refused dtypes of each row."""
    import mstorch  # noqa: F401 - the import fills the table
    from mstorch._backend.samples import samples
    from mstorch._backend.table import ALL, ROWS
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
    return found


def main() -> None:
    """Write the file."""
    lines = []
    for op, names in refused().items():
        text = f'    "{op}": "{" ".join(names)}",'
        lines.append(text if len(text) <= 140 else f'    "{op}": "{" ".join(names[:7])} "\n    "{" ".join(names[7:])}",')
    PAGE.write_text(HEAD + "\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()

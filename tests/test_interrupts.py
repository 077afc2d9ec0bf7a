"""A sample of ``python -m tests.interrupts``: an interrupt leaves modes, hooks, locks and files as they were."""
from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.long
@pytest.mark.slow
def test_interrupts_leave_everything_as_it_was() -> None:
    done = subprocess.run([sys.executable, "-m", "tests.interrupts", "600"], capture_output=True, text=True, check=False, timeout=600)
    came = int(done.stdout.splitlines()[-1].split()[0])  # a few are lost in CPython's own callbacks
    assert done.returncode == 0 and 570 <= came <= 600 and " interrupts, 0 faults" in done.stdout, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


def test_conditions_are_entered_by_their_lock() -> None:
    """A Condition's own ``__enter__`` is written in Python: after an interrupt as it returns, the lock is never released."""
    wrong = []
    for path in sorted((Path(__file__).resolve().parents[1] / "mstorch").rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "threading.Condition"]
        wrong += [f"{path}:{node.lineno}: without a lock of its own" for node in calls if not node.args]
        entered = [item.context_expr for node in ast.walk(tree) if isinstance(node, ast.With) for item in node.items]
        wrong += [f"{path}:{item.lineno}: {ast.unparse(item)}" for item in entered if ast.unparse(item) in ("self._changed", "self.changed")]
    assert not wrong

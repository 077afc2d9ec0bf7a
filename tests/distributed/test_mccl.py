"""Calls of MindSpore's communication, checked by their arguments and executed by its CPU implementation under msrun."""
from __future__ import annotations

import ast
import inspect
import json
import os
import pathlib
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest
from mindspore.mint import distributed as native

import mstorch  # noqa: F401 - before its parts
from mstorch._src.backend import collectives
from mstorch._src.backend.turns import LOCK

pytestmark = pytest.mark.slow

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = pathlib.Path(__file__).with_name("mccl_script.py")


@pytest.mark.long
def test_collectives_by_mccl(tmp_path: pathlib.Path) -> None:
    msrun = pathlib.Path(sys.executable).with_name("msrun")
    if not msrun.exists():
        pytest.skip("MindSpore's msrun is not beside Python")
    command = [msrun, "--worker_num=2", "--local_worker_num=2", f"--master_port={collectives.free_address().split(':')[1]}", "--join=True"]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MSTORCH")} | {"PYTHONPATH": str(ROOT), "GLOG_v": "3"}
    environment["PATH"] = f"{msrun.parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        [*command, f"--log_dir={tmp_path}/logs", SCRIPT, tmp_path], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout[-3000:]
    rows = [[0.0, 1.0, 2.0, 3.0], [10.0, 11.0, 12.0, 13.0]]
    want = {
        "all_reduce SUM": [10.0, 12.0, 14.0, 16.0], "all_reduce MAX": rows[1], "all_reduce MIN": rows[0],
        "all_reduce PRODUCT": [0.0, 11.0, 24.0, 39.0], "broadcast": rows[1], "all_gather": rows, "barrier": None,
    }  # fmt: skip
    assert [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2)] == [want, want]


def test_calls_fit_the_functions_of_mindspore() -> None:
    """Names and numbers of arguments are checked in the syntax tree of the one file that calls them."""
    tree = ast.parse((ROOT / "mstorch/_src/backend/collectives.py").read_text())
    seen = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "self._native":
            signature = inspect.signature(getattr(native, node.func.attr))
            signature.bind(*node.args, **{word.arg: word.value for word in node.keywords if word.arg})
            names = list(signature.parameters)
            for place, argument in enumerate(node.args):
                if ast.unparse(argument) == "group" and node.func.attr != "destroy_process_group":
                    assert names[place] == "group", node.func.attr
                if ast.unparse(argument) == "True":
                    assert names[place] == "async_op", node.func.attr
            seen.add(node.func.attr)
    assert len(seen) >= 14


CALLS = {
    "all_reduce": (None, "SUM"), "broadcast": (None, 0), "all_gather": (None, None), "all_gather_list": ([], None), "send": (None, 1), "receive": (None, 1),
    "reduce_scatter": (None, None, "SUM"), "reduce": (None, "SUM", 0), "scatter": (None, [], 0), "all_to_all": (None, None, [], []), "together": ([],),
}  # fmt: skip


def _is_taken() -> bool:
    free: list[bool] = []
    thread = threading.Thread(target=lambda: free.append(LOCK.acquire(blocking=False) and not LOCK.release()))
    thread.start()
    thread.join()
    return not free[0]


def test_communications_start_in_turn() -> None:
    """MindSpore's queue of launches is made for one thread. A barrier starts in turn, but other threads compute while the host waits."""
    taken: list[bool] = []
    handle = SimpleNamespace(wait=lambda: taken.append(_is_taken()))

    def start(*_: object) -> object:
        taken.append(_is_taken())
        return handle

    fake = SimpleNamespace(**{**dict.fromkeys(dir(native), start), "batch_isend_irecv": lambda calls: [start()]})
    group = collectives.Communication(fake)
    for name, args in CALLS.items():
        getattr(group, name)(None, *args).wait()
        assert taken == [True, True], name
        taken.clear()
    group.barrier(None)
    assert taken == [True, False]

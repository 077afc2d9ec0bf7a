"""torch.multiprocessing compared with torch's: objects that are sent or shared, and failures of processes."""
from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch.multiprocessing

import mstorch

pytestmark = pytest.mark.slow

LIBRARIES = [torch, mstorch]


def _library(name: str) -> Any:
    library = importlib.import_module(name)
    importlib.import_module(f"{name}.multiprocessing")
    return library


def _add(number: int, name: str, tensor: Any, queue: Any) -> None:
    """Write into shared memory, and send back a tensor."""
    library = _library(name)
    tensor[number] += 10 + number
    queue.put((number, library.full((2,), float(number)), tensor))
    time.sleep(0.5)  # until the memory has been fetched


def _fail(number: int, how: str) -> None:
    if number == 1:
        if how == "raise":
            raise ValueError("not this one")
        if how == "exit":
            os._exit(7)
        os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(30)


def _nothing(number: int) -> None:
    return None


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("library", LIBRARIES, ids=["torch", "mstorch"])
def test_tensors_go_through_queues_in_shared_memory(library: Any, method: str) -> None:
    mp = library.multiprocessing
    queue = mp.get_context(method).Queue()
    tensor = library.zeros(3).share_memory_()
    assert tensor.is_shared() and not library.zeros(3).is_shared()
    context = mp.start_processes(_add, (library.__name__, tensor, queue), nprocs=2, join=False, start_method=method)
    found = sorted((queue.get(timeout=60) for _ in range(2)), key=lambda item: item[0])
    while not context.join(60):
        pass
    assert [item[1].tolist() for item in found] == [[0.0, 0.0], [1.0, 1.0]]
    assert tensor.tolist() == [10.0, 11.0, 0.0]
    assert found[1][2].is_shared()
    found[1][2][2] = 5
    assert tensor.tolist() == found[0][2].tolist() == [10.0, 11.0, 5.0]


@pytest.mark.parametrize("library", LIBRARIES, ids=["torch", "mstorch"])
def test_what_pickles_for_a_queue(library: Any) -> None:
    reduction = library.multiprocessing.reducer.ForkingPickler
    import pickle

    base = library.arange(12.0).reshape(3, 4)
    view = base.t()[1:]
    parameter = library.nn.Parameter(library.ones(2))
    for made, given in zip(pickle.loads(reduction.dumps([base, view, parameter, library.zeros(0)])), (base, view, parameter, library.zeros(0))):
        assert type(made) is type(given) and made.tolist() == given.tolist() and made.stride() == given.stride()
        assert made.requires_grad == given.requires_grad and made.storage_offset() == given.storage_offset()
        assert made.data_ptr() == given.data_ptr()
    assert base.is_shared() and view.is_shared()
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor which requires_grad"):
        reduction.dumps(parameter * 2)


@pytest.mark.parametrize("how", ["raise", "exit", "kill"])
def test_a_process_that_fails(how: str) -> None:
    found = []
    for library in LIBRARIES:
        mp = library.multiprocessing
        began = time.monotonic()
        with pytest.raises((mp.ProcessRaisedException, mp.ProcessExitedException)) as caught:
            mp.start_processes(_fail, (how,), nprocs=2, start_method="fork")
        assert time.monotonic() - began < 20
        error = caught.value
        lines = str(error).strip().splitlines()
        found.append((type(error).__name__, lines[0], lines[-1], error.error_index, getattr(error, "exit_code", None), getattr(error, "signal_name", None)))
    assert found[0] == found[1]


def test_spawn_waits_and_strategies() -> None:
    for library in LIBRARIES:
        mp = library.multiprocessing
        assert mp.start_processes(_nothing, nprocs=2, start_method="fork") is None
        assert mp.get_all_sharing_strategies() == {"file_descriptor", "file_system"} and mp.get_sharing_strategy() == "file_descriptor"
        with pytest.raises(AssertionError, match="invalid sharing strategy 'paper'"):
            mp.set_sharing_strategy("paper")
        with pytest.warns(FutureWarning, match="This method only supports start_method=spawn"):
            mp.spawn(_nothing, nprocs=0, start_method="fork")


def test_names() -> None:
    for name in sorted(set(dir(torch.multiprocessing)) - {"torch", "multiprocessing", "_RT"}):
        if not name.startswith("__") and name not in ("_all_sharing_strategies", "_sharing_strategy"):
            assert hasattr(mstorch.multiprocessing, name), name


HOGWILD = """
import os
import torch
import torch.multiprocessing as mp

def train(rank, model):
    torch.manual_seed(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.5)
    for step in range(60):
        x = torch.randn(16, 4)
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()

if __name__ == "__main__":
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    model.share_memory()
    before = torch.nn.functional.mse_loss(model(torch.ones(1, 4)), torch.tensor([[4.0]])).item()
    context = mp.get_context(METHOD)
    processes = [context.Process(target=train, args=(rank, model)) for rank in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    after = torch.nn.functional.mse_loss(model(torch.ones(1, 4)), torch.tensor([[4.0]])).item()
    with mp.Pool(2) as pool:
        print(before > 1, after < 0.01, [x.item() for x in pool.map(torch.neg, [torch.tensor(1.0), torch.tensor(2.0)])])
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_hogwild(method: str, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(f"METHOD = {method!r}\n{HOGWILD}")
    root = Path(mstorch.__file__).parents[1]
    # The hook of an installed mstorch: child processes import torch from the same place as their parent.
    (tmp_path / "sitecustomize.py").write_text((root / "tools" / "mstorch_hook.pth").read_text())
    command, path = [sys.executable, "-m", "mstorch", "script.py"], f"{root}{os.pathsep}{tmp_path}"
    done = subprocess.run(command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "True True [-1.0, -2.0]\n", done.stdout + done.stderr

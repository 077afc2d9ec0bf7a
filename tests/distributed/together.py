"""Processes of one library that run the same cases, and each case's result or error in every process."""
from __future__ import annotations

import contextlib
import importlib
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import time
import traceback
from datetime import timedelta

import numpy as np

from tests import warm

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATIENCE = 400  # seconds, for two processes
PLACE = "cpu"
"""The kind of device on which this process has its tensors."""
ON_PLUGIN = "npu"
"""The place beside "cpu": devices of MindSpore's plugin, with CANN and HCCL emulated below it."""
AS_HCCL = "DISTRIBUTED_AS_HCCL" in os.environ
"""True if processes leave out, also on the CPU, what HCCL lacks: sums of float64, uint8 and bool, and bitwise reductions."""


def wide(torch):
    """Return the widest floating-point dtype that collectives support here."""
    return torch.float32 if AS_HCCL else torch.float64


def plain(value):
    """Return a result in a form that both libraries' processes return: tensors as dtype, shape and values."""
    if type(value).__name__ in ("Tensor", "Parameter", "DTensor"):
        array = value.detach()
        array = (array.float() if str(array.dtype) == "torch.bfloat16" else array).cpu()
        return ("tensor", str(value.dtype), value.requires_grad, np.array(array.numpy()))
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return value if isinstance(value, (int, float, str, bytes, bool, type(None))) else str(value)


def work(library, module, folder, place="cpu", chosen=""):
    """Run the cases in one process, or only those of these names (comma-separated). ``place``: the default device and backend."""
    import warnings

    warnings.simplefilter("ignore")
    torch = importlib.import_module(library)
    if library == "mstorch":
        from mstorch._src import hook as _hook

        _hook.install()
        import torch
    import torch.distributed as dist

    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.manual_seed(0)
    if place != "cpu":
        globals()["PLACE"] = place
        torch.npu.set_device(rank)
        torch.set_default_device(place)
        generators = importlib.import_module("mstorch._src.core.generator")
        importlib.import_module("tests.cann.cpu_numbers").draw(generators.default_generator._engine)  # the CPU's numbers, in the CPU's order
    dist.init_process_group("gloo" if place == "cpu" else f"cpu:gloo,{place}:hccl", init_method=f"file://{folder}/store", rank=rank, world_size=size, timeout=timedelta(seconds=120))
    named = [pair for one in module.split(",") for pair in vars(importlib.import_module(one)).items()]
    cases = [(name, case) for name, case in named if name.startswith("case_")]
    assert len(dict(cases)) == len(cases), "two cases have one name"
    with open(f"{folder}/{rank}.pickle", "wb") as file:
        for name, case in [pair for pair in cases if not chosen or pair[0] in chosen.split(",")]:
            torch.manual_seed(0)
            print(name, file=sys.stderr, flush=True)
            try:
                result = plain(case(torch, dist, rank, size))
            except Exception as error:  # noqa: BLE001 - compared with torch's
                traceback.print_exc()
                result = ("error", type(error).__name__, str(error).split("\n")[0])
            pickle.dump((name, result), file)
            file.flush()  # a run that is stopped tells what it had
    if library == "mstorch":
        dist.barrier()
        dist.destroy_process_group()
    else:
        os._exit(0)  # a refusal may have left gloo waiting


def start(library, module, folder, errors, place="cpu", as_hccl=False, cases=(), **changes):
    """Start the processes, one per report file, in a place; with ``changes`` of the environment on MindSpore's plugin."""
    size = len(errors)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MSTORCH")}
    environment |= {"WORLD_SIZE": str(size), "PYTHONPATH": str(ROOT), "GLOG_v": "3", "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    if place == ON_PLUGIN:
        build = importlib.import_module("tests.cann.build")
        environment |= build.environment(**changes, EMULATED_CANN_DEVICES=size, EMULATED_CANN_MEMORY_MB=1024)
    if place != "cpu" or as_hccl:
        environment["DISTRIBUTED_AS_HCCL"] = "1"
    command = ["-c", "import sys; from tests.distributed.together import work; work(*sys.argv[1:])", library, module, folder, place, ",".join(cases)]
    if place == ON_PLUGIN:  # no fork: MindSpore opens CANN's libraries when it is imported
        processes = []
        for rank, error in enumerate(errors):
            with open(error, "w") as file:
                processes.append(
                    subprocess.Popen([sys.executable, *command], cwd=ROOT, env=environment | {"RANK": str(rank)}, stdout=subprocess.DEVNULL, stderr=file)
                )
        return processes
    return [
        warm.start(*command, environment=environment | {"RANK": str(rank)}, out=os.devnull, error=error, library=library)
        for rank, error in enumerate(errors)
    ]


def _tails(files):
    return "\n\n".join(pathlib.Path(file).read_text(errors="replace")[-20000:] for file in files)


def results_of(path):
    """Return the results of a process by case, as far as it has come."""
    results = {}
    with open(path, "rb") as file, contextlib.suppress(EOFError):
        while True:
            name, result = pickle.load(file)
            results[name] = result
    return results


def run(library, module, size, place="cpu", as_hccl=False, cases=(), **changes):
    """Return the results of a module's cases, or of several modules' (comma-separated), or of some cases, in each process of a library."""
    with tempfile.TemporaryDirectory() as folder:
        errors = [f"{folder}/{rank}.txt" for rank in range(size)]
        processes = start(library, module, folder, errors, place, as_hccl, cases, **changes)
        deadline = time.monotonic() + PATIENCE * max(1, size // 2) * (3 if place == ON_PLUGIN else 1)
        try:
            while any(process.poll() is None for process in processes) and not any(process.poll() for process in processes):
                assert time.monotonic() < deadline, _tails(errors)
                time.sleep(0.02)
        finally:
            for process in processes:
                process.kill()
                process.wait()
        assert not any(process.returncode for process in processes), _tails(errors)
        return [results_of(f"{folder}/{rank}.pickle") for rank in range(size)]


def same(want, got, what, rtol=1e-6, atol=1e-6):
    """Assert that a result of mstorch equals torch's; with both tolerances 0, bit for bit."""
    if isinstance(want, (list, tuple)) and len(want) == 4 and want[0] == "tensor":
        assert list(want[:3]) == list(got[:3]) and want[3].shape == got[3].shape, f"{what}: {want[:3]} expected, {got[:3]} given"
        if not rtol and not atol:
            assert want[3].tobytes() == got[3].tobytes(), f"{what}: other bits, by {np.abs(want[3].astype(float) - got[3]).max()}"
            return
        if want[1] in ("torch.bfloat16", "torch.float16"):
            rtol, atol = 1e-2, 1e-2
        np.testing.assert_allclose(got[3], want[3], rtol=rtol, atol=atol, err_msg=what)
    elif isinstance(want, (list, tuple)):
        assert isinstance(got, (list, tuple)) and len(want) == len(got), f"{what}: {want} expected, {got} given"
        for number, (w, g) in enumerate(zip(want, got)):
            same(w, g, f"{what}[{number}]", rtol, atol)
    elif isinstance(want, dict):
        assert list(want) == list(got), f"{what}: {list(want)} expected, {list(got)} given"
        for key in want:
            same(want[key], got[key], f"{what}[{key!r}]", rtol, atol)
    elif isinstance(want, float):
        np.testing.assert_allclose(got, want, rtol=rtol, atol=atol, err_msg=what)
    else:
        assert want == got, f"{what}: {want!r} expected, {got!r} given"

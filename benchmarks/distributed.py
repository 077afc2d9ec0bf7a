"""How fast are processes together: all_reduce and a training step on 1, 2 and 4 processes, beside torch's gloo.

The last table is an estimate on paper of a step on 8 to 1,024 devices. Its assumptions: a device computes a step in the time that
one process takes here; a ring moves 2 (n - 1) / n of the gradients' bytes through each device, at the bandwidth given, in 2 (n - 1)
messages of the latency given; half of that is hidden behind backward.
"""
from __future__ import annotations

import argparse
import sys

# The folder of this script goes last: random.py in it would stand for the standard library's.
sys.path.append(sys.path.pop(0))

import importlib
import json
import os
import pathlib
import subprocess
import tempfile
import time
from typing import Any

from _measure import print_table

ROOT = pathlib.Path(__file__).resolve().parent.parent
SIZES = (1 << 10, 1 << 16, 1 << 20, 1 << 24)  # elements of float32
COUNTS = (1, 2, 4)
DEVICES = (8, 16, 64, 256, 1024)
HIDDEN = 0.5


def _median(times: list[float]) -> float:
    return sorted(times)[len(times) // 2]


def _all_reduce(torch: Any, dist: Any, size: int) -> float:
    """Seconds of an all_reduce."""
    x, times = torch.ones(size), []
    for _ in range(12 if size < 1 << 22 else 5):
        dist.barrier()
        start = time.perf_counter()
        dist.all_reduce(x)
        times.append(time.perf_counter() - start)
    return _median(times[1:])


def _step(torch: Any, several: bool) -> tuple[float, int]:
    """Seconds of a training step of an MLP, and the bytes of its gradients."""
    nn = torch.nn
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    moved = sum(one.numel() for one in model.parameters()) * 4
    model = nn.parallel.DistributedDataParallel(model) if several else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y, times = torch.randn(64, 784), torch.randint(0, 10, (64,)), []
    for _ in range(15):
        start = time.perf_counter()
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        times.append(time.perf_counter() - start)
    return _median(times[3:]), moved


def work(library: str, folder: str) -> None:
    """What each process does; the first writes the figures down."""
    torch = importlib.import_module(library)
    dist = importlib.import_module(f"{library}.distributed")
    torch.set_num_threads(1)
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=size)
    found = {"all_reduce": [_all_reduce(torch, dist, one) for one in SIZES] if size > 1 else None, "step": _step(torch, size > 1)}
    if rank == 0:
        pathlib.Path(folder, "found.json").write_text(json.dumps(found))
    dist.barrier()
    dist.destroy_process_group()


def measured(library: str, size: int) -> Any:
    """The figures of a library's processes."""
    environment = os.environ | {"WORLD_SIZE": str(size), "PYTHONPATH": str(ROOT), "GLOG_v": "3", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--work", library, folder]
        processes = [subprocess.Popen(command, env=environment | {"RANK": str(rank)}) for rank in range(size)]
        try:
            if any(process.wait(300) for process in processes):
                raise RuntimeError(f"{library} on {size} processes failed")
        finally:
            for process in processes:
                process.kill()
        return json.loads(pathlib.Path(folder, "found.json").read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--work", nargs=2, metavar=("LIBRARY", "FOLDER"), help=argparse.SUPPRESS)
    parser.add_argument("--latency", type=float, help="seconds of a message between devices; measured here if not given")
    parser.add_argument("--bandwidth", type=float, help="bytes a second between devices; measured here if not given")
    options = parser.parse_args()
    if options.work:
        work(*options.work)
        return
    found = {(library, size): measured(library, size) for size in COUNTS for library in ("mstorch", "torch")}
    rows = []
    for size in COUNTS[1:]:
        ours, theirs = found["mstorch", size]["all_reduce"], found["torch", size]["all_reduce"]
        for count, mine, other in zip(SIZES, ours, theirs):
            rate = [f"{4 * count / seconds / 1e9:.2f}" for seconds in (mine, other)]
            rows.append([size, f"{4 * count / 1024:,.0f}", f"{mine * 1e3:.2f}", f"{other * 1e3:.2f}", *rate, f"{mine / other:.1f}"])
    print_table(["processes", "KiB", "mstorch ms", "gloo ms", "mstorch GB/s", "gloo GB/s", "ratio"], rows)
    rows = []
    for size in COUNTS:
        mine, other = found["mstorch", size]["step"][0], found["torch", size]["step"][0]
        rows.append([size, f"{mine * 1e3:.1f}", f"{other * 1e3:.1f}", f"{mine / other:.1f}"])
    print()
    print_table(["processes", "mstorch step ms", "torch step ms", "ratio"], rows)
    pair = found["mstorch", 2]["all_reduce"]
    latency = pair[0] / 2 if options.latency is None else options.latency
    bandwidth = 4 * SIZES[-1] / pair[-1] if options.bandwidth is None else options.bandwidth
    alone, moved = found["mstorch", 1]["step"]
    rows = []
    for devices in DEVICES:
        network = 2 * (devices - 1) * (latency + moved / devices / bandwidth)
        total = alone + (1 - HIDDEN) * network
        rows.append([devices, f"{network * 1e3:.1f}", f"{total * 1e3:.1f}", f"{alone / total:.0%}"])
    print(f"\nOn paper: {moved / 1e6:.1f} MB of gradients, {latency * 1e6:.0f} µs a message, {bandwidth / 1e9:.2f} GB/s")
    print_table(["devices", "all_reduce ms", "step ms", "efficiency"], rows)


if __name__ == "__main__":
    main()

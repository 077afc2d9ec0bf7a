"""Threads that train, load and draw beside a thread that captures graphs: each computes what it computes alone.

    python -m tests.compile.beside 600      # 16 threads for so many seconds
"""
from __future__ import annotations

import sys
import threading
import time
import warnings

import mstorch as torch

STEPS = 20


def _train(number: int) -> list[float]:
    """Train a small network with draws of its own generator, kernels of NumPy and oneDNN and kernels of MindSpore; return the losses."""
    draws = torch.Generator().manual_seed(number)
    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.LayerNorm(8), torch.nn.Linear(8, 4))
    for parameter in net.parameters():
        parameter.data.uniform_(-0.5, 0.5, generator=draws)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    found = []
    for _ in range(STEPS):
        x = torch.rand(16, 8, generator=draws)
        image = torch.nn.functional.interpolate(x.view(1, 1, 16, 8), scale_factor=0.5, mode="bicubic", align_corners=False)
        loss = (net(x) - x[:, :4].cumsum(1)).pow(2).mean() + image.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def _load(number: int) -> list[float]:
    """Read a dataset in an order of its own."""
    rows = torch.utils.data.TensorDataset(torch.arange(64.0).view(32, 2))
    loader = torch.utils.data.DataLoader(rows, 4, shuffle=True, generator=torch.Generator().manual_seed(number))
    return [float(batch.sum()) for (batch,) in loader]


def _draw(number: int) -> list[float]:
    """Draw numbers of a generator, and check draws of the common one, which any thread may have."""
    own = torch.Generator().manual_seed(number)
    common = torch.rand(4)
    assert common.shape == (4,) and bool(((common >= 0) & (common < 1)).all()), common
    return [*torch.rand(4, generator=own).tolist(), *torch.randn(3, generator=own).tolist(), float(torch.randint(9, (1,), generator=own))]


WAYS = (_train, _load, _draw)


def _capture(number: int) -> None:
    k = float(number)
    made = torch.compile(lambda x: x * k + torch.rand(3), backend="mindspore")
    first, second = made(torch.ones(3)), made(torch.ones(3))
    for result in (first, second):
        assert result.shape == (3,) and bool(((result >= k) & (result < k + 1)).all()), result
    assert not torch.equal(first, second), "the same draw twice"
    weight = torch.full((3, 3), k, requires_grad=True)
    loss = torch.compile(lambda w: (w @ w).relu().sum(), backend="mindspore")(weight)
    loss.backward()
    assert loss.item() == 27 * k * k and bool((weight.grad == 6 * k).all()), (loss, weight.grad)


def run(seconds: float, threads: int = 16) -> tuple[int, int, list[str]]:
    """Return the number of captures, of runs of other threads, and what went wrong."""
    warnings.simplefilter("ignore")
    wanted = {(way, number): way(number) for way in WAYS for number in range(3)}
    wrong: list[str] = []
    counts = [0] * threads
    ended = threading.Event()

    def work(place: int) -> None:
        turn = place
        while not ended.is_set():
            way, number = WAYS[turn % 3], turn // 3 % 3
            try:
                found = way(number)
                if found != wanted[way, number]:
                    wrong.append(f"{way.__name__}({number}) gave {found[:4]}, alone {wanted[way, number][:4]}")
            except BaseException as error:  # noqa: BLE001 - it is what is reported
                wrong.append(f"{way.__name__}({number}): {type(error).__name__}: {str(error)[:200]}")
            counts[place] += 1
            turn += 1

    workers = [threading.Thread(target=work, args=(place,), daemon=True) for place in range(threads)]
    for worker in workers:
        worker.start()
    end, captures = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        try:
            _capture(captures % 5 + 1)
        except BaseException as error:  # noqa: BLE001 - it is what is reported
            wrong.append(f"capture: {type(error).__name__}: {str(error)[:200]}")
        captures += 1
    ended.set()
    for worker in workers:
        worker.join(60)
    wrong += [f"thread {place} does not end" for place, worker in enumerate(workers) if worker.is_alive()]
    return captures, sum(counts), wrong


if __name__ == "__main__":
    done, runs, faults = run(float(sys.argv[1]) if len(sys.argv) > 1 else 60)
    print(f"{done} captures, {runs} runs beside them, {len(faults)} faults {faults[:5]}")
    sys.exit(bool(faults))

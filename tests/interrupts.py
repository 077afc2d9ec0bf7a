"""An exception of a signal's handler at each place where one can come: afterwards modes, hooks, locks, threads and files are as before.

    python -m tests.interrupts 3000       # so many interrupts, spread over all programs; the exit code says whether all was well

CPython runs handlers as a function written in Python begins, after a built-in function, and at jumps back; nowhere else. So a tracer that is
itself a built-in function counts the steps of a program (``f_trace_opcodes``) and, at one of them, asks for SIGINT as Ctrl-C does
(``_thread.interrupt_main``); CPython then raises KeyboardInterrupt at the next place where it would. Every step of a program in turn gives every place.
A thread that CPython was about to start stays among those about to start, and one of a queue of multiprocessing's that was just started
waits for ever: those are not counted.
A number of an open file that a built-in function has just given is lost to an interrupt (the folder that a save flushes stays open then).
What one call switches on for good (``set_grad_enabled(False)`` as a function) is not a block, and has no end that could be kept. Nor has
a block that its constructor begins, in torch too (``with set_grad_enabled(False)``), between the constructor and the block.
"""
from __future__ import annotations

import _thread
import gc
import io
import itertools
import multiprocessing
import operator
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import mstorch as torch
from mstorch import _jit_internal, nn
from mstorch._library import registry
from mstorch._src import leaving as leaving
from mstorch._src.aten import calling
from mstorch._src.backend import tape
from mstorch._src.backend.turns import LOCK
from mstorch._src.compile import compiled
from mstorch._src.core import device as devices
from mstorch._src.core import generator, overriding, tangents
from mstorch._src.core.determinism import state as deterministic
from mstorch._src.core.modes import modes
from mstorch._src.ops._autocast import state as autocast
from mstorch._src.serialization.options import LOCAL, OPTIONS
from mstorch.autograd import forward_ad
from mstorch.backends import cuda, cudnn, mkldnn
from mstorch.distributed.tensor import _dtensor
from mstorch.func import _levels
from mstorch.nn import attention
from mstorch.nn.modules._hooks import global_hooks
from mstorch.nn.utils import parametrize
from mstorch.utils import checkpoint as checkpointing
from tests.interrupted_blocks import PROGRAMS, WATCHED, program

_BACKENDS = cudnn, mkldnn

def _processes() -> int:
    """Return the running processes. One that CPython waited for (``waitpid``) during an interrupt stays active there for ever."""
    return sum(os.path.exists(f"/proc/{process.pid}") for process in multiprocessing.active_children())


def state() -> dict[str, Any]:
    """Return the state that an interrupt must not change."""
    free = LOCK.acquire(blocking=False)
    if free:
        LOCK.release()
    return {
        "grad": modes.grad, "inference": modes.inference, "native": modes.native, "shapes": modes.shapes, "forward": modes.forward,
        "hidden": modes.hidden, "levels": modes.levels, "saved hooks": list(modes.saved_hooks), "refused": modes.saved_hooks_refused,
        "before a write": modes.before_write, "MindSpore's grad": tape.grad_mode.enabled, "capture": tape.tracing(),
        "backward passes": tape._running[0], "function modes": list(overriding.state.modes), "all modes": len(overriding.MODES),
        "dispatchers": list(overriding.state.dispatchers), "maps": list(overriding.state.maps), "overriding": overriding.state.level,
        "levels of transforms": overriding.state.levels, "blocks": list(_levels._BLOCKS), "tangents": list(tangents.LEVELS),
        "dual level": forward_ad._current_level, "autocast": (autocast.on, dict(autocast.enabled), dict(autocast.dtypes), autocast.nesting),
        "cache": autocast.cache_enabled, "device": (devices.defaults.chosen, list(devices.defaults.blocks)),
        "dtype": torch.get_default_dtype(), "anomaly": (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
        "determinism": dict(deterministic), "inside": compiled.inside.active, "stance": list(compiled.stance),
        "below autograd": {name: value for name, value in vars(calling).items() if isinstance(value, bool)},
        "engine": id(torch.default_generator._engine), "draws": len(generator._blocks.stack), "lock": free, "gc": (gc.isenabled(), gc.get_threshold()), "SIGINT": signal.getsignal(signal.SIGINT),
        "profile": sys.getprofile(), "threads": sum(thread.ident is not None and thread.name != "QueueFeederThread" for thread in threading.enumerate()), "processes": _processes(), "errors": np.geterr(),
        "loading": (vars(OPTIONS).copy(), vars(LOCAL).copy(), torch.serialization.get_safe_globals()),
        "backends": [{name: value for name, value in vars(module).items() if isinstance(value, bool)} for module in _BACKENDS], "sdp": dict(cuda._sdp),
        "attention": (list(attention._chosen.enabled), list(attention._chosen.priority)), "early stop": list(checkpointing._early_stop),
        "cached": (parametrize._cache.open, len(parametrize._cache.values)), "printing": torch._tensor_str.get_printoptions(),
        "cores": torch.get_num_threads(), "libraries": (set(registry.owned), len(registry.operators)), "jit": vars(_jit_internal.running).copy(),
        "global hooks": {name: len(hooks) for name, hooks in global_hooks.names.items() if isinstance(hooks, dict)},
        "patched": (nn.Module.__call__, nn.Module.__getattr__), "config": torch._dynamo.config.suppress_errors,
        "stream": id(torch.cpu.current_stream()), "replicating": list(_dtensor.replicating),
        "losses": list(_dtensor.HANDLERS), "sync": [net.require_backward_grad_sync for net in WATCHED if hasattr(net, "require_backward_grad_sync")],
        "shards": [(net._shards.syncs, net._settings) for net in WATCHED if hasattr(net, "_shards")],
        "hooks": [len(net._forward_hooks) for net in WATCHED], "tensors": [[id(one) for one in net.state_dict(keep_vars=True).values()] for net in WATCHED if not hasattr(net, "_shards")],
        "reads": {name: vars(tape.Raw).get(name) for name in ("asnumpy", "item", "__bool__")},
    }  # fmt: skip


def settled(before: dict[str, Any]) -> dict[str, Any]:
    """Return the state after threads and processes that are about to end have ended."""
    deadline = time.monotonic() + 20
    while True:
        now = state()
        if all(now[name] == before[name] for name in ("threads", "processes")) or time.monotonic() > deadline:
            return now
        gc.collect()
        time.sleep(0.02)


def _files() -> set[str]:
    found = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            found.add(os.readlink(f"/proc/self/fd/{number}"))
        except OSError:
            continue
    return found


os.register_at_fork(after_in_child=lambda: sys.settrace(None))  # the steps of other processes are not counted


def _count(body: Callable[[], Any]) -> int:
    """Return the number of steps of a program."""
    counter = itertools.count()
    _run(body, _forever(counter))
    return next(counter)


def _forever(ticks: Iterator[Any]) -> Callable[..., Any]:
    """Return a trace function that counts steps; it returns itself, because a trace function that returns None ends."""
    box: list[Any] = []
    numbered = map(operator.itemgetter(1), zip(ticks, map(operator.itemgetter(0), itertools.repeat(box))))
    tick = leaving.built_in_next(numbered)
    box.append(tick)

    def entered(frame: Any, event: str, argument: Any) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return tick

    return entered


def _run(body: Callable[[], Any], tracer: Callable[..., Any]) -> bool:
    """Return whether the body was interrupted."""
    try:
        sys.settrace(tracer)
        body()
    except KeyboardInterrupt:
        return True
    except Exception as error:
        if isinstance(error.__context__, KeyboardInterrupt) or isinstance(error.__cause__, KeyboardInterrupt):
            return True
        raise
    finally:
        sys.settrace(None)
    return False


def _interrupt(body: Callable[[], Any], step: int) -> bool:
    """Run the body with an interrupt at one of its steps; return whether it came."""
    call = operator.methodcaller("__call__")
    ticks = itertools.chain(itertools.repeat(None, step), map(call, itertools.repeat(_thread.interrupt_main, 1)), itertools.repeat(None))
    try:
        return _run(body, _forever(ticks))
    except KeyboardInterrupt:
        return True


@program
def no_grad() -> Callable[[], Any]:
    def run() -> None:
        with torch.no_grad():
            with torch.enable_grad():
                pass

    return run


@program
def decorated() -> Callable[[], Any]:
    return torch.no_grad()(lambda: None)


@program
def inference() -> Callable[[], Any]:
    def run() -> None:
        with torch.inference_mode():
            pass

    return run


@program
def cast() -> Callable[[], Any]:
    def run() -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            pass

    return run


@program
def device() -> Callable[[], Any]:
    where = torch.device("meta")

    def run() -> None:
        with where:
            pass

    return run


@program
def saved_hooks() -> Callable[[], Any]:
    def run() -> None:
        with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
            pass
        with torch.autograd.graph.disable_saved_tensors_hooks("no"):
            pass

    return run


def _within(mode: Any) -> Callable[[], Any]:
    x = torch.ones(2)

    def run() -> None:
        with mode():
            torch.add(x, x)

    return run


@program
def function_mode() -> Callable[[], Any]:
    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    return _within(Mode)


@program
def dispatch_mode() -> Callable[[], Any]:
    from mstorch.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    return _within(Mode)


@program
def anomaly() -> Callable[[], Any]:
    def run() -> None:
        with torch.autograd.detect_anomaly(check_nan=False):
            pass

    return run


@program
def forward() -> Callable[[], Any]:
    net, x = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Dropout(0.5), nn.Linear(4, 2)), torch.ones(2, 3)
    return lambda: net(x)


@program
def backward() -> Callable[[], Any]:
    net, x = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 2)), torch.ones(2, 3)
    return lambda: net(x).sum().backward()


@program
def unpack() -> Callable[[], Any]:
    """A block that is entered within a hook."""
    x = torch.ones(3, requires_grad=True)

    def taken(kept: Any) -> Any:
        with torch.no_grad():
            return kept * 1

    def run() -> None:
        with torch.autograd.graph.saved_tensors_hooks(lambda kept: kept, taken):
            y = x.exp() * x
        y.sum().backward()

    return run


@program
def made_and_gone() -> Callable[[], Any]:
    """Create and free modules and tensors: an interrupt in what Python then calls must not be lost."""
    return lambda: nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))(torch.ones(2, 3)).sum().backward()


@program
def step() -> Callable[[], Any]:
    net = nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(net.parameters())
    net(torch.ones(2, 3)).sum().backward()
    return lambda: (optimizer.step(), optimizer.zero_grad(set_to_none=False))


@program
def vmap() -> Callable[[], Any]:
    return lambda: torch.vmap(lambda x: x.sin() * 2)(torch.ones(3, 2))


@program
def derivatives() -> Callable[[], Any]:
    x = torch.ones(2)
    return lambda: (torch.func.grad(lambda x: (x * x).sum())(x), torch.func.jvp(lambda x: x.sin(), (x,), (x,)))


@program
def forked_random_numbers() -> Callable[[], Any]:
    def run() -> None:
        with torch.random.fork_rng():
            torch.rand(2)

    return run


@program
def save() -> Callable[[], Any]:
    held = {"weight": torch.ones(3)}

    def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            torch.save(held, os.path.join(folder, "a.pt"))

    return run


@program
def load() -> Callable[[], Any]:
    data = io.BytesIO()
    torch.save({"weight": torch.ones(3)}, data)
    kept = data.getvalue()
    return lambda: torch.load(io.BytesIO(kept))


@program
def loader() -> Callable[[], Any]:
    data = torch.utils.data.TensorDataset(torch.ones(4, 2))
    return lambda: list(torch.utils.data.DataLoader(data, batch_size=2, shuffle=True))


@program
def capture() -> Callable[[], Any]:
    x = torch.ones(2)

    def run() -> None:
        torch.compile(lambda x: x * 2 + 1, backend="mindspore")(x)

    return run


@program
def checkpoint() -> Callable[[], Any]:
    from mstorch.utils.checkpoint import checkpoint as run_again

    x = torch.ones(2, requires_grad=True)
    return lambda: run_again(lambda x: x.sin(), x, use_reentrant=False).sum().backward()


def _is_ours(lost: Any) -> bool:
    """Return whether an interrupt was lost in a destructor of mstorch; those of CPython (weak dictionaries) do not count."""
    return lost.exc_type is KeyboardInterrupt and str(getattr(lost.object, "__module__", "")).startswith("mstorch")


def broken(name: str, wanted: int, seed: int = 0) -> tuple[int, list[str]]:
    """Interrupt a program at some of its steps; return how many interrupts came, and what they left changed."""
    WATCHED.clear()
    body = PROGRAMS[name]()
    body()
    steps = _count(body)
    chosen = range(steps) if steps <= wanted else sorted(np.random.default_rng(seed).choice(steps, wanted, replace=False).tolist())
    before, files = state(), _files()
    came, faults = 0, []
    lost: list[Any] = []
    hook, sys.unraisablehook = sys.unraisablehook, lost.append
    for number in chosen:
        try:
            came += _interrupt(body, number)
        except Exception as error:  # noqa: BLE001 - what an earlier interrupt left
            faults.append(f"{name}, step {number} of {steps}: {type(error).__name__}: {error}")
        now = settled(before)
        faults += [f"{name}, step {number} of {steps}: {key} is {now[key]!r:.80}" for key in before if now[key] != before[key]]
        faults += [f"{name}, step {number} of {steps}: lost in {one.object!r:.80}" for one in lost if _is_ours(one)]
        if faults:
            break
    sys.unraisablehook = hook
    gc.collect()
    faults += [f"{name}: {path} is open" for path in _files() - files if path.endswith((".pt", ".tmp", ".tmp (deleted)", ".pt (deleted)"))]
    return came, faults


def main(wanted: int) -> int:
    """Interrupt all programs; return the number of changes that were left."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what it runs in the background without it
    total, found = 0, []
    share = max(wanted // len(PROGRAMS), 1)
    for name in PROGRAMS:
        came, faults = broken(name, share)
        total += came
        found += faults
        print(f"{name}: {came} interrupts, {len(faults)} faults", flush=True)
        if faults:
            print("\n".join(faults), flush=True)
            return len(faults)  # the others would start from this state
    print(f"{total} interrupts, {len(found)} faults")
    return len(found) if total >= wanted / 2 else 1


if __name__ == "__main__":
    sys.exit(min(main(int(sys.argv[1]) if len(sys.argv) > 1 else 3000), 1))

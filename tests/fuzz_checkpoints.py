"""Damaged and hostile checkpoint files: each is refused with a clear error or loads right, and none runs foreign code.

    python -m tests.fuzz_checkpoints                  5,000 damaged files, 200 hostile pickles, 50 kills: about seven minutes
    python -m tests.fuzz_checkpoints --files 500 --kills 5

The files are loaded in processes of their own, so that a crash is seen; an alarm ends a file that hangs. Of a zip archive,
"right" means the values that were saved. A legacy file and a pickle with right checksums carry nothing that could tell a
changed number from the saved one: there it means that nothing but tensors and plain values comes out.
"""

import argparse
import collections
import itertools
import json
import os
import pathlib
import pickle
import signal
import sys
import tempfile
import time
import warnings

import numpy as np
import torch

from tests import warm
from tests.serialization.serialization_files import (
    archive_with,
    assert_same,
    our_bytes,
    our_load,
    record,
    text,
    torch_bytes,
)

BATCH = 500
SECONDS = 10  # seconds per file
ERRORS = (pickle.UnpicklingError, RuntimeError, EOFError, ValueError)
# Events that Python's audit hook must not report while a file is loaded.
FORBIDDEN = ("exec", "compile", "import", "os.", "subprocess.", "socket.", "shutil.", "ctypes.", "pty.", "webbrowser.", "ftplib.")
PLAIN = (int, float, complex, str, bytes, bool, type(None), list, tuple, dict, set, frozenset, bytearray, collections.Counter)
_events: list | None = None


def _watch(event, arguments):
    if _events is not None and (event.startswith(FORBIDDEN) or (event == "open" and arguments[1] not in ("r", "rb", None))):
        _events.append((event, str(arguments)[:200]))


def _object():
    base = torch.arange(64.0)
    return {
        "weight": base.reshape(8, 8), "part": base[3:9], "half": torch.ones(5).bfloat16(), "step": torch.tensor(7),
        "p": torch.nn.Parameter(torch.ones(2, 3)), "state": {0: {"momentum": torch.zeros(4).double(), "lr": 0.1}},
        "order": collections.OrderedDict(a=1, b=None), "names": ["a", ("b", True)], "size": torch.Size([2]), "kind": torch.int8,
    }  # fmt: skip


def _bases():
    """Return files to damage, by kind."""
    real = _object()
    zipped, legacy = torch_bytes(real), torch_bytes(real, _use_new_zipfile_serialization=False)
    ours = our_load(zipped)
    storages = [record(zipped, f"data/{key}") for key in range(5)]
    return real, {
        "torch's archive": zipped, "our archive": our_bytes(ours), "torch's legacy file": legacy,
        "our legacy file": our_bytes(ours, _use_new_zipfile_serialization=False),
    }, record(zipped, "data.pkl"), storages  # fmt: skip


def _damaged(data, random):
    changed = bytearray(data)
    kind = int(random.integers(6))
    at = int(random.integers(len(changed)))
    if kind == 0:
        changed[at] ^= 1 << int(random.integers(8))
    elif kind == 1:
        del changed[at:]
    elif kind == 2:
        changed[at : at + 8] = random.bytes(8)
    elif kind == 3:
        changed[at:at] = random.bytes(int(random.integers(1, 20)))
    elif kind == 4:
        del changed[at : at + int(random.integers(1, 200))]
    else:
        other = int(random.integers(len(changed)))
        changed[at : at + 64] = changed[other : other + 64]
    return bytes(changed)


def files(start, count, seed):
    """Yield damaged files with the original that an accepted one must equal, or None."""
    real, whole, pickled, storages = _bases()
    kinds = list(whole)
    for number in range(start, start + count):
        random = np.random.default_rng((seed, number))
        choice = number % 5
        if choice == 4:
            yield number, "a pickle with right checksums", archive_with(_damaged(pickled, random), storages), None
        else:
            name = kinds[choice]
            yield number, name, _damaged(whole[name], random), real if "archive" in name else None


GLOBALS = [
    ("os", "system"), ("posix", "system"), ("subprocess", "Popen"), ("builtins", "eval"), ("builtins", "exec"), ("builtins", "getattr"),
    ("builtins", "__import__"), ("importlib", "import_module"), ("runpy", "run_path"), ("pickle", "loads"), ("torch", "load"),
    ("torch.hub", "load"), ("torch.utils.cpp_extension", "load"), ("shutil", "rmtree"), ("socket", "create_connection"),
    ("functools", "partial"), ("operator", "attrgetter"), ("numpy", "load"), ("ctypes", "CDLL"), ("webbrowser", "open"),
]  # fmt: skip


def hostile():
    """Yield 200 pickles that try to call something, in each way that a pickle can, with the name of the call."""
    argument = text("touch hostile.mark")
    for (module, name), legacy in itertools.product(GLOBALS, (False, True)):
        function = f"c{module}\n{name}\n".encode()
        stack = b"\x8c" + bytes([len(module)]) + module.encode() + b"\x8c" + bytes([len(name)]) + name.encode() + b"\x93"
        for number, body in enumerate(
            (
                function + argument + b"\x85R.",
                b"\x80\x04" + stack + argument + b"\x85R.",
                b"(" + argument + f"i{module}\n{name}\n".encode() + b".",
                function + argument + b"\x85\x81.",
                b"ccollections\nOrderedDict\n)R}" + text("x") + function + argument + b"\x85Rsb.",
            )
        ):
            if legacy:
                head = [pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})]
                yield f"{module}.{name} {number} legacy", b"".join(head) + body + pickle.dumps([], 2), name
            else:
                yield f"{module}.{name} {number}", archive_with(body), name


def _plain(value):
    """Return whether a tree holds only tensors and plain values."""
    kind = type(value)
    if kind in (dict, collections.OrderedDict, collections.Counter):
        return all(_plain(key) and _plain(item) for key, item in value.items())
    if kind in (list, tuple, set, frozenset):
        return all(map(_plain, value))
    return kind in PLAIN or kind.__module__.startswith("mstorch.") or hasattr(value, "storage_offset")


def _too_long(*_):
    raise TimeoutError


def _load(data):
    """Return the loaded object and the error; TimeoutError is a failure of its own."""
    global _events
    _events = []
    signal.alarm(SECONDS)
    try:
        return our_load(data), None, _events
    except ERRORS as error:
        return None, error, _events
    finally:
        signal.alarm(0)
        _events = None


def check_files(start, count, seed):
    """Return the counts of refused and accepted files, and the failures."""
    refused, accepted, failures = 0, 0, []
    for number, kind, data, real in files(start, count, seed):
        try:
            found, error, events = _load(data)
            assert not events, f"it ran {events[:3]}"
            if error is not None:
                assert str(error).strip(), f"{type(error).__name__} without a word"
                refused += 1
                continue
            if real is None:
                assert _plain(found), "foreign objects came out"
            else:
                assert_same(found, real)
            accepted += 1
        except (Exception, MemoryError) as failure:  # noqa: BLE001 - whatever goes wrong is the result
            failures.append(f"file {number} ({kind}): {type(failure).__name__}: {str(failure)[:300]}")
    return {"refused": refused, "accepted": accepted, "failures": failures}


def check_hostile():
    """Return the count of refused pickles, and the failures."""
    refused, failures = 0, []
    for title, data, name in hostile():
        try:
            _, error, events = _load(data)
            assert not events, f"it ran {events[:3]}"
            assert isinstance(error, pickle.UnpicklingError), f"{type(error).__name__}: {error}"
            assert name in str(error) or "INST" in str(error) or "opcode" in str(error).lower(), f"unnamed: {error}"
            refused += 1
        except (Exception, MemoryError) as failure:  # noqa: BLE001 - whatever goes wrong is the result
            failures.append(f"{title}: {type(failure).__name__}: {str(failure)[:300]}")
    return {"refused": refused, "accepted": 0, "failures": failures}


def _worker(options):
    warnings.simplefilter("ignore")
    our_load(torch_bytes(_object()))  # imports the modules that loading needs
    our_load(torch_bytes(_object(), _use_new_zipfile_serialization=False))
    "é".encode("cp437")  # imports the codec with which zipfile reads names
    sys.addaudithook(_watch)
    signal.signal(signal.SIGALRM, _too_long)
    found = check_hostile() if options.hostile else check_files(options.start, options.files, options.seed)
    print(json.dumps(found))


_SAVING = """
import sys
import mstorch
step = int(sys.argv[2])
print("ready", flush=True)
while True:
    step += 1
    mstorch.save([step, mstorch.full((400_000,), float(step))], sys.argv[1])
    print(step, flush=True)
"""


def check_kills(count):
    """Kill processes that save over a file again and again; the file must be whole each time, and newer than before."""
    random = np.random.default_rng(0)
    survived, failures, step = 0, [], 0
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / "a.pt")
        for number in range(count):
            out = str(pathlib.Path(folder) / f"out{number}")
            child = warm.start("-c", _SAVING, path, str(step), environment=os.environ, out=out, error=os.devnull)
            child.wait_for_lines(2)  # "ready", and the first save
            time.sleep(0.03 * random.random())
            child.kill()
            child.wait()
            try:
                found, values = torch.load(path)
                assert found > step and bool((values == found).all()), f"step {found} after {step}"
                ours = our_load(pathlib.Path(path).read_bytes())
                assert ours[0] == found and bool((ours[1] == found).all())
                step, survived = found, survived + 1
            except (Exception, MemoryError) as failure:  # noqa: BLE001 - whatever goes wrong is the result
                failures.append(f"kill {number}: {type(failure).__name__}: {str(failure)[:300]}")
    return {"refused": 0, "accepted": survived, "failures": failures}


def in_process(*arguments):
    """Return the counts of a worker; a crash or a hang is a failure of its whole batch."""
    run = warm.done("-m", "tests.fuzz_checkpoints", "--worker", *map(str, arguments), seconds=900)
    if run.returncode:
        return {"refused": 0, "accepted": 0, "failures": [f"{arguments}: ended with {run.returncode}: {run.stderr[-500:]}"]}
    return json.loads(run.stdout.strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hostile", action="store_true", help="the hostile pickles only")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        _worker(options)
        return
    total = collections.Counter()
    failures = []
    batches = [] if options.hostile else [
        ("--start", start, "--files", min(BATCH, options.start + options.files - start), "--seed", options.seed)
        for start in range(options.start, options.start + options.files, BATCH)
    ]  # fmt: skip
    runs = [("damaged files", lambda arguments=arguments: in_process(*arguments)) for arguments in batches]
    runs += [("hostile pickles", lambda: in_process("--hostile")), ("files after a kill", lambda: check_kills(options.kills))]
    for kind, run in runs:
        found = run()
        failures += found["failures"]
        total[f"{kind} refused"] += found["refused"]
        total[f"{kind} loaded right"] += found["accepted"]
    for kind, count in total.items():
        print(f"{count:6} {kind}")
    print(f"{len(failures):6} failures")
    for failure in failures[:50]:
        print("      ", failure)
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()

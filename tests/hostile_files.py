"""Hostile files for every reader: none runs code, ends the process, takes over 5 seconds, or 1 GB beyond what the file holds.

    python -m tests.hostile_files                # all, about 6,400 files: twelve minutes
    python -m tests.hostile_files --share 8      # every eighth

Readers: torch.load (archives, the old format, with and without ``weights_only``, safetensors by name), torch.jit.load, torch.export.load, distributed.checkpoint's
``.metadata``, MindSpore's .ckpt, zips of torch.hub, queues of torch.multiprocessing. Each reads in a process of its own, which an audit
watches; seconds are the processor's, so that other work does not count; where pickles may run code by torch's own promise (``weights_only=False``), files are damaged ones that hold none.
"""
from __future__ import annotations

import argparse
import io
import json
import os
import pathlib
import pickle
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

from tests import fuzz_checkpoints as fuzz
from tests.hostile_bytes import BOMBS, DEEP, ZEROS, Files, damaged, pickles, zipped
from tests.hostile_programs import former_pt2, programs, pt2, torchscript, written_scripts
from tests.serialization.serialization_files import archive_with, our_bytes, text

SECONDS = 5
MOST = 1 << 20  # kilobytes


def archives() -> Files:
    for title, data in pickles(40):
        yield title, archive_with(data)
    large = {f"a/data/{key}": ZEROS for key in range(8)}
    yield "2 GB of zeros, deflated", zipped({"a/data.pkl": b"\x80\x02N.", "a/version": b"3\n", **large})
    yield "a pickle of 256 MB of zeros, deflated", zipped({"a/data.pkl": ZEROS, "a/version": b"3\n"})
    yield "10,000 records", zipped({"a/data.pkl": b"\x80\x02N.", "a/version": b"3\n", **{f"a/data/{n}": b"" for n in range(10_000)}})


def legacy() -> Files:
    head = [pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})]
    for title, data in pickles(30):
        yield title, b"".join(head) + data + pickle.dumps([], 2)
    storage = b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text("0") + text("cpu") + b"J\xff\xff\xff\x7fNtQ"
    yield "a storage of 8 GB", b"".join(head) + b"\x80\x02" + storage + b"." + pickle.dumps(["0"], 2) + struct.pack("<Q", 0x7FFFFFFF)
    yield "a storage of 8 GB in no file", b"".join(head) + b"\x80\x02" + storage + b"." + pickle.dumps([], 2)


def trusted() -> Files:
    """Yield damaged files without calls, for ``weights_only=False``."""
    _, whole, _, _ = fuzz._bases()
    for data in whole.values():
        yield from damaged(data, 12)


def scripted() -> Files:
    for title, data in pickles(20):
        yield title, zipped({"mstorch_jit/object.pt": archive_with(data)}, zipfile.ZIP_STORED)
        yield f"{title}, as TorchScript's", zipped({"a/data.pkl": data, "a/constants.pkl": b"\x80\x02).", "a/version": b"3\n"}, zipfile.ZIP_STORED)
    yield "2 GB of zeros, deflated", zipped({"mstorch_jit/object.pt": ZEROS * 8})
    yield from damaged(zipped({"mstorch_jit/object.pt": our_bytes([1, 2])}), 10)


def metadata() -> Files:
    yield from pickles(50)
    for number in range(20):
        yield f"garbage {number}", np.random.default_rng(number).bytes(200)


def tensors_by_name() -> Files:
    """Yield safetensors files."""

    def file(header: Any, values: bytes = bytes(64)) -> bytes:
        raw = header if isinstance(header, bytes) else json.dumps(header).encode()
        return struct.pack("<Q", len(raw)) + raw + values

    def entry(**changes: Any) -> dict[str, Any]:
        return {"a": {"dtype": "F32", "shape": [16], "data_offsets": [0, 64], **changes}}

    yield "deep lists", file(b"[" * DEEP)
    yield "deep dictionaries", file(b'{"a":' * DEEP)
    yield "a long number", file(b'{"a":' + b"9" * 300_000 + b"}")
    yield "a shape of a million", file(entry(shape=[2**62] * 1_000_000))
    yield "a shape of many ones", file(entry(shape=[1] * 100_000 + [16]))
    yield "a header of 16 EB", struct.pack("<Q", 2**64 - 1) + bytes(64)
    yield "no header", b""
    size = 1 << 24
    overlapping = {str(n): {"dtype": "U8", "shape": [size], "data_offsets": [0, size]} for n in range(200)}
    yield "200 tensors of the same 16 MB", file(overlapping, bytes(size))
    for number, changes in enumerate((
        {"shape": [-16]}, {"shape": [1e3]}, {"shape": "16"}, {"shape": None}, {"dtype": "F99"}, {"dtype": None}, {"data_offsets": [64, 0]}, {"data_offsets": [0]},
        {"data_offsets": [0, 2**70]}, {"data_offsets": [-64, 0]}, {"data_offsets": [0.0, 64.0]}, {"shape": [True] * 16}, {"other": 1}, {"shape": [2**70, 0]},
    )):  # fmt: skip
        yield f"entry {number}", file(entry(**changes))
    for number, header in enumerate((b"null", b"1", b'"a"', b"[]", b'{"a": 1}', b'{"a": null}', b"{", b"\xff\xfe", b'{"__metadata__": 1}', b'{"a": {}}')):
        yield f"header {number}", file(header)
    yield from damaged(file(entry()), 20)


def checkpoints() -> Files:
    import mindspore

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.ckpt")
        mindspore.save_checkpoint([{"name": name, "data": mindspore.Tensor(np.ones((3, 4), np.float32))} for name in "ab"], path)
        data = pathlib.Path(path).read_bytes()
    yield from damaged(data, 35)
    yield "zeros", bytes(4096)
    yield "garbage", np.random.default_rng(3).bytes(4096)


def fetched() -> Files:
    """Yield archives as torch.hub may download them, each with its title."""
    for title, data in pickles(10):
        yield title, zipped({"inner.pt": archive_with(data)})
    for name in ("../../outside.pt", "/tmp/outside.pt", "a/../../outside.pt", "..\\outside.pt", "folder/"):
        yield f"member {name}", zipped({name: archive_with(b"\x80\x02N.")})
    yield "two members", zipped({"a": b"", "b": b""})
    yield "4 GB of zeros, deflated", zipped({"inner.pt": ZEROS * 16})
    yield from damaged(zipped({"inner.pt": our_bytes([1])}), 10)


def queued() -> Files:
    """Yield bytes that are not a pickle, as a broken worker may put them into a queue. (Pickles from the job's own processes may call
    functions.)"""
    for number in range(30):
        random = np.random.default_rng(number)
        yield f"garbage {number}", (b"\x80\x05" if number % 2 else b"") + random.bytes(int(random.integers(1, 1000)))
    yield "no end", BOMBS["no end"]
    yield "nothing", b""


def _reads(torch: Any, folder: str) -> dict[str, Callable[[bytes], Any]]:
    from mstorch import interop

    def written(name: str, data: bytes) -> str:
        path = os.path.join(folder, name)
        pathlib.Path(path).write_bytes(data)
        return path

    def checkpoint(data: bytes) -> Any:
        written(".metadata", data)
        return torch.distributed.checkpoint.load({"a": torch.ones(2)}, checkpoint_id=folder, no_dist=True)

    def hub(data: bytes) -> Any:
        written("name.zip", data)
        return torch.hub.load_state_dict_from_url("http://127.0.0.1:9/name.zip", model_dir=folder, weights_only=True)

    channel = torch.multiprocessing.get_context("spawn").SimpleQueue()

    def queue(data: bytes) -> Any:
        channel._writer.send_bytes(data)
        return channel.get()

    def exported(data: bytes) -> Any:
        program = torch.export.load(io.BytesIO(data))
        args, kwargs = program.example_inputs
        return program.module()(*args, **kwargs)

    def moved(data: bytes) -> Any:
        program = torch.export.passes.move_to_device_pass(torch.export.load(io.BytesIO(data)), "cpu")
        args, kwargs = program.example_inputs
        return program.module()(*args, **kwargs)

    def interpreted(data: bytes) -> Any:
        return torch.jit.load(io.BytesIO(data))(torch.ones(2))

    def called(data: bytes) -> Any:
        program = torch.jit.load(io.BytesIO(data), map_location="cpu")
        return program(torch.ones(2, 2), [1, 2]), program.code

    return {
        "torchscript": interpreted, "written_scripts": called, "pt2": exported, "former_pt2": moved, "programs": exported,
        "archives": lambda data: torch.load(io.BytesIO(data)), "legacy": lambda data: torch.load(io.BytesIO(data)),
        "trusted": lambda data: torch.load(io.BytesIO(data), weights_only=False), "scripted": lambda data: torch.jit.load(io.BytesIO(data)),
        "metadata": checkpoint, "tensors_by_name": lambda data: torch.load(written("a.safetensors", data)),
        "checkpoints": lambda data: interop.load_mindspore_checkpoint(torch.nn.Linear(4, 3), written("a.ckpt", data)), "fetched": hub, "queued": queue,
    }  # fmt: skip


KINDS: dict[str, Callable[[], Files]] = {
    function.__name__: function for function in (archives, legacy, trusted, scripted, torchscript, written_scripts, pt2, former_pt2, programs, metadata, tensors_by_name, checkpoints, fetched, queued)
}
_CALLS = ("subprocess.", "socket.", "shutil.", "ctypes.", "pty.", "webbrowser.", "ftplib.", "os.system", "os.exec", "os.spawn", "os.posix_spawn", "os.fork")


def _watch(events: list[str]) -> Callable[[str, Any], None]:
    def look(event: str, arguments: Any) -> None:
        # (ctypes.cdata: an address in memory, of a tensor that an exported program computes)
        if event.startswith(_CALLS) and event != "ctypes.cdata" or event == "import" and arguments[0] in ("antigravity", "this"):
            events.append(f"{event} {str(arguments)[:100]}")

    return look


def _late(*_: Any) -> None:
    raise TimeoutError


def work(kind: str, share: int, start: int) -> None:
    """Read the files of a kind from a number on; print a line for each."""
    import mstorch as torch

    warnings.simplefilter("ignore")
    events: list[str] = []
    signal.signal(signal.SIGALRM, _late)
    signal.signal(signal.SIGPROF, _late)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        read = _reads(torch, folder)[kind]
        for number, (title, data) in enumerate(KINDS[kind]()):
            if number < start or number % share:
                continue
            print(json.dumps([number, title]), flush=True)
            if not number:
                sys.addaudithook(_watch(events))
            before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
            signal.setitimer(signal.ITIMER_PROF, 2 * SECONDS)
            signal.alarm(20 * SECONDS)  # (a file that waits)
            wrong = ""
            try:
                read(data)
                said = "read"
            except (Exception, MemoryError) as error:  # noqa: BLE001 - what it says is the result
                said = f"{type(error).__name__}: {str(error)[:80]}"
                if isinstance(error, (MemoryError, RecursionError, TimeoutError)) or not str(error).strip():
                    wrong = f"raises {said}"
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.alarm(0)
            taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before - (len(data) >> 10)
            seconds = time.process_time() - begin
            wrong = wrong or (f"runs {events}" if events else f"takes {seconds:.1f} s" if seconds > SECONDS else f"takes {taken >> 10} MB" if taken > MOST else "")
            events.clear()
            if os.path.exists("hostile.mark") or os.path.exists("/tmp/outside.pt") or os.path.exists(os.path.join(folder, "..", "outside.pt")):
                wrong = "left a file outside"
            print(json.dumps([number, title, said, wrong]), flush=True)


def check(kind: str, share: int) -> tuple[int, list[str]]:
    """Return the number of files of a kind that were read, and what went wrong. A file that kills its process counts; the next ones are
    read by a new process."""
    count, wrong, start = 0, [], 0
    while True:
        command = [sys.executable, "-m", "tests.hostile_files", "--kind", kind, "--start", str(start), "--share", str(share)]
        environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parents[1]), "GLOG_v": "4"}
        run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        lines = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("[")]
        done = [line for line in lines if len(line) == 4]
        count += len(done)
        wrong += [f"{kind}, {title}: {fault}" for _, title, _, fault in done if fault]
        if not run.returncode:
            return count, wrong
        number, title = lines[-1][:2] if lines else (start, "before the first")
        wrong.append(f"{kind}, {title}: the process ended with {run.returncode}: {run.stderr[-200:]}")
        start, count = number + 1, count + 1
        if not lines:
            return count, wrong


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", choices=list(KINDS))
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--share", type=int, default=1)
    given = parser.parse_args()
    if given.kind:
        work(given.kind, given.share, given.start)
        return 0
    total, faults = 0, []
    for kind in KINDS:
        count, wrong = check(kind, given.share)
        print(f"{kind}: {count} files, {len(wrong)} faults", flush=True)
        print("".join(f"    {fault}\n" for fault in wrong), end="", flush=True)
        total += count
        faults += wrong
    print(f"{total} hostile files, {len(faults)} faults")
    return len(faults)


if __name__ == "__main__":
    sys.exit(bool(main()))

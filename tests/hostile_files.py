"""Hostile files for every reader: none runs code, ends the process, takes over 5 seconds, or 1 GB beyond what the file holds.

    python -m tests.hostile_files                # all, about 4,500 files: six minutes
    python -m tests.hostile_files --share 8      # every eighth

Readers: torch.load (archives, the old format, with and without ``weights_only``, safetensors by name), torch.jit.load, torch.export.load, distributed.checkpoint's
``.metadata``, MindSpore's .ckpt, zips of torch.hub, queues of torch.multiprocessing. Each reads in a process of its own, which an audit
watches; where pickles may run code by torch's own promise (``weights_only=False``), files are damaged ones that hold none.
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
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests import fuzz_checkpoints as fuzz
from tests.export import former_files
from tests.serialization.serialization_files import archive_with, our_bytes, text

SECONDS = 5
MOST = 1 << 20  # kilobytes
DEEP = 100_000
Files = Iterator[tuple[str, bytes]]

# Pickles that consume much time or memory without a call.
BOMBS = {
    "a far place in the memo": b"\x80\x02Nr\xff\xff\xff\x7f.", "bytes of 4 GB": b"\x80\x03B\xff\xff\xff\xffx.", "a text of 16 EB": b"\x80\x04\x8d" + b"\xff" * 8 + b"x.",
    "a bytearray of 64 GB": b"\x80\x05\x96" + struct.pack("<Q", 1 << 36) + b"x.", "a frame of 16 EB": b"\x80\x04\x95" + b"\xff" * 8 + b"N.",
    "deep lists": b"\x80\x02" + b"]" * DEEP + b"a" * (DEEP - 1) + b".", "deep tuples": b"\x80\x02)" + b"\x85" * DEEP + b".", "marks": b"\x80\x02" + b"(" * DEEP + b".",
    "doubled 60 times": b"\x80\x02K\x01" + b"2\x86" * 60 + b".", "doubled, as a key": b"\x80\x02}K\x01" + b"2\x86" * 60 + b"K\x01s.",
    "a long integer": b"\x80\x02\x8b" + struct.pack("<i", 1 << 30) + b"\xff.", "a decimal integer": b"I" + b"9" * 300_000 + b"\n.", "no end": b"\x80\x02K\x01",
    "a bytearray by its class": b"\x80\x02c__builtin__\nbytearray\nJ\x00\x00\x00\x7f\x85R.", "a range": b"\x80\x02c__builtin__\nrange\nJ\xff\xff\xff\x7f\x85R.",
    "doubled, called": b"\x80\x02K\x01" + b"2\x86" * 60 + b")R.", "an unknown opcode": b"\x80\x02\xff.", "nothing": b"", "zeros": bytes(4096),
}  # fmt: skip


def _pickles(count: int) -> Files:
    """Return pickles with calls, spread over all names and ways, then those that consume too much."""
    calls = [(title, fuzz.record(data, "data.pkl")) for title, data, _ in fuzz.hostile() if "legacy" not in title]
    yield from calls[:: max(len(calls) // count, 1)]
    yield from BOMBS.items()


def _damaged(data: bytes, count: int) -> Files:
    for number in range(count):
        yield f"damaged {number}", fuzz._damaged(data, np.random.default_rng((7, number)))


def _zipped(members: dict[str, bytes], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", how) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


_ZEROS = bytes(1 << 28)


def archives() -> Files:
    for title, data in _pickles(40):
        yield title, archive_with(data)
    large = {f"a/data/{key}": _ZEROS for key in range(8)}
    yield "2 GB of zeros, deflated", _zipped({"a/data.pkl": b"\x80\x02N.", "a/version": b"3\n", **large})
    yield "a pickle of 256 MB of zeros, deflated", _zipped({"a/data.pkl": _ZEROS, "a/version": b"3\n"})
    yield "10,000 records", _zipped({"a/data.pkl": b"\x80\x02N.", "a/version": b"3\n", **{f"a/data/{n}": b"" for n in range(10_000)}})


def legacy() -> Files:
    head = [pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})]
    for title, data in _pickles(30):
        yield title, b"".join(head) + data + pickle.dumps([], 2)
    storage = b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text("0") + text("cpu") + b"J\xff\xff\xff\x7fNtQ"
    yield "a storage of 8 GB", b"".join(head) + b"\x80\x02" + storage + b"." + pickle.dumps(["0"], 2) + struct.pack("<Q", 0x7FFFFFFF)
    yield "a storage of 8 GB in no file", b"".join(head) + b"\x80\x02" + storage + b"." + pickle.dumps([], 2)


def trusted() -> Files:
    """Yield damaged files without calls, for ``weights_only=False``."""
    _, whole, _, _ = fuzz._bases()
    for data in whole.values():
        yield from _damaged(data, 12)


def scripted() -> Files:
    for title, data in _pickles(20):
        yield title, _zipped({"mstorch_jit/object.pt": archive_with(data)}, zipfile.ZIP_STORED)
        yield f"{title}, as TorchScript's", _zipped({"a/data.pkl": data, "a/constants.pkl": b"\x80\x02).", "a/version": b"3\n"}, zipfile.ZIP_STORED)
    yield "2 GB of zeros, deflated", _zipped({"mstorch_jit/object.pt": _ZEROS * 8})
    yield from _damaged(_zipped({"mstorch_jit/object.pt": our_bytes([1, 2])}), 10)


def metadata() -> Files:
    yield from _pickles(50)
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
    yield from _damaged(file(entry()), 20)


def checkpoints() -> Files:
    import mindspore

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.ckpt")
        mindspore.save_checkpoint([{"name": name, "data": mindspore.Tensor(np.ones((3, 4), np.float32))} for name in "ab"], path)
        data = pathlib.Path(path).read_bytes()
    yield from _damaged(data, 35)
    yield "zeros", bytes(4096)
    yield "garbage", np.random.default_rng(3).bytes(4096)


def fetched() -> Files:
    """Yield archives as torch.hub may download them, each with its title."""
    for title, data in _pickles(10):
        yield title, _zipped({"inner.pt": archive_with(data)})
    for name in ("../../outside.pt", "/tmp/outside.pt", "a/../../outside.pt", "..\\outside.pt", "folder/"):
        yield f"member {name}", _zipped({name: archive_with(b"\x80\x02N.")})
    yield "two members", _zipped({"a": b"", "b": b""})
    yield "4 GB of zeros, deflated", _zipped({"inner.pt": _ZEROS * 16})
    yield from _damaged(_zipped({"inner.pt": our_bytes([1])}), 10)


def queued() -> Files:
    """Yield bytes that are not a pickle, as a broken worker may put them into a queue. (Pickles from the job's own processes may call
    functions.)"""
    for number in range(30):
        random = np.random.default_rng(number)
        yield f"garbage {number}", (b"\x80\x05" if number % 2 else b"") + random.bytes(int(random.integers(1, 1000)))
    yield "no end", BOMBS["no end"]
    yield "nothing", b""


# Texts that would be code, were they pasted into the source of a graph's function.
_CALL = "__import__('os').system('touch hostile.mark')"
CODES = (f"x=0, y={_CALL}", f'", 1) or {_CALL} #', f"a = 0\n    {_CALL}\n    b", f"a: {_CALL}", "aten.from_file.default", "aten.save.default", "__class__", "forward")


def _places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the ways to the texts of nested containers; a key of a dict is a text too, at the end of its way in a one-element list."""
    if isinstance(value, str):
        yield way
    elif isinstance(value, dict):
        for key, item in value.items():
            yield (*way, [key])
            yield from _places(item, (*way, key))
    elif isinstance(value, (list, tuple)):
        for place, item in enumerate(value):
            yield from _places(item, (*way, place))


def _with(value: Any, way: tuple[Any, ...], text: str) -> Any:
    """Return nested containers with another text at a place."""
    if not way:
        return text
    step, *rest = way
    if isinstance(step, list):
        return {text if key == step[0] else key: item for key, item in value.items()}
    if isinstance(value, dict):
        return {**value, step: _with(value[step], tuple(rest), text)}
    items = [*value[:step], _with(value[step], tuple(rest), text), *value[step + 1 :]]
    return tuple(items) if isinstance(value, tuple) else items


def programs() -> Files:
    """Yield exported programs that name code, or operators of files, at every place of a text."""
    import mstorch as torch

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear, self.norm = torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)

        def forward(self, x: Any, *, scale: Any) -> Any:
            return {"out": torch.nn.functional.gelu(self.norm(self.linear(x)), approximate="tanh") * scale + torch.tensor([1.0, 2.0])}

    buffer = io.BytesIO()
    former_files.save(torch.export.export(Net().eval(), (torch.ones(2, 2),), {"scale": torch.ones(2)}), buffer)
    data = torch.load(io.BytesIO(buffer.getvalue()))
    yield "sound", buffer.getvalue()
    for way in _places(data):
        for code in CODES:
            out = io.BytesIO()
            torch.save(_with(data, way, code), out)
            yield f"{code[:20]!r} at {way}", out.getvalue()
    for target in ("aten.save.default", "aten.from_file.default", "aten.load.default", "aten.compile.default"):
        node = {"op": "call_function", "name": "late", "target": target, "args": [True, "hostile.mark"], "kwargs": {}}
        for named in ({}, {"shared": True, "size": 4}, {"weights_only": False}):
            out = io.BytesIO()
            torch.save({**data, "nodes": [*data["nodes"][:-1], {**node, "kwargs": named}, data["nodes"][-1]]}, out)
            yield f"{target}({', '.join(named)})", out.getvalue()
    deep: Any = 1
    for _ in range(900):
        deep = [False, deep]
    out = io.BytesIO()
    torch.save({**data, "nodes": [{**data["nodes"][0], "args": deep}, *data["nodes"][1:]]}, out)
    yield "deep arguments", out.getvalue()
    yield from _damaged(buffer.getvalue(), 20)


def _members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


# Statements and expressions that TorchScript has not, or that would reach Python if they were run by it.
SCRIPTS = (
    "import os", "return ().__class__.__base__.__subclasses__()", "return torch.__class__", "return self.__class__", "return self.__dict__", "return (self).__reduce__()",
    "return (x).__class__()", "return __import__('os')", "return eval('1')", "return exec('1')", "return open('hostile.mark', 'w')", "return getattr(x, 'numpy')",
    "return getattr(torch, 'load')", "return torch.load('hostile.mark')", "return torch.save(x, 'hostile.mark')", "return torch.from_file('hostile.mark', True, 4)",
    "return ops.aten.from_file('hostile.mark', True, 4)", "return ops.aten.save(x, 'hostile.mark')", "return ops.os.system('touch hostile.mark')", "return (lambda: x)()",
    "return [y for y in x]", "return f'{x}'", "global x", "del x", "assert x", "try:\n      pass\n    except Exception:\n      pass", "return x.numpy()", "return (x).numpy()",
    "return __torch__.os.system('touch hostile.mark')", "return __torch__.Net.__new__(__torch__.Net)", "return CONSTANTS.c9", "return CONSTANTS.__class__", "return ops.prim.nothing(x)",
    "return torch.hub.load('a', 'b')", "return torch.ops.load_library('a')", "x.y = 1\n    return x", "self.forward = x\n    return x", "return x[0:1]", "return (yield x)",
    "return torch.format('{0.__class__}', x)", "return torch.format('{}{}{}', x)", "return torch.percentFormat('%s%s', x)", "return torch.add(" * 3000 + "x" + ", 1)" * 3000,
    "return " + "-" * 50_000 + "1", "return " + "[" * 5_000 + "]" * 5_000, "return x" + ".a" * 50_000, "return torch.center('a', 9223372036854775807)",
    "return torch.mul([1], 9223372036854775807)", "return torch.__lshift__(1, 9223372036854775807)", "return annotate(os.system, x)", "return unchecked_cast(x.y[z], x)",
)  # fmt: skip


def torchscript() -> Files:
    """Yield TorchScript archives with hostile text, pickles and members. (Each is loaded, and called if that succeeds.)"""
    head = "class Net(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n"
    pickled = b"\x80\x02c__torch__\nNet\n)\x81}X\x08\x00\x00\x00training\x89sb."

    def file(text: str, data: bytes = pickled, how: int = zipfile.ZIP_STORED, **more: bytes) -> bytes:
        members = {"a/data.pkl": data, "a/code/__torch__.py": text.encode(), "a/constants.pkl": b"\x80\x02).", "a/version": b"3\n"}
        return _zipped({**members, **{f"a/{name}": value for name, value in more.items()}}, how)

    sound = head + "  def forward(self: __torch__.Net, x: Tensor) -> Tensor:\n    return torch.add(x, 1)\n"
    yield "sound", file(sound)
    for script in SCRIPTS:
        yield f"in a method: {script[:40]!r}", file(f"{head}  def forward(self: __torch__.Net, x: Tensor) -> Any:\n    {script}\n")
        line = script.partition("\n")[0].removeprefix("return ")
        yield f"in a class: {script[:40]!r}", file(f"{head}  c : Final[int] = {line}\n{sound[len(head):]}")
        yield f"in a file: {script[:40]!r}", file(f"{line}\n{sound}")
        yield f"as a default: {script[:40]!r}", file(f"{head}  def forward(self: __torch__.Net, x: Tensor={line}) -> Any:\n    return x\n")
        yield f"as a type: {script[:40]!r}", file(f"{head}  def forward(self: __torch__.Net, x: {line}) -> {line}:\n    return x\n")
        yield f"as a decorator: {script[:40]!r}", file(f"{head}  @{line}\n  def forward(self: __torch__.Net, x: Tensor) -> Any:\n    return x\n")
    for base in ("object", "Exception", "Module, Enum", "Enum", "NamedTuple", "os.PathLike", "print('a')"):
        yield f"of {base}", file(sound.replace("(Module)", f"({base})"))
    for name in ("__class__", "__dict__", "forward", "_parameters", "_ms_program", "_apply", "_modules"):
        key = name.encode()
        state = b"\x80\x02c__torch__\nNet\n)\x81}X" + struct.pack("<I", len(key)) + key + b"K\x01sb."
        yield f"an attribute {name}", file(sound, state)
        yield f"a declared attribute {name}", file(sound.replace("training : bool", f"training : bool\n  {name} : int"), state)
    for title, data in _pickles(20):
        yield title, file(sound, data)
        yield f"{title}, as constants", _zipped({**_members(file(sound)), "a/constants.pkl": data}, zipfile.ZIP_STORED)
    zeros = _zipped({**_members(file(sound)), "a/code/__torch__.py": _ZEROS})
    yield "256 MB of zeros as text", zeros
    yield "256 MB of blanks as text", _zipped({**_members(file(sound)), "a/code/__torch__.py": b" " * (1 << 28)})
    yield from _damaged(file(sound), 60)


def pt2() -> Files:
    """Yield ``.pt2`` archives with hostile JSON at every place of a text, tensors and members."""
    import mstorch as torch

    buffer = io.BytesIO()
    program = torch.export.export(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)).eval(), (torch.ones(2, 2),))
    torch.export.save(program, buffer)
    yield "sound", buffer.getvalue()
    members = _members(buffer.getvalue())
    for member in ("archive/models/model.json", "archive/data/weights/model_weights_config.json"):
        data = json.loads(members[member])
        places = list(_places(data))
        for number, way in enumerate(places):
            for code in CODES[number % 4 :: 4]:
                changed = json.dumps(_with(data, way, code)).encode()
                yield f"{code[:20]!r} at {way}", _zipped({**members, member: changed}, zipfile.ZIP_STORED)
        for title, content in (("deep lists", b"[" * DEEP), ("a long number", b"9" * 300_000), ("no text", b"\xff"), ("nothing", b""), ("null", b"null")):
            yield f"{title} as {member}", _zipped({**members, member: content}, zipfile.ZIP_STORED)
    config = json.loads(members["archive/data/weights/model_weights_config.json"])
    first = next(iter(config["config"]))
    for number, changes in enumerate(({"sizes": [{"as_int": 2**40}]}, {"strides": [{"as_int": 0}] * 2, "sizes": [{"as_int": 2**20}] * 2}, {"dtype": 99}, {"storage_offset": {"as_int": -1}})):
        config["config"][first]["tensor_meta"] |= changes
        yield f"tensor {number}", _zipped({**members, "archive/data/weights/model_weights_config.json": json.dumps(config).encode()}, zipfile.ZIP_STORED)
    for title, data in _pickles(20):
        yield title, _zipped({**members, "archive/data/sample_inputs/model.pt": archive_with(data)}, zipfile.ZIP_STORED)
    yield "256 MB of zeros", _zipped({**members, "archive/models/model.json": _ZEROS})
    yield from _damaged(buffer.getvalue(), 60)


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

    def interpreted(data: bytes) -> Any:
        return torch.jit.load(io.BytesIO(data))(torch.ones(2))

    return {
        "torchscript": interpreted, "pt2": exported, "programs": exported, "archives": lambda data: torch.load(io.BytesIO(data)), "legacy": lambda data: torch.load(io.BytesIO(data)),
        "trusted": lambda data: torch.load(io.BytesIO(data), weights_only=False), "scripted": lambda data: torch.jit.load(io.BytesIO(data)),
        "metadata": checkpoint, "tensors_by_name": lambda data: torch.load(written("a.safetensors", data)),
        "checkpoints": lambda data: interop.load_mindspore_checkpoint(torch.nn.Linear(4, 3), written("a.ckpt", data)), "fetched": hub, "queued": queue,
    }  # fmt: skip


KINDS: dict[str, Callable[[], Files]] = {
    function.__name__: function for function in (archives, legacy, trusted, scripted, torchscript, pt2, programs, metadata, tensors_by_name, checkpoints, fetched, queued)
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
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        read = _reads(torch, folder)[kind]
        for number, (title, data) in enumerate(KINDS[kind]()):
            if number < start or number % share:
                continue
            print(json.dumps([number, title]), flush=True)
            if not number:
                sys.addaudithook(_watch(events))
            before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
            signal.alarm(2 * SECONDS)
            wrong = ""
            try:
                read(data)
                said = "read"
            except (Exception, MemoryError) as error:  # noqa: BLE001 - what it says is the result
                said = f"{type(error).__name__}: {str(error)[:80]}"
                if isinstance(error, (MemoryError, RecursionError, TimeoutError)) or not str(error).strip():
                    wrong = f"raises {said}"
            signal.alarm(0)
            taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before - (len(data) >> 10)
            seconds = time.monotonic() - begin
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

"""Hostile files of programs: TorchScript archives, ``.pt2`` in each of its layouts, and mstorch's former format."""
from __future__ import annotations

import io
import json
import math
import struct
import zipfile
from typing import Any

import numpy as np

from tests.export import former_files
from tests.hostile_bytes import CODES, DEEP, ZEROS, Files, damaged, members_of, pickles, places, replaced, zipped
from tests.serialization.serialization_files import archive_with


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
    for way in places(data):
        for code in CODES:
            out = io.BytesIO()
            torch.save(replaced(data, way, code), out)
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
    yield from damaged(buffer.getvalue(), 20)


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
        return zipped({**members, **{f"a/{name}": value for name, value in more.items()}}, how)

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
    for title, data in pickles(20):
        yield title, file(sound, data)
        yield f"{title}, as constants", zipped({**members_of(file(sound)), "a/constants.pkl": data}, zipfile.ZIP_STORED)
    zeros = zipped({**members_of(file(sound)), "a/code/__torch__.py": ZEROS})
    yield "256 MB of zeros as text", zeros
    yield "256 MB of blanks as text", zipped({**members_of(file(sound)), "a/code/__torch__.py": b" " * (1 << 28)})
    yield from damaged(file(sound), 60)


def pt2() -> Files:
    """Yield ``.pt2`` archives with hostile JSON at every place of a text, tensors and members."""
    import mstorch as torch

    buffer = io.BytesIO()
    program = torch.export.export(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)).eval(), (torch.ones(2, 2),))
    torch.export.save(program, buffer)
    yield "sound", buffer.getvalue()
    members = members_of(buffer.getvalue())
    for member in ("archive/models/model.json", "archive/data/weights/model_weights_config.json"):
        data = json.loads(members[member])
        ways = list(places(data))
        for number, way in enumerate(ways):
            for code in CODES[number % 4 :: 4]:
                changed = json.dumps(replaced(data, way, code)).encode()
                yield f"{code[:20]!r} at {way}", zipped({**members, member: changed}, zipfile.ZIP_STORED)
        for title, content in (("deep lists", b"[" * DEEP), ("a long number", b"9" * 300_000), ("no text", b"\xff"), ("nothing", b""), ("null", b"null")):
            yield f"{title} as {member}", zipped({**members, member: content}, zipfile.ZIP_STORED)
    config = json.loads(members["archive/data/weights/model_weights_config.json"])
    first = next(iter(config["config"]))
    for number, changes in enumerate(({"sizes": [{"as_int": 2**40}]}, {"strides": [{"as_int": 0}] * 2, "sizes": [{"as_int": 2**20}] * 2}, {"dtype": 99}, {"storage_offset": {"as_int": -1}})):
        config["config"][first]["tensor_meta"] |= changes
        yield f"tensor {number}", zipped({**members, "archive/data/weights/model_weights_config.json": json.dumps(config).encode()}, zipfile.ZIP_STORED)
    for title, data in pickles(20):
        yield title, zipped({**members, "archive/data/sample_inputs/model.pt": archive_with(data)}, zipfile.ZIP_STORED)
    yield "256 MB of zeros", zipped({**members, "archive/models/model.json": ZEROS})
    yield from damaged(buffer.getvalue(), 60)


def written_scripts() -> Files:
    """Yield archives of a scripted module as ``torch.jit.save`` writes them, with hostile lines, devices, pickles and damage. (Each is loaded,
    called, and shows its text.)"""
    import mstorch as torch
    from tests.jit import hostile_script

    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(hostile_script.Net(torch)), buffer)
    yield "sound", buffer.getvalue()
    members = members_of(buffer.getvalue())
    texts = [name for name in members if name.endswith(".py")]
    for name in texts:
        lines = members[name].decode().splitlines()
        for number, line in enumerate(lines):
            blank = line[: len(line) - len(line.lstrip())]
            for place, script in enumerate(SCRIPTS[number % 6 :: 6]):
                if len(script) < 1000 or place < 1:
                    changed = [*lines[:number], blank + script, *lines[number + (place % 2) :]]
                    yield f"{script[:40]!r} at line {number} of {name}", zipped({**members, name: "\n".join(changed).encode()}, zipfile.ZIP_STORED)
        for device in ("npu:99999999999999999999", "", "cpu:-1", "a" * 100_000, "meta", "__class__"):
            text = members[name].replace(b'torch.device("cpu")', f'torch.device("{device}")'.encode())
            yield f"the device {device[:30]!r} in {name}", zipped({**members, name: text}, zipfile.ZIP_STORED)
    top = next(name.partition("/")[0] for name in members)
    for title, data in pickles(40):
        for part in ("data.pkl", "constants.pkl"):
            yield f"{title}, as {part}", zipped({**members, f"{top}/{part}": data}, zipfile.ZIP_STORED)
    for name in members:
        yield f"without {name}", zipped({other: data for other, data in members.items() if other != name}, zipfile.ZIP_STORED)
        yield f"256 MB of zeros as {name}", zipped({**members, name: ZEROS})
        yield f"half of {name}", zipped({**members, name: members[name][: len(members[name]) // 2]}, zipfile.ZIP_STORED)
    yield from damaged(buffer.getvalue(), 60)


def former_pt2() -> Files:
    """Yield ``.pt2`` archives of the layout before ``archive_format``, as torch's own serializer makes their parts, with hostile JSON, tensors,
    devices and members. (Each is loaded, moved to a device, and called.)"""
    import torch as real
    from torch._export.serde.schema import SCHEMA_VERSION
    from torch._export.serde.serialize import serialize

    class Net(real.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = real.nn.Linear(2, 2)
            self.register_buffer("count", real.zeros(2))

        def forward(self, x: Any) -> Any:
            self.count += 1  # type: ignore[operator]
            return self.linear(x) + real.zeros(2, device="cpu") + real.tensor([1.0, 2.0])

    parts = serialize(real.export.export(Net().eval(), (real.ones(2, 2),)))
    graph = "serialized_exported_program.json"
    members = {
        graph: parts.exported_program, "serialized_state_dict.pt": parts.state_dict, "serialized_constants.pt": parts.constants,
        "serialized_example_inputs.pt": parts.example_inputs, "version": ".".join(map(str, SCHEMA_VERSION)).encode(),
    }  # fmt: skip
    yield "sound", zipped(members, zipfile.ZIP_STORED)
    data = json.loads(members[graph])
    for number, way in enumerate(places(data)):
        for code in CODES[number % 4 :: 4]:
            yield f"{code[:20]!r} at {way}", zipped({**members, graph: json.dumps(replaced(data, way, code)).encode()}, zipfile.ZIP_STORED)
    for title, content in (("deep lists", b"[" * DEEP), ("a long number", b"9" * 300_000), ("no text", b"\xff"), ("nothing", b""), ("null", b"null")):
        yield f"{title} as the program", zipped({**members, graph: content}, zipfile.ZIP_STORED)
    for title, value in (("infinity", math.inf), ("a large number", 1 << 200), ("a negative number", -1)):
        for number, way in enumerate(places(data)):
            if number % 16 == 0:
                yield f"{title} at {way}", zipped({**members, graph: json.dumps(replaced(data, way, value)).encode()}, zipfile.ZIP_STORED)
    for title, pickled in pickles(40):
        for name in ("serialized_state_dict.pt", "serialized_constants.pt", "serialized_example_inputs.pt"):
            yield f"{title}, as {name}", zipped({**members, name: archive_with(pickled)}, zipfile.ZIP_STORED)
    for name in members:
        yield f"without {name}", zipped({other: content for other, content in members.items() if other != name}, zipfile.ZIP_STORED)
        yield f"256 MB of zeros as {name}", zipped({**members, name: ZEROS})
        yield f"garbage as {name}", zipped({**members, name: np.random.default_rng(5).bytes(500)}, zipfile.ZIP_STORED)
    yield from damaged(zipped(members, zipfile.ZIP_STORED), 60)

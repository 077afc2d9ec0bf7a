"""The device of the emulated CANN: computes with real torch what it is told to, in the memory that it shares with the program. The
runtime (native/acl.c) starts it as ``python -E tests/cann/device BYTES``, with a socket as descriptor 3 and the memory as 4.
"""
import mmap
import os
import pkgutil
import socket
import struct
import sys
import traceback
from importlib import import_module

import kernels
import torch
from calling import call, undocumented
from reading import Reader, Refused, shown

CALLS = os.environ.get("EMULATED_CANN_CALLS")
"""A file that gets a line for each call."""

for _module in pkgutil.iter_modules(kernels.__path__):
    import_module(f"kernels.{_module.name}")


def whole(sock, n):
    parts = []
    while n:
        part = sock.recv(min(n, 1 << 20))
        if not part:
            os._exit(0)
        parts.append(part)
        n -= len(part)
    return b"".join(parts)


def main():
    sock = socket.socket(fileno=3)
    memory = torch.frombuffer(mmap.mmap(4, int(sys.argv[1]), mmap.MAP_SHARED), dtype=torch.uint8)
    log = open(CALLS, "a", buffering=1) if CALLS else None
    torch.set_grad_enabled(False)
    while True:
        n, = struct.unpack("<q", whole(sock, 8))
        reader = Reader(whole(sock, n), memory)
        name, status, text, shapes, args = reader.text(), 0, "", {}, []
        try:
            raw = reader.data[reader.at:reader.at + 64]
            reader.at += 64
            words = []
            while (letter := reader.letter()) != "E":
                words.append(reader.take("<Q")[0] if letter == "o" else None)
                args.append(reader.operand(reader.letter() if letter == "o" else letter))
            shapes = call(name, words, raw, args)
            shapes = shapes if isinstance(shapes, dict) else {}
            if os.environ.get("EMULATED_CANN_LOG") == "3": print("[device]", name, [(t.data_ptr() - memory.data_ptr(), t.flatten()[:4].tolist()) for t in reader.tensors], file=sys.stderr)
        except Refused as e:
            status, text = 561003, str(e)
        except Exception as e:  # noqa: BLE001 - whatever torch raises is what the device says
            status, text = 561002, f"{name}: {type(e).__name__}: {e}"
            if os.environ.get("EMULATED_CANN_LOG"):
                traceback.print_exc()
        if log:
            log.write(f"{name}({', '.join(map(shown, args))}){' FAILED ' + text if status else ''}"
                      f"{' UNDOCUMENTED ' + told if (told := undocumented(name, args)) else ''}\n")
        text = text.encode()
        answer = struct.pack("<2q", status, len(text)) + text + struct.pack("<q", len(shapes))
        for k, dims in shapes.items():
            answer += struct.pack(f"<{2 + len(dims)}q", k, len(dims), *dims)
        sock.sendall(answer)


if __name__ == "__main__":
    main()

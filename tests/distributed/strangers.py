"""Garbage for all that reads what another process sends: memory stays bounded, the connection is closed, and the service goes on.

    python -m tests.distributed.strangers            # every kind for every reader; the exit code says whether all was well

Each reader runs in a process of its own, which says how much more memory it has taken at most since it began to serve.
"""
from __future__ import annotations

import contextlib
import datetime
import os
import pickle
import random
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import numpy as np

import mstorch
from mstorch.distributed import _mesh
from mstorch.distributed._table import MOST_BYTES, pack

ROOT = Path(__file__).parents[2]
MOST_KILOBYTES = 64 << 10
_SECONDS = datetime.timedelta(seconds=20)

# Bytes that are not a request to a store, and end the connection.
NO_REQUESTS = {
    "http": b"GET / HTTP/1.1\r\nHost: here\r\n\r\n", "zeros": bytes(64), "ones": b"\xff" * 64, "text": b"hello, who is there?" * 4,
    "no parts": pack([]), "one part": pack([b"get"]), "unknown operation": pack([b"shutdown", b"1", b"a"]),
    "private name": pack([b"__init__", b"1", b"a"]), "no text": pack([b"\xff\xfe", b"1", b"a"]), "no seconds": pack([b"get", b"soon", b"a"]),
    "not a number of seconds": pack([b"get", b"nan", b"a"]), "too few": pack([b"set", b"1", b"a"]), "too many": pack([b"get", b"1", b"a", b"b"]),
    "no key": pack([b"get", b"1"]), "3 GiB": struct.pack("<IQ", 1, 3 << 30), "largest size": struct.pack("<IQ", 1, 2**64 - 1),
    "many parts": struct.pack("<IQ", 2**32 - 1, 0), "long in all": struct.pack("<I", 100) + (struct.pack("<Q", MOST_BYTES) + bytes(MOST_BYTES)) * 5,
    "TLS": bytes.fromhex("16030100c8010000c40303") + bytes(200), "SSH": b"SSH-2.0-OpenSSH_9.6\r\n" * 3, "pickle": b"\x80\x04cos\nsystem\n(S'true'\ntR." * 4,
}  # fmt: skip

for _number in range(10):
    NO_REQUESTS[f"garbage {_number}"] = b"\xff" + random.Random(_number).randbytes(40 << _number)


def _message(kind: int, key: bytes, size: int, rest: bytes = b"") -> bytes:
    return struct.pack("<BIQ", kind, len(key), size) + key + rest


def _place(*numbers: int) -> bytes:
    return _message(1, b"key", 32, struct.pack("<QQQQ", *numbers))


# Bytes that are not a message of another process of a group, although they, or their beginning, have the form of one.
NO_MESSAGES = {
    **{name: b"\xfe" * 13 + data for name, data in NO_REQUESTS.items()},
    "long key": struct.pack("<BIQ", 0, 2**32 - 1, 0) + bytes(1 << 20), "3 GiB": _message(0, b"key", 3 << 30, bytes(1 << 20)),
    "largest size": _message(0, b"key", 2**64 - 1, bytes(1 << 20)), "17 MiB": _message(0, b"key", 17 << 20, bytes(17 << 20)),
    "no such descriptor": _place(1 << 20, 1, 64, 64), "largest descriptor": _place(2**64 - 1, 1, 64, 64), "a pipe": _place(0, 1, 64, 64),
    "a terabyte": _place(3, 1, 1 << 40, 1 << 40), "no bytes": _place(3, 1, 0, 0), "short place": _message(1, b"key", 8, bytes(8)),
    "long place": _message(1, b"key", 64, bytes(64)), "block that is not out": _message(2, b"", 8, bytes(8)),
    "short number": _message(2, b"", 1, b"\1"), "end with more": _message(3, b"", 64, bytes(64)),
}  # fmt: skip

# Bytes that are not a response of a store.
NO_ANSWERS = {**NO_REQUESTS, "state": pack([b"7", b"a"]), "long state": pack([b"00"]), "no state": pack([b""]), "3 GiB of state": struct.pack("<IQ", 2, 3 << 30)}


def most_memory(pid: int | str = "self") -> int:
    """Return the peak memory of a process in kilobytes since it was last reset."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


def is_cut_off(connection: socket.socket, data: bytes, seconds: float = 10.0) -> bool:
    """Return whether the other side closes a connection after receiving these bytes."""
    connection.settimeout(seconds)
    with connection:
        try:
            connection.sendall(data)
            while connection.recv(1 << 16):
                pass
            return True
        except TimeoutError:
            return False
        except OSError:
            return True


def to_port(port: int, data: bytes) -> bool:
    """Return whether a server at a port cuts off a client that sends these bytes."""
    return is_cut_off(socket.create_connection(("127.0.0.1", port), 10), data)


class Service:
    """A process that serves; it answers lines with lines. The first one is its address."""

    def __init__(self, name: str) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "GLOG_v": "3"}
        command = [sys.executable, "-m", "tests.distributed.strangers", "serve", name]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        self.said: list[str] = []
        threading.Thread(target=lambda: self.said.extend(self._process.stderr or ()), daemon=True).start()
        self.where = self.line()

    def line(self) -> str:
        """Return its next line."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().rstrip("\n")

    def tell(self, line: str = "") -> None:
        """Send it a line."""
        print(line, file=self._process.stdin, flush=True)

    def ask(self, line: str = "") -> str:
        """Return its answer to a line."""
        self.tell(line)
        return self.line()

    def end(self) -> int:
        """End the process; return by how many kilobytes its memory has grown."""
        grown = self.ask("end")
        self._process.communicate(timeout=60)
        return int(grown) if grown.isdigit() else 1 << 40


def _serve(where: Any, answer: Callable[[str], Any]) -> None:
    """Print the address, answer lines, and print the memory's growth at the end."""
    print(where, flush=True)
    Path("/proc/self/clear_refs").write_text("5")
    before = most_memory()
    for line in sys.stdin:
        print(most_memory() - before if line == "end\n" else answer(line.rstrip("\n")), flush=True)


def _store_here() -> Any:
    return mstorch.distributed.TCPStore("127.0.0.1", 0, 1, True, _SECONDS)


def serve_store() -> None:
    """Serve a TCPStore."""
    store = _store_here()
    _serve(store.port, lambda line: store.get(line).decode())


def store() -> Iterator[str]:
    """Return what is wrong if strangers connect to a store."""
    service = Service("store")
    proper = mstorch.distributed.TCPStore("127.0.0.1", int(service.where), None, False, _SECONDS)
    for name, data in NO_REQUESTS.items():
        if not to_port(int(service.where), data):
            yield f"{name}: the connection stays"
        proper.set(name, "served")
        if service.ask(name) != "served":
            yield f"{name}: a proper client is not served"
    yield from _bounded(service)


def _bounded(service: Service) -> Iterator[str]:
    grown = service.end()
    print(f"    {grown} kB of memory", flush=True)
    if grown > MOST_KILOBYTES:
        yield f"{grown} kB of memory; it said: {''.join(service.said)[-500:]}"


def serve_client() -> None:
    """Run a client of a TCPStore whose server is an impostor."""

    def answer(line: str) -> str:
        try:
            mstorch.distributed.TCPStore("127.0.0.1", int(line), None, False, _SECONDS).get("a")
        except Exception as error:  # noqa: BLE001 - which one is the answer
            return type(error).__name__
        return "nothing raised"

    _serve("", answer)


def client() -> Iterator[str]:
    """Return what is wrong if a store's client receives garbage."""
    service, store = Service("client"), _store_here()
    store.set("a", "b")
    for name, data in NO_ANSWERS.items():
        with socket.create_server(("127.0.0.1", 0)) as listener:
            threading.Thread(target=_answer_with, args=(listener, data), daemon=True).start()
            answer = service.ask(str(listener.getsockname()[1]))
        if answer != "DistNetworkError":
            yield f"{name}: {answer}"
        if service.ask(str(store.port)) != "nothing raised":
            yield f"{name}: the client does not reach a proper server afterwards"
    yield from _bounded(service)


def _answer_with(listener: socket.socket, data: bytes) -> None:
    with contextlib.suppress(OSError):
        connection = listener.accept()[0]
        connection.recv(1)
        connection.settimeout(5)
        with connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1 << 16):
                pass


def serve_meeting() -> None:
    """Run a process of a group that waits for the other one."""
    store = _store_here()

    def answer(line: str) -> str:
        mesh = _mesh.Mesh(mstorch.distributed.PrefixStore(line, store), 0, 2, _SECONDS)
        message = mesh.receive(1, b"key", 20.0)
        mesh.send(1, b"key", message.data)
        mesh.close()
        return bytes(message.data).decode()

    _serve(store.port, answer)


def meeting() -> Iterator[str]:
    """Return what is wrong if strangers connect while the processes of a group meet."""
    service = Service("meeting")
    store = mstorch.distributed.TCPStore("127.0.0.1", int(service.where), None, False, _SECONDS)
    for name, data in NO_REQUESTS.items():
        there = mstorch.distributed.PrefixStore(name, store)
        service.tell(name)
        port = int(there.get("mesh/0").decode().split("|")[1])
        for part in (data, data[:3]):  # after the second one the client sends no more, and stays connected
            connection = socket.create_connection(("127.0.0.1", port), 10)
            if part is data and not is_cut_off(connection, part):
                yield f"{name}: the connection stays"
            elif part is not data:
                connection.sendall(part)
        mesh = _mesh.Mesh(there, 1, 2, _SECONDS)
        mesh.send(0, b"key", np.frombuffer(b"served", np.uint8))
        if service.line() != "served" or bytes(mesh.receive(0, b"key", 20.0).data) != b"served":
            yield f"{name}: a proper process is not served"
        connection.close()
        mesh.close()
    yield from _bounded(service)


def serve_peers() -> None:
    """Run a process of a group of three, one of which sends garbage."""
    store = _store_here()
    meshes: list[Any] = []

    def answer(line: str) -> str:
        while meshes:
            meshes.pop().close()
        mesh = _mesh.Mesh(mstorch.distributed.PrefixStore(line, store), 0, 3, _SECONDS)
        meshes.append(mesh)
        with contextlib.suppress(RuntimeError):
            mesh.receive(2, b"never", 20.0)
        if not mesh.peers[2].ended:
            return "it is not noticed"
        message = mesh.receive(1, b"key", 20.0)
        mesh.send(1, b"key", message.data)
        answer = bytes(message.data[:6]).decode()
        message.free()
        return answer

    _serve(store.port, answer)


def peers() -> Iterator[str]:
    """Return what is wrong if a process of a group sends bytes that are not messages."""
    service = Service("peers")
    store = mstorch.distributed.TCPStore("127.0.0.1", int(service.where), None, False, _SECONDS)
    other = store.clone()  # for another thread: a client that waits sends no other request
    served = np.frombuffer(b"served" * 100_000, np.uint8)  # by shared memory
    for name, data in NO_MESSAGES.items():
        there, apart = (mstorch.distributed.PrefixStore(name, one) for one in (store, other))
        service.tell(name)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            there.set("mesh/2", f"127.0.0.1|{listener.getsockname()[1]}|{os.getpid()}||word")
            stranger: list[socket.socket] = []
            joining = threading.Thread(target=lambda: stranger.extend(_join(apart, rank) for rank in (0, 1)))
            joining.start()
            mesh = _mesh.Mesh(there, 1, 3, _SECONDS)
            joining.join()
        if not is_cut_off(stranger[0], data):
            yield f"{name}: the connection stays"
        mesh.send(0, b"key", served)
        answer = service.line()
        message = mesh.receive(0, b"key", 20.0)
        if answer != "served" or bytes(message.data) != bytes(served):
            yield f"{name}: a proper process is not served: {answer}"
        message.free()
        stranger[1].close()
        mesh.close()
    yield from _bounded(service)


def _join(store: Any, rank: int) -> socket.socket:
    """Connect to a process of a group as rank 2."""
    store.wait([f"mesh/{rank}"], _SECONDS)
    host, port, _, _, word = store.get(f"mesh/{rank}").decode().split("|")
    connection = socket.create_connection((host, int(port)), 10)
    connection.sendall(word.encode() + struct.pack("<I", 2))
    return connection


def serve_handles() -> None:
    """Run a process whose tensors others fetch, as queues pass them."""
    kept = []

    def answer(line: str) -> str:
        kept.append(mstorch.arange(int(line)).share_memory_())
        return bytes(ForkingPickler.dumps(kept[-1])).hex()

    address = mstorch.multiprocessing._handles._server.keep(0)[0]
    _serve(address, answer)


def handles() -> Iterator[str]:
    """Return what is wrong if strangers connect to the server of a queue's tensors."""
    service, silent = Service("handles"), []
    for name, data in NO_REQUESTS.items():
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(service.where)
        if not is_cut_off(connection, data + bytes(32)):  # as long as a name
            yield f"{name}: the connection stays"
        silent.append(socket.socket(socket.AF_UNIX))
        silent[-1].connect(service.where)
        silent[-1].sendall(data[:3])
        found = pickle.loads(bytes.fromhex(service.ask("1000")))
        if found.sum().item() != 499500:
            yield f"{name}: a proper process is not served"
    for connection in silent:
        if not is_cut_off(connection, b""):
            yield "a connection on which nothing more comes stays"
    yield from _bounded(service)


def serve_queue() -> None:
    """Run a process that reads queues; the other ends are named by number."""
    from multiprocessing.connection import Connection

    queue = mstorch.multiprocessing.SimpleQueue()

    def answer(line: str) -> str:
        if line:
            queue._reader = Connection(os.open(line, os.O_RDONLY), writable=False)
        try:
            found = queue.get()
        except Exception as error:  # noqa: BLE001 - which one is the answer
            return type(error).__name__
        return str(found.tolist() if isinstance(found, mstorch.Tensor) else "what was sent as garbage")

    _serve("", answer)


# A message may have any size, and is in memory twice while it is read; pickles may run code, because one program started both processes.
_NO_PICKLES = {name: data[: 1 << 23] for name, data in NO_REQUESTS.items() if name != "pickle"}


def queue() -> Iterator[str]:
    """Return what is wrong if a queue receives bytes that no queue sent: whole messages, and a part of one before the pipe closes."""
    service = Service("queue")
    proper = ForkingPickler.dumps(mstorch.arange(3).share_memory_())
    with tempfile.TemporaryDirectory() as folder:
        for name, data in {**_NO_PICKLES, "-1": b"\xff\xff\xff\xff" + struct.pack("!Q", 1 << 40), "2 GiB": struct.pack("!i", 2**31 - 1)}.items():
            path = os.path.join(folder, "pipe")
            os.mkfifo(path)
            service.tell(path)
            with open(path, "wb") as pipe:
                proper = ForkingPickler.dumps(mstorch.arange(3).share_memory_())
                answers = []
                for message in (data, bytes(proper)):
                    pipe.write(struct.pack("!i", len(message)) + message)
                    pipe.flush()
                    answers.append(service.line())
                    service.tell()
                pipe.write(data[:3])
            answers.append(service.line())
            os.unlink(path)
            if answers[0] in ("", "what was sent as garbage") or answers[1] != "[0, 1, 2]" or answers[2] not in ("EOFError", "OSError"):
                yield f"{name}: {answers}"
    yield from _bounded(service)


def serve_agent() -> None:
    """Run a launcher, which reads the output and the reports of its processes."""
    from mstorch.distributed._agent import Agent, Job
    from mstorch.distributed.elastic.multiprocessing.errors import ChildFailedError

    folder = tempfile.TemporaryDirectory()

    def answer(line: str) -> str:
        job = Job([sys.executable, "-c", bytes.fromhex(line).decode()], "job", 1, tee={0: 1}, shown=set(), log_dir=folder.name)
        try:
            Agent(job).run()
        except ChildFailedError as error:
            return str(error.get_first_failure()[1].exitcode)
        return "0"

    _serve("", answer)


def agent() -> Iterator[str]:
    """Return what is wrong if a launched process writes garbage: as its output, and as the report of its failure."""
    service = Service("agent")
    program = "import os, sys, pathlib\npathlib.Path(os.environ['TORCHELASTIC_ERROR_FILE']).write_bytes({!r})\nsys.exit(7)"
    for name, data in {**NO_REQUESTS, "long in all": b"[" * 100_000, "number": b"3", "no message": b'{"message": {}}'}.items():
        answer = service.ask(program.format(data).encode().hex())
        if answer != "7":
            yield f"{name}: {answer} {''.join(service.said)[-300:]}"
    long = "import os\nfor _ in range(300): os.write(1, bytes(1 << 20))"
    if service.ask(long.encode().hex()) != "0":
        yield "a long line: the job fails"
    yield from _bounded(service)


def serve_file() -> None:
    """Run a process whose FileStore finds a foreign file."""

    def answer(path: str) -> str:
        try:
            mstorch.distributed.FileStore(path, 1).set("a", "b")
        except RuntimeError as error:
            return str(error)
        return "nothing raised"

    _serve("", answer)


def file() -> Iterator[str]:
    """Return what is wrong if a FileStore finds a foreign file, which must stay unchanged."""
    service = Service("file")
    with tempfile.TemporaryDirectory() as folder:
        for name, data in NO_REQUESTS.items():
            path = Path(folder, "keys")
            path.write_bytes(data)
            answer = service.ask(str(path))
            if "are not the keys of a store" not in answer or path.read_bytes() != data:
                yield f"{name}: {answer}"
            path.unlink()
            if service.ask(str(path)) != "nothing raised" or path.exists():
                yield f"{name}: a proper file is not served"
    yield from _bounded(service)


READERS: dict[str, Callable[[], Iterator[str]]] = {
    "store": store, "client": client, "meeting": meeting, "peers": peers, "handles": handles, "queue": queue, "agent": agent, "file": file,
}  # fmt: skip


def main() -> int:
    """Send everything to every reader; return the number of faults."""
    count = 0
    for name, faults in READERS.items():
        print(name, flush=True)
        begin = time.monotonic()
        found = list(faults())
        count += len(found)
        print(f"    {len(found)} faults, {time.monotonic() - begin:.0f} s", *found, sep="\n    ", flush=True)
    return count


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        globals()[f"serve_{sys.argv[2]}"]()
    else:
        sys.exit(min(main(), 1))

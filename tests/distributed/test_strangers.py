"""What strangers send to the sockets of a job: they are cut off, memory stays bounded, and the job goes on."""
from __future__ import annotations

import datetime
import os
import random
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import mstorch
from mstorch.distributed import _mesh
from mstorch.distributed._table import MOST_BYTES, pack

ROOT = Path(__file__).parents[2]

# Bytes that are no request, and end the connection.
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


@pytest.fixture
def store():
    return mstorch.distributed.TCPStore("127.0.0.1", 0, 1, True, datetime.timedelta(seconds=20))


def _is_cut_off(port: int, data: bytes) -> bool:
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        try:
            connection.sendall(data)
            return connection.recv(1) == b""
        except ConnectionError:
            return True


@pytest.mark.parametrize("name", NO_REQUESTS)
def test_what_is_no_request_ends_the_connection(name, store):
    assert _is_cut_off(store.port, NO_REQUESTS[name])
    store.set("a", "b")
    assert store.get("a") == b"b"


def test_half_requests_give_way_to_whole_ones(store):
    connections = [socket.create_connection(("127.0.0.1", store.port)) for _ in range(150)]
    for connection in connections:
        connection.sendall(b"\x03\0")
    store.set("a", "b")
    other = store.clone()
    assert other.get("a") == b"b"
    serving = [thread for thread in threading.enumerate() if thread.name == "tcp_store"]
    assert len(serving) < 100
    for connection in connections:
        connection.close()


def test_a_value_that_no_server_takes_is_refused_where_it_is_set(store):
    with pytest.raises(mstorch.distributed.DistStoreError, match="a TCPStore takes"):
        store.set("a", "x" * (MOST_BYTES + 1))
    store.set("a", "x" * MOST_BYTES)
    assert len(store.get("a")) == MOST_BYTES


MESH_STRANGERS = (b"", b"x", *NO_REQUESTS.values())


def test_strangers_do_not_hold_up_processes_that_meet():
    listener = socket.create_server(("127.0.0.1", 0), backlog=400)
    port = listener.getsockname()[1]
    strangers = [socket.create_connection(("127.0.0.1", port)) for _ in range(200)]
    for number, stranger in enumerate(strangers):
        stranger.sendall(MESH_STRANGERS[number % len(MESH_STRANGERS)][:60_000])
    wrong_rank = socket.create_connection(("127.0.0.1", port))
    wrong_rank.sendall(b"word" * 8 + struct.pack("<I", 77))
    friend = socket.create_connection(("127.0.0.1", port))
    friend.sendall(b"word" * 4)
    threading.Timer(0.2, friend.sendall, (b"word" * 4 + struct.pack("<I", 1),)).start()
    begin = time.monotonic()
    found = _mesh._welcome(listener, b"word" * 8, {1}, 20.0)
    assert list(found) == [1] and time.monotonic() - begin < 5
    assert found[1].getpeername() == friend.getsockname()
    with pytest.raises(RuntimeError, match="Timed out waiting 100ms"):
        _mesh._welcome(listener, b"word" * 8, {1}, 0.1)
    for one in (*strangers, wrong_rank, friend, found[1], listener):
        one.close()


def test_a_server_goes_on_in_little_memory(tmp_path):
    """A process that may not take more than what it has and a little: sizes that strangers name take nothing."""
    script = (
        "import datetime, mstorch\n"
        "store = mstorch.distributed.TCPStore('127.0.0.1', 0, 1, True, datetime.timedelta(seconds=20))\n"
        "print(store.port, flush=True); input()\n"
        "store.set('a', 'b'); print(store.get('a'), flush=True); input()\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    port = int(process.stdout.readline())
    before = _most_memory(process.pid)
    for data in NO_REQUESTS.values():
        assert _is_cut_off(port, data)
    print(file=process.stdin, flush=True)
    assert process.stdout.readline() == "b'b'\n"
    assert _most_memory(process.pid) - before < 64 << 10
    process.communicate("\n", timeout=60)


def _most_memory(pid: int) -> int:
    """The most kilobytes that a process has taken."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])

"""Foreign bytes at the sockets of a job: connections are closed, memory stays bounded, and the job continues."""
from __future__ import annotations

import datetime
import os
import signal
import socket
import struct
import threading

import pytest

import mstorch
from mstorch._src.core.shared import Block
from mstorch.distributed import _mesh
from mstorch.distributed._table import MOST_BYTES, pack
from mstorch.distributed.elastic.multiprocessing.errors import ProcessFailure

from . import strangers

pytestmark = pytest.mark.slow


@pytest.fixture
def store():
    return mstorch.distributed.TCPStore("127.0.0.1", 0, 1, True, datetime.timedelta(seconds=20))


@pytest.mark.parametrize("name", strangers.NO_REQUESTS)
def test_what_is_no_request_ends_the_connection(name, store):
    assert strangers.to_port(store.port, strangers.NO_REQUESTS[name])
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


MESH_STRANGERS = (b"", b"x", *strangers.NO_REQUESTS.values())


def test_strangers_do_not_hold_up_processes_that_meet():
    listener = socket.create_server(("127.0.0.1", 0), backlog=400)
    port = listener.getsockname()[1]
    many = [socket.create_connection(("127.0.0.1", port)) for _ in range(200)]
    for number, stranger in enumerate(many):
        stranger.sendall(MESH_STRANGERS[number % len(MESH_STRANGERS)][:60_000])
    wrong_rank = socket.create_connection(("127.0.0.1", port))
    wrong_rank.sendall(b"word" * 8 + struct.pack("<I", 77))
    friend = socket.create_connection(("127.0.0.1", port))
    friend.sendall(b"word" * 4)
    threading.Timer(0.2, friend.sendall, (b"word" * 4 + struct.pack("<I", 1),)).start()
    found = _mesh._welcome(listener, b"word" * 8, {1}, 5.0)  # a foreign connection does not delay a valid one
    assert list(found) == [1]
    assert found[1].getpeername() == friend.getsockname()
    with pytest.raises(RuntimeError, match="Timed out waiting 100ms"):
        _mesh._welcome(listener, b"word" * 8, {1}, 0.1)
    for one in (*many, wrong_rank, friend, found[1], listener):
        one.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", strangers.READERS)
def test_garbage_takes_little_memory_and_a_proper_one_is_served(name):
    assert list(strangers.READERS[name]()) == []


def test_an_answer_that_was_not_awaited_is_not_the_next_one(store):
    """After Ctrl-C during a wait for a response, the next request gets its own response."""
    store.set("mine", "right")
    other = store.clone()
    # A job in the background ignores SIGINT, and MindSpore's `jit`, which other tests of this process call, leaves a handler that ends it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            threading.Timer(0.3, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT)).start()
            other.wait(["never"], datetime.timedelta(seconds=60))
    finally:
        signal.signal(signal.SIGINT, before)
    assert other._unread and other.get("mine") == b"right"
    other._unread = True  # as an interrupt between request and response leaves it
    other._connection.sendall(pack([b"get", b"1", b"mine"]))
    assert other.add("count", 2) == 2
    assert other.get("mine") == b"right"


def test_a_part_of_a_record_is_of_a_process_that_died(tmp_path):
    path = str(tmp_path / "keys")
    one, other = (mstorch.distributed.FileStore(path, 2) for _ in range(2))
    one.set("a", "b")
    with open(path, "ab") as file:
        file.write(pack([b"a", b"x" * 100])[:50])
    other.set("c", "d")
    assert other.get("a") == b"b" and one.get("c") == b"d" and one.add("n", 1) == 1


def test_a_foreign_file_stays_and_is_named(tmp_path):
    path = tmp_path / "keys"
    path.write_text("x")
    with pytest.raises(RuntimeError, match=f"what {path} holds are not the keys of a store"):
        mstorch.distributed.FileStore(str(path), 1)
    assert path.read_text() == "x"


def test_a_store_that_ends_leaves_the_next_ones_file(tmp_path):
    path = tmp_path / "keys"
    first = mstorch.distributed.FileStore(str(path), 1)
    path.unlink()
    second = mstorch.distributed.FileStore(str(path), 1)
    second.set("a", "b")
    with pytest.raises(RuntimeError, match="is another file"):
        first.set("a", "c")
    del first
    assert second.get("a") == b"b" and path.exists()
    del second
    assert not path.exists()  # when the last reference ends, not at a garbage collection


def test_memory_beyond_a_files_end_is_refused():
    memory = Block(64)
    with pytest.raises(RuntimeError, match="unable to mmap 8192 bytes from shared memory: it has 64"):
        Block(8192, os.dup(memory.descriptor))


@pytest.mark.parametrize("text", ['{"message": {"extraInfo": {"py_callst', "3", '{"message": {}}', "[" * 100_000, ""])
def test_a_part_of_a_report_is_no_report(text, tmp_path):
    path = tmp_path / "error.json"
    path.write_text(text)
    failure = ProcessFailure(0, 77, -9, str(path))
    assert failure.message == "Signal -9 (SIGKILL) received by PID 77".replace("-9", "9") and failure.error_file == "<N/A>"

"""Messages between the ranks of a job: a socket for each pair, and shared memory for large messages.

Each message has a key; messages of one sender with the same key arrive in order. A sender puts a large message into a block of shared
memory and sends the block's location; the receiver reads the message from the block and returns the block.
"""
from __future__ import annotations

import atexit
import contextlib
import logging
import os
import secrets
import selectors
import socket
import stat
import struct
import threading
import time
import weakref
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from datetime import timedelta
from typing import Any

import numpy as np

from .._src.backend.arrays import Array
from .._src.core.shared import Block
from ._calls import Calls
from ._stores import Store
from ._tcp_store import TCPStore, connect, read_exactly

_HEADER = struct.Struct("<BIQ")  # kind, length of the key, length of the data
_PLACE = struct.Struct("<QQQQ")  # descriptor, number and size of a block, bytes used
_NUMBER = struct.Struct("<Q")
_RANK = struct.Struct("<I")
_STRANGERS = 64  # maximum number of connections that have not identified themselves; the oldest are closed
_INLINE, _SHARED, _RELEASE, _END, _CALL = range(5)
_TELLS = 16  # added to the kind of a message whose key is followed by its call, as bytes, and their number
_LENGTH = struct.Struct("<H")
_SIZES = {_SHARED: _PLACE.size, _RELEASE: _NUMBER.size, _END: 0, _CALL: 0}
INLINE_BYTES = 1 << 16  # up to this size a copy through the socket is faster than a shared block
CHUNK_BYTES = 1 << 22  # larger messages are split by their senders, so that copying in and copying out overlap
_MOST_BYTES = 4 * CHUNK_BYTES  # maximum size of a message: a larger size is not a valid message
_LONGEST_KEY = 1 << 12  # bytes
_IN_FLIGHT = 16 * CHUNK_BYTES  # maximum number of bytes in shared blocks that a point-to-point sender has in flight
_FAREWELL = 30.0  # seconds for which an ending process waits for readers of its blocks
_log = logging.getLogger(__name__)


class _NoMessage(Exception):
    """Raised for bytes of another rank that are not a valid message."""


class Message:
    """A received message: ``data`` views its bytes, until ``free`` is called."""

    __slots__ = ("data", "told", "_mesh", "_peer", "_ms_number")

    def __init__(self, data: Array, told: bytes = b"", mesh: Mesh | None = None, peer: int = 0, number: int = 0) -> None:
        self.data, self.told, self._mesh, self._peer, self._ms_number = data, told, mesh, peer, number

    def free(self) -> None:
        """Return the message's memory to the sender."""
        self.data = _NOTHING
        if self._mesh is not None:
            self._mesh.give_back(self._peer, self._ms_number)
            self._mesh = None


class Posting:
    """A receive of messages with one key, from one of several ranks. The mesh calls these methods as the messages arrive."""

    key: bytes
    sources: tuple[int, ...]

    def accept(self, other: int, message: Message) -> bool:
        """Process a message from rank ``other``, and return True if no further message is expected. Meanwhile the mesh handles no other
        messages."""
        raise NotImplementedError

    def finish(self) -> None:
        """Handle the arrival of the last message."""
        raise NotImplementedError

    def fail(self, error: RuntimeError) -> None:
        """Handle the end of the connection, after which nothing can be received."""
        raise NotImplementedError


_NOTHING = np.empty(0, np.uint8)


class _Sent:
    """A sent block, with the count of its remaining readers."""

    __slots__ = ("block", "readers", "number")

    def __init__(self, block: Block, number: int) -> None:
        self.block, self.number, self.readers = block, number, 0


class _Peer:
    """The connection with another rank."""

    def __init__(self, connection: socket.socket, address: str, pid: int, shares: bool) -> None:
        self.connection, self.address, self.pid, self.shares = connection, address, pid, shares
        self.lock = threading.Lock()
        self.blocks: dict[int, Block] = {}
        self.ended = False

    def write(self, kind: int, key: bytes, *parts: Any) -> None:
        """Send a message. Raise RuntimeError if the other rank is gone."""
        size = sum(memoryview(part).nbytes for part in parts)
        try:
            with self.lock:
                self.connection.sendall(b"".join((_HEADER.pack(kind, len(key), size), key)))
                for part in parts:
                    self.connection.sendall(part)
        except OSError:
            raise RuntimeError(f"Connection closed by peer [{self.address}]") from None


    def cut(self) -> None:
        """Close the connection at once, discarding data the peer is still sending."""
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)  # makes a write that holds the lock fail
        with self.lock:
            self.connection.close()


def _without_call(named: bytes) -> tuple[bytes, bytes]:
    """Split a message's name into its key and its call."""
    if len(named) < _LENGTH.size:
        raise _NoMessage("what it sends is no message: it tells no call")
    (length,) = _LENGTH.unpack(named[-_LENGTH.size :])
    start = len(named) - _LENGTH.size - length
    if start < 0:
        raise _NoMessage(f"what it sends is no message: a call of {length} bytes in a name of {len(named)}")
    return named[:start], named[start : -_LENGTH.size]


def _machine() -> str:
    """Return an identifier (boot id and pid namespace) that is equal for two processes that can read each other's /proc."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip() + os.readlink("/proc/self/ns/pid")
    except OSError:
        return secrets.token_hex(16)


def _own_address(store: Store) -> str:
    """Return this host's address on the interface through which it reaches the store's server; peers connect to this address."""
    if isinstance(store._root, TCPStore):
        return str(store._root._connection.getsockname()[0])
    return "127.0.0.1"


_open: weakref.WeakSet[Mesh] = weakref.WeakSet()


class Mesh:
    """The connections of rank ``rank`` of ``size``, established with the help of a shared store."""

    def __init__(self, store: Store, rank: int, size: int, timeout: timedelta) -> None:
        self.rank, self.size = rank, size
        self.changing = threading.RLock()  # use ``with`` on this lock: entering the Condition can be interrupted after locking
        self.changed = threading.Condition(self.changing)
        self._posted: dict[tuple[int, bytes], deque[Posting]] = {}
        self._boxes: dict[tuple[int, bytes], deque[Message]] = {}
        self._free: dict[int, list[_Sent]] = {}
        self._out: dict[int, _Sent] = {}
        self._bytes_out = 0
        self._count = 0
        self._closed = False
        self.calls = Calls()
        self.peers: dict[int, _Peer] = {}
        self._meet(store, timeout)
        for other, peer in self.peers.items():
            threading.Thread(target=self._receive, args=(other, peer), daemon=True, name=f"from rank {other}").start()
        _open.add(self)

    def _meet(self, store: Store, timeout: timedelta) -> None:
        host, seconds = _own_address(store), timeout.total_seconds()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as listener:
            listener.bind((host, 0))
            listener.listen(self.size + 2 * _STRANGERS)
            word, machine = secrets.token_hex(16), _machine()
            store.set(f"mesh/{self.rank}", "|".join((host, str(listener.getsockname()[1]), str(os.getpid()), machine, word)))
            found: Future[dict[int, socket.socket]] = Future()
            awaited = set(range(self.rank + 1, self.size))
            threading.Thread(target=_welcomed, args=(found, listener, word.encode(), awaited, seconds), daemon=True).start()
            cards = {}
            for other in range(self.size):
                if other != self.rank:
                    store.wait([f"mesh/{other}"], timeout)
                    cards[other] = store.get(f"mesh/{other}").decode().split("|")
            made = {}
            for other in range(self.rank):
                to, port, _, _, secret = cards[other]
                made[other] = connect(to, int(port), seconds)
                made[other].sendall(secret.encode() + _RANK.pack(self.rank))
            made.update(found.result())
        for other, connection in sorted(made.items()):
            to, port, pid, where, _ = cards[other]
            self.peers[other] = _Peer(connection, f"{to}:{port}", int(pid), where == machine)

    # Receiving

    def _receive(self, other: int, peer: _Peer) -> None:
        """Receive messages from another rank until the connection ends; a thread runs this for each peer."""
        try:
            while self._process_message(other, peer):
                pass
        except (_NoMessage, MemoryError, RuntimeError) as error:  # RuntimeError: a block could not be mapped
            _log.warning("closed the connection of rank %d [%s]: %s", other, peer.address, error or "out of memory")
            peer.cut()
        except OSError:
            pass  # the other rank is gone
        with self.changing:
            peer.ended = True
            if self._closed:
                peer.cut()  # both sides have sent their last message
            self.changed.notify_all()
            orphans = {posting for queue in self._posted.values() for posting in queue}
            orphans = {posting for posting in orphans if all(self.peers[source].ended for source in posting.sources)}
            for posting in orphans:
                self._withdraw(posting)
        for posting in orphans:
            posting.fail(RuntimeError(f"Connection closed by peer [{peer.address}]"))

    def _process_message(self, other: int, peer: _Peer) -> bool:
        """Receive and process a peer's next message, and return False if it was the last. Raise _NoMessage for bytes that are not a
        message."""
        connection = peer.connection
        kind, named, size = _HEADER.unpack(read_exactly(connection, _HEADER.size))
        tells, kind = kind & _TELLS, kind & ~_TELLS
        if named > _LONGEST_KEY or (size > _MOST_BYTES if kind == _INLINE else size != _SIZES.get(kind)):
            raise _NoMessage(f"what it sends is no message: kind {kind}, {size} bytes for a key of {named}")
        key, told, awaited = read_exactly(connection, named), b"", True
        if tells:
            key, told = _without_call(key)
            awaited = self.calls.hear(other, told)
            if self.calls.missed(told):
                with self.changing:
                    self.changed.notify_all()
        message = None
        if kind == _INLINE:
            data = np.empty(size, np.uint8)
            _read_into(connection, data)
            message = Message(data, told)
        elif kind == _SHARED:
            number, used, block = _block_at(peer, read_exactly(connection, size))
            message = Message(block.memory[:used], told, self, other, number)
        elif kind == _RELEASE:
            self._released(read_exactly(connection, size))
        if message is not None and awaited:
            self._put(other, key, message)
        elif message is not None:
            message.free()
        return kind != _END

    def _put(self, other: int, key: bytes, message: Message) -> None:
        finished = None
        with self.changing:
            queue = self._posted.get((other, key))
            if queue:
                posting = queue[0]
                if posting.accept(other, message):
                    self._withdraw(posting)
                    finished = posting
                elif len(posting.sources) > 1:
                    self._bind(posting, other)
            else:
                self._keep(other, key, message)
        if finished is not None:
            finished.finish()

    def _keep(self, other: int, key: bytes, message: Message) -> None:
        with self.changing:
            box = self._boxes.get((other, key))
            if box is None:
                box = self._boxes[other, key] = deque()
            box.append(message)
            self.changed.notify_all()

    def receive(self, other: int, key: bytes, seconds: float, told: bytes = b"") -> Message:
        """Return another rank's next message with a key. Raise RuntimeError if that rank is gone, or on a timeout. If a rank makes another
        call than ``told``, return an empty message of that call."""
        return self.receive_from((other,), key, seconds, told)[1]

    def receive_from(self, others: Sequence[int], key: bytes, seconds: float, told: bytes = b"") -> tuple[int, Message]:
        """Return the first message with a key from any of several ranks, and the rank that sent it."""
        deadline = None
        with self.changing:
            while True:
                gone = 0
                for other in others:
                    box = self._boxes.get((other, key))
                    if box:
                        message = box.popleft()
                        if not box:
                            del self._boxes[other, key]
                        return other, message
                    gone += self.peers[other].ended
                missed = self.calls.missed(told) if told else None
                if missed is not None:
                    return missed[1], Message(_NOTHING, missed[2])
                if gone == len(others) or self._closed:
                    raise RuntimeError(f"Connection closed by peer [{self.peers[others[0]].address}]")
                now = time.monotonic()
                if deadline is None:
                    deadline = now + seconds
                if now >= deadline:
                    raise RuntimeError(f"Timed out waiting {seconds * 1000:.0f}ms for recv operation to complete")
                self.changed.wait(deadline - now)

    def post(self, posting: Posting) -> None:
        """Deliver messages to a posting as they arrive, after earlier postings with the same key."""
        finished = False
        with self.changing:
            free = not any(self._posted.get((other, posting.key)) for other in posting.sources)
            while free and not finished:
                ready = next((other for other in posting.sources if self._boxes.get((other, posting.key))), None)
                if ready is None:
                    break
                box = self._boxes[ready, posting.key]
                message = box.popleft()
                if not box:
                    del self._boxes[ready, posting.key]
                posting.sources = (ready,)
                finished = posting.accept(ready, message)
            gone = not finished and all(self.peers[other].ended for other in posting.sources)
            if not finished and not gone:
                for other in posting.sources:
                    self._posted.setdefault((other, posting.key), deque()).append(posting)
        if gone:
            posting.fail(RuntimeError(f"Connection closed by peer [{self.peers[posting.sources[0]].address}]"))
        elif finished:
            posting.finish()

    def _withdraw(self, posting: Posting) -> None:
        for other in posting.sources:
            queue = self._posted[other, posting.key]
            queue.remove(posting)
            if not queue:
                del self._posted[other, posting.key]

    def _bind(self, posting: Posting, other: int) -> None:
        """Bind a receive from any rank to the rank that sent its first message; all further messages come from that rank."""
        self._withdraw(posting)
        posting.sources = (other,)
        self._posted.setdefault((other, posting.key), deque()).appendleft(posting)

    def give_back(self, other: int, number: int) -> None:
        """Tell another rank that its block has been read."""
        try:
            self.peers[other].write(_RELEASE, b"", _NUMBER.pack(number))
        except RuntimeError:
            pass  # the peer is gone, and its block too

    # Sending

    def send(self, other: int, key: bytes, data: Array) -> int | None:
        """Send contiguous bytes. Return the number of the shared block, to be passed to ``wait_read``, or None if none was used."""
        return self.publish((other,), key, data)

    def publish(self, others: Sequence[int], key: bytes, *parts: Array, told: bytes = b"") -> int | None:
        """Send the same contiguous bytes to several ranks, with the call of which they are; large messages go through one shared block."""
        sent, size, flag = None, sum(part.nbytes for part in parts), 0
        if told:
            key, flag = b"".join((key, told, _LENGTH.pack(len(told)))), _TELLS
        if size > _MOST_BYTES or len(key) > _LONGEST_KEY:
            raise RuntimeError(f"a message of {size} bytes with a key of {len(key)}; {_MOST_BYTES} and {_LONGEST_KEY} are taken")
        if size > INLINE_BYTES:
            readers = [other for other in others if self.peers[other].shares]
            if readers:
                sent = self._block(parts, size, len(readers))
        for other in others:
            peer = self.peers[other]
            if sent is not None and peer.shares:
                place = _PLACE.pack(sent.block.descriptor, sent.number, sent.block.size, size)
                peer.write(_SHARED | flag, key, place)
            else:
                peer.write(_INLINE | flag, key, *parts)
        return None if sent is None else sent.number

    def tell(self, others: Sequence[int], told: bytes) -> None:
        """Tell other ranks of a call that sends them nothing else; those that are gone are passed over."""
        for other in others:
            with contextlib.suppress(RuntimeError):
                self.peers[other].write(_CALL | _TELLS, told + _LENGTH.pack(len(told)))

    def settle(self, told: bytes) -> None:
        """Free the messages of a call that does not match the others', which nobody will read."""
        number = self.calls.settle(told)
        with self.changing:
            unread = [box for place, box in self._boxes.items() if place[1].startswith(number)]
            self._boxes = {place: box for place, box in self._boxes.items() if not place[1].startswith(number)}
        for message in (message for box in unread for message in box):
            message.free()

    def _block(self, parts: Sequence[Array], used: int, readers: int) -> _Sent:
        size = 1 << (used - 1).bit_length()
        with self.changing:
            waiting = self._free.get(size)
            if waiting:
                sent = waiting.pop()
            else:
                self._count += 1
                sent = _Sent(Block(size), self._count)
            sent.readers = readers
            self._out[sent.number] = sent
            self._bytes_out += size
        start = 0
        for part in parts:
            np.copyto(sent.block.memory[start : start + part.nbytes], part)
            start += part.nbytes
        return sent

    def _released(self, named: bytes) -> None:
        with self.changing:
            number = int.from_bytes(named, "little")
            sent = self._out.get(number)
            if sent is None:
                raise _NoMessage(f"it gives back block {number}, which it has not")
            sent.readers -= 1
            if not sent.readers:
                del self._out[number]
                self._bytes_out -= sent.block.size
                self._free.setdefault(sent.block.size, []).append(sent)
                self.changed.notify_all()

    def wait_read(self, number: int | None, other: int, seconds: float) -> None:
        """Wait until the only reader of a block has read it. Raise RuntimeError if it is gone, or on a timeout."""
        if number is None:
            return
        with self.changing:
            if not self.changed.wait_for(lambda: number not in self._out or self.peers[other].ended, seconds):
                raise RuntimeError(f"Timed out waiting {seconds * 1000:.0f}ms for send operation to complete")
            if number in self._out:
                raise RuntimeError(f"Connection closed by peer [{self.peers[other].address}]")

    def wait_room(self, other: int, seconds: float) -> None:
        """Wait until the bytes in flight are below the limit, so that a sender cannot fill the memory."""
        with self.changing:
            self.changed.wait_for(lambda: self._bytes_out <= _IN_FLIGHT or self.peers[other].ended, seconds)

    def close(self) -> None:
        """Close all connections, after the sent blocks have been read."""
        if self._closed:
            return
        with self.changing:
            self.changed.wait_for(lambda: not self._out or all(peer.ended for peer in self.peers.values()), _FAREWELL)
            self._closed = True
            self.changed.notify_all()
        for peer in self.peers.values():
            try:
                peer.write(_END, b"")
                peer.connection.shutdown(socket.SHUT_WR)
            except (RuntimeError, OSError):
                pass
            if peer.ended:
                peer.cut()
        _open.discard(self)


def _block_at(peer: _Peer, place: bytes) -> tuple[int, int, Block]:
    """Return the number, the used bytes and the memory of another rank's block. Raise _NoMessage for an invalid location."""
    descriptor, number, length, used = _PLACE.unpack(place)
    block = peer.blocks.get(number)
    if block is None:
        path = f"/proc/{peer.pid}/fd/{descriptor}"
        try:
            if not stat.S_ISREG(os.stat(path).st_mode) or not 0 < length <= _MOST_BYTES:
                raise FileNotFoundError
            block = Block(length, os.open(path, os.O_RDWR))
        except OSError:
            raise _NoMessage(f"no {length} bytes of memory are at descriptor {descriptor} of process {peer.pid}") from None
    if used > block.size or length != block.size:
        raise _NoMessage(f"it names no memory of its own: {used} of {length} bytes in a block of {block.size}")
    peer.blocks[number] = block
    return number, used, block


def _welcomed(found: Future[dict[int, socket.socket]], *args: Any) -> None:
    """Run ``_welcome`` in a thread, so that foreign connections are refused while this rank connects to others."""
    try:
        found.set_result(_welcome(*args))
    except Exception as error:  # noqa: BLE001 - it is raised where the result is asked for
        found.set_exception(error)


def _welcome(listener: socket.socket, word: bytes, awaited: set[int], seconds: float) -> dict[int, socket.socket]:
    """Accept connections until each awaited rank has sent the job's password and its rank; refuse others. Raise RuntimeError on a timeout.
    """
    deadline = time.monotonic() + seconds
    found: dict[int, socket.socket] = {}
    said: dict[socket.socket, bytes] = {}  # bytes received from connections that have not identified themselves
    listener.setblocking(False)
    try:
        while len(found) < len(awaited):
            left = deadline - time.monotonic()
            ready = _readable([listener, *said], left) if left > 0 else []
            if not ready:
                raise RuntimeError(f"Timed out waiting {seconds * 1000:.0f}ms for the other processes to connect")
            for one in ready:
                if one is listener:
                    with contextlib.suppress(OSError):
                        said[listener.accept()[0]] = b""
                    if len(said) > _STRANGERS + len(awaited):
                        _dismiss(said, next(iter(said)))
                elif one in said:
                    _read_greeting(one, word, awaited, said, found)
    finally:
        for connection in list(said):
            _dismiss(said, connection)
    return found


def _readable(connections: list[socket.socket], seconds: float) -> list[Any]:
    """Wait, and return the connections that are readable; file descriptors may exceed the limit of select()."""
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            selector.register(connection, selectors.EVENT_READ)
        return [key.fileobj for key, _ in selector.select(seconds)]


def _read_greeting(
    connection: socket.socket, word: bytes, awaited: set[int], said: dict[socket.socket, bytes], found: dict[int, socket.socket]
) -> None:  # fmt: skip
    """Read from a new connection: a peer that sends the password is added to ``found``, any other connection is closed."""
    try:
        got = connection.recv(len(word) + _RANK.size - len(said[connection]))
    except OSError:
        got = b""
    said[connection] += got
    heard = said[connection]
    if not got or not secrets.compare_digest(heard[: len(word)], word[: len(heard)]):
        _dismiss(said, connection)
    elif len(heard) == len(word) + _RANK.size:
        (rank,) = _RANK.unpack(heard[-_RANK.size :])
        if rank not in awaited or rank in found:
            _dismiss(said, connection)
            return
        del said[connection]
        connection.setblocking(True)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        found[rank] = connection


def _dismiss(said: dict[socket.socket, bytes], connection: socket.socket) -> None:
    del said[connection]
    connection.close()


def _read_into(connection: socket.socket, data: Array) -> None:
    view = memoryview(data)  # type: ignore[arg-type]
    while view.nbytes:
        got = connection.recv_into(view)
        if not got:
            raise ConnectionError
        view = view[got:]


def _close_all() -> None:
    for mesh in list(_open):
        mesh.close()


def _forget_in_child() -> None:
    """Close the inherited connections in a forked child, which would hide the end of its parent's."""
    for mesh in list(_open):
        for peer in mesh.peers.values():
            peer.connection.close()
        mesh._closed = True
    _open.clear()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)

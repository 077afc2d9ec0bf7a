"""What each rank calls: the words of a collective go with each of its messages, so that calls that do not match are told at once.

A rank that only sends (the root of a broadcast) hears of another rank's call by that rank's messages, also after its own call has ended:
it raises at the end of its next call.
"""
from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

_RAISED = b""
_MOST_WORDS = 1 << 11  # bytes
_KEPT = 256  # own calls that are remembered, for messages that come later


class Mismatch(RuntimeError):
    """Raised in each rank that learns that another rank calls something else."""


Missed = tuple[bytes, int, bytes]
"""An own call, another rank, and that rank's call."""


def mismatch(me: int, mine: bytes, other: int, theirs: bytes) -> Mismatch:
    """Return the error, in torch's words of debug level DETAIL."""
    own, foreign = (told.partition(b"\0")[2].decode(errors="replace") for told in (mine, theirs))
    return Mismatch(
        f"Detected mismatch between collectives on ranks. Rank {me} is running collective: {own}, but Rank {other} is running collective: "
        f"{foreign}."
    )


def words(name: str, tensors: Sequence[Any], *more: Any) -> str:
    """Return the words of a call: its name, the dtypes and shapes of tensors, and what else must be the same on all ranks."""
    return f"{name}({', '.join([*(f'{tensor._ms_dtype.name}{list(tensor._ms_shape)}' for tensor in tensors), *map(str, more)])})"


def call(number: bytes, told: str) -> bytes:
    """Return a call as it goes with its messages; none without words."""
    return b"".join((number, b"\0", told.encode()[:_MOST_WORDS])) if told else b""


class Calls:
    """Calls of this rank and of others: bytes of the call's number in its group, a zero, and its words."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._own: dict[bytes, bytes] = {}
        self._heard: dict[bytes, tuple[int, bytes]] = {}  # calls that others began first; one rank's for each
        self._missed: dict[bytes, Missed] = {}  # by group

    def begin(self, told: bytes) -> Missed | None:
        """Remember an own call; return what does not match it already."""
        number = _number(told)
        with self._lock:
            self._own[number] = told
            if len(self._own) > _KEPT:
                del self._own[next(iter(self._own))]
            heard = self._heard.pop(number, None)
        return None if heard is None or heard[1] == told else (told, *heard)

    def earlier(self, told: bytes) -> Missed | None:
        """Return what did not match an earlier call of the group."""
        missed = self._missed.get(_group(_number(told))) if self._missed else None
        return missed if missed is not None and missed[0] != told else None

    def hear(self, other: int, told: bytes) -> bool:
        """Compare another rank's call with the own one, if that has begun. Return False if the own one has raised, so that nobody awaits
        its messages."""
        number = _number(told)
        if self._own.get(number) == told:
            return True
        with self._lock:
            own = self._own.get(number)
            if own is None:
                if number not in self._heard or self._heard[number][1] == told:
                    self._heard[number] = other, told
            elif own == _RAISED:
                return False
            elif own != told:
                self._missed.setdefault(_group(number), (own, other, told))
        return True

    def missed(self, told: bytes) -> Missed | None:
        """Return what does not match a call that has begun."""
        missed = self._missed.get(_group(_number(told))) if self._missed else None
        return missed if missed is not None and missed[0] == told else None

    def settle(self, told: bytes) -> bytes:
        """Forget a call that does not match the others': it raises, whatever else is heard of it. Return its number."""
        number = _number(told)
        with self._lock:
            self._own[number] = _RAISED
            if self.missed(told):
                del self._missed[_group(number)]
        return number


def _number(told: bytes) -> bytes:
    return told.partition(b"\0")[0]


def _group(number: bytes) -> bytes:
    return number.rsplit(b"/", 2)[0]

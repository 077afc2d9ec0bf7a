"""Large memories are sent to torch's process once, and again after they changed."""
from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from mstorch._commands.debug import memories
from mstorch._commands.debug.oracle import Unpickler
from tests.debug.test_compare import run

_ROWS = bytes(range(256)) * 64


def _sent(message: Any, sent: memories.Sent, kept: dict[int, bytes]) -> tuple[int, Any]:
    """Return the number of bytes of a message, and its value after decoding."""
    file = io.BytesIO()
    memories.Pickler(file, sent).dump(message)
    return file.tell(), Unpickler(io.BytesIO(file.getvalue()), kept).load()


def test_a_memory_is_sent_once_until_it_changes() -> None:
    recent, sent, kept = memories.Recent(), memories.Sent(), {}
    first, found = _sent({"data": recent.copy("x", _ROWS)}, sent, kept)
    assert first > len(_ROWS) and found == {"data": _ROWS}
    again, found = _sent({"data": recent.copy("x", bytes(_ROWS[:])), "more": [1, 2]}, sent, kept)
    assert again < 100 and found == {"data": _ROWS, "more": [1, 2]}
    changed = _ROWS[:-1] + b"!"
    size, found = _sent({"data": recent.copy("x", changed)}, sent, kept)
    assert size > len(_ROWS) and found == {"data": changed}


def test_a_message_of_the_past_keeps_its_bytes() -> None:
    recent, sent, kept = memories.Recent(), memories.Sent(), {}
    before = {"data": recent.copy("x", _ROWS)}
    _sent({"data": recent.copy("x", _ROWS[::-1])}, sent, kept)
    assert _sent(before, sent, kept)[1] == {"data": _ROWS}


def test_small_memories_are_sent_as_they_are() -> None:
    assert type(memories.Recent().copy("x", b"12")) is bytes


def test_what_is_kept_is_bounded_at_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memories, "_MOST", 5 * len(_ROWS))
    recent, sent, kept = memories.Recent(), memories.Sent(), {}
    for number in range(50):
        data = number.to_bytes(1, "little") * len(_ROWS)
        assert _sent([recent.copy(number, data), recent.copy(number, data)], sent, kept)[1] == [data, data]
        assert len(kept) <= 5 and len(recent._copies) <= 5
    assert _sent([recent.copy(0, b"\0" * len(_ROWS))], sent, kept)[1] == [b"\0" * len(_ROWS)]


@pytest.mark.slow
def test_changes_of_large_memories_are_seen(tmp_path: Path) -> None:
    program = """
x = torch.randn(64, 64)
array = x.numpy()
x.sum(0); x[3]
for change in (lambda: x.add_(1), lambda: x.data.mul_(2), lambda: array.__setitem__(5, 7.0), lambda: x[2:4].zero_()):
    change()
    x.sum(0); x[3]; x[5]
x.resize_(32, 32); x[3]
del x
for _ in range(40):  # other memory, perhaps where some was before
    torch.randn(64, 64)[1].exp()
print('agrees')
plant_kernel('exp', lambda found: found * 1.01)
torch.zeros(64, 64).exp()
"""
    ended = run(tmp_path, program)
    assert ended.stdout == "agrees\n" and "torch.Tensor.exp differs" in ended.stderr, ended.stderr

"""Contents of an untrusted file are shown briefly, and no code in it runs."""
from __future__ import annotations

import pickle
import time

import pytest

import mstorch
from mstorch._src.serialization.loaded import brief
from mstorch.distributed import checkpoint


class Runs:
    """An object that leaves a trace when it is unpickled."""

    ran = False

    def __reduce__(self):
        return setattr, (Runs, "ran", True)

    def __repr__(self):
        raise AssertionError("a foreign object is asked for its text")


def _nested(levels):
    value = []
    for _ in range(levels):
        value = [value, value]
    return value


def test_a_text_of_lists_in_lists_is_short():
    begin = time.process_time()
    for value in (_nested(200), tuple(_nested(200)), {"a": _nested(200)}, Runs(), "x" * 10**7, 10**1000, [Runs()] * 1000, b"x" * 10**6):
        assert len(brief(value)) < 5000
    assert time.process_time() - begin < 1


@pytest.mark.parametrize("code", [b"R", b"\x81", b"Q"])
def test_files_that_call_lists_in_lists(code, tmp_path):
    """REDUCE, NEWOBJ and a persistent id with a list of 2 ** 100 nested lists."""
    nested = b"]" + b"".join(b"q%c]h%ch%cee".replace(b"]h", b"](h").replace(b"ee", b"e") % (n, n, n) for n in range(100))
    data = b"\x80\x02" + nested + (b")" if code != b"Q" else b"") + code + b"."
    (tmp_path / "f").write_bytes(data)
    begin = time.process_time()
    with pytest.raises((pickle.UnpicklingError, RuntimeError)):
        mstorch.load(tmp_path / "f")
    mstorch.save(1, tmp_path / "g")
    assert time.process_time() - begin < 5


def test_a_checkpoint_of_a_stranger_runs_nothing(tmp_path):
    (tmp_path / ".metadata").write_bytes(pickle.dumps(Runs()))
    with pytest.raises(checkpoint.CheckpointException, match="GLOBAL setattr was not an allowed global"):
        checkpoint.load({"a": mstorch.ones(1)}, checkpoint_id=tmp_path)
    assert not Runs.ran
    checkpoint.save({"a": mstorch.ones(1)}, checkpoint_id=tmp_path)
    part = next(tmp_path.glob("*.distcp"))
    part.write_bytes(b"")
    mstorch.save({"a@(0,)": Runs()}, part)
    with pytest.raises(pickle.UnpicklingError, match="setattr"):
        checkpoint.load({"a": mstorch.zeros(1)}, checkpoint_id=tmp_path)
    assert not Runs.ran

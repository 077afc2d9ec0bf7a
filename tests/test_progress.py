"""Long computations show progress on a terminal, and nothing if stderr is not a terminal."""
from __future__ import annotations

import gc
import io
import os
import pty
import sys
import time
from pathlib import Path

import pytest

import mstorch as torch
from mstorch._src import progress as _progress
from tests import warm

ROOT = Path(__file__).resolve().parents[1]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make progress lines appear immediately."""
    monkeypatch.setattr(_progress, "FIRST", 0.0)
    monkeypatch.setattr(_progress, "EVERY", 0.001)


def wait_for(words: str, stream: io.StringIO) -> None:
    """Wait until the progress has reached a number."""
    for _ in range(2000):
        if words in stream.getvalue():
            return
        time.sleep(0.005)
    raise AssertionError(stream.getvalue())


def test_the_line_counts_and_goes_away(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    progress = _progress.Progress("loading a.pth", 200)
    progress.done = 50
    wait_for("mstorch: loading a.pth: 25 % …", stream)
    progress.end()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_a_line_that_nobody_ends_goes_away(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    progress = _progress.Progress("check rows", unit="items")
    progress.done = 3
    wait_for("check rows: 3 items", stream)
    teller = progress._teller
    del progress
    gc.collect()
    assert teller is not None
    teller.join(10)
    assert not teller.is_alive() and stream.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_nothing_where_there_is_no_terminal(stream: io.StringIO | None, at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    progress = _progress.Progress("loading")
    assert progress._teller is None
    progress.end()
    assert stream is None or not stream.getvalue()


@pytest.mark.parametrize("form", ["zip", "legacy", "safetensors", "capture"])
def test_loads_and_captures_tell(form: str, at_once: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each reader counts its bytes, and reports its end."""
    made: list[_progress.Progress] = []

    class Kept(_progress.Progress):
        def __init__(self, *args: object) -> None:
            super().__init__(*args)  # type: ignore[arg-type]
            made.append(self)

    monkeypatch.setattr("mstorch.serialization.Progress", Kept)
    monkeypatch.setattr("mstorch._src.compile.compiled.Progress", Kept)
    if form == "capture":
        assert torch.compile(lambda x: x + 1, fullgraph=True)(torch.ones(2)).tolist() == [2, 2]
        assert made[0].what.startswith("capturing")
    elif form == "safetensors":
        header = b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
        (tmp_path / "a.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
        assert torch.load(tmp_path / "a.safetensors")["a"].item() == 0
    else:
        torch.save([torch.ones(1000), torch.zeros(500)], tmp_path / "a.pth", _use_new_zipfile_serialization=form == "zip")
        torch.load(tmp_path / "a.pth")
        assert made[0].done == 6000 and made[0].total > 6000 and made[0].what == "loading a.pth"
    assert len(made) == 1 and made[0]._over.is_set()


@pytest.mark.slow
def test_a_scan_on_a_terminal(tmp_path: Path) -> None:
    """A terminal's stderr gets the line, a pipe's nothing; stdout is the same."""
    main, other = pty.openpty()
    code = "import sys; from mstorch._src import progress; from mstorch._commands import scan; progress.FIRST = 0.0; sys.exit(scan.main([sys.argv[1]]))"
    command = ["-c", code, str(ROOT / "examples")]
    shown = tmp_path / "shown"
    warm.start(*command, environment=os.environ, out=str(shown), error=os.ttyname(other), seconds=300).wait()
    os.close(other)
    told = os.read(main, 65536)
    os.close(main)
    plain = warm.done(*command, seconds=300)
    assert b"mstorch: looking at the files" in told and told.endswith(b"\x1b[K")
    assert plain.stdout == shown.read_text() and "100 %" in plain.stdout and plain.stderr == ""

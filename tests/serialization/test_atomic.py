"""At every moment a path that is saved to holds a complete file: the old one or the new one."""

import errno
import os
import signal
import stat
import subprocess
import time

import numpy as np
import pytest
import torch

import mstorch as ms
from mstorch import serialization
from mstorch._src.serialization import atomic, zipfile_format
from tests import warm
from tests.serialization.serialization_files import values

pytestmark = pytest.mark.slow


def ones(count, value=1.0):
    return ms.from_numpy(np.full(count, value))


@pytest.fixture
def umask():
    before = os.umask(0o027)
    yield 0o027
    os.umask(before)


def test_permissions_are_those_of_open(tmp_path, umask):
    serialization.save(1, tmp_path / "new.pt")
    (tmp_path / "plain").write_bytes(b"")
    assert (
        stat.S_IMODE((tmp_path / "new.pt").stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode) == 0o640
    )
    os.chmod(tmp_path / "new.pt", 0o604)
    serialization.save(2, tmp_path / "new.pt")
    assert stat.S_IMODE((tmp_path / "new.pt").stat().st_mode) == 0o604
    assert serialization.load(tmp_path / "new.pt") == 2


def test_links_are_written_through(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "latest.pt").symlink_to("folder/step1.pt")
    for step in (1, 2):
        serialization.save(step, tmp_path / "latest.pt")
        assert (tmp_path / "latest.pt").is_symlink()
        assert serialization.load(tmp_path / "folder" / "step1.pt") == step


def test_pipes_and_devices_are_written_directly(tmp_path):
    serialization.save(ones(10), "/dev/null")
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE)
    serialization.save([1, 2], tmp_path / "pipe")
    data = reader.communicate(timeout=20)[0]
    (tmp_path / "copy.pt").write_bytes(data)
    assert torch.load(tmp_path / "copy.pt") == [1, 2]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_long_and_odd_names(tmp_path, monkeypatch):
    for name in ("a" * 252 + ".pt", "ü" * 120 + ".pt", ".hidden", "with space", "-"):
        serialization.save(1, tmp_path / name)
        assert serialization.load(tmp_path / name) == 1
    monkeypatch.chdir(tmp_path)
    serialization.save(2, "here.pt")
    assert serialization.load("here.pt") == 2
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]


class FullDisk:
    """A file whose writes fail after a number of bytes."""

    def __init__(self, room):
        self.room = room

    def __call__(self, file, data):
        self.room -= len(data)
        if self.room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        file.write(data)


@pytest.mark.parametrize("room", [0, 10, 300, 3000, 9000])
@pytest.mark.parametrize("legacy", [False, True])
def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch, room, legacy):
    path = tmp_path / "a.pt"
    serialization.save(ones(3, 5.0), path)
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        from mstorch._src.serialization import legacy as legacy_format

        patch.setattr(zipfile_format, "write_all", FullDisk(room))
        patch.setattr(legacy_format, "write_all", FullDisk(room))
        with pytest.raises(RuntimeError, match="file write failed: .*No space left on device") as caught:
            serialization.save([ones(1000), ones(500)], path, _use_new_zipfile_serialization=not legacy)
        assert caught.value.__cause__.errno == errno.ENOSPC
        assert "remove it first, or write in place" in str(caught.value)
        with pytest.raises(RuntimeError, match="No space left on device$"):  # there is no old file
            serialization.save(ones(1000), tmp_path / "b.pt", _use_new_zipfile_serialization=not legacy)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.pt"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_errors_at_the_end_leave_the_old_file(tmp_path, monkeypatch, call):
    path = tmp_path / "a.pt"
    serialization.save(1, path)

    def fail(*args):
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(atomic.os, call, fail)
        with pytest.raises(RuntimeError, match="Input/output error"):
            serialization.save(2, path)
    assert serialization.load(path) == 1
    assert os.listdir(tmp_path) == ["a.pt"]


def test_a_failed_pickle_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.pt"
    serialization.save(1, path)
    with pytest.raises((AttributeError, TypeError)):
        serialization.save([ones(3), lambda: 1], path)
    assert serialization.load(path) == 1
    assert os.listdir(tmp_path) == ["a.pt"]


def test_an_interrupt_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.pt"
    serialization.save(1, path)

    def interrupt(file, data):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(zipfile_format, "write_all", interrupt)
        with pytest.raises(KeyboardInterrupt):
            serialization.save(2, path)
    assert serialization.load(path) == 1
    assert os.listdir(tmp_path) == ["a.pt"]


def test_the_file_is_flushed_before_it_is_renamed(tmp_path, monkeypatch):
    order = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(atomic.os, name, lambda *args, name=name, real=real: order.append(name) or real(*args))
    serialization.save(1, tmp_path / "a.pt")
    assert order == ["fsync", "replace", "fsync"]


def test_a_folder_that_admits_no_new_file(tmp_path, monkeypatch):
    path = tmp_path / "a.pt"
    serialization.save(1, path)

    def refuse(*args):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(atomic, "_temporary", refuse)
    serialization.save(2, path)
    assert serialization.load(path) == 2
    with pytest.raises(RuntimeError, match="Permission denied"):
        serialization.save(2, tmp_path / "new.pt")


def test_a_file_that_may_not_be_written(tmp_path, monkeypatch):
    path = tmp_path / "a.pt"
    serialization.save(1, path)
    monkeypatch.setattr(atomic.os, "access", lambda *args: False)
    with pytest.raises(RuntimeError, match="Permission denied"):
        serialization.save(2, path)
    assert serialization.load(path) == 1


def test_saving_mapped_tensors_to_their_own_file(tmp_path):
    path = tmp_path / "a.pt"
    serialization.save({"a": ones(100_000, 3.0)}, path)
    ours = serialization.load(path, mmap=True)
    for _ in range(3):
        serialization.save({"a": ours["a"], "more": ones(200_000)}, path)
        assert values(serialization.load(path)["a"]).sum() == 300_000
    assert values(ours["a"]).sum() == 300_000


KILLED = """
import sys, warnings
warnings.simplefilter("ignore")
import numpy as np
import mstorch as ms
from mstorch import serialization
step = 0
print("ready", flush=True)
while True:
    step += 1
    serialization.save([step, ms.from_numpy(np.full(400_000, float(step)))], sys.argv[1])
"""


def test_a_kill_in_the_middle_leaves_a_whole_file(tmp_path):
    path = tmp_path / "a.pt"
    serialization.save([0, ones(400_000, 0.0)], path)
    rng = np.random.default_rng(0)
    for number in range(4):
        child = warm.start("-c", KILLED, str(path), environment=os.environ, out=str(tmp_path / f"out{number}"), error=os.devnull)
        child.wait_for_lines(1)
        time.sleep(0.05 + 0.2 * rng.random())
        child.kill()
        assert child.wait() == -signal.SIGKILL
        step, ours = serialization.load(path)
        assert (values(ours) == step).all()
        assert torch.load(path)[0] == step
    assert step > 0

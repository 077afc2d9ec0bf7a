"""Abrupt ends of programs with a DataLoader's workers: what is left of them.

    python -m tests.ends 40        # so many ends, of all kinds in turn; prints what was left behind
"""
from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

SCRIPT = """
import sys
import mstorch as torch

class Images(torch.utils.data.Dataset):
    def __len__(self):
        return 4000

    def __getitem__(self, index):
        return torch.nn.functional.conv2d(torch.full((1, 3, 64, 64), float(index)), torch.ones(4, 3, 3, 3))[0]

loader = torch.utils.data.DataLoader(Images(), 8, num_workers=2, persistent_workers=PERSISTENT, shuffle=True)
shared = torch.ones(1000).share_memory_()
for number, batch in enumerate(loader):
    if number == 2:
        print("ready", *[worker.pid for worker in loader._iterator._workers] if PERSISTENT else [], flush=True)
        if HOW == "exception":
            raise ValueError("an end")
        if HOW == "break":
            break
"""
KINDS = ("interrupt", "exception", "break", "kill", "terminate", "kill worker")
PATIENCE = 15.0  # seconds; a worker checks every five whether its parent is alive


def session(leader: int) -> list[int]:
    """Return the running processes of the session."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == leader and fields[0] not in "ZX":
                found.append(int(entry.name))
    return found


def shared_memory() -> set[str]:
    """Return the names in /dev/shm."""
    folder = Path("/dev/shm")
    return {entry.name for entry in folder.iterdir()} if folder.is_dir() else set()


def end(how: str) -> str:
    """Start a program, end it, and return what is left behind; "" if nothing is."""
    persistent = how == "kill worker"
    text = f"HOW = {how!r}\nPERSISTENT = {persistent}\n{SCRIPT}"
    before = shared_memory()
    root = str(Path(__file__).resolve().parent.parent)
    environment = {**os.environ, "PYTHONPATH": root, "GLOG_v": "3"}
    child = subprocess.Popen(
        [sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, env=environment
    )
    assert child.stdout is not None
    try:
        words = child.stdout.readline().split()
        if words[:1] != ["ready"]:
            return f"{how}: the program did not start: {child.communicate()[1]}"
        pids = {str(number) for number in session(child.pid)}
        if how == "interrupt":
            os.killpg(child.pid, signal.SIGINT)
        elif how == "kill":
            child.kill()
        elif how == "terminate":
            child.terminate()
        elif how == "kill worker":
            os.kill(int(words[1]), signal.SIGKILL)
        limit = time.monotonic() + PATIENCE
        while time.monotonic() < limit and session(child.pid):
            time.sleep(0.1)
            child.poll()
        left = session(child.pid)
        files = shared_memory() - before
        # Ignore names that another program creates meanwhile.
        files = {name for name in files if "mstorch" in name or pids & set(re.findall("[0-9]+", name))}
        if left or files:
            return f"{how}: left {len(left)} processes, files {sorted(files)}"
        code = child.wait(5)
        expected = {"break": 0, "exception": 1, "kill worker": 1, "kill": -signal.SIGKILL, "terminate": -signal.SIGTERM}.get(how)
        return "" if expected is None or code == expected else f"{how}: exit code {code}"
    finally:
        for number in session(child.pid):
            os.kill(number, signal.SIGKILL)
        child.communicate()


def main() -> int:
    """End as many programs as the first argument says."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else len(KINDS)
    left = [text for number in range(count) if (text := end(KINDS[number % len(KINDS)]))]
    print(*left, f"{count - len(left)} of {count} ends left nothing behind", sep="\n")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())

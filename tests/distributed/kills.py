"""Runs of examples/digits_ddp.py in which a process is killed at a random moment: python -m tests.distributed.kills 20

The first half is started anew by the launcher (``--max-restarts 1``) and goes on from its checkpoint; of the others the launcher has
to end with a report within 30 seconds, and a run of another number of processes goes on. All end with the loss of an undisturbed run.
"""
from __future__ import annotations

import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
EPOCHS = 4


def start(processes, checkpoint, *options):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "GLOG_v": "3"}
    command = [sys.executable, "-m", "mstorch.distributed.run", "--nproc-per-node", str(processes), *options, "examples/digits_ddp.py"]
    command += ["--epochs", str(EPOCHS), "--checkpoint", str(checkpoint)]
    return subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def last_loss(text):
    return float(re.findall(rf"epoch +{EPOCHS}  train loss ([0-9.]+)", text)[-1])


def workers(launcher):
    """Return the processes that a launcher started."""
    try:
        text = pathlib.Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text()
    except OSError:
        return []
    return [int(pid) for pid in text.split()]


def main(count):
    with tempfile.TemporaryDirectory() as folder:
        out, _ = start(2, f"{folder}/whole.pt").communicate(timeout=200)
        want = last_loss(out)
        print("undisturbed", want, flush=True)
        for number in range(count):
            checkpoint, again = f"{folder}/{number}.pt", number < count // 2
            launcher = start(2, checkpoint, *(["--max-restarts", "1"] if again else []))
            while len(workers(launcher)) < 2 and launcher.poll() is None:
                time.sleep(0.01)
            late = random.random() < 0.5  # half of the runs have a checkpoint to resume from
            while late and launcher.poll() is None and not os.path.exists(checkpoint):
                time.sleep(0.01)
            time.sleep(random.uniform(0.1, 3))
            pids = workers(launcher)
            for pid in pids[:1] if random.random() < 0.5 else pids[1:]:
                os.kill(pid, signal.SIGKILL)
            moment = time.monotonic()
            out, err = launcher.communicate(timeout=200)
            seconds = time.monotonic() - moment
            ended = not any(os.path.exists(f"/proc/{pid}") for pid in pids)
            if again or not pids or launcher.returncode == 0:
                assert launcher.returncode == 0, err[-2000:]
            else:
                assert launcher.returncode == 1 and "SIGKILL" in err and seconds < 30, (launcher.returncode, err[-2000:])
                more, err = start(random.choice([1, 4]), checkpoint).communicate(timeout=200)
                out += more  # no new checkpoint after the last epoch
            assert ended and abs(last_loss(out) - want) < 1e-4, (out, err[-2000:])
            print(number, "restarted" if again else "reported", f"{seconds:.1f} s", last_loss(out), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))

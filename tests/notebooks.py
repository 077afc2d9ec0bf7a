"""Interrupts of a notebook: a kernel of Jupyter's trains in a cell, is told to stop, and goes on in the next cell to the same numbers.

    python -m tests.notebooks 200     # so many interrupts; needs ipykernel and jupyter_client, beside mstorch

Each turn runs a cell that trains without end, sends the kernel what the stop button does (SIGINT) at a random moment, waits for its
KeyboardInterrupt, and has another cell train on from the step that was going on. One kernel serves all turns, and must be there at the end.
"""
from __future__ import annotations

import queue
import random
import sys
import time
from typing import Any

from jupyter_client.manager import KernelManager, start_new_kernel

KINDS = 3
STEPS = 6
PREPARE = f"""
import mstorch as torch
from tests import signals, threads
wanted = {{number: threads.train(signals.made(number), {STEPS}) for number in range({KINDS})}}
"""
TRAIN = f"""
run, losses, kept = signals.made({{number}}), [], None
print("training", flush=True)
while True:
    if len(losses) == {STEPS}:
        run, losses, kept = signals.made({{number}}), [], None
    kept = (threads.Kept(run), len(losses))
    losses = [*losses, threads.step(*run, len(losses))]
"""
GO_ON = f"""
state, done = kept if kept is not None else (threads.Kept(signals.made({{number}})), 0)
run, losses = state.restored({{number}}, signals.made), losses[:done]
losses += [threads.step(*run, place) for place in range(len(losses), {STEPS})]
x = torch.ones(1, requires_grad=True)
(x * 2).sum().backward()
print(losses == wanted[{{number}}], torch.is_grad_enabled(), x.grad.item())
"""


def _told(client: Any, request: str, kinds: tuple[str, ...], seconds: float = 60) -> Any:
    """Return the next message of certain types about a request. Raise TimeoutError with the printed text."""
    end, printed = time.monotonic() + seconds, []
    while time.monotonic() < end:
        try:
            message = client.get_iopub_msg(timeout=1)
        except queue.Empty:
            continue
        if message["parent_header"].get("msg_id") == request and message["msg_type"] in kinds:
            return message
        printed.append(message["content"].get("text", ""))
    raise TimeoutError(f"the kernel says nothing of {kinds}, but {''.join(printed)!r}")


def interrupted(manager: KernelManager, client: Any, number: int, delay: float) -> str:
    """Interrupt a cell after some seconds of training; return what went wrong, or ""."""
    request = client.execute(TRAIN.format(number=number), stop_on_error=False)
    _told(client, request, ("stream",))
    time.sleep(delay)
    manager.interrupt_kernel()
    found = _told(client, request, ("error",))["content"]["ename"]
    if found != "KeyboardInterrupt":
        return f"the cell ended with {found}"
    request = client.execute(GO_ON.format(number=number))
    message = _told(client, request, ("stream", "error"))
    if message["msg_type"] == "error":
        return "\n".join(message["content"]["traceback"])
    said = message["content"]["text"].strip()
    return "" if said == "True True 2.0" else f"same losses, grad mode, a gradient: {said}"


def main(turns: int) -> int:
    """Interrupt cells; return the number of turns that went wrong."""
    chance = random.Random(0)
    manager, client = start_new_kernel(kernel_name="python3", startup_timeout=120)
    wrong = []
    try:
        request = client.execute(PREPARE)
        _told(client, request, ("status",))
        for turn in range(turns):
            try:
                error = interrupted(manager, client, turn % KINDS, chance.uniform(0.0, 0.3))
            except TimeoutError as late:  # press the stop button again
                error = str(late)
                manager.interrupt_kernel()
            if error or not manager.is_alive():
                wrong.append(f"turn {turn}: {error or 'the kernel has died'}")
                print(wrong[-1], flush=True)
            if not manager.is_alive():
                break
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    print(f"{turns - len(wrong)} of {turns} cells ended with KeyboardInterrupt and were gone on with to the same numbers")
    return len(wrong)


if __name__ == "__main__":
    sys.exit(bool(main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)))

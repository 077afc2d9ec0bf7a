"""The lock under which threads call MindSpore, one at a time.

Its kernels for the CPU crash when two threads are in them (2.7.2 to 2.10). On a device a call puts a task without Python's lock into
a queue that is made for one thread: tasks were lost, or the process aborted ("The pointer[task] is null").
"""
from __future__ import annotations

import threading

LOCK = threading.RLock()

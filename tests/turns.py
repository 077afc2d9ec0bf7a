"""The distribution of test files over pytest-xdist's processes: files that share an expensive fixture stay together, the longest come
first."""
from __future__ import annotations

from typing import Any

from xdist.scheduler import LoadFileScheduling

TOGETHER = {
    f"tests/distributed/test_{name}.py": "two processes of each library, which tests/distributed/conftest.py starts once"
    for name in ("algorithms", "compared", "flat", "parallel", "pipelining", "sharded")
} | {f"tests/types/test_{name}.py": "what mypy has read of both libraries" for name in ("modules", "names", "programs", "sweep")}
"""Files of one process, by what their tests share."""


class Turns(LoadFileScheduling):
    """Schedule files in the order of the collection. Finished tests are removed: counting them after each test took as long as the shortest
    tests."""

    def __init__(self, config: Any, log: Any = None) -> None:
        super().__init__(config, log)
        self._places: dict[str, int] = {}

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return TOGETHER.get(file, file)

    def _pending_of(self, workload: dict[str, dict[str, bool]]) -> int:
        return sum(map(len, workload.values()))

    def _assign_work_unit(self, node: Any) -> None:
        if not self._places:
            self._places = {nodeid: place for place, nodeid in enumerate(self.collection or ())}
        scope, unit = self.workqueue.popitem(last=False)
        self.assigned_work[node][scope] = unit
        node.send_runtest_some([self._places[nodeid] for nodeid in unit])

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Remove a test that has ended, and its file after the last one."""
        nodeid = self.registered_collections[node][item_index]
        scope = self._split_scope(nodeid)
        units = self.assigned_work[node]
        del units[scope][nodeid]
        if not units[scope]:
            del units[scope]
        self._reschedule(node)

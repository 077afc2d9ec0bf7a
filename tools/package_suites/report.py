"""The table of packages, and the causes of their failures, from the results that ``runner`` wrote."""
from __future__ import annotations

import collections
import dataclasses
import re
from pathlib import Path
from typing import Any

from tools.package_suites.runner import read

ENVIRONMENT = (
    (r"LocalEntryNotFound|OfflineMode|[Cc]ouldn't connect|Max retries|ConnectionError|NameResolution|HfHub|huggingface\.co", "network"),
    (r"URLError|getaddrinfo|offline mode", "network"),
    (r"CUDA|GPU|accelerator|XPU|\bNPU\b|nccl", "no GPU"),
    (r"No module named '(?!torch|mstorch|functorch)", "a package that is not installed"),
    (r"torchvision::|torch_sparse|pyg-lib|torch_cluster|undefined symbol|_C\.so|Couldn't load custom C\+\+", "compiled extension"),
)
"""Patterns of error messages on torch whose reason is the machine, with that reason."""


@dataclasses.dataclass(frozen=True)
class Row:
    """The figures of one package."""

    name: str
    taken: int
    reference: int
    run: int
    passed: int
    causes: dict[str, list[tuple[str, dict[str, Any]]]]
    """The failed tests by what went wrong."""
    outside: dict[str, int]
    """Why torch does not pass the others."""

    @property
    def percent(self) -> float:
        """The share of the tests that pass on mstorch, among those that pass on torch, in percent."""
        return 100 * self.passed / self.run if self.run else 0.0


def cause(record: dict[str, Any]) -> str:
    """Return the reason of a failure, without details that vary from test to test."""
    status, kind, text = record["status"], record.get("type", ""), record.get("message", "").replace("mstorch.", "torch.")
    if status == "late":
        return "longer than the time"
    if status in ("crash", "hang"):
        return f"{status} {kind}: {text[:80]}"
    for pattern, form in (
        (r"module '([\w.]+)' has no attribute '(\w+)'", "missing name: {0}.{1}"),
        (r"cannot import name '(\w+)' from '([\w.]+)'", "missing name: {1}.{0}"),
        (r"No module named '([\w.]+)'", "missing module: {0}"),
        (r"'(\w+)' object has no attribute '(\w+)'", "missing attribute: {0}.{1}"),
        (r"(\w+)\(\) got an unexpected keyword argument '(\w+)'", "missing argument: {0}({1}=)"),
    ):
        if found := re.search(pattern, text):
            return form.format(*found.groups())
    if status == "absent":
        return f"not collected: {text[-120:]}"
    text = re.sub(r"<[\w.]+ object at 0x\w+>|0x[0-9a-f]+", "<…>", text)
    return f"{kind}: {re.sub(r'-?[0-9][0-9.]*(e-?[0-9]+)?', '#', text)[:140]}"


def outside(record: dict[str, Any]) -> str:
    """Return the reason why a test does not pass on torch."""
    text = f"{record.get('type', '')}: {record.get('message', '')}"
    for pattern, reason in ENVIRONMENT:
        if re.search(pattern, text):
            return reason
    words = {"skip": "skipped by the suite", "late": "longer than the time", "fail": "fails on torch"}
    return words.get(record["status"], record["status"])


def row(folder: Path) -> Row:
    """Return the figures of one package from the results in its folder."""
    taken = (folder / "chosen.txt").read_text().split("\n")
    torch, ours = read(folder / "torch.jsonl"), read(folder / "mstorch.jsonl")
    passing = [test for test in taken if torch.get(test, {}).get("status") == "pass"]
    ran = [test for test in passing if test in ours and ours[test]["status"] != "open"]
    causes: dict[str, list[tuple[str, dict[str, Any]]]] = collections.defaultdict(list)
    for test in ran:
        if ours[test]["status"] != "pass":
            causes[cause(ours[test])].append((test, ours[test]))
    others = collections.Counter(outside(torch[test]) for test in taken if test in torch and torch[test]["status"] != "pass")
    passed = sum(ours[test]["status"] == "pass" for test in ran)
    return Row(folder.name, len(taken), len(passing), len(ran), passed, dict(causes), dict(others))


def table(rows: list[Row]) -> str:
    """Return the rows as a Markdown table."""
    lines = ["| suite | tests taken | torch passes | mstorch passes | share |", "|---|---|---|---|---|"]
    lines += [f"| {r.name} | {r.taken} | {r.reference} | {r.passed} of {r.run} | {r.percent:.1f} % |" for r in rows]
    return "\n".join(lines)


def details(rows: list[Row], examples: int) -> str:
    """Return the causes of each package's failures, the most frequent first, with the tests that show them."""
    lines = []
    for r in rows:
        reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(r.outside.items(), key=lambda pair: -pair[1]))
        lines.append(f"\n{r.name}: {r.run - r.passed} fail on mstorch alone; torch does not pass: {reasons or 'none'}")
        for why, tests in sorted(r.causes.items(), key=lambda pair: -len(pair[1])):
            lines.append(f"{len(tests):5d}  {why}")
            for test, record in tests[:examples]:
                lines += [f"         {test}", f"           {record.get('line', '')}", f"           {record.get('frame', '')}"]
    return "\n".join(lines)

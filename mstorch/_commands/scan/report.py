"""Report of a scan: a summary and a table, also as JSON and HTML."""
from __future__ import annotations

import html
from collections import Counter
from typing import Any, NamedTuple

from .findings import KINDS, Finding, Scanned
from .sources import Unread
from .verdict import Verdict

_MEANING = {
    "missing name": "names of torch that mstorch lacks",
    "missing method": "methods of tensors that mstorch lacks",
    "no such call": "calls that no form of the function takes",
    "stays behind": "made for CUDA alone, or there and raising",
    "computed on the CPU": "operations without a kernel on the device",
    "reads the device": "places that wait for the device",
    "beside the code": "lines of settings, scripts and lists of packages to look at",
}
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color:#222}"
    "table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.3em .6em;border-bottom:1px solid #ddd;vertical-align:top}"
    "code{font-family:ui-monospace,monospace;font-size:.92em}.share{font-size:3em;margin:.2em 0}.note{color:#777}"
)


class Result(NamedTuple):
    """Result of a scan."""

    scanned: Scanned
    files: int
    unread: list[Unread]
    verdicts: list[Verdict]
    device: str | None

    @property
    def counted(self) -> list[Finding]:
        """The findings that keep the program from working."""
        return [item for item in self.scanned.findings if item.counts]

    @property
    def share(self) -> float:
        """Percentage of the code's uses of torch that are supported; 100 only if all uses are."""
        places = {(item.file, item.line, item.name) for item in self.counted}
        if not places:
            return 100.0
        return min(99.9, 100 * (1 - len(places) / max(self.scanned.uses, len(places))))

    def fine(self) -> bool:
        """Return whether none of the findings counts."""
        return not (self.counted or self.unread or any(verdict.reasons for verdict in self.verdicts))

    def summary(self) -> list[str]:
        """Return the lines of the summary."""
        share = f"{self.share:.1f}".removesuffix(".0")
        lines = [f"{share} % of {self.scanned.uses} uses of torch in {self.files} files are there"]
        counts = Counter(item.kind for item in self.counted)
        notes = Counter(item.kind for item in self.scanned.findings if not item.counts)
        for kind in KINDS:
            without = f" ({notes[kind]} more that the code does without)" if notes[kind] and counts[kind] else ""
            if counts[kind]:
                lines.append(f"  {counts[kind]:4} {_MEANING[kind]}{without}")
            elif notes[kind]:
                what = "" if kind in ("computed on the CPU", "reads the device", "beside the code") else ", which the code does without"
                lines.append(f"  {notes[kind]:4} {_MEANING[kind]}{what}")
        if self.scanned.absent:
            lines.append(f"  not installed here: {', '.join(self.scanned.absent)}")
        if self.unread:
            lines.append(f"  {len(self.unread):4} files that cannot be read")
        for verdict in self.verdicts:
            if not verdict.reasons:
                lines.append(f"import {verdict.package}: yes ({verdict.modules} modules followed)")
            else:
                lines.append(f"import {verdict.package}: no")
                lines += [f"  {path}:{line} {reason}" for path, line, reason in verdict.reasons[:10]]
        return lines

    def text(self) -> str:
        """Return the table, followed by the summary."""
        lines = [f"{item.path}: cannot be read: {item.reason}" for item in self.unread]
        for item in self.scanned.findings:
            why = "; ".join(part for part in (item.state, item.advice) if part)
            lines.append(f"{item.file}:{item.line} {item.name}  [{item.kind}{'; ' + why if why else ''}]")
        return "\n".join([*lines, *self.summary()])

    def plain(self) -> dict[str, Any]:
        """Return the result as plain values."""
        return {
            "per_cent": self.share, "uses": self.scanned.uses, "files": self.files, "device": self.device, "fine": self.fine(),
            "findings": [{**item._asdict(), "file": str(item.file), "counts": item.counts} for item in self.scanned.findings],
            "not_installed": self.scanned.absent, "unread": [{"file": str(item.path), "reason": item.reason} for item in self.unread],
            "imports": [{"package": verdict.package, "will_import": not verdict.reasons,
                         "reasons": [{"file": str(path), "line": line, "reason": reason} for path, line, reason in verdict.reasons]}
                        for verdict in self.verdicts],
        }  # fmt: skip

    def page(self) -> str:
        """Return the result as an HTML page."""
        first, *rest = self.summary()
        rows = "".join(
            f"<tr{'' if item.counts else ' class=note'}><td><code>{html.escape(str(item.file))}:{item.line}</code></td>"
            f"<td><code>{html.escape(item.name)}</code></td><td>{item.kind}</td><td>{html.escape(item.state)}</td><td>{html.escape(item.advice)}</td></tr>"
            for item in self.scanned.findings
        )
        summary = "".join(f"<li>{html.escape(line.strip())}</li>" for line in rest)
        return (
            f"<!doctype html><html lang=en><meta charset=utf-8><title>mstorch scan</title><style>{_STYLE}</style>"
            f"<h1>mstorch scan</h1><p class=share>{first.partition(' %')[0]} %</p><p>{html.escape(first)}</p><ul>{summary}</ul>"
            "<table><tr><th>where</th><th>what</th><th>kind</th><th>state</th><th>how to do it here</th></tr>"
            f"{rows}</table></html>\n"
        )

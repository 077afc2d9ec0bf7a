"""Findings of a scan: each use in a file, checked against mstorch and a device."""
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..._src.progress import Progress
from . import calls, devices, left_behind, names
from .beside import beside_python, names_in
from .guards import IN_FUNCTION
from .parameters import OF_CONTAINERS
from .sources import STANDARD, Source, distribution_of, located
from .walk import Use, Walk, walk_of

NAME = "missing name"
METHOD = "missing method"
FORM = "no such call"
LEFT = "stays behind"
FALLBACK = "computed on the CPU"
READ = "reads the device"
BESIDE = "beside the code"
KINDS = (NAME, METHOD, FORM, LEFT, FALLBACK, READ, BESIDE)
_NOTES = frozenset((FALLBACK, READ, BESIDE))


class Finding(NamedTuple):
    """One finding, a line of the table."""

    file: Path
    line: int
    kind: str
    name: str
    state: str
    advice: str

    @property
    def counts(self) -> bool:
        """True if the finding keeps the program from working; notes and guarded uses do not."""
        return self.kind not in _NOTES and not left_behind.handled(self.state)


class Scanned(NamedTuple):
    """Result of reading files: the number of uses of torch, the findings, and imported packages that are not installed."""

    uses: int
    findings: list[Finding]
    absent: list[str]


def scan(sources: list[Source], device: str | None, progress: Progress | None = None) -> Scanned:
    """Scan all files; a name that one file sets counts as existing in all files."""
    walks = []
    for source in sources:
        walks.append((source, walk_of(source)))
        if progress is not None:
            progress.done = len(walks)
    own = set().union(*(walk.sets for _, walk in walks)) if walks else set()
    ends = {tuple(name.split(".")[-2:]) for name in own}
    # A method of the program's own classes, or of a container, implies that the value is not a plain tensor.
    others = OF_CONTAINERS.union(*(walk.methods for _, walk in walks))
    found: dict[Finding, None] = {}
    seen: set[tuple[Path, int, str]] = set()
    for source, walk in walks:
        seen |= {(source.path, use.line, use.name) for use in walk.uses}
        for use in walk.uses:
            for finding in _of_use(source.path, use, device):
                if not _is_own(finding.name, ends) and not (finding.kind == METHOD and use.name in others):
                    found[finding] = None
        for line, name, state, way in left_behind.left_behind(walk):
            found[Finding(source.path, line, LEFT, name, state, way)] = None
    stays = {(item.file, item.line) for item in found if item.kind == LEFT}
    kept = [item for item in found if not (item.kind == NAME and (item.file, item.line) in stays and _of_cuda(item.name))]
    kept.sort(key=lambda item: (item.file, item.line, KINDS.index(item.kind), item.name))
    return Scanned(len(seen), kept, _absent(walks))


def _absent(walks: list[tuple[Source, Walk]]) -> list[str]:
    """Return the unconditionally imported packages that are neither installed nor among the files."""
    own = {part for source, _ in walks for part in (source.path.stem, *source.path.resolve().parts[-4:-1])}
    roots = {item.module.partition(".")[0] for _, walk in walks for item in walk.imports
             if not item.level and not left_behind.handled(item.state)}  # fmt: skip
    unknown = roots - own - STANDARD - set(left_behind.PACKAGES)
    uses = {use.name for _, walk in walks for use in walk.uses if use.what == "import" and not left_behind.handled(use.state)}
    outside = {distribution_of(root) for root in unknown if root and located(root) is None}
    return sorted(outside | {name for name in map(names.package_for, uses) if name})


def beside(path: Path) -> Iterator[Finding]:
    """Yield what settings, shell scripts and lists of packages of a folder name: notes, and names of torch that mstorch lacks."""
    for file, line, text, advice in beside_python(path):
        yield Finding(file, line, BESIDE, text[:100], "", advice)
        for name in names_in(text):
            lack = names.lack_of(name)
            if lack is not None:
                yield Finding(file, line, NAME, lack.name, "can be imported, raises when it is used" if lack.importable else "", "")


def _of_cuda(name: str) -> bool:
    return name.startswith(("torch.cuda", "torch.utils.cpp_extension"))


def _is_own(name: str, ends: set[tuple[str, ...]]) -> bool:
    parts = name.partition("(")[0].split(".")
    return any(tuple(parts[at - 1 : at + 1]) in ends for at in range(1, len(parts)))


def _of_use(path: Path, use: Use, device: str | None) -> Iterator[Finding]:
    where = f"{use.state} ({use.function})" if use.state == IN_FUNCTION else use.state
    if use.what in ("import", "name"):
        lack = names.lack_of(use.name)
        if lack is not None:
            unusable = lack.importable and not left_behind.handled(use.state)
            raises = "can be imported, raises when it is used"
            if unusable:
                where = f"{raises}; {where}" if use.state == IN_FUNCTION else raises
            yield Finding(path, use.line, NAME, lack.name, where, "")
        return
    dotted = use.name if use.what == "call" else f"torch.Tensor.{use.name}"
    if use.what == "method call" and not names.tensor_has(use.name):
        yield Finding(path, use.line, METHOD, dotted, where, "")
        return
    unbound = use.what == "call" and dotted.startswith("torch.Tensor.")
    if use.call is not None and not unbound and names.found(dotted)[1] is None:
        wrong = calls.wrong(dotted, use.call)
        if wrong is not None:
            yield Finding(path, use.line, FORM, wrong[0], where, wrong[1])
    if device is not None and use.what != "method":
        reason = devices.falls_back(dotted, device)
        if reason is not None:
            yield Finding(path, use.line, FALLBACK, dotted, where, reason)
        waits = devices.reads(dotted.rpartition(".")[2]) if dotted.startswith(("torch.Tensor.",)) or dotted.count(".") == 1 else None
        if waits is not None:
            yield Finding(path, use.line, READ, dotted, where, waits)

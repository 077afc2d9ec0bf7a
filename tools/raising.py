"""Write docs/names_that_raise.md: torch's public names that can be imported from mstorch and raise when they are used.

    python -m tools.raising            # writes the page; --check fails where it is stale
"""
from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs/names_that_raise.md"
_HEAD = """# Names that can be imported, and raise

Every module of torch that can be imported there can be imported here. This page lists the public modules and, in each, the public names
that are not built: a class can be named, subclassed and asked for with `isinstance`; a call raises `NotImplementedError` with the name.
Names that torch defines in another module stand there. `python -m tools.raising` writes the page.

"""


def rows() -> tuple[dict[str, list[str]], Counter[str]]:
    """Return the names by public module, and how many names and modules below private ones there are."""
    from mstorch._src.unbuilt import names

    public: dict[str, list[str]] = {}
    private: Counter[str] = Counter()
    for module, kinds in sorted(names().items()):
        own = sorted(name for name, kind in kinds.items() if kind in ("class", "function"))
        theirs = f"torch{module.removeprefix('mstorch')}"
        if not own or theirs.startswith("torch.ops."):
            continue
        if any(part.startswith("_") for part in theirs.split(".")):
            private["modules"] += 1
            private["names"] += len(own)
        else:
            shown = [name for name in own if not name.startswith("_")]
            if shown:
                public[theirs] = shown
    return public, private


def text() -> str:
    """Return the page."""
    public, private = rows()
    count = sum(map(len, public.values()))
    lines = [
        f"{count:,} names of {len(public)} public modules; and {private['names']:,} names of {private['modules']:,} private modules",
        "(`torch._inductor`, `torch._dynamo` and others), which are not listed.", "", "| module | names |", "|---|---|",
        *(f"| `{module}` | {' '.join(f'`{name}`' for name in shown)} |" for module, shown in public.items()),
    ]  # fmt: skip
    return _HEAD + "\n".join(lines) + "\n"


def main(words: list[str]) -> int:
    """Write the page or, with ``--check``, compare it."""
    if words == ["--check"]:
        return PAGE.read_text("utf-8") != text()
    PAGE.write_text(text(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

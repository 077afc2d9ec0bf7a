"""The command line: ``python -m tools.api_map``."""
from __future__ import annotations

import argparse
import pathlib
import sys
import warnings

from tools import api_map
from tools.api_map.pages import pages

FOLDER = pathlib.Path(__file__).parents[2] / "docs" / "api"


def main() -> int:
    """Write the pages; with ``--check``, print which of them are stale."""
    parser = argparse.ArgumentParser(description=(api_map.__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="print stale pages and fail if there are any; write nothing")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pages()
    if options.check:
        stale = [name for name, text in found.items() if not (FOLDER / name).exists() or (FOLDER / name).read_text("utf-8") != text]
        print("\n".join(stale) or "all pages are what would be written")
        return bool(stale)
    FOLDER.mkdir(exist_ok=True)
    for name, text in found.items():
        (FOLDER / name).write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

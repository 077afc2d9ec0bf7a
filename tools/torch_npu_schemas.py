"""Write mstorch/_companions/torch_npu/schemas.txt: the schemas of torch_npu's operators, which its library has as texts.

    python -m tools.torch_npu_schemas FOLDER      # FOLDER has an unpacked wheel of torch_npu
"""
from __future__ import annotations

import re
import sys
from pathlib import Path

from mstorch._src.core.schemas import parse

PAGE = Path(__file__).parents[1] / "mstorch/_companions/torch_npu/schemas.txt"
_TEXT = re.compile(rb"[ -~]{12,}")
_SCHEMA = re.compile(r"^[a-z_][A-Za-z0-9_]*(\.[A-Za-z_0-9]+)?\(.*\) -> .+$")


def schemas(folder: Path) -> list[str]:
    """Return the schemas in the libraries of a folder that can be read, in order."""
    texts = set()
    for path in folder.rglob("*.so"):
        texts |= {text.decode() for text in _TEXT.findall(path.read_bytes())}
    readable = []
    for text in sorted(texts):
        if _SCHEMA.match(text) and ("npu" in text or "Tensor" in text):
            try:
                parse("npu", text)
            except (RuntimeError, ValueError) as error:  # a piece of a longer text, or a class that no operator here takes
                print(f"left out: {text[:80]}: {type(error).__name__}", file=sys.stderr)
            else:
                readable.append(text)
    return readable


if __name__ == "__main__":
    PAGE.write_text("".join(f"{text}\n" for text in schemas(Path(sys.argv[1]))), "utf-8")

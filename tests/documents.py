"""The blocks of code in the README and in docs/, and the folder of a reader who types them in.

A fence is called ``python``, ``sh`` or ``text`` (what a program prints). A comment of HTML above one, which no reader sees, adds what it needs:
``<!-- with: NAME=VALUE -->`` sets variables for it, ``<!-- setup: … -->`` is Python that comes before its own,
``<!-- needs: package … -->`` packages without which it is left out.
"""
from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "examples" / "tasks" / "README.md"]
LANGUAGES = ("python", "sh", "text")

_FENCE = re.compile(r"(?P<comments>(?:^<!--(?:(?!-->).)*-->\n)*)^(?P<marks>```+)(?P<language>\S*)[^\n]*\n(?P<code>.*?)^(?P=marks)$", re.DOTALL | re.MULTILINE)


@dataclass
class Block:
    """A fenced block: its page, line, language and code, and the additions from its comment."""

    page: str
    line: int
    language: str
    code: str
    setup: str = ""
    needs: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)

    def commands(self) -> list[str]:
        """Return the commands of a shell block, without their comments."""
        lines = self.code.replace("\\\n", " ").splitlines()
        return [line for line in (re.sub(r"(^|\s+)#.*", "", line).strip() for line in lines) if line]


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page."""
    text = page.read_text("utf-8")
    found = []
    for match in _FENCE.finditer(text):
        block = Block(str(page.relative_to(ROOT)), text.count("\n", 0, match.start("marks")) + 1, match["language"], match["code"])
        for kind, words in re.findall(r"<!-- (\w+):\s(.*?)\s-->", match["comments"], re.DOTALL):
            if kind == "with":
                block.variables.update(word.split("=", 1) for word in words.split())
            elif kind == "needs":
                block.needs = tuple(words.split())
            elif kind == "setup":
                block.setup += words + "\n"
            else:
                raise ValueError(f"{block.page}:{block.line}: {kind} is no word of a block's comment")
        found.append(block)
    return found


def unfenced(page: Path) -> list[str]:
    """Return lines that are rendered as code because of their indentation: no test would find them."""
    text = _FENCE.sub("", page.read_text("utf-8"))
    return re.findall(r"^\n {4}\S.*$", text, re.MULTILINE)


TRAIN = '''
"""A reader's script of torch: trains a classifier, alone or in several processes, on a GPU where there is one."""
import argparse
import os

import torch
import torch.distributed as dist
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
options = parser.parse_args()
device = torch.device(options.device)
torch.manual_seed(0)
several = "WORLD_SIZE" in os.environ
if several:
    dist.init_process_group("gloo")
inputs, targets = torch.randn(64, 8), torch.randint(0, 3, (64,))
model = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.ReLU(), nn.Linear(16, 3)).to(device)
trained = nn.parallel.DistributedDataParallel(model) if several else model
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(options.epochs):
    for x, target in zip(inputs.split(16), targets.split(16)):
        loss = nn.functional.cross_entropy(trained(x.to(device)), target.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} on {device}: loss {loss.item():.4f}")
if several:
    dist.destroy_process_group()
'''
MODEL_TEST = '''
import torch


def test_model():
    assert torch.nn.Linear(2, 3)(torch.ones(1, 2)).shape == (1, 3) and hasattr(torch.version, "mstorch")
'''


def readers_folder(folder: Path) -> Path:
    """Create the files that the pages mention in a folder: the examples, scripts, a project and its tests."""
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    files = {"my_project/__init__.py": "", "my_project/train.py": TRAIN, "tests/test_model.py": MODEL_TEST}
    for name, text in {**files, **dict.fromkeys(("train.py", "your_script.py", "script.py"), TRAIN)}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text.lstrip())
    return folder

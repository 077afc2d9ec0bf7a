"""Files beside Python ones that name torch or a GPU: settings, shell scripts, lists of packages. Each line comes with what to write."""
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from .sources import SKIPPED

_ENDINGS = frozenset(".yaml .yml .json .toml .cfg .ini .sh .bash .slurm .sbatch .txt .env .in .mk .conf .gin".split())
_NAMES = frozenset(("Dockerfile", "Containerfile", "Makefile", "Pipfile"))
_PACKAGE = r"(torch|torchvision|torchaudio|pytorch)"
_ADVICE = (
    (r"\btorchrun\b|\btorch\.distributed\.(launch|run)\b", "write python -m mstorch.distributed.run"),
    (r"\bCUDA_VISIBLE_DEVICES\b", "write ASCEND_RT_VISIBLE_DEVICES"),
    (r"\bnvidia-smi\b", "write npu-smi info"),
    (r"\bnccl\b", "write hccl"),
    (r"\baccelerator\b\W+(gpu|cuda|auto)\b", 'Lightning finds no GPU; write "npu" where it knows it'),
    (r"\bnvidia/cuda\b", "take an image with CANN"),
    (r"\bwhl/cu\d+|^\W*(nvidia-[\w-]+|triton|flash[-_]attn|xformers|apex|bitsandbytes|cupy[\w-]*|pytorch-cuda|cudatoolkit|cudnn)\s*([\[=<>~!\"',].*)?$",
     "made for CUDA: leave it out, and see what scan says of its imports"),
    (rf"(?<![\w./-]){_PACKAGE}(\[\w+\])?(?![\w./-])\s*([=<>~!]=?.*|[\"',\]].*|)$|pip3? install\b.*\s{_PACKAGE}\b",
     "mstorch stands in for torch; install packages on torch with pip's --no-deps"),
    (r"\btorch(\.\w+)+", "write mstorch for torch, or run under python -m mstorch"),
    (r"\b(import torch|from torch)\b", "write mstorch for torch, or run under python -m mstorch"),
    (r"\bcuda\b", 'write "npu" where it is a device'),
)  # fmt: skip
_COMPILED = tuple((re.compile(pattern), advice) for pattern, advice in _ADVICE)
_TORCH_NAME = re.compile(r"(?<![\w./-])torch(?:\.[A-Za-z_]\w*)+")


def beside_python(path: Path) -> Iterator[tuple[Path, int, str, str]]:
    """Yield file, line, the line's text and what to write, for a file or all files of a folder that are not Python."""
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        parts = file.relative_to(path).parts[:-1] if path.is_dir() else ()
        if SKIPPED.intersection(parts) or not file.is_file() or file.stat().st_size > 1 << 20 or not _is_one(file):
            continue
        for number, line in enumerate(file.read_text("utf-8", "replace").splitlines(), 1):
            advice = advice_on(line)
            if advice:
                yield file, number, line.strip(), advice


def advice_on(line: str) -> str:
    """Return what to write in a line that names torch or a GPU; an empty text for other lines and for comments."""
    if line.lstrip().startswith(("#", "//")) and not line.lstrip().startswith("#SBATCH"):
        return ""
    return next((advice for pattern, advice in _COMPILED if pattern.search(line)), "")


def names_in(line: str) -> Sequence[str]:
    """Return the dotted names of torch in a line, such as a class that a settings file chooses."""
    return _TORCH_NAME.findall(line)


def _is_one(file: Path) -> bool:
    if file.suffix in _ENDINGS or file.name in _NAMES or file.name.startswith("Dockerfile"):
        return True
    if file.suffix:
        return False
    with file.open("rb") as opened:
        return re.match(rb"#!.*\b(ba|z|k|da)?sh\b", opened.readline(200)) is not None

"""Reads CANN's pages of its ACLNN operators, from folders with the public repositories of CANN's operators (ops-math, ops-nn, ops-cv, ops-transformer):

    python -m tests.cann.pages FOLDER…            # operators whose emulation takes other arguments than the page says
    python -m tests.cann.pages --write FOLDER…    # also writes device/dtypes.txt: the dtypes that each tensor of an operator may have

A line of that file is an operator and its tensors in the order of its arguments, with the dtypes of an Atlas A2 (910B). Behind "|" are those
of an Atlas training series (910A) where they are others; "-" if that device lacks the operator. "*" is a tensor whose dtypes the page does not tell.
"""
from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

TABLE = Path(__file__).parent / "device" / "dtypes.txt"
NAMES = {
    "FLOAT": "float32", "FLOAT32": "float32", "FLOAT16": "float16", "DOUBLE": "float64", "FLOAT64": "float64", "BFLOAT16": "bfloat16", "BF16": "bfloat16",
    "BOOL": "bool", "COMPLEX32": "complex32", "COMPLEX64": "complex64", "COMPLEX128": "complex128",
    **{f"{sign}INT{bits}": f"{sign.lower()}int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)},
}  # fmt: skip
_DTYPE = re.compile(r"(?<![A-Z0-9_])(" + "|".join(sorted(NAMES, key=len, reverse=True)) + r")(?![0-9A-Z])")
KINDS = {"aclTensor": "tensor", "aclTensorList": "tensors", "aclScalar": "scalar", "double": "float", "float": "f32", "char": "str"}
A2, A1 = "Atlas A2 训练系列产品", "Atlas 训练系列产品"


def dtypes(text: str) -> list[str]:
    """Return the dtypes that a text names, each once, in a fixed order."""
    named = {NAMES[word] for word in _DTYPE.findall(text)}
    return [name for name in dict.fromkeys(NAMES.values()) if name in named]


def signatures(page: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield each operator of a page with its arguments: types and names, without the workspace and the executor."""
    for name, text in re.findall(r"aclnnStatus\s+aclnn(\w+)GetWorkspaceSize\s*\((.*?)\)", page, re.S):
        arguments = []
        for argument in text.replace("`", "").split(","):
            words = re.sub(r"\bconst\b|//.*", " ", argument).replace("*", " ").split()
            if len(words) >= 2 and words[-1] .lower() not in ("workspacesize", "executor", "opexecutor", "workspace_size"):
                arguments.append((words[0], words[-1]))
        yield name, arguments


def _rows(section: str) -> Iterator[tuple[str, str]]:
    """Yield the parameters that a section describes, with what it says of their dtypes."""
    for row in re.findall(r"<tr>(.*?)</tr>", section, re.S):
        cells = [re.sub(r"<[^>]*>", " ", cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.S)]
        if len(cells) >= 5 and (name := re.match(r"\s*(\w+)", cells[0])):
            yield name[1], cells[4]
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.strip().startswith("|") and len(cells) >= 5 and (name := re.match(r"`?(\w+)", cells[0])):
            yield name[1], cells[4]
        if bullet := re.match(r"\s*[-*]\s*(\w+)\s*[（(](?:const )?aclTensor[^）)]*[）)]\s*[:：](.*)", line):
            yield bullet[1], bullet[2].partition("数据类型支持")[2]


def _of_product(product: str, general: list[str], name: str, section: str) -> list[str]:
    """Return a tensor's dtypes on a product: what the section's notes about it add and take away."""
    known = general
    for line in section.splitlines():
        head, _, rest = line.rpartition("</term>：")
        told_of = re.findall(r"[A-Za-z]\w*", rest.partition("数据类型")[0]) if "数据类型" in rest else []
        if f"<term>{product}" not in head or told_of and name not in told_of:
            continue
        if "不支持" in rest:
            refused = dtypes(rest.partition("不支持")[2])
            known = [dtype for dtype in known if dtype not in refused]
        elif "额外支持" in rest:
            known = [*known, *(dtype for dtype in dtypes(rest) if dtype not in known)]
        elif "数据类型支持" in rest and dtypes(rest) and (told_of or not general):  # else: it may be of another tensor
            known = dtypes(rest)
    return known


def operators(folders: list[str]) -> Iterator[tuple[str, list[tuple[str, str]], dict[str, list[str]], dict[str, list[str]] | None]]:
    """Yield operators with their arguments and the dtypes of their tensors on both products; None if the older one lacks the operator."""
    for path in sorted(path for folder in folders for path in Path(folder).rglob("aclnn*.md") if not {"en", "experimental"} & set(path.parts)):
        page = path.read_text(errors="replace")
        supported = re.search(r"<term>Atlas 训练系列产品</term>\s*(?:\|\s*|：)(√|×|支持|不支持)", page)
        for name, arguments in signatures(page):
            at = page.rfind(f"## aclnn{name}GetWorkspaceSize")
            section = page[at:] if at >= 0 else page
            section = section.partition("\n## ")[0] if at < 0 else section[3:].partition("\n## ")[0]
            section = re.split(r"返回值", section)[0]
            rows = dict(_rows(section))
            on_a2, on_a1 = {}, {}
            for kind, argument in arguments:
                if kind in ("aclTensor", "aclTensorList"):
                    general = dtypes(rows.get(argument, ""))
                    on_a2[argument] = _of_product(A2, general, argument, section)
                    on_a1[argument] = _of_product(A1, general, argument, section)
            yield name, arguments, on_a2, None if supported and supported[1] in ("×", "不支持") else on_a1


def _told(known: dict[str, list[str]]) -> str:
    return "; ".join(f"{name} {' '.join(of) or '*'}" for name, of in known.items())


def emulated() -> dict[str, list[str]]:
    """Return the kinds of the arguments of each emulated operator."""
    sys.path.insert(0, str(TABLE.parent))
    from importlib import import_module

    for path in (TABLE.parent / "kernels").glob("[a-z]*.py"):
        import_module(f"kernels.{path.stem}")
    calling = import_module("calling")
    told = {float: "float", calling.F32: "f32", str: "str", int: "int", bool: "int", calling.I32: "int"}
    return {name.removeprefix("aclnn"): [told.get(kind, "operand") for _, kind in kinds] for name, (_, kinds) in calling.KERNELS.items()}


def main(arguments: list[str]) -> int:
    """Print operators that take other arguments than their pages say."""
    write = arguments[:1] == ["--write"]
    ours, lines, others, seen = emulated(), [], 0, set()
    for name, parameters, on_a2, on_a1 in operators(arguments[write:]):
        if name not in ours or name in seen:
            continue
        seen.add(name)
        kinds = [{"tensor": "operand", "tensors": "operand", "scalar": "operand"}.get(k := KINDS.get(kind, "int"), k) for kind, _ in parameters]
        kinds = ["operand" if kind.endswith(("Array", "List")) else k for (kind, _), k in zip(parameters, kinds)]
        if kinds != ours[name]:
            others += 1
            print(f"{name}: {', '.join(ours[name])} for {', '.join(map(' '.join, parameters))}")
        if on_a2:
            older = "-" if on_a1 is None else _told(on_a1)
            lines.append(f"{name}: {_told(on_a2)}" + (f" | {older}" if older != _told(on_a2) else ""))
    if write:
        TABLE.write_text("\n".join(sorted(lines)) + "\n")
    print(f"{len(seen)} of {len(ours)} emulated operators have a page, {others} take other arguments than it says; {len(lines)} have dtypes")
    return int(bool(others))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

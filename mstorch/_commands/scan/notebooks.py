"""Notebooks (``.ipynb``): the code of their cells as one text, with the lines of the file; and the file with other code."""
from __future__ import annotations

import ast
import json
import re
from typing import Any, NamedTuple

# Lines that are valid in IPython alone: %magic, !command, name?, and assignments of their results
_MAGIC = re.compile(r"(\s*)([%!?].*|\w+(?: *, *\w+)* *= *[%!].*|[\w.]+\?+\s*)$")
_OTHER_LANGUAGE = re.compile(r"\s*%%(?!time|capture|timeit|prun)")


class Code(NamedTuple):
    """Code of all cells, one after another, and the line of the file for each of its lines."""

    text: bytes
    lines: tuple[int, ...]


class _String(NamedTuple):
    """A string of a cell's source: where it stands in the document, its lines, and its quoted form and place in the file if it is found."""

    owner: Any
    key: Any
    lines: list[str]
    end: str
    quoted: str
    place: int
    python: bool


def code_of(content: bytes) -> Code:
    """Return a notebook's code; lines for IPython, and cells that are no Python, become comments. ValueError if it is no notebook."""
    file, lines, code = content.decode(), [], []
    for string in _strings(json.loads(content), file):
        line = file.count("\n", 0, string.place) + 1
        for text in string.lines:
            code.append(_without_magic(text) if string.python else f"# {text}")
            lines.append(line)
    return Code("\n".join(code).encode(), tuple(lines) or (1,))


def with_code(content: bytes, code: bytes) -> bytes:
    """Return a notebook with changed code, of as many lines as :func:`code_of` gives. The rest of the file keeps its layout if it can."""
    before, after = (text.decode().split("\n") for text in (code_of(content).text, code))
    data, file = json.loads(content), content.decode()
    number, pieces, done = 0, [], 0
    for string in _strings(data, file):
        places = range(number, number + len(string.lines))
        number += len(string.lines)
        lines = [after[at] if before[at] != after[at] else own for at, own in zip(places, string.lines, strict=True)]
        if lines != string.lines:
            string.owner[string.key] = "\n".join(lines) + string.end
            ascii_only = string.quoted.isascii() and string.quoted != json.dumps("\n".join(string.lines) + string.end, ensure_ascii=False)
            pieces += [file[done : string.place], json.dumps(string.owner[string.key], ensure_ascii=ascii_only)]
            done = string.place + len(string.quoted)
    result = "".join([*pieces, file[done:]])
    try:
        same = json.loads(result) == data
    except ValueError:
        same = False
    return (result if same else json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode()


def renumbered(tree: ast.Module, lines: tuple[int, ...]) -> ast.Module:
    """Return a tree of the code with the lines of the file."""
    for node in ast.walk(tree):
        for name in ("lineno", "end_lineno"):
            if getattr(node, name, None) is not None:
                setattr(node, name, lines[getattr(node, name) - 1])
    return tree


def _without_magic(line: str) -> str:
    """Return a line of a cell, as a comment if it is for IPython alone."""
    magic = _MAGIC.match(line)
    return f"{magic[1]}pass  # {magic[2]}" if magic else line


def _is_python(lines: list[str]) -> bool:
    """Return whether a cell is Python but for lines for IPython: people keep outputs, commands and drafts in cells of code, too."""
    try:
        ast.parse("\n".join(map(_without_magic, lines)))
    except (SyntaxError, ValueError):
        return False
    return True


def _strings(data: Any, file: str) -> list[_String]:
    if not isinstance(data, dict) or not isinstance(data.get("cells"), list):
        raise ValueError("not a notebook of format 4")
    if data.get("metadata", {}).get("kernelspec", {}).get("language", "python") != "python":
        return []
    strings, at = [], 0
    for cell in data["cells"]:
        source = cell.get("source", "")
        parts = [source] if isinstance(source, str) else source
        python = not _OTHER_LANGUAGE.match(parts[0] if parts else "") and _is_python("".join(parts).split("\n"))
        for key, part in enumerate(parts):
            forms = [json.dumps(part, ensure_ascii=False), json.dumps(part)]
            quoted = next((form for form in forms if file.find(form, at) >= 0), "")
            place = file.find(quoted, at)
            at = place + len(quoted)
            if cell.get("cell_type") != "code":
                continue
            if key < len(parts) - 1 and not part.endswith("\n"):
                raise ValueError("a line of a cell does not end: save it in Jupyter once")
            end = "\n" * part.endswith("\n")
            owner, name = (cell, "source") if isinstance(source, str) else (source, key)
            strings.append(_String(owner, name, part.removesuffix("\n").split("\n"), end, quoted, place, python))
    return strings

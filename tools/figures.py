"""Fill in the figures of README and of the documents from where they were measured or can be counted.

    python -m tools.figures            # writes them; --check names the sentences that say something else

A figure has one source: a table that another tool writes, or files that are counted. ``SENTENCES`` lists where each stands in a text.
"""
from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def figures() -> dict[str, str]:
    """Return each figure as it is written."""
    forms = re.search(r"mstorch computes (\d+) of (\d+) forms", _text("docs/call_forms.md"))
    assert forms is not None, "docs/call_forms.md: python -m tests.overloads --page writes it"
    pages = re.findall(r"^\| \[.*?\]\(\w+\.md\) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", _text("docs/api/index.md"), re.MULTILINE)
    names, there, raising, absent = (sum(int(row[column]) for row in pages) for column in range(4))
    recorded = sorted((ROOT / "tests/packages/recorded").glob("*.json"))
    table = dict(re.findall(r"^\| ([\w ,-]+) \| ([\d.]+) \| [\d.]+ \|", _text("benchmarks/README.md"), re.MULTILINE))
    return {
        "forms computed": f"{int(forms[1]):,}", "forms": f"{int(forms[2]):,}", "names": f"{names:,}", "names there": f"{there:,}",
        "names raising": str(raising), "names absent": str(absent), "job packages": str(len(recorded)),
        "jobs": str(sum(len(json.loads(path.read_text())) for path in recorded)), "train": table["train"], "infer": table["infer"],
        "small": table["small, forward"], "small backward": table["small, with backward"],
    }  # fmt: skip


SENTENCES = {
    "README.md": (
        "{forms computed} of the {forms} call signatures of torch's functions",
        "of torch's {names} public names {names there} work, {names raising} raise a sentence and {names absent} are absent",
        "{jobs} jobs of {job packages} packages run in the tests",
        "a training step takes {train} times torch's time, inference {infer} times",
        "small operations {small} times, with their gradients {small backward} times",
    ),
    "docs/index.md": (
        "**{forms computed} of the {forms}** call signatures", "{jobs} jobs of {job packages} packages",
        "**{train} times** torch's time is what a training step on the CPU takes, {infer} times what inference takes",
    ),
    "docs/packages.md": ("{jobs} jobs of {job packages} packages",),
    "CONTRIBUTING.md": ("`tests/packages/jobs` has {jobs} jobs of {job packages} packages",),
}


def _text(path: str) -> str:
    return (ROOT / path).read_text("utf-8")


def filled(text: str, template: str, values: dict[str, str]) -> str:
    """Return a text whose sentence of a template's form has the values; raise LookupError if there is no such sentence."""
    parts = re.split(r"\{(.+?)\}", template)
    pattern = "".join(r"[\d,.]*\d" if number % 2 else re.escape(part).replace(r"\ ", r"\s+") for number, part in enumerate(parts))
    found = re.search(pattern, text)
    if found is None:
        raise LookupError(template)
    gaps = re.split(r"[\d,.]*\d", found[0])
    sentence = "".join(gap + (values[parts[2 * number + 1]] if 2 * number + 1 < len(parts) else "") for number, gap in enumerate(gaps))
    return text[: found.start()] + sentence + text[found.end() :]


def main() -> None:
    """Write the documents, or with ``--check`` name what differs and exit with 1."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    values, wrong = figures(), []
    for path, templates in SENTENCES.items():
        text = _text(path)
        for template in templates:
            try:
                new = filled(text, template, values)
            except LookupError:
                wrong.append(f"{path}: no sentence of the form: {template}")
                continue
            if new != text:
                wrong.append(f"{path}: {template} says something else")
            text = new
        if not options.check:
            (ROOT / path).write_text(text, "utf-8")
    if options.check and wrong:
        sys.exit("\n".join([*wrong, "python -m tools.figures writes the figures"]))


if __name__ == "__main__":
    main()

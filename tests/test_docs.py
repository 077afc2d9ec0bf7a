"""Documents: links have targets, commands exist, and no text recommends a package that is not published."""
from __future__ import annotations

import re
from pathlib import Path

import pytest

from mstorch import __main__
from tools import figures

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md"), *(ROOT / "examples").rglob("*.md")])


def _anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text("utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target or not re.match(r"[\w./#-]+$", target):
            continue
        file, _, anchor = target.partition("#")
        found = (page.parent / file).resolve() if file else page
        assert found.exists(), target
        assert not anchor or anchor in _anchors(found), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_are_there(page: Path) -> None:
    text = page.read_text("utf-8")
    assert "pip install mstorch" not in text
    for word in re.findall(r"python -m mstorch ([a-z_]+)\b(?![./])", text):
        assert word in __main__._COMMANDS or word in ("env",), word
    for module in re.findall(r"python -m (tools\.\w+|tests\.\w+)", text):
        assert (ROOT / module.replace(".", "/")).with_suffix(".py").exists() or (ROOT / module.replace(".", "/")).is_dir(), module


CHINESE = sorted((ROOT / "docs/zh").glob("*.md"))
_ENGLISH_ONLY = {"porting": {"Into ONNX", "Is it slow?"}}


def _prose(page: Path) -> str:
    return re.sub(r"```.*?```|`[^`\n]*`|\]\([^)\s]*\)", "", page.read_text("utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("page", CHINESE, ids=lambda page: page.stem)
def test_chinese_pages_have_the_sections_of_the_english(page: Path) -> None:
    """A comment below each heading names the English sections that it stands for."""
    english, told = ROOT / "docs" / page.name, re.findall(r"^##+ .*\n<!-- (.*) -->$", page.read_text("utf-8"), re.MULTILINE)
    sections = re.findall(r"^##+ (.*)$", re.sub(r"```.*?```", "", english.read_text("utf-8"), flags=re.DOTALL), re.MULTILINE)
    wanted = [section for section in sections if section not in _ENGLISH_ONLY.get(page.stem, ())]
    assert ", ".join(told) == ", ".join(wanted), f"{page.name}: its sections are not those of {english.name}"
    assert len(told) == len(re.findall(r"^##+ ", _prose(page), re.MULTILINE)), f"{page.name}: a heading without the English one in a comment below it"


@pytest.mark.parametrize("page", CHINESE, ids=lambda page: page.stem)
def test_chinese_figures_are_those_of_the_english(page: Path) -> None:
    english = (ROOT / "docs" / page.name).read_text("utf-8")
    for figure in re.findall(r"\d[\d.,]*\d", re.sub(r"<!--.*?-->", "", _prose(page), flags=re.DOTALL)):
        assert re.search(rf"(?<![\d.]){re.escape(figure)}(?!\d)", english), f"{page.name}: {figure} is not in docs/{page.name}"


@pytest.mark.parametrize("page", CHINESE, ids=lambda page: page.stem)
def test_chinese_commands_are_those_of_the_english(page: Path) -> None:
    english = "".join(other.read_text("utf-8") for other in (ROOT / "docs").glob("*.md"))
    for block in re.findall(r"```(?:sh|python)\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
        for line in filter(None, (line.partition("  #")[0].strip() for line in block.splitlines())):
            assert line in english, f"{page.name}: {line}"


def test_the_help_names_every_command() -> None:
    assert __main__.__doc__ is not None
    for name in (*__main__._COMMANDS, "env"):
        assert f"python -m mstorch {name}" in __main__.__doc__


ROOMS = sorted(page.parent for page in (*(ROOT / "mstorch").rglob("README.md"), ROOT / "tests" / "README.md", ROOT / "tools" / "README.md"))


def test_rooms_have_a_page() -> None:
    """Rooms in the picture of docs/architecture.md, and rooms with more than 25 files, have a page."""
    wanted = {ROOT / "mstorch" / room for room in ("_src/backend", "_src/core", "_src/tape", "_src/ops", "nn", "_src/compile")}
    wanted |= {room for room in (ROOT / "mstorch").rglob("*") if room.is_dir() and len(list(room.glob("*.py"))) > 25 and room.name not in _OF_TORCH}
    assert wanted <= set(ROOMS)


_OF_TORCH = ("modules", "distributions", "optim", "iter")  # folders whose files are torch's own


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: str(room.relative_to(ROOT)))
def test_the_page_of_a_room_is_short_and_names_what_is_there(room: Path) -> None:
    text = (room / "README.md").read_text("utf-8")
    assert len([line for line in text.splitlines() if not line.startswith("|")]) <= 16  # beside the rows of a table
    for name in re.findall(r"`([\w./*-]+(?:\.py|\.txt|\.json|\.toml|\.pth|/))`", text):
        assert list(room.glob(name.rstrip("/"))) or (ROOT / name).exists(), name


def test_models_were_compared_by_jobs_that_exist() -> None:
    rows = [line.split("|")[3] for line in (ROOT / "docs/models.md").read_text().splitlines() if line.startswith("| ")][1:]
    for part in (part for row in rows for part in row.split(";")):
        package, _, jobs = part.partition(":")
        text = (ROOT / f"tests/packages/jobs/{package.strip()}.py").read_text()
        for job in re.findall(r"`(\w+)`", jobs):
            assert f"def job_{job}(" in text, f"tests/packages/jobs/{package.strip()}.py has no job_{job}, which docs/models.md names"


def test_figures_are_those_that_were_counted_or_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["figures", "--check"])
    figures.main()  # it exits with the sentences that differ


def test_figures_are_filled_into_their_sentences() -> None:
    text = "about 3 of\n4 names, and 5"
    assert figures.filled(text, "{some} of {all} names", {"some": "1,003", "all": "7"}) == "about 1,003 of\n7 names, and 5"
    with pytest.raises(LookupError):
        figures.filled(text, "{some} of {all} jobs", {"some": "1", "all": "7"})

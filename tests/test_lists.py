"""The command that makes the lists of torch anew, and the page of names that raise."""
from __future__ import annotations

import importlib.util

from tools import lists, raising


def test_steps_are_commands_and_a_newer_torch_comes_after_the_modules() -> None:
    for step in lists.steps(None):
        assert importlib.util.find_spec(step[0]) is not None
    found = lists.steps("another/python")
    assert found.index(("tools.modules", "--newer", "another/python")) == found.index(("tools.modules",)) + 1
    assert found.index(("tools.raising",)) > found.index(("tools.modules",)) and found.index(("tools.figures",)) == len(found) - 1


def test_the_page_of_names_that_raise_is_current() -> None:
    assert raising.PAGE.read_text("utf-8") == raising.text(), "python -m tools.raising"
    public, private = raising.rows()
    assert "torch" in public and private["modules"] > 500 and not any(".ops." in module or "._" in module for module in public)

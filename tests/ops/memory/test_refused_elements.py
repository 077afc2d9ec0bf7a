"""Values that cannot be elements of a tensor raise torch's errors: text, None, tensors of several elements in lists."""
from __future__ import annotations

from typing import Any

import pytest

from tests.against_torch import both

DATA = ["a", ["a"], ["a", "b"], [["a"], ["b"]], ["ab", "c"], ["a", 1], [1, "a"], ("a",), [None], [1, None], [{}], [True, "x"]]
TENSORS = ["[i, i]", "[[i], [i]]", "[i, 3]", "[i, i[:1]]", "[i, f]", "[f, f]", "[i[:1], 2.5]", "[[1, 2], i]", "[b, b]"]


@pytest.mark.parametrize("dtype", [None, "float32"])
@pytest.mark.parametrize("data", DATA, ids=repr)
def test_text_and_none(data: Any, dtype: str | None) -> None:
    both(lambda torch: torch.tensor(data, dtype=dtype and getattr(torch, dtype)))


@pytest.mark.parametrize("make", ["tensor", "as_tensor"])
@pytest.mark.parametrize("data", TENSORS)
def test_tensors_in_lists(data: str, make: str) -> None:
    def body(torch: Any) -> Any:
        names = {"i": torch.tensor([1, 2]), "f": torch.tensor([1.5, 2.0]), "b": torch.tensor([True, False])}
        return getattr(torch, make)(eval(data, names))

    both(body)

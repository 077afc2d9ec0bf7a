"""Warnings that torch gives once per process, and those that Python's filters show once because they stand on a line of torch's own."""
from __future__ import annotations

import warnings

import pytest
import torch as reference

import mstorch

SIGNAL = 64
ONCE = [
    lambda torch: torch.stft(torch.ones(SIGNAL), 16, return_complex=True), lambda torch: torch.stft(torch.ones(SIGNAL), 16, return_complex=False),
    lambda torch: torch.istft(torch.stft(torch.ones(SIGNAL), 16, window=torch.ones(16), return_complex=True), 16),
]  # fmt: skip
ON_ITS_OWN_LINE = [
    lambda torch: torch.nn.functional.mse_loss(torch.ones(2), torch.ones(2), size_average=False),
    lambda torch: torch.nn.functional.l1_loss(torch.ones(2), torch.ones(2), reduce=False),
    lambda torch: torch.nn.functional.mse_loss(torch.ones(2), torch.ones(2), reduction="elementwise_mean"),
    lambda torch: torch.nn.LSTM(2, 2, dropout=0.5), lambda torch: torch.nn.Linear(0, 1),
    lambda torch: torch.nn.utils.weight_norm(torch.nn.Linear(1, 1)),
    lambda torch: torch.nn.init.trunc_normal_(torch.ones(2), mean=100.0),
    lambda torch: torch.nn.functional.softmax(torch.ones(2)),  # this one stands on the caller's line
    lambda torch: torch.nn.functional.mse_loss(torch.ones(2, 1), torch.ones(1, 2)),
]  # fmt: skip


def _texts(given):
    return [(item.category.__name__, str(item.message).split(" (Triggered internally")[0]) for item in given]


@pytest.mark.parametrize("place", range(len(ONCE)))
def test_once_per_process(place):
    for torch in (reference, mstorch):
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            ONCE[place](torch)
            first = len(given)
            ONCE[place](torch)
        assert len(given) == first <= 2


def test_words_of_a_missing_window():
    found = []
    for torch in (reference, mstorch):
        before = torch.is_warn_always_enabled()
        torch.set_warn_always(True)
        try:
            with warnings.catch_warnings(record=True) as given:
                warnings.simplefilter("always")
                for call in ONCE:
                    call(torch)
        finally:
            torch.set_warn_always(before)
        found.append(_texts(given))
    assert found[0] == found[1]


@pytest.mark.parametrize("place", range(len(ON_ITS_OWN_LINE)))
@pytest.mark.parametrize("filter", ["default", "always"])
def test_lines(place, filter):
    found = []
    for torch in (reference, mstorch):
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter(filter)
            call = ON_ITS_OWN_LINE[place]
            call(torch)
            call(torch)
            exec("\n\n\ncall(torch)", {"call": call, "torch": torch})
        found.append(_texts(given))
    assert found[0] == found[1]


def test_it_names_the_callers_line():
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        for _ in range(2):
            mstorch.nn.functional.mse_loss(mstorch.ones(2), mstorch.ones(2), size_average=False)
    assert [item.filename for item in given] == [__file__] * 2


def test_as_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(UserWarning, match="size_average"):
                mstorch.nn.functional.mse_loss(mstorch.ones(2), mstorch.ones(2), size_average=False)

"""`unpad_sequence` and `unpack_sequence` compared with torch: copies, transposes, errors."""
from __future__ import annotations

from typing import Any

import pytest

from tests.against_torch import both

LENGTHS = {"all": [2, 4, 1], "none": [0, 0, 0], "beyond": [9, 1, 4], "too few": [2, 4], "too many": [1, 1, 1, 1]}


@pytest.mark.parametrize("rows", [True, False])
@pytest.mark.parametrize("name", LENGTHS)
def test_unpadded_sequences_are_copies(name: str, rows: bool) -> None:
    def body(torch: Any) -> Any:
        start = torch.arange(24.0, requires_grad=True)
        padded = start.reshape(4, 3, 2) * 1
        padded = padded.transpose(0, 1).contiguous() if rows else padded
        found = torch.nn.utils.rnn.unpad_sequence(padded, torch.tensor(LENGTHS[name]), batch_first=rows)
        with torch.no_grad():
            for sequence in found:
                sequence.add_(100)
        shown = [(sequence, sequence.stride(), sequence.grad_fn.name()) for sequence in found]
        return shown, padded, padded.stride(), torch.autograd.grad(sum(sequence.sum() for sequence in found), start)

    both(body)


def test_padded_and_packed_and_back() -> None:
    def body(torch: Any) -> Any:
        rnn = torch.nn.utils.rnn
        given = [torch.arange(6.0).view(3, 2), torch.ones(1, 2), torch.zeros(2, 2)]
        lengths = torch.tensor([3, 1, 2])
        return (
            rnn.unpack_sequence(rnn.pack_sequence(given, enforce_sorted=False)), rnn.unpad_sequence(rnn.pad_sequence(given), lengths),
            rnn.unpad_sequence(rnn.pad_sequence(given, batch_first=True), lengths, batch_first=True),
        )

    both(body)


def test_leaves_and_lists() -> None:
    both(lambda torch: torch.nn.utils.rnn.unpad_sequence(torch.ones(2, 2, requires_grad=True), torch.tensor([1, 2])))
    both(lambda torch: torch.nn.utils.rnn.unpad_sequence(torch.ones(2, 2), [1, 2]))

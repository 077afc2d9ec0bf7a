"""Connectionist temporal classification loss."""
from __future__ import annotations

from functools import lru_cache
from typing import Any

from mindspore import ops

from ..raw import Raw
from ..table import FLOATS, define


@lru_cache(64)
def _primitive(blank: int, zero_infinity: bool) -> Any:
    return ops.CTCLossV2(blank=blank, reduction="none", zero_infinity=zero_infinity)


def ops_ctc(logs: Raw, targets: Raw, lengths: Raw, target_lengths: Raw, blank: int, zero_infinity: bool) -> Raw:
    """Return the loss of each sequence: (T, N, C) log-probabilities, targets (N, S), two lengths (N), all int64."""
    return _primitive(blank, zero_infinity)(logs, targets, lengths, target_lengths)[0]


define("ctc_loss", cpu=ops_ctc, dtypes=FLOATS)

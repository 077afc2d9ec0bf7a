"""The actions of a rank in one step, in order: forward or backward of a stage on a microbatch."""
from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple


class _ComputationType(str, Enum):
    FORWARD = "F"
    BACKWARD_INPUT = "I"
    BACKWARD_WEIGHT = "W"
    UNSHARD = "UNSHARD"
    RESHARD = "RESHARD"
    SEND_F = "SEND_F"
    RECV_F = "RECV_F"
    SEND_B = "SEND_B"
    RECV_B = "RECV_B"
    FULL_BACKWARD = "B"
    OVERLAP_F_B = "OVERLAP_F_B"
    REDUCE_GRAD = "REDUCE_GRAD"

    @staticmethod
    def from_str(action: str) -> _ComputationType:
        """Parse a computation type. Raise RuntimeError for an unknown one."""
        try:
            return _ComputationType(action)
        except ValueError as error:
            raise RuntimeError(f"Invalid computation type {action}") from error


FORWARD, FULL_BACKWARD, REDUCE_GRAD = _ComputationType.FORWARD, _ComputationType.FULL_BACKWARD, _ComputationType.REDUCE_GRAD

_WRITTEN = re.compile(r"(\d+)(F|I|B|W|UNSHARD|RESHARD|REDUCE_GRAD|SEND_F|RECV_F|SEND_B|RECV_B)(\d*)")


class _Action(NamedTuple):
    stage_index: int
    computation_type: _ComputationType
    microbatch_index: int | None = None
    sub_actions: tuple[_Action, ...] | None = None

    def __str__(self) -> str:
        return repr(self)

    def __repr__(self) -> str:
        if self.sub_actions is not None:
            return f"({';'.join(map(repr, self.sub_actions))}){self.computation_type.value}"
        number = "" if self.microbatch_index is None else self.microbatch_index
        return f"{self.stage_index}{self.computation_type.value}{number}"

    @property
    def is_compute_op(self) -> bool:
        """True if the action is a computation, False if it is communication."""
        kind = _ComputationType
        return self.computation_type in (kind.FORWARD, kind.FULL_BACKWARD, kind.BACKWARD_INPUT, kind.BACKWARD_WEIGHT, kind.OVERLAP_F_B)

    @staticmethod
    def from_str(action_string: str) -> _Action | None:
        """Parse the repr of an action; return None for an empty string."""
        text = action_string.strip()
        if not text:
            return None
        if text.startswith("(") and ")" in text:
            inner, _, kind = text[1:].partition(")")
            parts = tuple(one for one in map(_Action.from_str, inner.split(";")) if one is not None)
            return _Action(-1, _ComputationType.from_str(kind), None, parts or None)
        found = _WRITTEN.match(text)
        if found is None:
            raise RuntimeError(
                f"Invalid action string: {text}, should be formatted as [stage][action type][(microbatch)] e.g. 2F0"
            )
        stage, kind, number = found.groups()
        return _Action(int(stage), _ComputationType.from_str(kind), int(number) if number else None)


def with_reductions(actions: Iterable[_Action | None], microbatches: int) -> list[_Action | None]:
    """Return the actions without the None entries, with a gradient reduction after the last backward of each stage."""
    found: list[_Action | None] = []
    done: dict[int, int] = {}
    for action in actions:
        if action is None:
            continue
        found.append(action)
        if action.computation_type is FULL_BACKWARD:
            done[action.stage_index] = done.get(action.stage_index, 0) + 1
            if done[action.stage_index] == microbatches:
                found.append(_Action(action.stage_index, REDUCE_GRAD))
    return found


def _forwards(stage: int, numbers: Iterable[int]) -> list[_Action | None]:
    return [_Action(stage, FORWARD, number) for number in numbers]


def _backwards(stage: int, numbers: Iterable[int]) -> list[_Action | None]:
    return [_Action(stage, FULL_BACKWARD, number) for number in numbers]


def gpipe(rank: int, microbatches: int) -> list[_Action | None]:
    """Return GPipe's order: all forwards, then all backwards."""
    every = range(microbatches)
    return with_reductions(_forwards(rank, every) + _backwards(rank, every), microbatches)


def one_forward_one_backward(rank: int, size: int, microbatches: int) -> list[_Action | None]:
    """Return the 1F1B order: warm-up forwards, one per later stage, then a forward and a backward alternately, then the remaining
    backwards.
    """
    first = size - 1 - rank
    found = _forwards(rank, range(first))
    for number in range(microbatches - first):
        found += _forwards(rank, [first + number]) + _backwards(rank, [number])
    return with_reductions(found + _backwards(rank, range(microbatches - first, microbatches)), microbatches)


def breadth_first(rank: int, size: int, local: int, microbatches: int) -> list[_Action | None]:
    """Return the looped BFS order: all microbatches through one local stage, then through the next; backwards in reverse."""
    stages = range(rank, size * local, size)
    found: list[_Action | None] = [None] * rank
    for stage in stages:
        found += _forwards(stage, range(microbatches))
    found += [None] * (2 * (size - 1 - rank))
    for stage in reversed(stages):
        found += _backwards(stage, reversed(range(microbatches)))
    return found


def interleaved(rank: int, size: int, local: int, microbatches: int, in_round: int) -> list[_Action | None]:
    """Return the interleaved 1F1B order: warm-up forwards over all local stages, then a forward and a backward alternately."""
    every = local * microbatches
    first = min((local - 1) * in_round + 2 * (size - 1 - rank), every)
    counted: dict[tuple[_ComputationType, int], int] = {}

    def action(kind: _ComputationType, step: int) -> _Action:
        place = step // in_round % local
        stage = (place if kind is FORWARD else local - 1 - place) * size + rank
        number = counted.get((kind, stage), 0)
        counted[kind, stage] = number + 1
        return _Action(stage, kind, number)

    found: list[_Action | None] = [None] * rank
    found += [action(FORWARD, step) for step in range(first)]
    if first:
        found += [None] * (local * size + 2 * (size - 1 - rank) - (first + rank))
    for step in range(every - first):
        found += [action(FORWARD, first + step), action(FULL_BACKWARD, step)]
    for step in range(every - first, every):
        found += [None, action(FULL_BACKWARD, step)]
    return found


def aligned(orders: dict[int, list[_Action | None]], last: int, backward: bool) -> list[dict[int, _Action]]:
    """Return each rank's action per time slot, so that all ranks keep their order and no action starts before its inputs have arrived.

    ``last`` is the last stage. All ranks compute the same result, so that each knows what it will receive in which slot. Raise
    AssertionError on a deadlock.
    """
    kinds = (FORWARD, FULL_BACKWARD) if backward else (FORWARD,)
    left = {rank: [one for one in order if one is not None and one.computation_type in kinds] for rank, order in orders.items()}
    places = dict.fromkeys(left, 0)
    done: set[tuple[int, _ComputationType, int | None]] = set()
    times = []
    while any(places[rank] < len(order) for rank, order in left.items()):
        now = {}
        for rank, order in left.items():
            if places[rank] == len(order):
                continue
            stage, kind, number, _ = order[places[rank]]
            beside = stage - 1 if kind is FORWARD else stage + 1
            if beside < 0 or beside > last or (beside, kind, number) in done:
                now[rank] = order[places[rank]]
        if not now:
            raise AssertionError("Malformed compute schedule, can't schedule sends/recvs")
        for rank, (stage, kind, number, _) in now.items():
            places[rank] += 1
            done.add((stage, kind, number))
        times.append(now)
    return times

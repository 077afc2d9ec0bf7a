"""States of a linear recurrence: h[t] = factors[t] * h[t - 1] + terms[t] along the first dimension, h[-1] = 0."""
from __future__ import annotations

from typing import Any

import numpy as np

import mstorch as torch

from ...drawing import array, tensor

Tensor = torch.Tensor


def _one_by_one(factors: Tensor, terms: Tensor) -> Tensor:
    """Return the states in host memory, a place after the other."""
    steps, states = array(factors), array(terms).copy()
    room = np.empty_like(states[0]) if len(states) else states
    for place in range(1, len(states)):
        states[place] += np.multiply(steps[place], states[place - 1], out=room)
    return tensor(states, terms)


def _doubled(factors: Tensor, terms: Tensor) -> Tensor:
    """Return the states on a device: after k rounds each contains the 2 ** k terms up to its own."""
    reach = 1
    while reach < terms.shape[0]:
        terms = torch.cat((terms[:reach], terms[reach:] + factors[reach:] * terms[:-reach]))
        factors = torch.cat((factors[:reach], factors[reach:] * factors[:-reach]))
        reach *= 2
    return terms


class _Recurrence(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, factors: Tensor, terms: Tensor) -> Tensor:
        states = (_one_by_one if terms.device.type == "cpu" else _doubled)(factors, terms)
        ctx.save_for_backward(factors, states)
        return states

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        factors, states = ctx.saved_tensors
        none = torch.zeros_like(states[:1])
        following = torch.cat((factors[1:], torch.zeros_like(factors[:1]))).conj()
        slopes = recurrence(following.flip(0), grad.flip(0)).flip(0)
        return slopes * torch.cat((none, states[:-1])).conj(), slopes


def recurrence(factors: Tensor, terms: Tensor) -> Tensor:
    """Return the states; factors are broadcast to the shape of the terms."""
    states: Tensor = _Recurrence.apply(factors.expand_as(terms), terms)
    return states


__all__ = ["recurrence"]

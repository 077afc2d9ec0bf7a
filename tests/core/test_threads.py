"""Threads train and infer as one thread does, and Ctrl-C in a training loop is a KeyboardInterrupt after which training goes on.

A few steps here; ``python -m tests.threads 20`` runs the whole.
"""
from __future__ import annotations

import pytest

from tests import threads

pytestmark = pytest.mark.core


def test_threads_that_train_get_what_one_gets() -> None:
    assert threads.check_training(steps=20) == []


def test_threads_that_infer_with_one_model_get_what_one_gets() -> None:
    assert threads.check_inference(calls=4) == []


def test_training_goes_on_after_an_interrupt() -> None:
    assert threads.check_interrupts(loops=8, steps=6) == []

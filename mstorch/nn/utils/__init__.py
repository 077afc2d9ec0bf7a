"""Utilities for parameters and sequences."""
from . import rnn

__all__ = ["rnn"]

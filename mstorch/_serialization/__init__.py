"""The parts behind :mod:`mstorch.serialization`."""

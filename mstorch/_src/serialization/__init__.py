"""The implementation of :mod:`mstorch.serialization`."""

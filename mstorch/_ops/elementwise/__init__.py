"""Arithmetic, comparisons, activations and special functions: each element of the result of those at the same place."""

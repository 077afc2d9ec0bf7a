"""Elementwise operations: arithmetic, comparisons, activations, special functions."""

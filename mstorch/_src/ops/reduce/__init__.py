"""Reductions, minima and maxima, sorting, and cumulative operations along dimensions."""

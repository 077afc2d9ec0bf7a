"""Reductions, extremes, sorting and cumulative operations along dimensions."""

"""Sums, extremes, sorting, running sums: what goes along dimensions."""

"""Packages that stand in for others, which are compiled for torch or for its devices."""

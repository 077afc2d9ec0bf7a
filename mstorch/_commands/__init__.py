"""The commands of ``python -m mstorch``."""

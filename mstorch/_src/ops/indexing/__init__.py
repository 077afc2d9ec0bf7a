"""Indexing: reading, writing and scattering elements by indices, masks and keys."""

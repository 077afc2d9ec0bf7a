"""Nested tensors: the classes of both layouts, and what public calls with them become."""

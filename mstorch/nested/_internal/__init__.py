"""Nested tensors: the classes of both layouts, and the dispatch of public calls."""

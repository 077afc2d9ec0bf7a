"""Operators that programs define: schemas, the registry, calls."""

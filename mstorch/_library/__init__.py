"""User-defined operators: schemas, the registry, calls."""

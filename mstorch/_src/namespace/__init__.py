"""Functions of the torch namespace that depend on layers, settings or the process, or that only raise."""

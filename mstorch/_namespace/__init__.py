"""Functions of the torch namespace that stand on layers, on settings or on the process, or that only raise."""

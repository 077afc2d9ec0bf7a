"""The implementation of mstorch: what is not torch's namespace."""

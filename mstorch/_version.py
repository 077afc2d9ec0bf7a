"""The version of mstorch."""
__version__ = "0.1.0"

"""oneDNN from MindSpore's package: matrix products, convolutions and other kernels for host memory.

MindSpore's CPU kernels are built on this library, and its interface in C is public and stable within a major version. Called
directly it costs a microsecond, lets go of Python's lock, takes no copy of its operands and leaves no thread spinning. A MindSpore
that holds none, or another one, is told by ``library.FOUND``; NumPy's kernels compute then.
"""

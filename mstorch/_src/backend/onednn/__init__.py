"""oneDNN from MindSpore's package: matrix products, convolutions and other kernels for host memory.

MindSpore's CPU kernels are built on this library, whose C interface is public and stable within a major version. A direct call costs a
microsecond, releases the GIL, does not copy its operands and leaves no thread spinning. ``library.FOUND`` is False if MindSpore has no
oneDNN or another version; NumPy's kernels are used then.
"""

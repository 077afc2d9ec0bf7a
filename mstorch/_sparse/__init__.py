"""Sparse tensors: indices and values, from which strided operations make everything else.

``base`` has the class, ``coo`` and ``compressed`` make tensors, ``convert`` changes layouts, ``elementwise``, ``shape``,
``products`` and ``reduce`` compute, ``text`` prints. ``dispatch`` brings the public functions here when they meet a sparse
tensor. A sparse tensor has no gradient of its own: its values have.
"""

"""Sparse tensors: indices and values, from which strided operations make everything else.

``base`` has the class, ``coo`` and ``compressed`` make tensors, ``convert`` changes layouts, ``elementwise``, ``shape``,
``products`` and ``reduce`` compute, ``text`` prints. ``dispatch`` brings the public functions here when they meet a sparse
tensor. ``nodes`` records operations whose gradients are tensors with places of their own, ``gradients`` leads between a tensor and
its values, on which everything else is recorded.
"""

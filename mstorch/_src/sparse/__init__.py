"""Sparse tensors: indices and values, on which strided operations compute everything else.

``base`` has the class, ``coo`` and ``compressed`` create tensors, ``convert`` changes layouts, ``elementwise``, ``shape``, ``products`` and
``reduce`` compute, ``text`` formats. ``dispatch`` routes public functions with sparse arguments to these modules. ``nodes`` has the
autograd nodes of operations whose gradients have other indices; ``gradients`` connects a tensor with its values, on which autograd tracks
all other operations.
"""

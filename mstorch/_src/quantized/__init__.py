"""Quantized tensors: integers that represent floats by a scale and a zero point.

``params`` determines scales and zero points, ``fake`` fake-quantizes float tensors, with gradients. ``tensor`` has the class of quantized
tensors, ``making`` creates them and ``dispatch`` routes public functions to their quantized forms. ``layers`` computes matmuls and
convolutions in integer arithmetic, ``packed`` holds a layer's weights, ``recurrent`` has the cells and layers that use them.
"""

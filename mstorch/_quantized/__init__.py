"""Quantized numbers: integers that stand for floating numbers by a scale and a zero point.

``params`` chooses scales and zero points, ``fake`` rounds floating tensors as quantizing would, with gradients. ``tensor`` has the class
of quantized tensors, ``making`` makes them and ``dispatch`` brings the public functions to their forms for them. ``layers`` computes
products and convolutions in whole numbers, ``packed`` keeps a layer's weights, ``recurrent`` has the cells and layers that use them.
"""

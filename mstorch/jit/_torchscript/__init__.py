"""TorchScript archives: their text is parsed and interpreted over mstorch's operators."""

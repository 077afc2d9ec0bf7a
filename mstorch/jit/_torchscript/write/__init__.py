"""TorchScript archives that torch loads: the text of one run of a module, and its attributes as a pickle."""

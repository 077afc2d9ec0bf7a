"""The functions of torch.nn.functional besides the operations, one file per family; nn/functional.py exports them."""

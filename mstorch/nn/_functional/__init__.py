"""The functions of torch.nn.functional beside the operations, one file a family; nn/functional.py exports them."""

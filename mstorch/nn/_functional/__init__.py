"""What torch.nn.functional adds to the operations, one file a family; nn/functional.py is the face."""

"""Creation, copies, conversion and resizing of tensors."""

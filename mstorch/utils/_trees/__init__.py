"""The implementation of torch.utils._pytree: node types, keys, specs, traversals, serialization."""

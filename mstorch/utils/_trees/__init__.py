"""The parts of torch.utils._pytree: kinds of containers, keys, structures, walks, structures as text."""

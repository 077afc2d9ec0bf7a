"""Types of the public functions and of Tensor's methods, for type checkers: mstorch/_src/stubs and the stubs of the namespaces."""

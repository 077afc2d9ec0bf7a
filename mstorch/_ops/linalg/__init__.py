"""Products of matrices, factorizations, solvers."""

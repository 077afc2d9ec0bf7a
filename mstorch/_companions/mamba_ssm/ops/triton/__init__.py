"""mamba_ssm.ops.triton: what the package writes in Triton, by torch's operations."""

"""mamba_ssm.utils: generation, and files of weights."""

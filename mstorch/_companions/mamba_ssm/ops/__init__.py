"""mamba_ssm.ops: the scans."""

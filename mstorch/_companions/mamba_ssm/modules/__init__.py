"""mamba_ssm.modules: Mamba's layers."""

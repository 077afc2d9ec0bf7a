"""mamba_ssm.models: networks of Mamba's layers."""

"""torch._dynamo.exc: exceptions of torch's compiler, for ``except`` clauses; mstorch raises only UserError, in ``torch.export``."""


class TorchDynamoException(RuntimeError):
    """Base of the compiler's errors."""


class InternalTorchDynamoError(TorchDynamoException):
    """Raised in torch for an internal error of the compiler."""


class Unsupported(TorchDynamoException):
    """Raised in torch for code that graphs do not support."""


class BackendCompilerFailed(TorchDynamoException):
    """Raised in torch when a backend fails."""


class UserError(TorchDynamoException):
    """Raised if a user's declarations for an export do not match its inputs."""


class RecompileError(TorchDynamoException):
    """Raised in torch for a recompilation that was forbidden."""


class TensorifyScalarRestartAnalysis(TorchDynamoException):
    """Raised in torch to restart the analysis with numbers as tensors."""

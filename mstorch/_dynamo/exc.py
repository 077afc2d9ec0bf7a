"""torch._dynamo.exc: what torch's compiler raises. Nothing here does; programs name the classes in ``except``."""
from __future__ import annotations


class TorchDynamoException(RuntimeError):
    """The base of the compiler's errors."""


class InternalTorchDynamoError(TorchDynamoException):
    """A fault of the compiler."""


class Unsupported(TorchDynamoException):
    """Code that no graph holds."""


class BackendCompilerFailed(TorchDynamoException):
    """A backend that failed."""


class UserError(Unsupported):
    """Code that is wrong."""


class RecompileError(TorchDynamoException):
    """A graph made anew where that was forbidden."""


class TensorifyScalarRestartAnalysis(TorchDynamoException):
    """A start anew with numbers as tensors."""

"""torch.export.graph_signature: the meaning of an exported graph's inputs and outputs."""
from __future__ import annotations

import dataclasses
import enum
from typing import Any

from .._src.hook import missing as _missing


@dataclasses.dataclass
class TensorArgument:
    """A tensor, given by its node's name."""

    name: str


@dataclasses.dataclass
class ConstantArgument:
    """A constant value, and its node's name if it is an input."""

    name: str
    value: Any


class InputKind(enum.Enum):
    """Kind of an input: user input, parameter, buffer or constant tensor."""

    USER_INPUT = enum.auto()
    PARAMETER = enum.auto()
    BUFFER = enum.auto()
    CONSTANT_TENSOR = enum.auto()


class OutputKind(enum.Enum):
    """Kind of an output: a user output, or the new value of a buffer, parameter or input. (Programs that ``export`` makes have user outputs
    only; those of torch's files may have others.)"""

    USER_OUTPUT = enum.auto()
    LOSS_OUTPUT = enum.auto()
    BUFFER_MUTATION = enum.auto()
    PARAMETER_MUTATION = enum.auto()
    GRADIENT_TO_PARAMETER = enum.auto()
    GRADIENT_TO_USER_INPUT = enum.auto()
    USER_INPUT_MUTATION = enum.auto()


@dataclasses.dataclass
class InputSpec:
    """An input of an exported program: its kind (parameter, buffer, user input, …), argument, name in the module, and whether a buffer is
    in the state_dict.
    """

    kind: InputKind
    arg: Any
    target: str | None
    persistent: bool | None = None

    def __str__(self) -> str:
        target = f" target='{self.target}'" if self.target is not None else ""
        persistent = f" persistent={self.persistent}" if self.persistent is not None else ""
        return f"{self.arg.name}: {self.kind.name}{target}{persistent}"


@dataclasses.dataclass
class OutputSpec:
    """An output of an exported program: its kind (user output, buffer mutation, …), argument, and target, which is None for user outputs.
    """

    kind: OutputKind
    arg: Any
    target: str | None = None

    def __str__(self) -> str:
        target = f" target='{self.target}'" if self.target is not None else ""
        return f"{self.arg.name}: {self.kind.name}{target}"


@dataclasses.dataclass
class ExportGraphSignature:
    """The inputs of a graph in order (parameters, buffers, constants, user inputs), and its outputs."""

    input_specs: list[InputSpec]
    output_specs: list[OutputSpec]

    def _targets(self, kind: InputKind) -> dict[str, str]:
        return {spec.arg.name: spec.target for spec in self.input_specs if spec.kind is kind and spec.target is not None}

    @property
    def inputs_to_parameters(self) -> dict[str, str]:
        """A dict from input names to parameter names."""
        return self._targets(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> dict[str, str]:
        """A dict from input names to buffer names."""
        return self._targets(InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> dict[str, str]:
        """A dict from input names to constant names."""
        return self._targets(InputKind.CONSTANT_TENSOR)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of parameters."""
        return tuple(self.inputs_to_parameters.values())

    @property
    def buffers(self) -> tuple[str, ...]:
        """The names of buffers."""
        return tuple(self.inputs_to_buffers.values())

    @property
    def lifted_tensor_constants(self) -> tuple[str, ...]:
        """The names of constants."""
        return tuple(self.inputs_to_lifted_tensor_constants.values())

    @property
    def user_inputs(self) -> tuple[Any, ...]:
        """The user inputs: names of tensors, and constants."""
        found = [spec.arg for spec in self.input_specs if spec.kind is InputKind.USER_INPUT]
        return tuple(arg.name if isinstance(arg, TensorArgument) else arg.value for arg in found)

    @property
    def user_outputs(self) -> tuple[Any, ...]:
        """Names of the tensors, and the constants, that the program returns."""
        told = [spec.arg for spec in self.output_specs if spec.kind in (OutputKind.USER_OUTPUT, OutputKind.LOSS_OUTPUT)]
        return tuple(arg.name if isinstance(arg, TensorArgument) else arg.value for arg in told)

    @property
    def buffers_to_mutate(self) -> dict[str, str]:
        """A dict from outputs to the buffers whose new values they are."""
        return {spec.arg.name: spec.target for spec in self.output_specs if spec.kind is OutputKind.BUFFER_MUTATION and spec.target}

    @property
    def user_inputs_to_mutate(self) -> dict[str, str]:
        """A dict from outputs to the user inputs whose new values they are."""
        return {spec.arg.name: spec.target for spec in self.output_specs if spec.kind is OutputKind.USER_INPUT_MUTATION and spec.target}

    def __str__(self) -> str:
        lines = ["", "# inputs", *map(str, self.input_specs), "", "# outputs", *map(str, self.output_specs), ""]
        return "\n".join(lines)


__all__ = [
    "ConstantArgument", "ExportGraphSignature", "InputKind", "InputSpec", "OutputKind", "OutputSpec", "TensorArgument",
]  # fmt: skip

__getattr__ = _missing(__name__)

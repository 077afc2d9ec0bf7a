"""torch.ao.nn.quantized.dynamic.modules.rnn: dynamically quantized recurrent layers and cells."""
from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import mstorch as torch
from mstorch._src.core.warned import warn

from ...... import nn
from ......_src.quantized.packed import ScriptObject
from ......_tensor import Tensor
from ......ao.quantization.qconfig import default_dynamic_qconfig
from ......nn.modules.module import Module
from ......nn.utils.rnn import PackedSequence
from ...modules.utils import _quantize_weight, expect_observed, text_without

__all__ = [
    "GRU", "GRUCell", "LSTM", "LSTMCell", "PackedParameter", "RNNBase", "RNNCell", "RNNCellBase", "apply_permutation", "pack_weight_bias",
]  # fmt: skip


def _apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    return tensor.index_select(dim, permutation)


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """Return ``tensor.index_select(dim, permutation)``."""
    warn("`apply_permutation` is deprecated, please use `tensor.index_select(dim, permutation)` instead", FutureWarning)
    return _apply_permutation(tensor, permutation, dim)


def pack_weight_bias(qweight: Tensor, bias: Tensor, dtype: torch.dtype) -> ScriptObject:
    """Return the packed weights of a linear layer: quantized, or in float16."""
    pack = torch.ops.quantized.linear_prepack if dtype == torch.qint8 else torch.ops.quantized.linear_prepack_fp16
    return pack(qweight, bias)


def _cell(dtype: torch.dtype, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor, b_hh: Tensor, version: int | None) -> ScriptObject:
    """Return the packed weights of one layer in one direction."""
    packed = pack_weight_bias(w_ih, b_ih, dtype), pack_weight_bias(w_hh, b_hh, dtype)
    if dtype != torch.qint8:
        return torch.ops.quantized.make_quantized_cell_params_fp16(*packed)
    return torch.ops.quantized.make_quantized_cell_params_dynamic(*packed, b_ih, b_hh, version is not None and version >= 2)


def _weights_of(mod: Any) -> tuple[Any, Any]:
    """Return the dtype for a module's weights, and the function that quantizes them to it."""
    given = mod.qconfig is not None and mod.qconfig.weight is not None
    make = (mod.qconfig if given else default_dynamic_qconfig).weight
    dtype = make().dtype
    if dtype not in (torch.qint8, torch.float16):
        raise RuntimeError(f"Unsupported dtype for dynamic RNN quantization: {dtype}")

    def quantize(weight: Tensor) -> Tensor:
        if dtype != torch.qint8:
            return weight.float()
        observer = make()
        observer(weight)
        return _quantize_weight(weight.float(), observer)

    return dtype, quantize


class PackedParameter(nn.Module):
    """A module that holds packed weights, so that they are in the state_dict."""

    def __init__(self, param: ScriptObject) -> None:
        super().__init__()
        self.param = param

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "param"] = self.param

    def _load_from_state_dict(
        self, state_dict: dict[Any, Any], prefix: str, local_metadata: dict[Any, Any], strict: bool, *rest: Any
    ) -> None:
        self.param = state_dict[prefix + "param"]
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *rest)


class RNNBase(nn.Module):
    """Base of recurrent layers with quantized weights."""

    _FLOAT_MODULE: Any = nn.RNNBase
    _version = 2
    _gates: ClassVar[dict[str, int]] = {"LSTM": 4, "GRU": 3}

    def __init__(
        self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, dtype: torch.dtype = torch.qint8,
    ) -> None:  # fmt: skip
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.dtype = dtype
        self.version: int | None = 2
        self.training = False
        if not isinstance(dropout, numbers.Number) or not 0 <= dropout <= 1 or isinstance(dropout, bool):
            raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
        if dropout > 0 and num_layers == 1:
            warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers greater than 1, "
                f"but got dropout={dropout} and num_layers={num_layers}"
            )
        if mode not in self._gates:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self._fill({name: self._drawn(name) for name in self._names()})

    def _names(self) -> list[str]:
        """Return the parameter names of the float layer, layer by layer."""
        ends = ["", "_reverse"] if self.bidirectional else [""]
        kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        return [f"{kind}_l{layer}{end}" for layer in range(self.num_layers) for end in ends for kind in kinds]

    def _drawn(self, name: str) -> Tensor:
        rows = self._gates[self.mode] * self.hidden_size
        if name.startswith("bias"):
            return torch.randn(rows)
        first = name.startswith("weight_ih_l0")
        wide = self.hidden_size * (2 if self.bidirectional else 1)
        columns = self.input_size if first else wide if "_ih_" in name else self.hidden_size
        weight = torch.randn(rows, columns)
        return torch.quantize_per_tensor(weight, scale=0.1, zero_point=0, dtype=torch.qint8) if self.dtype == torch.qint8 else weight

    def _fill(self, values: dict[str, Any]) -> None:
        names = self._names()
        cells = []
        for start in range(0, len(names), 4):
            w_ih, w_hh, b_ih, b_hh = (values[name] for name in names[start : start + 4])
            cells.append(PackedParameter(_cell(w_ih.dtype, w_ih, w_hh, b_ih, b_hh, self.version)))
        self._all_weight_values = nn.ModuleList(cells)

    def _get_name(self) -> str:
        return "DynamicQuantizedRNN"

    def extra_repr(self) -> str:
        """Return the sizes, and arguments that differ from their defaults, for the module's repr."""
        found = f"{self.input_size}, {self.hidden_size}"
        usual = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False}
        return found + "".join(f", {name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value)

    def __repr__(self) -> str:
        return text_without(self, (PackedParameter, nn.ModuleList))

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise RuntimeError if the input has another rank or size."""
        wanted = 3 if batch_sizes is None else 2
        if input.dim() != wanted:
            raise RuntimeError(f"input must have {wanted} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}")

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """Return the shape of the hidden state for an input."""
        batch = int(batch_sizes[0]) if batch_sizes is not None else input.size(0 if self.batch_first else 1)
        return self.num_layers * (2 if self.bidirectional else 1), batch, self.hidden_size

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """Raise RuntimeError if a state has another shape."""
        if tuple(hx.size()) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def _check(self, input: Tensor, states: tuple[Any, ...], batch_sizes: Tensor | None) -> None:
        self.check_input(input, batch_sizes)
        wanted = self.get_expected_hidden_size(input, batch_sizes)
        for number, state in enumerate(states):
            place = f"[{number}]" if len(states) > 1 else ""
            self.check_hidden_size(state, wanted, f"Expected hidden{place} size {{}}, got {{}}")

    def _run(
        self, input: Tensor | PackedSequence, states: Any, count: int, function: Callable[..., Any], **options: Any
    ) -> tuple[Any, Any]:
        """Run ``function`` on input and states, packed or not; return the results and last states."""
        packed = isinstance(input, PackedSequence)
        parts: Any = input if packed else (input, None, None, None)
        data, sizes, order, back = parts
        if states is None:
            batch = int(sizes[0]) if packed else data.size(0 if self.batch_first else 1)
            shape = self.num_layers * (2 if self.bidirectional else 1), batch, self.hidden_size
            states = (torch.zeros(shape, dtype=data.dtype, device=data.device),) * count
        elif order is not None:
            states = tuple(_apply_permutation(state, order) for state in states)
        self._check(data, states, sizes)
        params = [cell.param for cell in self._all_weight_values]
        hx = states if count > 1 else states[0]
        given = (self.bias, self.num_layers, float(self.dropout), self.training, self.bidirectional)
        if packed:
            out, *ends = function(data, sizes, hx, params, *given, **options)
            out = PackedSequence(out, sizes, order, back)
        else:
            out, *ends = function(data, hx, params, *given, self.batch_first, **options)
        ends = ends if back is None else [_apply_permutation(end, back) for end in ends]
        return out, tuple(ends) if count > 1 else ends[0]

    def _load_from_state_dict(
        self, state_dict: dict[Any, Any], prefix: str, local_metadata: dict[Any, Any], strict: bool, *rest: Any
    ) -> None:
        self.version = local_metadata.get("version")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *rest)

    def set_weight_bias(self, weight_bias_dict: dict[str, Any]) -> None:
        """Set weights and biases, by the float layer's parameter names."""
        self._fill(weight_bias_dict)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Module:
        """Construct the module from a float layer with a ``qconfig``."""
        if type(mod) not in (nn.LSTM, nn.GRU):
            raise AssertionError("nn.quantized.dynamic.RNNBase.from_float only works for nn.LSTM and nn.GRU")
        expect_observed(mod)
        dtype, quantize = _weights_of(mod)
        kind = LSTM if mod.mode == "LSTM" else GRU
        made = kind(
            mod.input_size, mod.hidden_size, mod.num_layers, mod.bias, mod.batch_first, mod.dropout, mod.bidirectional, dtype
        )
        if not mod.bias:
            raise AssertionError("mod.bias must be True")
        made._fill({name: quantize(getattr(mod, name)) if name[0] == "w" else getattr(mod, name) for name in made._names()})
        return made

    def _weight_bias(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {"weight": {}, "bias": {}}
        names = self._names()
        cells: Any = self._all_weight_values
        for number, cell in enumerate(cells):
            parts = cell.param.__getstate__()[0][4]
            for place in (0, 1):
                weight, bias = parts[place].__getstate__()[0]
                found["weight"][names[4 * number + place]] = weight
                found["bias"][names[4 * number + 2 + place]] = bias
        return found

    def get_weight(self) -> dict[str, Any]:
        """Return a dict of the weights by name."""
        return self._weight_bias()["weight"]

    def get_bias(self) -> dict[str, Any]:
        """Return a dict of the biases by name."""
        return self._weight_bias()["bias"]

    @classmethod
    def from_reference(cls, ref_mod: Any) -> Any:
        """Construct the module from a reference module."""
        if not hasattr(ref_mod, "weight_ih_l0_dtype"):
            raise AssertionError(
                f"We are assuming weight_ih_l0 exists in {cls.__name__}, may need to relax the assumption to support the use case"
            )
        made: Any = cls(
            ref_mod.input_size, ref_mod.hidden_size, ref_mod.num_layers, ref_mod.bias, ref_mod.batch_first, ref_mod.dropout,
            ref_mod.bidirectional, ref_mod.weight_ih_l0_dtype,
        )  # fmt: skip
        made.set_weight_bias(ref_mod.get_quantized_weight_bias_dict())
        return made


class LSTM(RNNBase):
    """A dynamically quantized LSTM."""

    _FLOAT_MODULE = nn.LSTM

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def _get_name(self) -> str:
        return "DynamicQuantizedLSTM"

    def forward(self, input: Tensor | PackedSequence, hx: Sequence[Tensor] | None = None) -> tuple[Any, ...]:
        """Return the outputs of all time steps, and the last hidden and cell states."""
        return self._run(input, hx, 2, torch.quantized_lstm, dtype=self.dtype, use_dynamic=True)

    def permute_hidden(self, hx: tuple[Tensor, Tensor], permutation: Tensor | None) -> Any:
        """Return the states permuted along the batch dimension."""
        return hx if permutation is None else tuple(_apply_permutation(part, permutation) for part in hx)

    def check_forward_args(self, input: Tensor, hidden: tuple[Tensor, Tensor], batch_sizes: Tensor | None) -> None:
        """Raise RuntimeError if the shape of the input or of a state is not the expected one."""
        self._check(input, tuple(hidden), batch_sizes)


class GRU(RNNBase):
    """A dynamically quantized GRU."""

    _FLOAT_MODULE = nn.GRU

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("GRU", *args, **kwargs)

    def _get_name(self) -> str:
        return "DynamicQuantizedGRU"

    def forward(self, input: Tensor | PackedSequence, hx: Tensor | None = None) -> tuple[Any, ...]:
        """Return the outputs of all time steps, and the last state."""
        return self._run(input, None if hx is None else (hx,), 1, torch.quantized_gru)

    def permute_hidden(self, hx: Tensor, permutation: Tensor | None) -> Tensor:
        """Return the states permuted along the batch dimension."""
        return hx if permutation is None else _apply_permutation(hx, permutation)

    def check_forward_args(self, input: Tensor, hidden: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise RuntimeError if the input or a state has another shape."""
        self._check(input, (hidden,), batch_sizes)


class RNNCellBase(nn.Module):
    """Base of recurrent cells with quantized weights."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, num_chunks: int = 4, dtype: Any = torch.qint8) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        self.weight_dtype = dtype
        rows = num_chunks * hidden_size
        for name in ("bias_ih", "bias_hh"):
            if bias:
                setattr(self, name, torch.randn(rows))
            else:
                self.register_parameter(name, None)
        weights = [torch.randn(rows, input_size), torch.randn(rows, hidden_size)]
        if dtype == torch.qint8:
            weights = [torch.quantize_per_tensor(weight, scale=1, zero_point=0, dtype=torch.qint8) for weight in weights]
        self._take(weights[0], weights[1], self.bias_ih, self.bias_hh)

    def _take(self, weight_ih: Tensor, weight_hh: Tensor, bias_ih: Any, bias_hh: Any) -> None:
        self._packed_weight_ih = pack_weight_bias(weight_ih, bias_ih, self.weight_dtype)
        self._packed_weight_hh = pack_weight_bias(weight_hh, bias_hh, self.weight_dtype)

    def _get_name(self) -> str:
        return "DynamicQuantizedRNNBase"

    def extra_repr(self) -> str:
        """Return the sizes, and arguments that differ from their defaults, for the module's repr."""
        found = f"{self.input_size}, {self.hidden_size}"
        for name, usual in (("bias", True), ("nonlinearity", "tanh")):
            value = self.__dict__.get(name, usual)
            found += f", {name}={value}" if value != usual else ""
        return found

    def check_forward_input(self, input: Tensor) -> None:
        """Raise RuntimeError if the input's second dimension is not ``input_size``."""
        if input.size(1) != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)}, expected {self.input_size}")

    def check_forward_hidden(self, input: Tensor, hx: Tensor, hidden_label: str = "") -> None:
        """Raise RuntimeError if the shape of a state is not the expected one."""
        if input.size(0) != hx.size(0):
            raise RuntimeError(f"Input batch size {input.size(0)} doesn't match hidden{hidden_label} batch size {hx.size(0)}")
        if hx.size(1) != self.hidden_size:
            raise RuntimeError(f"hidden{hidden_label} has inconsistent hidden_size: got {hx.size(1)}, expected {self.hidden_size}")

    def _run(self, name: str, input: Tensor, hx: Any, count: int) -> Any:
        self.check_forward_input(input)
        if hx is None:
            zeros = torch.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)
            hx = (zeros,) * count if count > 1 else zeros
        for number, state in enumerate(hx if count > 1 else (hx,)):
            self.check_forward_hidden(input, state, f"[{number}]" if count > 1 else "")
        function = getattr(torch.ops.quantized, f"quantized_{name}_cell_dynamic")
        return function(input, hx, self._packed_weight_ih, self._packed_weight_hh, self.bias_ih, self.bias_hh)

    @classmethod
    def from_float(cls, mod: Module, use_precomputed_fake_quant: bool = False) -> Module:
        """Construct the cell from a float cell with a ``qconfig``."""
        kinds = {nn.LSTMCell: LSTMCell, nn.GRUCell: GRUCell, nn.RNNCell: RNNCell}
        if type(mod) not in kinds:
            raise AssertionError("nn.quantized.dynamic.RNNCellBase.from_float only works for nn.LSTMCell, nn.GRUCell and nn.RNNCell")
        expect_observed(mod)
        dtype, quantize = _weights_of(mod)
        more = {"nonlinearity": mod.nonlinearity} if type(mod) is nn.RNNCell else {}
        made: Any = kinds[type(mod)](mod.input_size, mod.hidden_size, bias=mod.bias, dtype=dtype, **more)
        if not mod.bias:
            raise AssertionError("mod.bias must be True")
        made._take(quantize(mod.weight_ih), quantize(mod.weight_hh), mod.bias_ih, mod.bias_hh)
        return made

    @classmethod
    def from_reference(cls, ref_mod: Any) -> Any:
        """Construct the cell from a reference module."""
        if not hasattr(ref_mod, "weight_ih_dtype"):
            raise AssertionError(
                "We are assuming weight_ih exists in reference module, may need to relax the assumption to support the use case"
            )
        more = {"nonlinearity": ref_mod.nonlinearity} if hasattr(ref_mod, "nonlinearity") else {}
        made: Any = cls(ref_mod.input_size, ref_mod.hidden_size, ref_mod.bias, dtype=ref_mod.weight_ih_dtype, **more)
        made._take(ref_mod.get_quantized_weight_ih(), ref_mod.get_quantized_weight_hh(), ref_mod.bias_ih, ref_mod.bias_hh)
        return made

    def _weight_bias(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {"weight": {}, "bias": {}}
        for end, packed in (("ih", self._packed_weight_ih), ("hh", self._packed_weight_hh)):
            found["weight"][f"weight_{end}"], found["bias"][f"bias_{end}"] = packed.__getstate__()[0]
        return found

    def get_weight(self) -> dict[str, Any]:
        """Return a dict of the weights by name."""
        return self._weight_bias()["weight"]

    def get_bias(self) -> dict[str, Any]:
        """Return a dict of the biases by name."""
        return self._weight_bias()["bias"]

    def set_weight_bias(self, weight_bias_dict: dict[str, Any]) -> None:
        """Set weights and biases, as returned by ``get_weight`` and ``get_bias``."""
        weights, biases = weight_bias_dict["weight"], weight_bias_dict["bias"]
        self._take(weights["weight_ih"], weights["weight_hh"], biases["bias_ih"], biases["bias_hh"])

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for name in ("_packed_weight_ih", "_packed_weight_hh"):
            destination[prefix + name] = getattr(self, name)

    def _load_from_state_dict(
        self, state_dict: dict[Any, Any], prefix: str, local_metadata: dict[Any, Any], strict: bool, *rest: Any
    ) -> None:
        for name in ("_packed_weight_ih", "_packed_weight_hh"):
            setattr(self, name, state_dict.pop(prefix + name))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *rest)


class RNNCell(RNNCellBase):
    """A dynamically quantized RNN cell."""

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", dtype: torch.dtype = torch.qint8
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=1, dtype=dtype)
        self.nonlinearity = nonlinearity

    def _get_name(self) -> str:
        return "DynamicQuantizedRNNCell"

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the next hidden state."""
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._run(f"rnn_{self.nonlinearity}", input, hx, 1)


class LSTMCell(RNNCellBase):
    """A dynamically quantized LSTM cell."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, num_chunks=4, **kwargs)

    def _get_name(self) -> str:
        return "DynamicQuantizedLSTMCell"

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """Return the next hidden and cell states."""
        return self._run("lstm", input, hx, 2)


class GRUCell(RNNCellBase):
    """A dynamically quantized GRU cell."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, dtype: torch.dtype = torch.qint8) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=3, dtype=dtype)

    def _get_name(self) -> str:
        return "DynamicQuantizedGRUCell"

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the next hidden state."""
        return self._run("gru", input, hx, 1)

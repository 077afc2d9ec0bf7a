"""Recurrent layers and cells."""
from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable
from typing import Any, overload

from typing_extensions import deprecated

from ... import init
from ..._src.core.above import above
from ..._src.core.device import device
from ..._src.core.dtype import dtype
from ..._src.core.overriding import PLAIN, for_maps, is_taken, overrides
from ..._src.core.warned import warn_shown_once
from ..._src.ops._autocast import state as autocast
from ..._src.ops.layers import rnn
from ..._src.tape.windows import no_view
from ..._tensor import Tensor
from ..functional import linear
from ..utils.rnn import PackedSequence
from ._made import parameter
from ._state import complete
from .module import Module

_run, _step = for_maps(rnn.run), for_maps(rnn.step)
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


@deprecated("`apply_permutation` is deprecated, please use `tensor.index_select(dim, permutation)` instead", category=FutureWarning)
def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """Return ``tensor`` permuted along a dimension."""
    return tensor.index_select(dim, permutation)


def _are_handled(*values: Any) -> bool:
    """Return whether handlers of any kind have to see a call with these values."""
    return is_taken(*values) or (not PLAIN.issuperset(map(type, values)) and any(map(overrides, values)))


class RNNBase(Module):
    """Base of recurrent layers: w_ih, w_hh, b_ih, b_hh per layer and direction, uniform in ±1/sqrt(hidden_size)."""

    __constants__ = [
        "mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional", "proj_size",
    ]  # fmt: skip

    def __init__(
        self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0, device: Any = None, dtype: dtype | None = None,
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
        self.proj_size = proj_size
        self._check_arguments(dropout)
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        gates = _GATES[mode] * hidden_size
        out_size = proj_size if proj_size > 0 else hidden_size
        directions = 2 if bidirectional else 1
        made = {"device": device, "dtype": dtype}
        self._flat_weights_names: list[str] = []
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for direction in range(directions):
                columns = input_size if layer == 0 else out_size * directions
                tail = f"_l{layer}" + ("_reverse" if direction else "")
                shapes = {"weight_ih": (gates, columns), "weight_hh": (gates, out_size)}
                if bias:
                    shapes["bias_ih"] = shapes["bias_hh"] = (gates,)  # type: ignore[assignment]
                if proj_size > 0:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                for name, shape in shapes.items():
                    setattr(self, name + tail, parameter(*shape, **made))
                names = [name + tail for name in shapes]
                self._flat_weights_names.extend(names)
                self._all_weights.append(names)
        self.reset_parameters()

    def _check_arguments(self, dropout: float) -> None:
        if not isinstance(dropout, numbers.Number) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if self.dropout > 0 and self.num_layers == 1:
            warn_shown_once(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers greater "
                f"than 1, but got dropout={dropout} and num_layers={self.num_layers}",
            )
        for name in ("bias", "batch_first"):
            value = getattr(self, name)
            if not isinstance(value, bool):
                raise TypeError(f"{name} should be of type bool, got: {type(value).__name__}")
        for name in ("input_size", "hidden_size"):
            value = getattr(self, name)
            if not isinstance(value, int):
                raise TypeError(f"{name} should be of type int, got: {type(value).__name__}")
            if value <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")

    def _read_twice(self, name: str) -> Any:
        return getattr(self, name) if hasattr(self, name) else None

    @property
    def _flat_weights(self) -> list[Tensor]:
        """The weights in use: the parameters, or the list assigned to this property until one of the parameters is replaced."""
        # Computed weights (parametrizations, which may draw or change state) are read as often as in torch: twice in the search for the
        # first changed weight, and twice for the list.
        computed = [name for name in self._flat_weights_names if name not in self._parameters]
        for name in computed[:1]:
            self._read_twice(name)
        current = [self._read_twice(name) if name in computed else getattr(self, name) for name in self._flat_weights_names]
        set_, of = self.__dict__.get("_set_weights", (None, ()))
        return set_ if set_ is not None and all(map(operator.is_, of, current)) else current

    @_flat_weights.setter
    def _flat_weights(self, weights: list[Tensor]) -> None:
        self.__dict__["_set_weights"] = weights, [getattr(self, name, None) for name in self._flat_weights_names]

    def __getstate__(self) -> dict[str, Any]:
        """Return the state, including the weight list that torch's own layers keep."""
        state = {name: value for name, value in super().__getstate__().items() if name != "_set_weights"}
        return {**state, "_flat_weights": [self._parameters.get(name) for name in self._flat_weights_names]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        kept = {name: value for name, value in state.items() if name not in ("_set_weights", "_flat_weights", "all_weights")}
        if "all_weights" in state:  # in early files, under this name
            kept["_all_weights"] = state["all_weights"]
        super().__setstate__(complete(kept, proj_size=0))
        names = self.__dict__.get("_all_weights")
        if names and not isinstance(names[0][0], str):  # early files contain the parameters themselves
            tails = [f"_l{layer}{tail}" for layer in range(self.num_layers) for tail in ("", "_reverse")[: 1 + self.bidirectional]]
            kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
            self._all_weights = [[kind + tail for kind in kinds if kind + tail in self._parameters] for tail in tails]
            self._flat_weights_names = [name for row in self._all_weights for name in row]

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> Module:
        applied = super()._apply(fn, recurse)
        self.__dict__.pop("_set_weights", None)
        return applied

    @property
    def all_weights(self) -> list[list[Tensor]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Do nothing: in torch, this compacts the weights for cuDNN."""

    def reset_parameters(self) -> None:
        """Initialize all parameters."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise RuntimeError unless the input has the size that the layer expects."""
        # A parametrized weight is computed at each read: use the dtype of its original.
        first = next(self.parameters(), None)
        kind = (self._flat_weights[0] if first is None else first).dtype
        if input.dtype != kind and not autocast.on:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({kind}). Convert input: input.to({kind}), or convert "
                f"model: model.to({input.dtype})"
            )
        rank = 2 if batch_sizes is not None else 3
        if input.dim() != rank:
            raise RuntimeError(f"input must have {rank} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def _expected(self, size: int, batch: int) -> tuple[int, int, int]:
        return self.num_layers * (2 if self.bidirectional else 1), batch, size

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """Return the shape of the hidden state (for LSTM, the first of two) for an input, which is packed if ``batch_sizes`` is given."""
        return self._expected(self.proj_size if self.proj_size > 0 else self.hidden_size, self._batch_of(input, batch_sizes))

    def _batch_of(self, input: Tensor, batch_sizes: Tensor | None) -> int:
        return input.size(0 if self.batch_first else 1) if batch_sizes is None else int(batch_sizes[0])

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """Raise RuntimeError unless the hidden state has the expected shape."""
        if tuple(hx.size()) != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise RuntimeError unless input and hidden states have the expected shapes."""
        self.check_input(input, batch_sizes)
        self._check_states(hidden if isinstance(hidden, tuple) else (hidden,), self._batch_of(input, batch_sizes))

    def permute_hidden(self, hx: Tensor, permutation: Tensor | None) -> Any:
        """Return the hidden states permuted along the batch dimension."""
        if permutation is None:
            return hx
        if isinstance(hx, tuple):
            return tuple(part.index_select(1, permutation) for part in hx)
        return hx.index_select(1, permutation)

    def _weights(self) -> list[tuple[Any, ...]]:
        found, given = [], iter(self._flat_weights)
        for names in self._all_weights:
            by_kind = {name.split("_l")[0]: next(given) for name in names}
            kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
            found.append(tuple(by_kind.get(kind) for kind in kinds))
        return found

    def _check_states(self, states: tuple[Tensor, ...], batch: int) -> None:
        out_size = self.proj_size if self.proj_size > 0 else self.hidden_size
        if self.mode == "LSTM":
            self.check_hidden_size(states[0], self._expected(out_size, batch), "Expected hidden[0] size {}, got {}")
            self.check_hidden_size(states[1], self._expected(self.hidden_size, batch), "Expected hidden[1] size {}, got {}")
        else:
            self.check_hidden_size(states[0], self._expected(out_size, batch))

    def _initial(self, input: Tensor, batch: int) -> tuple[Tensor, ...]:
        out_size = self.proj_size if self.proj_size > 0 else self.hidden_size
        sizes = (out_size, self.hidden_size) if self.mode == "LSTM" else (out_size,)
        made = {"dtype": input.dtype, "device": input.device}
        return tuple(above.torch.zeros(self._expected(size, batch), **made) for size in sizes)

    def _run(self, rows: Tensor, batch_sizes: list[int], states: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
        return _run(
            self.mode, rows, batch_sizes, states, self._weights(), self.num_layers, self.bidirectional, self.dropout,
            self.training,
        )  # fmt: skip

    def _is_seen(self, input: Tensor) -> bool:
        """Return True if a torch function mode is active, or the class of the input or of a weight overrides torch functions."""
        weights = self._parameters.values()
        return _are_handled(input, *weights)

    def _as_function(
        self, input: Tensor, states: tuple[Tensor, ...], batch_sizes: Tensor | None = None
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Run the layer as a function of its weights, which modes can intercept, as in torch; packed input is passed with ``batch_sizes``.
        """
        function = getattr(above.torch, self.mode.lower())
        rows, form = ((input,), (self.batch_first,)) if batch_sizes is None else ((input, batch_sizes), ())
        output, *last = function(
            *rows, states if self.mode == "LSTM" else states[0], self._flat_weights, self.bias, self.num_layers, self.dropout,
            self.training, self.bidirectional, *form,
        )  # fmt: skip
        return output, tuple(last)

    def _forward_packed(self, input: PackedSequence, states: Any) -> tuple[Any, tuple[Tensor, ...]]:
        data, batch_sizes, sorted_indices, unsorted_indices = input
        self.check_input(data, batch_sizes)
        batch = int(batch_sizes[0])
        if states is None:
            states = self._initial(data, batch)
        else:
            states = self.permute_hidden(tuple(states), sorted_indices)  # type: ignore[arg-type]  # LSTM's takes both states
        self._check_states(states, batch)
        if self._is_seen(data):
            output, last = self._as_function(data, states, batch_sizes)
        else:
            output, last = self._run(data, [int(n) for n in batch_sizes.tolist()], states)
        packed = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
        return packed, self.permute_hidden(last, unsorted_indices)  # type: ignore[arg-type]

    def _check_ranks(self, states: tuple[Tensor, ...], batched: bool) -> None:
        rank = 3 if batched else 2
        for part in states:
            if part.dim() != rank:
                start = f"For {'batched' if batched else 'unbatched'} {rank}-D input, "
                if self.mode == "LSTM":
                    ranks = f"({states[0].dim()}-D, {states[1].dim()}-D) tensors"
                    raise RuntimeError(f"{start}hx and cx should also be {rank}-D but got {ranks}")
                raise RuntimeError(f"{start}hx should also be {rank}-D but got {part.dim()}-D tensor")

    def _forward(self, input: Tensor, states: tuple[Tensor, ...] | None) -> tuple[Any, tuple[Tensor, ...]]:
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, states)
        if input.dim() not in (2, 3):
            end = " tensor" if self.mode.startswith("RNN") else ""
            raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D{end} instead")
        batched = input.dim() == 3
        if states is not None:
            self._check_ranks(states, batched)
        if not batched:
            input = input.unsqueeze(0 if self.batch_first else 1)
            states = None if states is None else tuple([part.unsqueeze(1) for part in states])
        self.check_input(input, None)
        length, batch = input.shape[1::-1] if self.batch_first else input.shape[:2]
        if length == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        if states is None:
            states = self._initial(input, batch)
        self._check_states(states, batch)
        if self._is_seen(input):
            output, last = self._as_function(input, states)
        else:
            steps_first = input.transpose(0, 1) if self.batch_first else input
            rows, last = self._run(steps_first.reshape(length * batch, steps_first.shape[-1]), [batch] * length, states)
            output = no_view(rows.reshape(length, batch, rows.shape[-1]))
            if self.batch_first:
                output = output.transpose(0, 1)
                if self.mode != "LSTM":  # torch's LSTM returns the view
                    no_view(output)
        if not batched:
            output = output.squeeze(0 if self.batch_first else 1)
            last = tuple(part.squeeze(1) for part in last)
        return output, last

    def extra_repr(self) -> str:
        """Return the arguments that differ from their defaults, for the module's repr."""
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size != 0:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.batch_first is not False:
            text += f", batch_first={self.batch_first}"
        if self.dropout != 0:
            text += f", dropout={self.dropout}"
        if self.bidirectional is not False:
            text += f", bidirectional={self.bidirectional}"
        return text


class RNN(RNNBase):
    """Computes ``h' = tanh(w_ih @ x + b_ih + w_hh @ h + b_hh)``, or with relu."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            self_nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            self_nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if self_nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{self_nonlinearity}'. Select from 'tanh' or 'relu'.")
        self.nonlinearity = self_nonlinearity
        super().__init__("RNN_TANH" if self_nonlinearity == "tanh" else "RNN_RELU", *args, **kwargs)

    @overload
    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]: ...

    @overload
    def forward(self, input: PackedSequence, hx: Tensor | None = None) -> tuple[PackedSequence, Tensor]: ...

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[PackedSequence, Tensor] | tuple[Tensor, Tensor]:
        """Apply the layer: (L, N, H_in), (D * layers, N, H) → (L, N, D * H), (D * layers, N, H); also batch first, unbatched, or packed."""
        output, last = self._forward(input, None if hx is None else (hx,))
        return output, last[0]


class LSTM(RNNBase):
    """Long short-term memory (https://www.bioinf.jku.at/publications/older/2604.pdf); gate order: input, forget, cell, output."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """Return the shape of the cell state for an input, which is packed if ``batch_sizes`` is given."""
        return self._expected(self.hidden_size, self._batch_of(input, batch_sizes))

    @overload
    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]: ...

    @overload
    def forward(
        self, input: PackedSequence, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[PackedSequence, tuple[Tensor, Tensor]]: ...

    def forward(self, input: Any, hx: tuple[Tensor, Tensor] | None = None) -> Any:
        """Apply the layer: (L, N, H_in), two states (D * layers, N, H) → (L, N, D * H), two states; or batch first, unbatched, packed."""
        states = hx if hx is None or isinstance(hx, tuple) else (hx[0], hx[1])
        if states is not None and len(states) > 2:
            raise RuntimeError("lstm expects two hidden states")
        return self._forward(input, states)


class GRU(RNNBase):
    """Gated recurrent unit (https://arxiv.org/abs/1406.1078); gate order: reset, update, new."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)

    @overload
    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]: ...

    @overload
    def forward(self, input: PackedSequence, hx: Tensor | None = None) -> tuple[PackedSequence, Tensor]: ...

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[PackedSequence, Tensor] | tuple[Tensor, Tensor]:
        """Apply the layer: (L, N, H_in), (D * layers, N, H) → (L, N, D * H), (D * layers, N, H); also batch first, unbatched or packed."""
        output, last = self._forward(input, None if hx is None else (hx,))
        return output, last[0]


class RNNCellBase(Module):
    """Base of recurrent cells: weight_ih (chunks * H, in), weight_hh (chunks * H, H), biases, uniform in ±1/sqrt(hidden_size)."""

    __constants__ = ["input_size", "hidden_size", "bias"]
    weight_hh: Tensor
    weight_ih: Tensor

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: int | str | device | None = None, dtype: Any = None
    ) -> None:
        super().__init__()
        made = {"device": device, "dtype": dtype}
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        self.weight_ih = parameter(num_chunks * hidden_size, input_size, **made)
        self.weight_hh = parameter(num_chunks * hidden_size, hidden_size, **made)
        if bias:
            self.bias_ih = parameter(num_chunks * hidden_size, **made)
            self.bias_hh = parameter(num_chunks * hidden_size, **made)
        else:
            self.register_parameter("bias_ih", None)
            self.register_parameter("bias_hh", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize all parameters."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        """Return the arguments that differ from their defaults, for the module's repr."""
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        nonlinearity = self.__dict__.get("nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"

    def _step(self, mode: str, input: Tensor, states: tuple[Tensor, ...] | None) -> tuple[Tensor, ...]:
        name, shape = type(self).__name__, input._ms_shape
        if len(shape) not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {len(shape)}D instead")
        for i, state in enumerate(states or ()):
            if len(state._ms_shape) not in (1, 2):
                which = f"hx[{i}]" if mode == "LSTM" else "hidden"
                raise ValueError(f"{name}: Expected {which} to be 1D or 2D, got {len(state._ms_shape)}D instead")
        batched = len(shape) == 2
        x = input if batched else input.unsqueeze(0)
        rows, width = x._ms_shape
        if width != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {width} expected {self.input_size}")
        if states is None:
            # `size` and not `rows`, because a trace notes that it is asked
            start = above.torch.zeros((x.size(0), self.hidden_size), dtype=x.dtype, device=x.device)
            states = (start, start) if mode == "LSTM" else (start,)
        elif not batched:
            states = tuple(state.unsqueeze(0) for state in states)
        for i, state in enumerate(states):
            count, size = state._ms_shape
            if count != rows:
                raise RuntimeError(f"Input batch size {rows} doesn't match hidden{i} batch size {count}")
            if size != self.hidden_size:
                raise RuntimeError(f"hidden{i} has inconsistent hidden_size: got {size}, expected {self.hidden_size}")
        operands = (x, *states, *self._parameters.values())
        if _are_handled(*operands):
            function = getattr(above.torch, f"{mode.lower()}_cell")
            given = states if mode == "LSTM" else states[0]
            found = function(x, given, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
            last = tuple(found) if mode == "LSTM" else (found,)
            return last if batched else tuple(state.squeeze(0) for state in last)
        last = _step(mode, linear(x, self.weight_ih, self.bias_ih), states, self.weight_hh, self.bias_hh)
        return last if batched else tuple(state.squeeze(0) for state in last)


class RNNCell(RNNCellBase):
    """One time step of an RNN."""

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]
    weight_hh: Tensor
    weight_ih: Tensor

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device: int | str | device | None = None,
        dtype: dtype | None = None
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, num_chunks=1, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Apply the layer: (N, in), (N, H) → (N, H), or unbatched."""
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(f"RNN_{self.nonlinearity.upper()}", input, None if hx is None else (hx,))[0]


class LSTMCell(RNNCellBase):
    """One time step of an LSTM."""

    weight_hh: Tensor
    weight_ih: Tensor

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: int | str | device | None = None, dtype: dtype | None = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=4, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """Apply the layer: (N, in), two states (N, H) → two states (N, H), or unbatched."""
        return self._step("LSTM", input, None if hx is None else tuple(hx))  # type: ignore[return-value]


class GRUCell(RNNCellBase):
    """One time step of a GRU."""

    weight_hh: Tensor
    weight_ih: Tensor

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: int | str | device | None = None, dtype: dtype | None = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=3, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Apply the layer: (N, in), (N, H) → (N, H), or unbatched."""
        return self._step("GRU", input, None if hx is None else (hx,))[0]


__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]

"""Random tensors: torch's numbers, drawn by ``_mt19937`` on the host, or an accelerator's own."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import mt19937 as _mt19937
from ...backend import trace
from ...backend.arrays import Array, within
from ...backend.cast import numpy_cast
from ...backend.device_random import DeviceStream
from ...backend.errors import not_for
from ...backend.float8 import COMPLEX_HALF, STORED, of_halves
from ...backend.raw import Raw, from_numpy
from ...core import device as devices
from ...core.device import device
from ...core.device_tensors import without_values
from ...core.dtype import bfloat16, bool_, complex32, dtype, get_default_dtype, int64
from ...core.formats import layout, memory_format
from ...core.generator import Generator, drawn_in_slices, draws_on_device, engine_for, engine_of
from ...core.no_memory import tells_no_memory
from ...core.one_device import OneDevice
from ...core.strides import iteration_order
from ...core.tensor_base import TensorBase, array_of, meta_tensor, recording, strides_of, touch, value_of, wrap
from ...core.writable import check_history, check_writable
from ...mt19937.engine import Engine
from ...tape.composite import record
from ...tape.moving import beside
from ...tape.ways import ways
from .._dispatch import (
    broadcast_shape,
    deliver,
    finish,
    readable,
    refuse_codes,
    shape_args,
    type_word,
    whole,
    write,
    write_array,
)
from .._forms import SIZE, Forms
from .._fresh_out import fresh_out
from .._named import written_by
from .._numbers import refuse_tracked
from .._operation import BY_SIZE, BY_TENSOR, BY_VALUES, IN_PLACE, operation
from .._overlaps import refuse_partly
from ..elementwise import elementwise
from ..memory.copying import is_contiguous
from ..memory.creation import _checked_size, empty_like
from ..memory.from_data import made
from ..memory.placing import placed
from ..shape.views import expand, permute
from . import random_device

# torch's names of kernels in errors, if they differ from the distribution's.
_CALLED = {
    "uniform": "check_uniform_bounds", "normal": "normal_kernel_cpu", "random_between": "random_update_from_to",
    "permutation": "randperm", "random_all": "random_kernel_cpu", "trunc_normal": "normal_kernel_cpu",
    "bernoulli": "bernoulli_scalar_cpu_", "bernoulli_each": "bernoulli_tensor_cpu_self_",
}
_LAST_REFUSED = ("normal", "exponential", "log_normal", "geometric")  # torch checks the dtype only if there are elements to draw


@tells_no_memory
def draw(name: str, engine: Engine, *args: Any) -> Any:
    """Draw numbers by the function ``name`` of ``_mt19937`` or, for an accelerator's stream, of ``random_device``; one thread at a time."""
    if name in _LAST_REFUSED and 0 in args[0]:
        return np.zeros(args[0], np.float32)
    if name in ("uniform", "normal") and args[-1] == COMPLEX_HALF:  # real and imaginary parts are drawn one after another
        shape, first, second, _ = args
        halves = draw(name, engine, (*shape, 2), first, second / math.sqrt(2.0) if name == "normal" else second, "float16")
        return of_halves(halves)
    refused = next((arg for arg in args if isinstance(arg, str) and arg in STORED), None)
    if refused is not None:
        raise not_for(_CALLED.get(name, f"{name}_cpu"), refused)
    source = _mt19937 if isinstance(engine, _mt19937.Engine) else random_device
    function = getattr(source, name, None)
    if source is random_device and args[-1].__class__ is str:  # the CPU's functions check it themselves
        random_device.refuse(_CALLED.get(name, f"{name}_cpu"), name, args[-1])
    if function is None:
        raise NotImplementedError(f"mstorch: torch.{name} has no kernel for an accelerator's generator; draw it on the CPU")

    def once(given: tuple[Any, ...]) -> Array | float:
        # A graph draws anew for each run, from the stream that the capture had a copy of.
        stream = engine if engine.stands_for is None else engine.stands_for.engine
        with stream.lock:
            return function(stream, *given)

    def drawn() -> Array | float:
        return drawn_in_slices(engine, name, args, once)

    return trace.drawn(drawn, lambda found: _as_raw(found, args))


def _stream(generator: Generator | None, like: TensorBase, name: str) -> Engine:
    """Return the stream for a tensor's random numbers: the given generator's or, if the device supports the draw, the device's."""
    if generator is not None:
        return engine_of(generator)
    stream = engine_for(like)
    return stream if isinstance(stream, _mt19937.Engine) or hasattr(random_device, name) else engine_of(None)


def _named_stream(generator: Generator | None, device: device | str | int | None, out: TensorBase | None) -> Engine:
    """Return a factory's stream: the given generator's, else that of ``device``, of ``out``, or of the default device."""
    if device is None and out is not None:
        device = out.device
    return engine_of(generator, devices.resolve(device) if generator is None else device)


@ways(raw=lambda raw, args: raw)
def _as_raw(array: Any, args: tuple[Any, ...]) -> Raw:
    """Return drawn values as inputs of a captured graph."""
    wanted = bfloat16.np if any(isinstance(arg, str) and arg == "bfloat16" for arg in args) else np.asarray(array).dtype
    return from_numpy(numpy_cast(np.asarray(array), wanted))


def _tensor_of_raw(raw: Raw, kind: dtype, requires_grad: bool, out: Any, name: str = "") -> Any:
    if out is None:
        return wrap(raw).requires_grad_(requires_grad)
    return fresh_out(name, wrap(raw), out, requires_grad) if name else deliver(wrap(raw), out)


@ways(raw=_tensor_of_raw)
def _tensor(array: Array, kind: dtype, requires_grad: bool, out: TensorBase | None, name: str = "") -> TensorBase:
    array = np.asarray(array)  # NumPy's arithmetic makes scalars of 0-d arrays
    values = array if array.dtype == kind.np else numpy_cast(array, kind.np)
    if out is not None:
        return fresh_out(name, made(values), out, requires_grad) if name else deliver(made(values), out)
    return made(values, requires_grad)


def _sampled(array: Any, kind: dtype, parameters: Sequence[Any], out: TensorBase | None) -> TensorBase:
    """Return numbers drawn with tensors as parameters, on the device of the parameters; a meta tensor if the parameters are meta tensors.
    """
    sample = finish(meta_tensor(array, kind), out) if array.__class__ is tuple else _tensor(array, kind, False, out)
    if out is None:
        for parameter in parameters:
            sample = beside(sample, parameter)
    if out is not None or kind.is_integral or not recording(parameters):
        return sample
    return record("NormalBackward3", _no_gradient, parameters, (sample,), needed=(), kept=())[0]


def _no_gradient(gradients: Sequence[TensorBase], outputs: Sequence[Any], inputs: Sequence[TensorBase]) -> tuple[TensorBase, ...]:
    """Return zeros as the gradients of a random function's parameters."""
    return tuple(like.detach() * 0 for like in inputs)


def _floating(kind: dtype | None, out: Any, name: str, shape: Sequence[int] = ()) -> dtype:
    kind = kind or (out._ms_dtype if out is not None else get_default_dtype())
    if 0 not in shape and (kind.is_integral or kind.ms is None and kind is not complex32):
        raise not_for(name, kind.name)
    return kind


def _standard(
    name: str, distribution: str, size: tuple[Any, ...], kind: dtype, generator: Generator | None, out: TensorBase | None,
    device: device | str | int | None, requires_grad: bool,
) -> TensorBase:  # fmt: skip
    """Return standard uniform or normal numbers, for the function ``name``."""
    shape = _checked_size(shape_args(size))
    found = without_values(device, kind, shape, None, requires_grad)
    if found is not None:
        return found
    array = draw(distribution, _named_stream(generator, device, out), shape, 0.0, 1.0, kind.name)
    return _tensor(array, kind, requires_grad, out, name)


@operation(forms=SIZE, draws=BY_SIZE)
@placed(drawn=True)
def rand(
    *size: int | Sequence[int], generator: Generator | None = None, out: TensorBase | None = None, dtype: dtype | None = None,
    layout: layout | None = None, device: device | str | int | None = None, requires_grad: bool = False, pin_memory: bool = False,
) -> TensorBase:  # fmt: skip
    """Return uniform random numbers in [0, 1)."""
    devices.refuse_pinning(pin_memory, device)
    kind = _floating(dtype, out, "check_uniform_bounds")
    return _standard("rand", "uniform", size, kind, generator, out, device, requires_grad)


@operation(forms=SIZE, draws=BY_SIZE)
@placed(drawn=True)
def randn(
    *size: int | Sequence[int], generator: Generator | None = None, out: TensorBase | None = None, dtype: dtype | None = None,
    layout: layout | None = None, device: device | str | int | None = None, requires_grad: bool = False, pin_memory: bool = False,
) -> TensorBase:  # fmt: skip
    """Return standard normal random numbers."""
    devices.refuse_pinning(pin_memory, device)
    kind = _floating(dtype, out, "normal_kernel_cpu", shape_args(size))
    return _standard("randn", "normal", size, kind, generator, out, device, requires_grad)


def _check_range(low: int, high: int, kind: dtype) -> None:
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if kind is bool_:
        limits = (0, 1)
    elif kind.category == 1:
        info = np.iinfo(kind.np)
        limits = (int(info.min), int(info.max))
    else:
        return
    if not limits[0] <= low <= limits[1]:
        raise RuntimeError(f"from is out of bounds for {_cpp_int(kind)}")
    if not limits[0] <= high - 1 <= limits[1]:
        raise RuntimeError(f"to - 1 is out of bounds for {_cpp_int(kind)}")


def _cpp_int(kind: dtype) -> str:
    return {
        "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int", "int64": "long int",
        "uint16": "short unsigned int", "uint32": "unsigned int", "uint64": "long unsigned int", "complex64": "c10::complex<float>",
        "complex128": "c10::complex<double>",
    }[kind.name]  # fmt: skip


@operation(draws=BY_SIZE)
@placed(drawn=True)
def randint(
    *args: Any, generator: Generator | None = None, out: TensorBase | None = None, dtype: dtype | None = None, layout: layout | None = None,
    device: device | str | int | None = None, requires_grad: bool = False, pin_memory: bool = False, low: int | None = None,
    high: int | None = None, size: tuple[int, ...] | None = None,
) -> TensorBase:  # fmt: skip
    """Return random integers in [``low``, ``high``), ``low`` 0 by default: ``randint(high, size)`` or ``randint(low, high, size)``."""
    devices.refuse_pinning(pin_memory, device)
    values = list(args)
    if size is None:
        size = values.pop()
    if high is None:
        high = values.pop()
    if low is None:
        low = values.pop() if values else 0
    kind = dtype or (out._ms_dtype if out is not None else int64)
    low, high = int(low), int(high)
    if kind.ms is None:
        raise not_for("random_update_from_to", kind.name)
    _check_range(low, high, kind)
    found = without_values(device, kind, _checked_size(tuple(size)), None, requires_grad)
    if found is not None:
        return found
    engine = _named_stream(generator, device, out)
    array = draw("random_between", engine, _checked_size(tuple(size)), low, high, kind.name)
    return _tensor(array, kind, requires_grad, out, "randint")


@operation(draws=BY_SIZE)
@placed(drawn=True)
def randperm(
    n: int, *, generator: Generator | None = None, out: TensorBase | None = None, dtype: dtype | None = None,
    layout: layout | None = None, device: device | str | int | None = None, requires_grad: bool = False, pin_memory: bool = False,
) -> TensorBase:  # fmt: skip
    """Return a random permutation of 0 … n-1."""
    devices.refuse_pinning(pin_memory, device)
    engine = _named_stream(generator, device, out)
    n = whole(n)
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    kind = dtype or (out._ms_dtype if out is not None else int64)
    _check_permutation(n, kind)
    found = without_values(device, kind, (n,), None, requires_grad)
    if found is not None:
        return found
    return _tensor(draw("permutation", engine, n, kind.name), kind, requires_grad, out, "randperm")


def _check_permutation(n: int, kind: dtype) -> None:
    limits = {"float16": 2**11 + 1, "bfloat16": 2**8 + 1, "float32": 2**24 + 1, "float64": 2**53 + 1}
    limit = limits.get(kind.name) or (int(np.iinfo(kind.np).max) if kind.category == 1 else 1)
    if n > limit + (kind.category == 1) and kind.ms is not None:
        if kind.category == 1:
            raise RuntimeError(f"value cannot be converted to type {kind.name}_t without overflow")
        raise RuntimeError(f"n cannot be greater than {limit} for {type_word(kind)} type.")


@operation(draws=BY_TENSOR)
@placed(like=True, drawn=True)
def rand_like(
    input: TensorBase, *, generator: Generator | None = None, dtype: dtype | None = None, layout: layout | None = None,
    device: device | str | int | None = None,
    requires_grad: bool = False, memory_format: memory_format | None = None, pin_memory: bool = False,
) -> TensorBase:  # fmt: skip
    """Return uniform random numbers in [0, 1) with the shape, dtype and memory format of ``input``."""
    memory = empty_like(input, dtype=dtype, device=device, memory_format=memory_format, pin_memory=pin_memory)
    return _fresh(uniform_(memory, generator=generator), requires_grad)


@operation(draws=BY_TENSOR)
@placed(like=True, drawn=True)
def randn_like(
    input: TensorBase, *, generator: Generator | None = None, dtype: dtype | None = None, layout: layout | None = None,
    device: device | str | int | None = None,
    requires_grad: bool = False, memory_format: memory_format | None = None, pin_memory: bool = False,
) -> TensorBase:  # fmt: skip
    """Return standard normal random numbers with the shape, dtype and memory format of ``input``."""
    memory = empty_like(input, dtype=dtype, device=device, memory_format=memory_format, pin_memory=pin_memory)
    return _fresh(normal_(memory, generator=generator), requires_grad)


@operation(forms=Forms({"high": "low"}), draws=BY_TENSOR)
@placed(like=True, drawn=True)
def randint_like(
    input: TensorBase, low: TensorBase | int, high: TensorBase | int | None = None, *, generator: Generator | None = None,
    dtype: dtype | None = None, layout: layout | None = None, device: device | str | int | None = None, requires_grad: bool = False,
    memory_format: memory_format | None = None, pin_memory: bool = False,
) -> TensorBase:  # fmt: skip
    """Return random integers in [``low``, ``high``) with the shape, dtype and memory format of ``input``."""
    if high is None:
        low, high = 0, low
    memory = empty_like(input, dtype=dtype, device=device, memory_format=memory_format, pin_memory=pin_memory)
    return _fresh(random_(memory, int(low), int(high), generator=generator), requires_grad)


def _fresh(tensor: Any, requires_grad: bool) -> TensorBase:
    """Return a new tensor with its version reset to 0, because torch does not count the first fill, and with ``requires_grad`` set on
    request."""
    tensor._ms_counter.version = 0
    return tensor.requires_grad_() if requires_grad else tensor


def _put(tensor: TensorBase, drawn: Array) -> TensorBase:
    """Store drawn values in a tensor, in place."""
    _store(drawn, tensor)
    return tensor


def _store_raw(raw: Raw, tensor: Any) -> bool:
    write(tensor, wrap(raw))
    return True


@ways(raw=_store_raw)
def _store(array: Array, tensor: TensorBase) -> None:
    kind, array = tensor._ms_dtype, np.asarray(array)
    write_array(tensor, array if array.dtype == kind.np else numpy_cast(array, kind.np))


@ways(absent=lambda tensor, engine, name, *args: _put(tensor, np.zeros((), tensor._ms_dtype.np)))
def _filled(tensor: TensorBase, engine: Engine, name: str, *args: Any) -> TensorBase:
    """Fill a tensor with numbers of the distribution ``name``, in the order of its elements in memory, as torch."""
    shape, kind = tensor._ms_shape, tensor._ms_dtype.name
    in_rows = tensor._ms_stride is None or is_contiguous(tensor)
    order = list(range(len(shape))) if in_rows else iteration_order(shape, (strides_of(tensor),))[::-1]
    if name == "bernoulli_each":
        drawn = draw(name, engine, args[0] if in_rows else _in_order(args[0], order), kind)
    else:
        drawn = draw(name, engine, tuple(shape[i] for i in order), *args, kind, *([in_rows] if name == "normal" else []))
    return _put(tensor, drawn if in_rows else _in_order(drawn, [int(i) for i in np.argsort(order)]))


@ways(raw=lambda raw, order: value_of(permute(wrap(raw), order)))
def _in_order(array: Array, order: list[int]) -> Array:
    return np.ascontiguousarray(array.transpose(order))


@operation(draws=IN_PLACE)
@written_by("UniformBackward0")
def uniform_(self: TensorBase, from_: float = 0, to: float = 1, *, generator: Generator | None = None, **kwargs: Any) -> TensorBase:
    """Fill with uniform random numbers in [from, to)."""
    low = kwargs.pop("from", from_)
    if kwargs:
        raise TypeError(f"uniform_() got an unexpected keyword argument '{next(iter(kwargs))}'")
    check_history(self)
    _floating(self._ms_dtype, None, "check_uniform_bounds")
    refuse_tracked(low, to)
    low, high = float(low), float(to)
    if low > high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}"
        )
    check_writable(self)
    return _filled(self, _stream(generator, self, "uniform"), "uniform", low, high)


@operation(draws=IN_PLACE)
@written_by("NormalBackward0")
def normal_(self: TensorBase, mean: float = 0, std: float = 1, *, generator: Generator | None = None) -> TensorBase:
    """Fill with normal random numbers."""
    check_history(self)
    _check_std(std)
    if 0 in self._ms_shape:
        check_writable(self)
        touch(self)
        return self
    _floating(self._ms_dtype, None, "normal_kernel_cpu")
    refuse_tracked(mean, std)
    check_writable(self)
    return _filled(self, _stream(generator, self, "normal"), "normal", float(mean), float(std))


def _check_std(std: float) -> None:
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {float(std):g}")


@operation(draws=BY_VALUES, one_device=OneDevice("Tensor_Tensor_normal"))
@placed(drawn=True)
def normal(
    mean: TensorBase | float = 0.0, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None,
    out: TensorBase | None = None, dtype: dtype | None = None,
    layout: layout | None = None, device: int | str | device | None = None, pin_memory: bool = False, requires_grad: bool = False,
) -> TensorBase:  # fmt: skip
    """Return normal random numbers of the given means and standard deviations (tensors or numbers), or of a given size."""
    devices.refuse_pinning(pin_memory, device)
    engine = _named_stream(generator, device, out)
    if size is not None:
        refuse_tracked(mean, std)
        mean, std = (item.item() if isinstance(item, TensorBase) else item for item in (mean, std))
    if isinstance(mean, TensorBase) or isinstance(std, TensorBase):
        kind = mean._ms_dtype if isinstance(mean, TensorBase) else std._ms_dtype
        if isinstance(std, TensorBase):
            if std._ms_dtype.is_complex:
                raise RuntimeError("normal expects standard deviation to be non-complex")
            if readable(std) is not None and bool((_array(std) < 0).any()):
                raise RuntimeError("normal expects all elements of std >= 0.0")
        else:
            _check_std(std)
        refuse_partly(out, mean, std)
        if isinstance(mean, TensorBase) and isinstance(std, TensorBase):
            broadcast_shape(mean._ms_shape, std._ms_shape)
        if generator is None and any(map(draws_on_device, (mean, std))):
            return _normal_on_device(mean, std, kind, out)
        return _drawn_around([item for item in (mean, std) if isinstance(item, TensorBase)], mean, std, engine, kind, out)
    _check_std(std)
    kind = _floating(dtype, out, "normal_kernel_cpu", size)
    found = None if out is not None else without_values(device, kind, _checked_size(tuple(size)), None, requires_grad)
    if found is not None:
        return found
    array = draw("normal", engine, _checked_size(tuple(size)), float(mean), float(std), kind.name)
    return _tensor(array, kind, requires_grad, out, "normal")


@ways(absent=lambda given, mean, std, engine, kind, out: _sampled(np.broadcast_shapes(*(one._ms_shape for one in given)), kind, given, out))
def _drawn_around(
    given: list[Any], mean: TensorBase, std: TensorBase | float, engine: Engine, kind: dtype, out: TensorBase | None
) -> TensorBase:
    """Return normal random numbers with mean ``mean`` and standard deviation ``std``, drawn by ``engine``. ``given`` lists those of
    ``mean`` and ``std`` that are tensors."""
    centre, spread = (_array(item) if isinstance(item, TensorBase) else float(item) for item in (mean, std))
    return _sampled(draw("normal_around", engine, centre, spread, kind.name), kind, given, out)


def _normal_on_device(mean: Any, std: Any, kind: dtype, out: Any) -> Any:
    """Return normal random numbers whose mean and standard deviation are device tensors, computed on the device without reading them on the
    host."""
    given = [item for item in (mean, std) if isinstance(item, TensorBase)]
    here = next(filter(draws_on_device, given))
    shape = np.broadcast_shapes(*(item._ms_shape for item in given))
    drawn = _tensor(draw("normal", _stream(None, here, "normal"), shape, 0.0, 1.0, kind.name), kind, False, None)
    found = elementwise.add(elementwise.mul(beside(drawn, here), std), mean)
    return _sampled(value_of(found), kind, given, out)


@operation(draws=IN_PLACE)
@written_by(lambda self, *bounds, generator=None, **named: f"RandomBackward{2 - len(bounds) - len(named)}")
def random_(self: TensorBase, *args: Any, generator: Generator | None = None, **bounds: Any) -> TensorBase:
    """Fill with random integers: ``random_()``, ``random_(to)``, ``random_(from, to)``."""
    check_writable(self)
    low, high = bounds.pop("from", 0), bounds.pop("to", None)
    if len(args) == 1:
        low, high = (0, args[0]) if "to" not in bounds else (args[0], high)
    elif len(args) == 2:
        low, high = args
    engine, kind = _stream(generator, self, "random_between"), self._ms_dtype
    if high is None and low == 0 and not args:
        return _filled(self, engine, "random_all")
    if high is not None:
        _check_range(int(low), int(high), kind)
    return _filled(self, engine, "random_between", int(low), None if high is None else int(high))


def _check_probability(p: float) -> None:
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={float(p):g}")


@operation(draws=IN_PLACE)
@written_by(lambda self, p=0.5, **given: f"BernoulliBackward{1 if isinstance(p, TensorBase) else 2}")
def bernoulli_(self: TensorBase, p: TensorBase | float = 0.5, *, generator: Generator | None = None) -> TensorBase:
    """Fill with 1 with probability ``p`` (a number, or a tensor with one probability per element), else with 0."""
    if not isinstance(p, TensorBase):
        _check_probability(p)
    check_writable(self)
    engine = _stream(generator, self, "bernoulli")
    if isinstance(p, TensorBase):
        refuse_partly(self, p)
        chances = _chances(p, engine, self._ms_shape)
        if _draws_there(engine, p):
            return _put(self, draw("bernoulli_each", engine, chances, self._ms_dtype.name))
        return _filled(self, engine, "bernoulli_each", chances)
    return _filled(self, engine, "bernoulli", float(p))


def _array(tensor: TensorBase) -> Array:
    """Return the values for drawing functions; bfloat16, which NumPy lacks, as float32."""
    refuse_codes("bernoulli_tensor_cpu_self_", tensor)
    values = array_of(tensor)
    return numpy_cast(values, np.dtype(np.float32)) if tensor._ms_dtype.name == "bfloat16" else values


def _draws_there(engine: DeviceStream | Engine, tensor: TensorBase) -> bool:
    """Return True if the device draws the numbers itself, so that the host need not read the parameter ``tensor``."""
    return isinstance(engine, DeviceStream) and draws_on_device(tensor)


@ways(absent=lambda p, engine, shape: np.broadcast_to(np.zeros(()), shape))
def _chances(p: TensorBase, engine: Engine, shape: tuple[int, ...]) -> Array:
    if _draws_there(engine, p):
        return expand(p, shape)
    return np.asarray(np.broadcast_to(_probabilities(p), shape), order="C")


def _probabilities(p: TensorBase) -> Array:
    array = _array(p)
    if not within(array, 0, 1):
        raise RuntimeError(
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If so, please "
            "report an enhancement request to PyTorch.)"
        )
    return array


@operation(draws=BY_VALUES)
def bernoulli(
    input: TensorBase, p: float | None = None, *, generator: Generator | None = None, out: TensorBase | None = None
) -> TensorBase:
    """Return 1 with the probability in ``input`` (or ``p``), else 0, in the dtype of ``input``."""
    refuse_tracked(p)
    if out is not None and out is not input:
        refuse_partly(out, input)
        # As in torch, numbers are drawn in the dtype of ``out``.
        if out._ms_dtype is not input._ms_dtype:
            chances = input if p is None else p
            return bernoulli_(out if out._ms_shape == input._ms_shape else out.resize_(input._ms_shape), chances, generator=generator)
    engine, kind = _stream(generator, input, "bernoulli"), input._ms_dtype
    return _sampled(_drawn_chances(input, p, engine, kind), kind, (input,), out)


@ways(absent=lambda input, p, engine, kind: input._ms_shape)
def _drawn_chances(input: TensorBase, p: float | None, engine: Engine, kind: dtype) -> Array | float:
    if p is not None:
        _check_probability(p)
        return draw("bernoulli", engine, input._ms_shape, float(p), kind.name)
    if not kind.is_floating_point and 0 not in input._ms_shape:
        raise not_for("bernoulli_tensor_cpu_p_", kind.name)
    return draw("bernoulli_each", engine, _chances(input, engine, input._ms_shape), kind.name)

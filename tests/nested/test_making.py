"""Creation of nested tensors, their properties, errors, copies and files."""
from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as real_torch

import mstorch

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")


def _jagged(t: Any, *lengths: int, width: int = 2, **options: Any) -> Any:
    parts = [t.arange(float(n * width)).reshape(n, width) for n in lengths]
    return t.nested.nested_tensor(parts, layout=t.jagged, **options)


def _strided(t: Any) -> Any:
    return t.nested.nested_tensor([t.arange(6.0).reshape(2, 3), t.arange(4.0).reshape(4, 1)])


def _seen(nested: Any) -> Any:
    """Return the properties of a nested tensor, without the number of its symbolic size."""
    shown = [length if isinstance(length, int) else "ragged" for length in nested.shape]
    return shown, list(nested.unbind()), nested._ragged_idx, nested.is_contiguous(), nested.offsets(), nested.lengths()


MADE: dict[str, Callable[[Any], Any]] = {
    "list": lambda t: _jagged(t, 3, 1, 2),
    "of data": lambda t: t.nested.nested_tensor([[1, 2, 3], [4]], layout=t.jagged),
    "with a dtype": lambda t: _jagged(t, 3, 1, dtype=t.float64),
    "ragged later": lambda t: t.nested.nested_tensor([t.ones(2, 3), t.ones(2, 1)], layout=t.jagged),
    "of rows": lambda t: t.nested.as_nested_tensor(t.arange(12.0).reshape(2, 3, 2), layout=t.jagged),
    "offsets": lambda t: t.nested.nested_tensor_from_jagged(t.arange(10.0).reshape(5, 2), t.tensor([0, 2, 2, 5])),
    "lengths": lambda t: t.nested.nested_tensor_from_jagged(t.arange(5.0), lengths=t.tensor([2, 3])),
    "gaps": lambda t: t.nested.nested_tensor_from_jagged(t.arange(6.0), t.tensor([0, 2, 6]), t.tensor([1, 3])),
    "another dimension": lambda t: t.nested.nested_tensor_from_jagged(t.arange(10.0).reshape(2, 5), t.tensor([0, 2, 5]), jagged_dim=2),
    "narrow": lambda t: t.nested.narrow(t.arange(12.0).reshape(3, 4), 1, t.tensor([0, 1, 2]), t.tensor([2, 3, 1]), layout=t.jagged),
    "narrow to one part": lambda t: t.nested.narrow(t.arange(12.0).reshape(3, 4), 1, 0, 4, layout=t.jagged),
    "masked_select": lambda t: t.nested.masked_select(t.arange(6.0).reshape(2, 3), t.tensor([[True, False, True], [False, False, True]])),
    "padded back": lambda t: t.nested._internal.nested_tensor.nested_from_padded(
        t.arange(12.0).reshape(2, 3, 2), t.tensor([0, 3, 4]), sum_S=4),
    "contiguous": lambda t: t.nested.narrow(
        t.arange(12.0).reshape(3, 4), 1, t.tensor([0, 1, 2]), t.tensor([2, 3, 1]), layout=t.jagged).contiguous(),
}  # fmt: skip


@pytest.mark.parametrize("name", MADE)
def test_jagged_ones(name: str, both) -> None:
    both(lambda t: _seen(MADE[name](t)))


def test_strided_ones(both) -> None:
    def tables(t: Any) -> Any:
        found = []
        mask = t.tensor([[True, True, False], [True, False, False]])
        rows = t.arange(12.0).reshape(2, 3, 2)
        sizes = t.tensor([[2, 2], [3, 1]])
        for nested in (
            _strided(t), _strided(t).transpose(1, 2), _strided(t).unsqueeze(1), t._nested_tensor_from_mask(rows, mask),
            t.nested.as_nested_tensor(rows), t._nested_from_padded(rows, sizes), t.nested.narrow(rows, 0, 1, 1),
            t._nested_view_from_buffer(t.arange(7.0), sizes, *t._nested_compute_contiguous_strides_offsets(sizes)),
        ):  # fmt: skip
            found.append([nested._nested_tensor_size(), nested._nested_tensor_strides(), nested._nested_tensor_storage_offsets()])
            found.append([nested.dim(), nested.numel(), nested.size(0), nested.is_contiguous(), nested.is_nested, nested.layout])
            found.append(list(nested.unbind()))
        return found

    both(tables)


def test_texts(both) -> None:
    both(lambda t: [str(_strided(t)), repr(_strided(t).requires_grad_()), str(t.nested.nested_tensor([]))])
    symbol = str(_jagged(mstorch, 2, 1).shape[1])
    text = repr(_jagged(mstorch, 2, 1, requires_grad=True))
    assert symbol[0] == "j" and text.startswith("NestedTensor(size=(2, j") and text.endswith("requires_grad=True, contiguous=True)")


def test_symbols_of_lengths() -> None:
    one, other = _jagged(mstorch, 2, 1), _jagged(mstorch, 2, 1)
    assert one.shape == (one * 2).shape and one.shape != other.shape
    assert one.shape[1] == one.clone().shape[1] and isinstance(one.shape[1], mstorch.SymInt)
    assert mstorch.nested.nested_tensor_from_jagged(one.values(), one.offsets()).shape == one.shape
    assert one.shape[1] >= 2 and (one.shape[1] * 3 == 3 * one.shape[1]) and hash(one.shape[1]) == hash((one * 2).shape[1])
    with pytest.raises(ValueError, match="indeterminate"):
        _ = one.shape[1] > 2
    with pytest.raises(RuntimeError, match="cannot call binary pointwise function"):
        _ = one + other


REFUSED: dict[str, Callable[[Any], Any]] = {
    "ranks": lambda t: t.nested.nested_tensor([t.ones(1), t.ones(1, 1)]),
    "nothing": lambda t: t.nested.nested_tensor([], layout=t.jagged),
    "two ragged": lambda t: t.nested.nested_tensor([t.ones(1, 2), t.ones(2, 1)], layout=t.jagged),
    "numbers": lambda t: t.nested.nested_tensor([1.0, 2.0], layout=t.jagged),
    "no list": lambda t: t.nested.as_nested_tensor(3),
    "a layout": lambda t: t.nested.nested_tensor([t.ones(2)], layout=t.sparse_coo),
    "no offsets": lambda t: t.nested.nested_tensor_from_jagged(t.ones(2)),
    "a first ragged one": lambda t: t.nested.nested_tensor_from_jagged(t.ones(2), t.tensor([0, 2]), jagged_dim=0),
    "all sizes": lambda t: _strided(t).size(),
    "strides": lambda t: _strided(t).stride(),
    "an irregular size": lambda t: _strided(t).size(1),
    "other sizes": lambda t: _strided(t) + t.nested.nested_tensor([t.ones(2, 3), t.ones(4, 2)]),
    "a plain one": lambda t: _strided(t) + t.ones(3),
    "first transposed": lambda t: _strided(t).transpose(0, 1),
    "first unsqueezed": lambda t: _strided(t).unsqueeze(0),
    "squeeze": lambda t: _strided(t).squeeze(),
    "softmax of parts": lambda t: _strided(t).softmax(0),
    "sum of one": lambda t: _strided(t).sum(1, True),
    "not kept": lambda t: _strided(t).sum(-1),
    "a smaller size": lambda t: _strided(t).to_padded_tensor(0.0, (2, 1, 1)),
    "beyond": lambda t: _strided(t)[5],
    "beyond in a part": lambda t: _strided(t).select(1, 3),
    "layer_norm": lambda t: t.nn.functional.layer_norm(_strided(t), (3,)),
    "copy of other sizes": lambda t: _strided(t).copy_(t.nested.nested_tensor([t.ones(1)])),
    "narrow": lambda t: _strided(t).narrow(1, 0, 1),
    "chunk": lambda t: _strided(t).chunk(2, 1),
    "view": lambda t: _strided(t).view(3, -1, 1),
    "not contiguous": lambda t: _strided(t).transpose(1, 2).relu(),
    "jagged softmax": lambda t: _jagged(t, 2, 1).softmax(0),
    "jagged log_softmax": lambda t: _jagged(t, 2, 1).log_softmax(1),
    "jagged transpose": lambda t: _jagged(t, 2, 1).transpose(0, 1),
    "jagged permute": lambda t: _jagged(t, 2, 1).permute(1, 0, 2),
    "jagged sum": lambda t: _jagged(t, 2, 1).sum((1, 2)),
    "jagged sum of the first": lambda t: _jagged(t, 2, 1).sum(0),
    "jagged split": lambda t: _jagged(t, 2, 1).split(1, 1),
    "jagged chunk": lambda t: _jagged(t, 2, 1).chunk(2, 1),
    "jagged linear": lambda t: t.nn.functional.linear(_jagged(t, 2, 1).transpose(1, 2), t.ones(2, 2)),
    "jagged layer_norm": lambda t: t.nn.functional.layer_norm(_jagged(t, 2, 1), (2, 2, 2)),
    "jagged rms_norm": lambda t: t.nn.functional.rms_norm(_jagged(t, 2, 1), (2, 2)),
    "jagged unbind": lambda t: _jagged(t, 2, 1).unbind(1),
    "jagged padded with gaps": lambda t: MADE["gaps"](t).to_padded_tensor(0.0),
    "jagged attention": lambda t: t.nn.functional.scaled_dot_product_attention(_jagged(t, 2, 1), t.ones(2, 2, 2), t.ones(2, 2, 2)),
    "jagged new": lambda t: _jagged(t, 2, 1).new_zeros(3),
    "jagged stack": lambda t: t.stack([_jagged(t, 2, 1), t.ones(2, 2, 2)], -1),
    "truth": lambda t: bool(_jagged(t, 2, 1)),
    "mask": lambda t: t._nested_tensor_from_mask(t.ones(1, 3, 2), t.tensor([[True, False, True]])),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str, both) -> None:
    both(REFUSED[name], message=OWN_WORDS.get(name))


# Errors whose text in torch contains a name of its library or of a Python type; the part that is compared.
OWN_WORDS = {"jagged linear": "to be a contiguous jagged layout NestedTensor", "numbers": "zero-dim tensors"}


def test_what_is_not_there_raises_by_name() -> None:
    for layout in (mstorch.jagged, mstorch.strided):
        nested = mstorch.nested.nested_tensor([mstorch.ones(2, 2), mstorch.ones(1, 2)], layout=layout)
        for name in ("cumsum", "sort", "tril", "nonzero", "median", "roll", "flip"):
            with pytest.raises((NotImplementedError, TypeError), match=name):
                getattr(nested, name)(*(() if name in ("sort", "tril", "nonzero", "median") else (0,)))


def test_gradients_come_nested(both) -> None:
    def body(t: Any) -> Any:
        a = _jagged(t, 3, 1, requires_grad=True)
        seen = []
        b = a * 3
        b.register_hook(lambda gradient: seen.append(gradient.is_nested))
        b.retain_grad()
        b.backward(t.ones_like(b))
        (g,) = t.autograd.grad((a * a * 0.5), a, t.ones_like(a))
        return a.is_leaf, b.is_leaf, list(a.grad.unbind()), list(b.grad.unbind()), list(g.unbind()), seen, a.grad.shape == a.shape

    both(body)


def test_a_function_of_nested_tensors(both) -> None:
    def body(t: Any) -> Any:
        class Twice(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * 2, x + 1

            @staticmethod
            def backward(ctx, first, second):
                (x,) = ctx.saved_tensors
                return first * 2 + second + x * 0

        a = _jagged(t, 3, 1, requires_grad=True)
        one, other = Twice.apply(a)
        (one * 3 + other).backward(t.ones_like(a))
        return list(one.detach().unbind()), list(a.grad.unbind())

    both(body)


def test_writes(both) -> None:
    def body(t: Any) -> Any:
        a, s = _jagged(t, 3, 1), _strided(t)
        a.add_(1).mul_(2)
        a[0].fill_(9.0)
        a.copy_(a + 1)
        s[1].zero_()
        s.mul_(s)
        b = t.zeros_like(s).copy_(s)
        return list(a.unbind()), list(s.unbind()), list(b.unbind()), list(a.fill_(2.0).unbind())

    both(body)


def _kinds(t: Any) -> dict[str, Any]:
    return {
        "jagged": _jagged(t, 3, 1), "turned": _jagged(t, 3, 1).transpose(1, 2), "gaps": MADE["gaps"](t), "strided": _strided(t),
        "strided, turned": _strided(t).transpose(1, 2),
    }


@pytest.mark.parametrize("kind", ["jagged", "turned", "gaps", "strided", "strided, turned"])
def test_copies_and_files(kind: str) -> None:
    own, theirs = _kinds(mstorch)[kind], _kinds(real_torch)[kind]
    copies = [copy.deepcopy(own), copy.copy(own), pickle.loads(pickle.dumps(own)), own.clone(), own.to(mstorch.float64).float()]
    for writer, tensor, reader in ((mstorch, own, mstorch), (mstorch, own, real_torch), (real_torch, theirs, mstorch)):
        for weights_only in (True, False):
            file = io.BytesIO()
            writer.save({"tensor": tensor}, file)
            file.seek(0)
            copies.append(reader.load(file, weights_only=weights_only, map_location="cpu")["tensor"])
    for made in copies:
        assert made.is_nested and str(made.layout) == str(theirs.layout) and made.is_contiguous() == theirs.is_contiguous()
        for part, want in zip(made.unbind(), theirs.unbind()):
            np.testing.assert_array_equal(part.numpy(), want.numpy())


def test_files_with_parts_outside() -> None:
    strided, jagged = _strided(mstorch), _jagged(mstorch, 3, 1)
    strided._starts[1] = 7
    jagged.offsets().copy_(mstorch.tensor([0, 3, 9]))
    for wrong in (strided, jagged):
        file = io.BytesIO()
        mstorch.save(wrong, file)
        file.seek(0)
        with pytest.raises(Exception, match="outside"):
            mstorch.load(file)


@pytest.mark.parametrize("average", [True, False])
def test_attention_layers_in_inference(average: bool, both) -> None:
    def body(t: Any) -> Any:
        generator = np.random.RandomState(0)
        layer = t.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        encoder = t.nn.TransformerEncoder(layer, 2, norm=t.nn.LayerNorm(8)).eval()
        with t.no_grad():
            for parameter in encoder.parameters():
                parameter.copy_(t.tensor(generator.uniform(-0.5, 0.5, tuple(parameter.shape)).astype(np.float32)))
        x = t.tensor(generator.uniform(-1, 1, (2, 4, 8)).astype(np.float32))
        padding = t.tensor([[False, False, False, True], [False] * 4])
        with t.no_grad():
            nested = t.nested.nested_tensor([x[0, :3], x[1]])
            attention = encoder.layers[0].self_attn
            output, weights = attention(nested, nested, nested, average_attn_weights=average)
            return list(encoder(nested).unbind()), list(output.unbind()), weights, encoder(x, src_key_padding_mask=padding)

    both(body, rtol=1e-4, atol=1e-5, strides=False)


def test_attention_layers_refuse_training(both) -> None:
    def body(t: Any) -> Any:
        nested = t.nested.nested_tensor([t.ones(2, 8), t.ones(3, 8)])
        return t.nn.MultiheadAttention(8, 2, batch_first=True)(nested, nested, nested)

    both(body)


def test_hooks_of_modules(both) -> None:
    def body(t: Any) -> Any:
        layer, seen = t.nn.Linear(2, 2), []
        with t.no_grad():
            layer.weight.fill_(0.5)
        layer.register_full_backward_pre_hook(lambda module, out: seen.append(out[0].is_nested))
        layer.register_full_backward_hook(lambda module, into, out: seen.append([part.tolist() for part in into[0].unbind()]))
        a = _jagged(t, 3, 1, requires_grad=True)
        layer(a).sum().backward()
        return seen, list(a.grad.unbind())

    both(body)


def test_recomputed(both) -> None:
    def body(t: Any) -> Any:
        a, weight = _jagged(t, 3, 1, requires_grad=True), t.full((2, 2), 0.1, requires_grad=True)
        result = t.utils.checkpoint.checkpoint(lambda x: t.nn.functional.linear(x, weight).tanh(), a, use_reentrant=False)
        result.sum().backward()
        return list(a.grad.unbind()), weight.grad

    both(body)


def test_autocast(both) -> None:
    def body(t: Any) -> Any:
        with t.autocast(t.ones(1).device.type, dtype=t.bfloat16):
            made = t.nn.functional.linear(_jagged(t, 3, 1), t.ones(2, 2))
        return made.dtype, list(made.unbind())

    both(body)


def test_gradients_that_are_given(both) -> None:
    def body(t: Any) -> Any:
        found = []
        for turned in (False, True):
            parts = [t.ones(2, 3, requires_grad=True), t.ones(4, 3, requires_grad=True)]
            given = t.nested.nested_tensor([t.arange(6.0).reshape(3, 2), t.arange(12.0).reshape(3, 4)]).transpose(1, 2)
            t.nested.as_nested_tensor(parts).backward(given if turned else given.contiguous())
            found += [part.grad for part in parts]
        a = _jagged(t, 2, 1, requires_grad=True)
        t.autograd.backward([(a * 2).sum(), a * 3], [None, t.ones_like(a)])
        b = _jagged(t, 2, 1, requires_grad=True)
        (g,) = t.autograd.grad((b * b).sum(), b, create_graph=True)
        g.values().sum().backward()
        return found, list(a.grad.unbind()), list(b.grad.unbind())

    both(body, strides=False)


@pytest.mark.parametrize("given", [lambda t: t.ones(3, 2), lambda t: _jagged(t, 2, 1), lambda t: None])
def test_gradients_of_other_shapes(given: Callable[[Any], Any], both) -> None:
    def body(t: Any) -> Any:
        (_jagged(t, 2, 1, requires_grad=True) * 2).backward(given(t))

    with_symbols = given(mstorch) is not None
    both(body, message="Mismatch in shape: grad_output[0] has a shape of torch.Size([" if with_symbols else None)


def test_strided_gradients_of_other_sizes(both) -> None:
    def body(t: Any) -> Any:
        nested = t.nested.nested_tensor([t.ones(2), t.ones(3)], requires_grad=True)
        (nested * 2).backward(t.nested.nested_tensor([t.ones(2), t.ones(2)]))

    both(body)


def test_views_of_some_parts() -> None:
    """Views whose buffer holds more elements than they show; torch raises for some of these."""
    parts = [mstorch.arange(6.0).reshape(2, 3), mstorch.arange(12.0).reshape(4, 3), mstorch.ones(1, 3)]
    whole = mstorch.nested.nested_tensor(parts)
    some, other, weight = whole.narrow(0, 0, 2), mstorch.nested.nested_tensor(parts[:2]), mstorch.ones(2, 3)
    assert some._base is whole and some.is_contiguous()
    for function in (lambda x: x.softmax(-1), lambda x: x * 2, lambda x: mstorch.nn.functional.linear(x, weight)):
        for got, want in zip(function(some).unbind(), map(function, parts[:2])):
            np.testing.assert_array_equal(got.numpy(), want.numpy())
    assert len(mstorch.cat([some, other])) == 4 and mstorch.cat([some, other])[2].tolist() == parts[0].tolist()
    np.testing.assert_array_equal(some.to_padded_tensor(0.0).numpy(), other.to_padded_tensor(0.0).numpy())


def test_of_some_parts_and_others() -> None:
    whole = mstorch.nested.nested_tensor([mstorch.ones(2, 3), mstorch.ones(4, 3), mstorch.ones(1, 3)])
    other = mstorch.nested.nested_tensor([mstorch.ones(2, 3), mstorch.ones(4, 3)])
    assert [part.tolist() for part in (whole.narrow(0, 0, 2) + other).unbind()] == [[[2.0] * 3] * 2, [[2.0] * 3] * 4]
    assert [part.tolist() for part in (other - whole.narrow(0, 0, 2)).unbind()] == [[[0.0] * 3] * 2, [[0.0] * 3] * 4]
